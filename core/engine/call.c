#include "engine/call.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "deemster.h"
#include "engine/log.h"
#include "http1/retry_after.h"
#include "protocol/error_body.h"
#include "protocol/names.h"
#include "protocol/request.h"

/* KEPT_ERROR_BODY: as much of an error body as is kept. */
enum { KEPT_ERROR_BODY = 65536 };

static void finish(dm_call *call, int64_t now) {
    deem_response *response = call->response;
    call->done = 1;
    call->under_way = 0;
    call->waiting = 0;
    response->timing_us[DEEM_TIMING_TOTAL] = (now - call->started) / 1000;
    if (response->error.code != DEEM_OK) {
        dm_response_mask(response, dm_bytes_span(&call->client->api_key));
    }
}

static int32_t begin(dm_call *call, deem_client *client, deem_question_set *set,
                     const deem_options *options, deem_response *response) {
    call->client = client;
    call->response = response;
    call->limits = client->limits;
    call->fresh = 0;
    call->resent = 0;
    call->under_way = 0;
    call->waiting = 0;
    call->done = 0;
    dm_pairs_clear(&call->call_headers);
    dm_response_begin(response, set);
    if (options != NULL) {
        dm_limits_merge(&call->limits, &options->draft);
        for (uint32_t i = 0; i < options->headers.count; i++) {
            dm_http1_field field = options->headers.items[i];
            if (dm_pairs_put(&call->call_headers, field.name, field.value, 1) != 0) {
                return DEEM_E_MEMORY;
            }
        }
    }
    call->started = dm_clock_now();
    call->deadline_at = call->limits.deadline_ms == 0
                            ? DM_NEVER
                            : call->started + call->limits.deadline_ms * DM_NS_PER_MS;
    call->random = (uint64_t)call->started * UINT64_C(0x9E3779B97F4A7C15) + (uintptr_t)call;
    return DEEM_OK;
}

/* The fields of the call without its retry count. */
static int gather_fields(dm_call *call) {
    const deem_options view = {.headers = call->call_headers};
    uint32_t need = dm_client_headers(call->client, &view, call->with_body, NULL) + 1;
    if (need > call->field_cap) {
        dm_http1_field *fields = dm_realloc(call->fields, need * sizeof *fields);
        if (fields == NULL) {
            return -1;
        }
        call->fields = fields;
        call->field_cap = need;
    }
    call->field_count = dm_client_headers(call->client, &view, call->with_body, call->fields);
    return 0;
}

/* The origin-form target is the path; through a plain proxy it is the whole URL. */
static int32_t make_own_head(dm_call *call, dm_span method) {
    if (gather_fields(call) != 0) {
        return DEEM_E_MEMORY;
    }
    deem_client *client = call->client;
    dm_bytes target = {0};
    if (dm_transport_absolute_form(client->transport) &&
        dm_bytes_append(&target, client->url.origin.data, client->url.origin.len) != 0) {
        return DEEM_E_MEMORY;
    }
    if (dm_bytes_append(&target, call->target.data, call->target.len) != 0) {
        dm_bytes_free(&target);
        return DEEM_E_MEMORY;
    }
    dm_http1_error why = {0};
    dm_http1_request request = {method,       dm_bytes_span(&target), client->url.authority,
                                call->fields, call->field_count,      call->with_body};
    int failed = dm_http1_head_make(&call->own_head, &request, &why);
    dm_bytes_free(&target);
    if (failed) {
        int32_t code = why.problem == DM_HTTP1_NO_MEMORY ? DEEM_E_MEMORY : DEEM_E_CONFIG;
        dm_error_set(&call->response->error, code, 0, "%s",
                     why.message.data ? why.message.data : "");
        dm_http1_error_free(&why);
        return code;
    }
    call->head = &call->own_head;
    return DEEM_OK;
}

/* A refused input ends the call before anything is sent. */
static int32_t end_early(dm_call *call, int32_t code) {
    if (code == DEEM_E_MEMORY) {
        return code;
    }
    if (code != DEEM_OK) {
        finish(call, dm_clock_now());
    }
    return DEEM_OK;
}

