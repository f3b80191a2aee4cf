/* deem_client_* and the blocking calls. */
#include "deemster.h"
#include "engine/blocking.h"
#include "engine/engine.h"
#include "out.h"
#include "protocol/names.h"

int32_t deem_client_new(deem_config *config, deem_client **client) {
    DM_OUT(client, NULL);
    return config == NULL || client == NULL ? DEEM_E_MISUSE : dm_client_new(config, client);
}

int32_t deem_client_ref(deem_client *client) {
    if (client == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_client_handle_ref(client);
    return DEEM_OK;
}

int32_t deem_client_close(deem_client *client) {
    if (client == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_client_close(client);
    return DEEM_OK;
}

void deem_client_free(deem_client *client) {
    dm_client_handle_unref(client);
}

int32_t deem_client_call_id(deem_client *client, uint64_t *id) {
    DM_OUT(id, 0);
    if (client == NULL || id == NULL) {
        return DEEM_E_MISUSE;
    }
    *id = dm_client_reserve_id(client);
    return *id == 0 ? DEEM_E_MEMORY : DEEM_OK;
}

int32_t deem_client_cancel(deem_client *client, uint64_t id) {
    if (client == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_client_cancel(client, id);
    return DEEM_OK;
}

static int32_t evaluate(deem_client *client, deem_question_set *set, const char *state, size_t len,
                        int is_json, const deem_options *options, deem_response **response) {
    if (client == NULL || set == NULL || (state == NULL && len != 0) || response == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_ask ask = {.kind = DM_CALL_EVALUATE,
                  .set = set,
                  .state = dm_span_of(state, len),
                  .state_is_json = is_json,
                  .options = options};
    return dm_blocking_run(client, &ask, response);
}

int32_t deem_evaluate_text(deem_client *client, deem_question_set *set, const char *text,
                           size_t len, const deem_options *options, deem_response **response) {
    return evaluate(client, set, text, len, 0, options, response);
}

int32_t deem_evaluate_json(deem_client *client, deem_question_set *set, const char *json,
                           size_t len, const deem_options *options, deem_response **response) {
    return evaluate(client, set, json, len, 1, options, response);
}

int32_t deem_list_models(deem_client *client, const deem_options *options,
                         deem_response **response) {
    if (client == NULL || response == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_ask ask = {.kind = DM_CALL_MODELS,
                  .method = DM_LITERAL("GET"),
                  .path = DM_LITERAL(DM_WIRE_MODELS_PATH),
                  .options = options};
    return dm_blocking_run(client, &ask, response);
}

int32_t deem_request(deem_client *client, const char *method, size_t method_len, const char *path,
                     size_t path_len, const char *body, size_t body_len,
                     const deem_options *options, deem_response **response) {
    if (client == NULL || method == NULL || path == NULL || (body == NULL && body_len != 0) ||
        response == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_ask ask = {.kind = DM_CALL_RAW,
                  .method = dm_span_of(method, method_len),
                  .path = dm_span_of(path, path_len),
                  .body = dm_span_of(body, body_len),
                  .options = options};
    return dm_blocking_run(client, &ask, response);
}
