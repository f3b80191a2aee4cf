/* The hosted exchange (deemster_experimental.h): the call machine, driven by the caller. */
#include "base/alloc.h"
#include "base/clock.h"
#include "deemster_experimental.h"
#include "engine/call.h"
#include "out.h"

struct deem_exchange {
    deem_client *client;     /* one reference */
    deem_response *response; /* owned; swapped out by take */
    dm_call call;
    dm_json_index index;
    int started;
    int fields_made;
};

int32_t deem_exchange_new(deem_client *client, deem_exchange **exchange) {
    DM_OUT(exchange, NULL);
    if (client == NULL || exchange == NULL) {
        return DEEM_E_MISUSE;
    }
    deem_exchange *made = dm_alloc_zero(sizeof *made);
    if (made == NULL) {
        return DEEM_E_MEMORY;
    }
    dm_json_index_init(&made->index, DM_JSON_BY_DEFAULT);
    made->call.index = &made->index;
    dm_client_ref(client);
    made->client = client;
    *exchange = made;
    return DEEM_OK;
}

void deem_exchange_free(deem_exchange *exchange) {
    if (exchange == NULL) {
        return;
    }
    dm_response_free(exchange->response);
    dm_call_free(&exchange->call);
    dm_json_index_free(&exchange->index);
    dm_client_unref(exchange->client);
    dm_free(exchange);
}

static int32_t start(deem_exchange *exchange, const dm_ask *ask) {
    exchange->started = 0;
    exchange->fields_made = 0;
    if (exchange->response == NULL) {
        exchange->response = dm_response_new();
    }
    int32_t code = exchange->response == NULL
                       ? DEEM_E_MEMORY
                       : dm_call_start(&exchange->call, exchange->client, ask, exchange->response);
    exchange->started = code == DEEM_OK;
    return code;
}