static int32_t start_evaluation(dm_call *call, deem_client *client, const dm_ask *ask,
                                deem_response *response) {
    deem_question_set *set = ask->set;
    const deem_options *options = ask->options;
    if (begin(call, client, set, options, response) != DEEM_OK ||
        dm_answers_begin(&response->reply.answers, set) != 0) {
        return DEEM_E_MEMORY;
    }
    response->has_answers = 1;
    call->with_body = 1;
    dm_bytes_clear(&call->target);
    dm_span model = dm_bytes_span(&client->model);
    if (set->model.len != 0) {
        model = set->model;
    }
    if (options != NULL && options->model.is_set) {
        model = dm_bytes_span(&options->model.text);
    }
    dm_evaluation evaluation = {.set = set,
                                .state = ask->state,
                                .state_is_json = ask->state_is_json,
                                .model = model,
                                .fields = options != NULL ? options->fields.items : NULL,
                                .field_count = options != NULL ? options->fields.count : 0};
    if (dm_bytes_append(&response->method, "POST", 4) != 0 ||
        dm_bytes_append(&response->url, client->evaluate_url.data, client->evaluate_url.len) != 0) {
        return DEEM_E_MEMORY;
    }
    int32_t code = dm_request_write(&evaluation, &call->body, &response->error);
    if (code == DEEM_OK && call->call_headers.count > 0) {
        dm_http1_error why = {0};
        if (dm_url_join(&client->url, dm_bytes_span(&client->evaluate_path), &call->target, &why) !=
            0) {
            dm_http1_error_free(&why);
            return DEEM_E_MEMORY;
        }
        code = make_own_head(call, DM_LITERAL("POST"));
    } else {
        call->head = &client->evaluate_head;
    }
    return end_early(call, code);
}

static int method_is_known(dm_span method) {
    static const char *const names[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (dm_span_equal(method, dm_span_of(names[i], strlen(names[i])))) {
            return 1;
        }
    }
    return 0;
}

static int32_t start_request(dm_call *call, deem_client *client, const dm_ask *ask,
                             deem_response *response) {
    dm_span method = ask->method;
    dm_span body = ask->body;
    if (begin(call, client, NULL, ask->options, response) != DEEM_OK) {
        return DEEM_E_MEMORY;
    }
    call->with_body = body.data != NULL;
    dm_bytes_clear(&call->body);
    dm_bytes_clear(&call->target);
    if (dm_bytes_append(&call->body, body.data, body.len) != 0 ||
        dm_bytes_append(&response->method, method.data, method.len) != 0) {
        return DEEM_E_MEMORY;
    }
    if (!method_is_known(method)) {
        dm_error_set(&response->error, DEEM_E_CONFIG, 0,
                     "The method must be GET, POST, PUT, PATCH, DELETE or HEAD.");
        dm_bytes_clear(&response->method);
        return end_early(call, DEEM_E_CONFIG);
    }
    dm_http1_error why = {0};
    if (dm_url_join(&client->url, ask->path, &call->target, &why) != 0) {
        int32_t code = why.problem == DM_HTTP1_NO_MEMORY ? DEEM_E_MEMORY : DEEM_E_CONFIG_URL;
        dm_error_set(&response->error, code, 0, "%s", why.message.data ? why.message.data : "");
        dm_http1_error_free(&why);
        return end_early(call, code);
    }
    const char *query = memchr(call->target.data, '?', call->target.len);
    size_t shown = query != NULL ? (size_t)(query - call->target.data) : call->target.len;
    if (dm_bytes_append(&response->url, client->url.origin.data, client->url.origin.len) != 0 ||
        dm_bytes_append(&response->url, call->target.data, shown) != 0) {
        return DEEM_E_MEMORY;
    }
    return end_early(call, make_own_head(call, method));
}

dm_call_kind dm_call_kind_of(dm_span method, dm_span path) {
    int lists = dm_span_equal(method, DM_LITERAL("GET")) &&
                dm_span_equal(path, DM_LITERAL(DM_WIRE_MODELS_PATH));
    return lists ? DM_CALL_MODELS : DM_CALL_RAW;
}

