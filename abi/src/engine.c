/* The calls for event loops: submit, descriptor, step, next. */
#include "engine/engine.h"

#include "deemster.h"
#include "out.h"

static int32_t submit(deem_client *client, const dm_ask *ask, uint64_t *id) {
    uint64_t made = 0;
    int32_t code = dm_engine_submit(client, ask, &made);
    DM_OUT(id, code == DEEM_OK ? made : 0);
    return code;
}

static int32_t submit_evaluation(deem_client *client, deem_question_set *set, const char *state,
                                 size_t len, int is_json, const deem_options *options,
                                 uint64_t *id) {
    DM_OUT(id, 0);
    if (client == NULL || set == NULL || (state == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_ask ask = {.kind = DM_CALL_EVALUATE,
                  .set = set,
                  .state = dm_span_of(state, len),
                  .state_is_json = is_json,
                  .options = options};
    return submit(client, &ask, id);
}

int32_t deem_submit_text(deem_client *client, deem_question_set *set, const char *text, size_t len,
                         const deem_options *options, uint64_t *id) {
    return submit_evaluation(client, set, text, len, 0, options, id);
}

int32_t deem_submit_json(deem_client *client, deem_question_set *set, const char *json, size_t len,
                         const deem_options *options, uint64_t *id) {
    return submit_evaluation(client, set, json, len, 1, options, id);
}

int32_t deem_submit_request(deem_client *client, const char *method, size_t method_len,
                            const char *path, size_t path_len, const char *body, size_t body_len,
                            const deem_options *options, uint64_t *id) {
    DM_OUT(id, 0);
    if (client == NULL || method == NULL || path == NULL || (body == NULL && body_len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_ask ask = {.method = dm_span_of(method, method_len),
                  .path = dm_span_of(path, path_len),
                  .body = dm_span_of(body, body_len),
                  .options = options};
    ask.kind = dm_call_kind_of(ask.method, ask.path);
    return submit(client, &ask, id);
}

int32_t deem_client_fd(deem_client *client, int32_t *fd) {
    DM_OUT(fd, -1);
    if (client == NULL || fd == NULL) {
        return DEEM_E_MISUSE;
    }
    int descriptor;
    int32_t code = dm_engine_descriptor(client, &descriptor);
    *fd = descriptor;
    return code;
}

int32_t deem_client_step(deem_client *client) {
    return client == NULL ? DEEM_E_MISUSE : dm_engine_step(client);
}

int32_t deem_client_next(deem_client *client, uint64_t *id, deem_response **response) {
    DM_OUT(id, 0);
    return client == NULL || id == NULL || response == NULL
               ? DEEM_E_MISUSE
               : dm_engine_next(client, NULL, id, response);
}