static int32_t start_evaluation(deem_exchange *exchange, deem_question_set *set, const char *state,
                                size_t len, int is_json, const deem_options *options) {
    if (exchange == NULL || set == NULL || (state == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_ask ask = {.kind = DM_CALL_EVALUATE,
                  .set = set,
                  .state = dm_span_of(state, len),
                  .state_is_json = is_json,
                  .options = options};
    return start(exchange, &ask);
}

int32_t deem_exchange_start_text(deem_exchange *exchange, deem_question_set *set, const char *text,
                                 size_t len, const deem_options *options) {
    return start_evaluation(exchange, set, text, len, 0, options);
}

int32_t deem_exchange_start_json(deem_exchange *exchange, deem_question_set *set, const char *json,
                                 size_t len, const deem_options *options) {
    return start_evaluation(exchange, set, json, len, 1, options);
}

int32_t deem_exchange_start_request(deem_exchange *exchange, const char *method, size_t method_len,
                                    const char *path, size_t path_len, const char *body,
                                    size_t body_len, const deem_options *options) {
    if (exchange == NULL || method == NULL || path == NULL || (body == NULL && body_len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_ask ask = {.method = dm_span_of(method, method_len),
                  .path = dm_span_of(path, path_len),
                  .body = dm_span_of(body, body_len),
                  .options = options};
    ask.kind = dm_call_kind_of(ask.method, ask.path);
    return start(exchange, &ask);
}

static int64_t until_ms(int64_t moment, int64_t now) {
    if (moment == DM_NEVER) {
        return -1;
    }
    int64_t left = moment - now;
    return left <= 0 ? 0 : (left + DM_NS_PER_MS - 1) / DM_NS_PER_MS;
}

int32_t deem_exchange_next(deem_exchange *exchange, int32_t *action, int64_t *milliseconds) {
    DM_OUT(action, 0);
    DM_OUT(milliseconds, 0);
    if (exchange == NULL || !exchange->started) {
        return DEEM_E_MISUSE;
    }
    dm_call *call = &exchange->call;
    int64_t now = dm_clock_now();
    if (!call->under_way) {
        dm_action next = dm_call_next(call, now);
        if (next != DM_ACTION_SEND) {
            int wait = next == DM_ACTION_WAIT;
            DM_OUT(action, wait ? DEEM_EXCHANGE_WAIT : DEEM_EXCHANGE_DONE);
            DM_OUT(milliseconds, wait ? until_ms(call->wait_until, now) : 0);
            return DEEM_OK;
        }
        dm_call_attempt(call, now);
        exchange->fields_made = 0;
    }
    DM_OUT(action, DEEM_EXCHANGE_SEND);
    DM_OUT(milliseconds, until_ms(call->attempt_until, now));
    return DEEM_OK;
}

static int is_sending(const deem_exchange *exchange) {
    return exchange != NULL && exchange->started && exchange->call.under_way;
}

int32_t deem_exchange_attempt(const deem_exchange *exchange, const char **method,
                              size_t *method_len, const char **url, size_t *url_len,
                              const char **body, size_t *body_len) {
    static const dm_span nothing;
    int sending = is_sending(exchange);
    const deem_response *response = sending ? exchange->response : NULL;
    dm_out_text(sending ? dm_bytes_span(&response->method) : nothing, method, method_len);
    deem_exchange *own =
        (deem_exchange *)(uintptr_t)exchange; /* the URL is put together on demand */
    dm_out_text(sending ? dm_call_url(&own->call) : nothing, url, url_len);
    dm_out_text(sending && exchange->call.with_body ? dm_bytes_span(&exchange->call.body) : nothing,
                body, body_len);
    return sending ? DEEM_OK : DEEM_E_MISUSE;
}

int32_t deem_exchange_attempt_header(const deem_exchange *exchange, size_t index, const char **name,
                                     size_t *name_len, const char **value, size_t *value_len) {
    static const dm_http1_field none;
    int sending = is_sending(exchange);
    /* The list is made at the first question for it: a memory transport never asks. */
    deem_exchange *own = (deem_exchange *)(uintptr_t)exchange;
    int there = sending && (own->fields_made || dm_call_fields(&own->call) == 0);
    if (there) {
        own->fields_made = 1;
        there = index < own->call.field_count;
    }
    const dm_http1_field *field = there ? &own->call.fields[index] : &none;
    dm_out_text(field->name, name, name_len);
    dm_out_text(field->value, value, value_len);
    return there ? DEEM_OK : sending ? DEEM_E_ABSENT : DEEM_E_MISUSE;
}

int32_t deem_exchange_reply_header(deem_exchange *exchange, const char *name, size_t name_len,
                                   const char *value, size_t value_len) {
    if (!is_sending(exchange) || name == NULL || (value == NULL && value_len != 0)) {
        return DEEM_E_MISUSE;
    }
    int failed = dm_response_add_header(exchange->response, dm_span_of(name, name_len),
                                        dm_span_of(value, value_len));
    return failed ? DEEM_E_MEMORY : DEEM_OK;
}

int32_t deem_exchange_reply(deem_exchange *exchange, int32_t status, const char *body, size_t len) {
    if (!is_sending(exchange) || status < 100 || status > 999 || (body == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    deem_response *response = exchange->response;
    dm_bytes_clear(&response->body);
    if (dm_bytes_reserve(&response->body, len + DM_JSON_PADDING) != 0 ||
        dm_bytes_append(&response->body, body, len) != 0) {
        return DEEM_E_MEMORY;
    }
    response->http_status = status;
    return dm_call_reply(&exchange->call, dm_clock_now());
}

int32_t deem_exchange_fail(deem_exchange *exchange, int32_t code, int32_t sent, const char *message,
                           size_t len) {
    if (!is_sending(exchange) || code < DEEM_E_CONNECTION || code > DEEM_E_TIMEOUT ||
        (message == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_bytes text = {0};
    if (dm_bytes_append(&text, message, len) != 0) {
        return DEEM_E_MEMORY;
    }
    dm_call_fail(&exchange->call, code, text.data, sent != 0, 0, 0, dm_clock_now());
    dm_bytes_free(&text);
    return DEEM_OK;
}

int32_t deem_exchange_cancel(deem_exchange *exchange) {
    if (exchange == NULL) {
        return DEEM_E_MISUSE;
    }
    if (exchange->started) {
        dm_call_end(&exchange->call, DEEM_E_CANCELLED, "The call was cancelled.", dm_clock_now());
    }
    return DEEM_OK;
}

int32_t deem_exchange_take(deem_exchange *exchange, deem_response **response) {
    if (exchange == NULL || response == NULL || !exchange->started || !exchange->call.done) {
        return DEEM_E_MISUSE;
    }
    dm_response_hand_over(&exchange->response, response);
    exchange->started = 0;
    return DEEM_OK;
}