int32_t dm_call_start(dm_call *call, deem_client *client, const dm_ask *ask,
                      deem_response *response) {
    call->kind = ask->kind;
    call->retries = ask->retry;
    return ask->kind == DM_CALL_EVALUATE ? start_evaluation(call, client, ask, response)
                                         : start_request(call, client, ask, response);
}

/* Keeps what the last attempt came to, and says that time is up. */
static void end_by_deadline(dm_call *call, int64_t now) {
    dm_error *error = &call->response->error;
    dm_bytes last = error->message;
    error->message = (dm_bytes){0};
    int32_t code = error->code;
    dm_error_set(error, DEEM_E_DEADLINE, 0,
                 "The call's deadline of %lld ms passed after %d attempt%s",
                 (long long)call->limits.deadline_ms, call->response->attempts,
                 call->response->attempts == 1 ? "" : "s");
    if (code != DEEM_OK && last.len != 0) {
        dm_bytes_append_text(&error->message, "; the last one: ");
        dm_bytes_append(&error->message, last.data, last.len);
    } else {
        dm_bytes_append_text(&error->message, ".");
    }
    dm_bytes_free(&last);
    finish(call, now);
}

dm_action dm_call_next(dm_call *call, int64_t now) {
    if (call->done) {
        return DM_ACTION_DONE;
    }
    if (now >= call->deadline_at && !call->under_way) {
        end_by_deadline(call, now);
        return DM_ACTION_DONE;
    }
    if (call->waiting) {
        if (now < call->wait_until) {
            return DM_ACTION_WAIT;
        }
        int64_t *waits = &call->response->timing_us[DEEM_TIMING_WAITS];
        *waits = (*waits < 0 ? 0 : *waits) + (now - call->wait_began) / 1000;
        call->waiting = 0;
    }
    return DM_ACTION_SEND;
}

void dm_call_attempt(dm_call *call, int64_t now) {
    call->under_way = 1;
    call->response->attempts++;
    call->attempt_began = now;
    call->attempt_until =
        call->limits.attempt_ms == 0 ? DM_NEVER : now + call->limits.attempt_ms * DM_NS_PER_MS;
    if (call->attempt_until > call->deadline_at) {
        call->attempt_until = call->deadline_at;
    }
    if (call->response->attempts > 1) {
        dm_response_forget_reply(call->response);
    }
    call->response->has_answers = call->kind == DM_CALL_EVALUATE;
}

void dm_call_attempt_undo(dm_call *call) {
    call->under_way = 0;
    call->response->attempts--;
}

static uint32_t extra_field(dm_call *call, dm_http1_field *field) {
    if (call->retries == 0) {
        return 0;
    }
    int len = snprintf(call->retry_count, sizeof call->retry_count, "%d", call->retries);
    *field = (dm_http1_field){DM_LITERAL(DM_WIRE_RETRY_COUNT),
                              dm_span_of(call->retry_count, (size_t)len)};
    return 1;
}

dm_span dm_call_wire(dm_call *call) {
    dm_http1_field extra[1];
    uint32_t count = extra_field(call, extra);
    dm_http1_error why = {0};
    if (dm_http1_head_write(call->head, extra, count, dm_bytes_span(&call->body), &call->wire,
                            &why) != 0) {
        dm_http1_error_free(&why);
        return dm_span_of(NULL, 0);
    }
    return dm_bytes_span(&call->wire);
}

dm_span dm_call_url(dm_call *call) {
    if (call->target.len == 0) {
        return dm_bytes_span(&call->client->evaluate_url);
    }
    dm_span origin = call->client->url.origin;
    dm_bytes_clear(&call->full_url);
    if (dm_bytes_append(&call->full_url, origin.data, origin.len) != 0 ||
        dm_bytes_append(&call->full_url, call->target.data, call->target.len) != 0) {
        return dm_span_of(NULL, 0);
    }
    return dm_bytes_span(&call->full_url);
}

int dm_call_fields(dm_call *call) {
    if (gather_fields(call) != 0) {
        return -1;
    }
    call->field_count += extra_field(call, &call->fields[call->field_count]);
    return 0;
}

static double random_share(dm_call *call) {
    call->random ^= call->random << 13;
    call->random ^= call->random >> 7;
    call->random ^= call->random << 17;
    return (double)(call->random >> 11) / 9007199254740992.0;
}

