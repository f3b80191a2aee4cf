/* Many libcurl handles in one multi on one thread. */
#include "shared.h"

static CURLM *multi;
static struct exchange **exchanges;
static size_t exchange_count;

static void grow(size_t count) {
    if (!multi)
        multi = curl_multi_init();
    if (count <= exchange_count)
        return;
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)count);
    exchanges = realloc(exchanges, count * sizeof(struct exchange *));
    if (!exchanges)
        abort();
    while (exchange_count < count)
        exchanges[exchange_count++] = exchange_new();
}

static bool start(struct meter *meter, size_t slot) {
    if (!meter_begin(meter, slot))
        return false;
    exchange_prepare(exchanges[slot]);
    curl_multi_add_handle(multi, exchanges[slot]->handle);
    return true;
}

static size_t slot_of(const struct exchange *exchange, size_t in_flight) {
    for (size_t i = 0; i < in_flight; i++)
        if (exchanges[i] == exchange)
            return i;
    abort();
}

static void drive(struct meter *meter, size_t in_flight) {
    size_t open = 0;
    grow(in_flight);
    for (size_t slot = 0; slot < in_flight; slot++)
        open += start(meter, slot);
    while (open) {
        CURLMsg *message;
        int running, left;
        curl_multi_perform(multi, &running);
        while ((message = curl_multi_info_read(multi, &left))) {
            char *private = NULL;
            struct outcome outcome = {.noul = -1};
            CURLcode code = message->data.result;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
            struct exchange *exchange = (struct exchange *)(void *)private;
            size_t slot = slot_of(exchange, in_flight);
            curl_multi_remove_handle(multi, exchange->handle);
            exchange_read(exchange, code, &outcome);
            meter_end(meter, slot, &outcome);
            open -= !start(meter, slot);
        }
        if (open)
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
}

static void done(void) {
    while (exchange_count)
        exchange_free(exchanges[--exchange_count]);
    free(exchanges);
    exchanges = NULL;
    curl_multi_cleanup(multi);
    multi = NULL;
    shared_close();
}

int main(void) {
    return serve(&(struct contestant){.library = "libcurl",
                                      .version = LIBCURL_VERSION,
                                      .open = shared_open,
                                      .close = done,
                                      .drive = drive,
                                      .answer = shared_answer});
}
