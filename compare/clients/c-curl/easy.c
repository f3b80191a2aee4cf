/* One libcurl handle a thread, reused for each call. */
#include "shared.h"

static void *worker(void) {
    return exchange_new();
}

static void call(void *context, struct outcome *outcome) {
    struct exchange *exchange = context;
    exchange_prepare(exchange);
    exchange_read(exchange, curl_easy_perform(exchange->handle), outcome);
}

static void worker_end(void *context) {
    exchange_free(context);
}

int main(void) {
    return serve(&(struct contestant){.library = "libcurl",
                                      .version = LIBCURL_VERSION,
                                      .open = shared_open,
                                      .close = shared_close,
                                      .worker = worker,
                                      .call = call,
                                      .worker_end = worker_end,
                                      .answer = shared_answer});
}