int64_t dm_backoff_ns(const dm_limits *limits, int32_t retries, double share) {
    int64_t wait = limits->backoff_initial_ms;
    for (int32_t i = 0; i < retries && wait < limits->backoff_most_ms; i++) {
        wait *= 2;
    }
    if (wait > limits->backoff_most_ms) {
        wait = limits->backoff_most_ms;
    }
    return (int64_t)((double)(wait * DM_NS_PER_MS) * (1 - share * limits->backoff_jitter));
}

/* Plans a retry, or finishes with the error that stands. hint_ms: the server's, or -1. */
static void retry_or_finish(dm_call *call, int retryable, int64_t hint_ms, int64_t now) {
    call->under_way = 0;
    if (call->done) {
        return;
    }
    call->response->may_retry = retryable;
    if (!retryable || call->retries >= call->limits.max_retries) {
        finish(call, now);
        return;
    }
    int64_t cap = call->limits.retry_after_cap_ms;
    int obey = (call->limits.retry_flags & DEEM_RETRY_OBEY_SERVER) != 0 && hint_ms >= 0 &&
               (cap == 0 || hint_ms <= cap);
    int64_t left = call->deadline_at == DM_NEVER ? DM_NEVER : call->deadline_at - now;
    if (obey && (hint_ms > INT64_MAX / DM_NS_PER_MS || hint_ms * DM_NS_PER_MS >= left)) {
        dm_bytes_append_format(&call->response->error.message,
                               " (the server asks to wait %lld ms, which is beyond the call's "
                               "deadline)",
                               (long long)hint_ms);
        finish(call, now);
        return;
    }
    int64_t wait = obey ? hint_ms * DM_NS_PER_MS
                        : dm_backoff_ns(&call->limits, call->retries, random_share(call));
    if (wait >= left) {
        end_by_deadline(call, now);
        return;
    }
    call->retries++;
    call->resent = 0;
    call->fresh = 0;
    call->waiting = 1;
    call->wait_began = now;
    call->wait_until = now + wait;
    dm_log_retry(call, wait);
}

static int32_t read_body(dm_call *call, dm_span content_type) {
    deem_response *response = call->response;
    const char *text = response->body.data;
    size_t len = response->body.len;
    switch (call->kind) {
    case DM_CALL_EVALUATE:
        return dm_reply_read_answers(&response->reply, call->index, response->set, text, len,
                                     call->limits.check, content_type, &response->error);
    case DM_CALL_MODELS:
        return dm_reply_read_models(&response->reply, call->index, text, len, content_type,
                                    &response->error);
    case DM_CALL_RAW:
        break;
    }
    return DEEM_OK;
}

/* The content type is looked up for the one message that shows it, by reading again what is no
 * JSON. */
static int32_t read_good(dm_call *call) {
    int32_t code = read_body(call, dm_span_of(NULL, 0));
    dm_span type = {0};
    if (code == DEEM_E_INVALID_REPLY && call->index->count == 0) {
        type = dm_response_header(call->response, DM_LITERAL("content-type"));
    }
    return type.len != 0 ? read_body(call, type) : code;
}

static void explain_status(dm_call *call) {
    deem_response *response = call->response;
    dm_error *error = &response->error;
    dm_error_body_read(call->index, response->http_status, response->body.data, response->body.len,
                       error);
    if (response->http_status == 404 || response->http_status == 405) {
        dm_bytes_append_format(&error->message, " (%s %s)", response->method.data,
                               response->url.data);
    } else if (error->code == DEEM_E_HTTP_REDIRECT) {
        dm_span where = dm_response_header(response, DM_LITERAL("location"));
        dm_bytes_append_text(&error->message,
                             ": redirects are not followed; set the base URL to where it leads");
        if (where.len != 0) {
            dm_bytes_append_text(&error->message, ": ");
            dm_text_append_safe(&error->message, where, 200);
        }
    }
    if (response->body.len > KEPT_ERROR_BODY) {
        response->body.len = KEPT_ERROR_BODY;
        response->body.data[KEPT_ERROR_BODY] = '\0';
        response->body_cut = 1;
    }
}

