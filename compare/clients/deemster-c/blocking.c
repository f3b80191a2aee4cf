/* Deemster from C: blocking calls, one response reused by each thread. */
#include <stdlib.h>

#include "shared.h"

static void *worker(void) {
    return calloc(1, sizeof(deem_response *));
}

static void call(void *context, struct outcome *outcome) {
    deem_response **response = context;
    deem_evaluate_text(client, set, own_setup.state.data, own_setup.state.length, NULL, response);
    own_read(*response, outcome);
}

static void worker_end(void *context) {
    deem_response **response = context;
    deem_response_free(*response);
    free(context);
}

int main(void) {
    return serve(&(struct contestant){.library = "deemster",
                                      .version = deem_version(),
                                      .open = own_open,
                                      .close = own_close,
                                      .worker = worker,
                                      .call = call,
                                      .worker_end = worker_end,
                                      .answer = own_answer});
}