/* Whether only the connection's end said where the body ended (or, with HTTP/2, nobody did). */
static int ended_by_close(const deem_response *response) {
    return dm_response_header(response, DM_LITERAL("content-length")).data == NULL &&
           dm_response_header(response, DM_LITERAL("transfer-encoding")).data == NULL;
}

int32_t dm_call_reply(dm_call *call, int64_t now) {
    deem_response *response = call->response;
    if (dm_bytes_reserve(&response->body, DM_JSON_PADDING) != 0) {
        return DEEM_E_MEMORY;
    }
    response->body.data[response->body.len] = '\0';
    dm_error_clear(&response->error);
    call->resent = 0;
    int status = response->http_status;
    response->retry_after_ms = -1;
    if (status >= 200 && status < 300) {
        int32_t code = read_good(call);
        if (code == DEEM_E_MEMORY) {
            return code;
        }
        int cut = response->error.reason == DEEM_REASON_JSON_TRUNCATED && ended_by_close(response);
        if (cut) {
            response->error.code = DEEM_E_TRUNCATED;
        }
        dm_log_reply(call, now);
        retry_or_finish(call, cut && (call->limits.retry_flags & DEEM_RETRY_CONNECTION) != 0, -1,
                        now);
        return DEEM_OK;
    }
    explain_status(call);
    response->retry_after_ms =
        dm_retry_after(dm_response_header(response, DM_LITERAL("retry-after-ms")),
                       dm_response_header(response, DM_LITERAL("retry-after")), dm_clock_wall_ms());
    if (call->kind != DM_CALL_RAW &&
        dm_reply_read_any(&response->reply, call->index, response->body.data, response->body.len) ==
            DEEM_E_MEMORY) {
        return DEEM_E_MEMORY;
    }
    dm_log_reply(call, now);
    retry_or_finish(call, dm_status_set_has(&call->limits.retry_statuses, status),
                    response->retry_after_ms, now);
    return DEEM_OK;
}

void dm_call_fail(dm_call *call, int32_t code, const char *message, int sent, int final, int stale,
                  int64_t now) {
    if (call->done) {
        return;
    }
    dm_limits *limits = &call->limits;
    deem_response *response = call->response;
    int only_unsent = (limits->retry_flags & DEEM_RETRY_ONLY_UNSENT) != 0;
    dm_error_set(&response->error, code, code == DEEM_E_INVALID_REPLY ? DEEM_REASON_SIZE : 0, "%s",
                 message);
    dm_log_failure(call, now);
    if (stale && !call->resent && !(sent && only_unsent) && now < call->deadline_at) {
        call->under_way = 0;
        call->resent = 1;
        call->fresh = 1;
        return;
    }
    if (code == DEEM_E_TIMEOUT && now >= call->deadline_at) {
        end_by_deadline(call, now);
        return;
    }
    int wanted = code == DEEM_E_TIMEOUT ? DEEM_RETRY_TIMEOUT : DEEM_RETRY_CONNECTION;
    int retryable = !final && (limits->retry_flags & wanted) != 0 && !(sent && only_unsent) &&
                    code >= DEEM_E_CONNECTION && code <= DEEM_E_TIMEOUT;
    retry_or_finish(call, retryable, -1, now);
}

void dm_call_fail_timeout(dm_call *call, int sent, int64_t now) {
    char text[96];
    snprintf(text, sizeof text, "The attempt took longer than its limit of %lld ms.",
             (long long)((call->attempt_until - call->attempt_began) / DM_NS_PER_MS));
    dm_call_fail(call, DEEM_E_TIMEOUT, text, sent, 0, 0, now);
}

void dm_call_end(dm_call *call, int32_t code, const char *sentence, int64_t now) {
    if (call->done) {
        return;
    }
    dm_error_set(&call->response->error, code, 0, "%s", sentence);
    finish(call, now);
}

void dm_call_free(dm_call *call) {
    dm_bytes_free(&call->body);
    dm_bytes_free(&call->target);
    dm_bytes_free(&call->full_url);
    dm_http1_head_free(&call->own_head);
    dm_free(call->fields);
    dm_pairs_free(&call->call_headers);
    dm_bytes_free(&call->wire);
    *call = (dm_call){0};
}
