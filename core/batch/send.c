/* Sending requests as the limiter lets them go, and what becomes of their replies. */
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "batch/batch.h"
#include "engine/call.h"
#include "engine/engine.h"
#include "protocol/error_body.h"
#include "protocol/part.h"

/* REFUSALS: so often a request may be told to slow down. HITS_ALL: so many replies in a row that
 * every request would get stop the batch. */
enum { REFUSALS_MOST = 20, HITS_ALL_MOST = 3 };

/* A server that asks for a longer wait than this is not waited for. */
#define LONGEST_PAUSE_MS INT64_C(3600000)

dm_batch_request *dm_requests_pop(dm_request_list *list) {
    dm_batch_request *request = list->first;
    if (request != NULL) {
        list->first = request->next;
        if (list->first == NULL) {
            list->last = NULL;
        }
        request->next = NULL;
    }
    return request;
}

void dm_requests_push(dm_request_list *list, dm_batch_request *request) {
    request->next = NULL;
    *(list->last != NULL ? &list->last->next : &list->first) = request;
    list->last = request;
}

/* The request in flight with that call, out of its list. */
static dm_batch_request *landed(deem_batch *batch, uint64_t call) {
    dm_batch_request *before = NULL;
    dm_batch_request *request = batch->flying.first;
    while (request->call != call) {
        before = request;
        request = request->next;
    }
    *(before != NULL ? &before->next : &batch->flying.first) = request->next;
    if (batch->flying.last == request) {
        batch->flying.last = before;
    }
    request->next = NULL;
    return request;
}

/* ---- sending ---- */

/* The deadline that is left, in milliseconds; 0: there is none. */
static int64_t deadline_left(const deem_batch *batch, const dm_batch_request *request) {
    int64_t whole = batch->limits.deadline_ms;
    int64_t left = whole - request->spent_ns / DM_NS_PER_MS;
    return whole == 0 ? 0 : left > 0 ? left : 1;
}

static int32_t submit(deem_batch *batch, dm_batch_request *request) {
    deem_options options = batch->settings.options; /* borrows its texts while the call starts */
    options.draft.limits.max_retries = 0;
    options.draft.limits.deadline_ms = deadline_left(batch, request);
    options.draft.set |= DM_SET_RETRIES | DM_SET_DEADLINE;
    dm_row *row = request->rows[0];
    dm_ask ask = {.kind = DM_CALL_EVALUATE,
                  .set = batch->set,
                  .state = dm_bytes_span(&row->state),
                  .state_is_json = row->is_json,
                  .options = &options,
                  .retry = request->retries + request->refusals,
                  .to = &batch->completions};
    dm_http1_field *fields = NULL;
    if (request->packed) {
        /* Each row is checked by itself when its part is read. */
        options.draft.limits.check = DEEM_CHECK_LENIENT;
        options.draft.set |= DM_SET_CHECK;
        uint32_t own = batch->settings.options.fields.count;
        fields = dm_alloc((own + 2) * sizeof *fields);
        if (fields == NULL) {
            return DEEM_E_MEMORY;
        }
        fields[0] = (dm_http1_field){DM_LITERAL("state"), dm_bytes_span(&request->state)};
        fields[1] = (dm_http1_field){DM_LITERAL("questions"), dm_bytes_span(&request->questions)};
        for (uint32_t i = 0; i < own; i++) {
            fields[i + 2] = batch->settings.options.fields.items[i];
        }
        options.fields = (dm_pairs){fields, own + 2, own + 2};
        if (!options.model.is_set && batch->set->model.len != 0) {
            options.model.text = (dm_bytes){(char *)(uintptr_t)batch->set->model.data,
                                            batch->set->model.len, batch->set->model.len + 1};
            options.model.is_set = 1;
        }
        ask.set = request->plan;
    }
    int32_t code = dm_engine_submit(batch->client, &ask, &request->call);
    dm_free(fields);
    return code;
}

static int fail_rows(deem_batch *batch, dm_batch_request *request, int32_t code,
                     const char *sentence) {
    for (uint32_t i = 0; i < request->count; i++) {
        if (dm_batch_row_fail(batch, request->rows[i], code,
                              dm_span_of(sentence, strlen(sentence))) != 0) {
            return -1;
        }
    }
    return 0;
}

static int send_one(deem_batch *batch, dm_batch_request *request, int64_t now) {
    request->sent_at = now;
    request->counted = dm_limiter_take(&batch->limiter, request->estimate, now);
    batch->stats.estimated_tokens += request->counted;
    batch->stats.requests++;
    int32_t code = submit(batch, request);
    if (code == DEEM_OK) {
        batch->tokens_flying += request->counted;
        batch->stats.in_flight++;
        dm_requests_push(&batch->flying, request);
        return 0;
    }
    int failed = code == DEEM_E_MEMORY ||
                 fail_rows(batch, request, code,
                           code == DEEM_E_CANCELLED ? "The client is closed."
                                                    : "No descriptor is left for the call.") != 0;
    dm_form_free_request(request);
    return failed ? -1 : 0;
}

/* Counts what would be sent, and ends its rows. */
static int rehearse(deem_batch *batch) {
    int failed = 0;
    for (dm_batch_request *request;
         !failed && (request = dm_requests_pop(&batch->ready)) != NULL;) {
        batch->stats.requests++;
        batch->stats.estimated_tokens += request->estimate;
        for (uint32_t i = 0; i < request->count; i++) {
            request->rows[i]->flags |= DEEM_ROW_UNSENT;
        }
        failed = fail_rows(batch, request, DEEM_E_CANCELLED,
                           "This is a rehearsal: nothing is sent.") != 0;
        dm_form_free_request(request);
    }
    return failed ? -1 : 0;
}

static int may_pay(const deem_batch *batch, const dm_batch_request *request) {
    int64_t most = batch->settings.most_tokens;
    double next = (double)request->estimate * batch->limiter.tokens_per_estimated;
    return most == 0 ||
           (double)(batch->stats.input_tokens + batch->tokens_flying) + next <= (double)most;
}

/* Sends what may be sent; *wake is when there may be more to send. 0 or -1 (no memory). */
static int send_ready(deem_batch *batch, int64_t now, int64_t *wake) {
    while (batch->ready.first != NULL) {
        if (batch->stats.in_flight >= batch->adaptive.limit) {
            dm_adaptive_saturated(&batch->adaptive);
            return 0;
        }
        dm_batch_request *request = batch->ready.first;
        int64_t when = dm_limiter_when(&batch->limiter, request->estimate, now);
        if (when > now) {
            *wake = when < *wake ? when : *wake;
            return 0;
        }
        if (!may_pay(batch, request)) {
            return batch->stats.in_flight > 0
                       ? 0 /* what is in flight may turn out to be cheaper than estimated */
                       : dm_batch_stop(batch, DEEM_E_ABSENT,
                                       "The batch stopped: the next request could pass the cap on "
                                       "tokens.");
        }
        if (send_one(batch, dm_requests_pop(&batch->ready), now) != 0) {
            return -1;
        }
    }
    return 0;
}

static void wake_waiting(deem_batch *batch, int64_t now, int64_t *wake) {
    dm_request_list waiting = batch->waiting;
    batch->waiting = (dm_request_list){0};
    for (dm_batch_request *request; (request = dm_requests_pop(&waiting)) != NULL;) {
        if (request->due <= now) {
            dm_form_ready(batch, request);
        } else {
            *wake = request->due < *wake ? request->due : *wake;
            dm_requests_push(&batch->waiting, request);
        }
    }
}

/* ---- replies ---- */

static void count_reply(deem_batch *batch, dm_batch_request *request, const deem_response *response,
                        int64_t now) {
    const dm_reply *reply = &response->reply;
    int answered = response->http_status >= 200 && response->http_status < 300;
    batch->stats.in_flight--;
    batch->tokens_flying -= request->counted;
    request->spent_ns += now - request->sent_at;
    request->asked += response->attempts;
    if (reply->input_tokens >= 0) {
        int64_t output = reply->output_tokens > 0 ? reply->output_tokens : 0;
        dm_limiter_correct(&batch->limiter, request->sent_at, request->estimate, request->counted,
                           reply->input_tokens + output, now);
    }
    if (answered) {
        batch->stats.input_tokens +=
            reply->input_tokens >= 0 ? reply->input_tokens : request->counted;
    }
    batch->stats.output_tokens += reply->output_tokens > 0 ? reply->output_tokens : 0;
    if (!isnan(reply->cost)) {
        batch->stats.cost = (isnan(batch->stats.cost) ? 0 : batch->stats.cost) + reply->cost;
    }
    if (response->http_status == 429 || response->http_status == 529) {
        dm_adaptive_overload(&batch->adaptive, request->sent_at, now);
    } else {
        dm_adaptive_reply(&batch->adaptive, now);
    }
}

static double random_share(deem_batch *batch) {
    batch->random ^= batch->random << 13;
    batch->random ^= batch->random >> 7;
    batch->random ^= batch->random << 17;
    return (double)(batch->random >> 11) / 9007199254740992.0;
}

/* Puts the request off when its failure may be mended. 1 when it will be asked again. */
static int retry(deem_batch *batch, dm_batch_request *request, deem_response *response,
                 int64_t now) {
    const dm_limits *limits = &batch->limits;
    if (!response->may_retry || batch->stop.code != DEEM_OK) {
        return 0;
    }
    int64_t hint = response->retry_after_ms;
    int obey = hint >= 0 && (limits->retry_flags & DEEM_RETRY_OBEY_SERVER) != 0 &&
               (limits->retry_after_cap_ms == 0 || hint <= limits->retry_after_cap_ms);
    if (obey && hint > LONGEST_PAUSE_MS) {
        dm_bytes_append_text(&response->error.message,
                             " (the server asks to wait longer than an hour)");
        return 0;
    }
    if (obey) {
        dm_limiter_pause(&batch->limiter, now + hint * DM_NS_PER_MS);
    }
    int refused = response->http_status == 429 || response->http_status == 529;
    int32_t *used = refused ? &request->refusals : &request->retries;
    int32_t most = limits->max_retries == 0 ? 0 : refused ? REFUSALS_MOST : limits->max_retries;
    if (*used >= most) {
        return 0;
    }
    int64_t wait = obey ? hint * DM_NS_PER_MS : dm_backoff_ns(limits, *used, random_share(batch));
    /* A wait that the server asks for holds everything, like the limiter, and is not counted. */
    request->spent_ns += obey ? 0 : wait;
    if (limits->deadline_ms != 0 && request->spent_ns >= limits->deadline_ms * DM_NS_PER_MS) {
        dm_bytes last = response->error.message;
        response->error.message = (dm_bytes){0};
        dm_error_set(&response->error, DEEM_E_DEADLINE, 0,
                     "The deadline of %lld ms passed after %d attempt%s; the last one: %s",
                     (long long)limits->deadline_ms, request->asked, request->asked == 1 ? "" : "s",
                     last.data != NULL ? last.data : "");
        dm_bytes_free(&last);
        return 0;
    }
    (*used)++;
    batch->stats.retries++;
    request->due = now + wait;
    dm_requests_push(&batch->waiting, request);
    return 1;
}

/* Asks these rows again, in a pack of their own. */
static int ask_again(deem_batch *batch, const dm_batch_request *request, uint32_t first,
                     uint32_t count) {
    uint64_t pack = request->rows[first]->position;
    for (uint32_t i = first; i < first + count; i++) {
        dm_row *row = request->rows[i];
        row->attempts += request->asked;
        pack = row->position < pack ? row->position : pack;
    }
    for (uint32_t i = 0; i < count; i++) {
        request->rows[first + i]->place =
            (dm_pack_place){pack, (int32_t)i, (int32_t)count, batch->settings.shape};
    }
    return dm_form_request(batch, request->rows + first, count, request->order, 1);
}

/* What all rows of a request have from its response: how it was called and what came back, but no
 * answers. */
static deem_response *part_of(deem_batch *batch, const dm_batch_request *request, const dm_row *row,
                              const deem_response *whole) {
    deem_response *part = batch->spare != NULL ? batch->spare : dm_response_new();
    batch->spare = NULL;
    if (part == NULL) {
        return NULL;
    }
    dm_response_begin(part, batch->set);
    part->has_answers = 1;
    dm_span id = dm_response_request_id(whole);
    if ((id.len != 0 && dm_response_add_header(part, DM_LITERAL("x-request-id"), id) != 0) ||
        dm_bytes_append(&part->method, whole->method.data, whole->method.len) != 0 ||
        dm_bytes_append(&part->url, whole->url.data, whole->url.len) != 0 ||
        dm_answers_begin(&part->reply.answers, batch->set) != 0) {
        dm_response_free(part);
        return NULL;
    }
    part->http_status = whole->http_status;
    part->retry_after_ms = whole->retry_after_ms;
    part->reused = whole->reused;
    memcpy(part->timing_us, whole->timing_us, sizeof part->timing_us);
    part->attempts = row->attempts + request->asked;
    return part;
}

/* The error of a whole request as one row's, with a path into our question turned into one into the
 * set's. */
static int copy_error(deem_batch *batch, const deem_response *whole, deem_response *part) {
    int32_t question;
    dm_span rest;
    dm_packer_row_of_path(&batch->packer, dm_bytes_span(&whole->error.path), &question, &rest);
    dm_error_set(&part->error, whole->error.code, whole->error.reason, "%s",
                 whole->error.message.data != NULL ? whole->error.message.data : "");
    if (question >= 0 &&
        (dm_bytes_append_text(&part->error.path, "questions") != 0 ||
         dm_path_append_key(&part->error.path, batch->set->questions[question].key) != 0)) {
        return -1;
    }
    return dm_bytes_append(&part->error.path, rest.data, rest.len);
}

/* One row of a packed request is over. */
static int finish_part(deem_batch *batch, const dm_batch_request *request, uint32_t place,
                       const deem_response *whole) {
    dm_row *row = request->rows[place];
    deem_response *part = part_of(batch, request, row, whole);
    if (part == NULL) {
        return -1;
    }
    row->attempts = part->attempts;
    row->response = part;
    if (whole->error.code != DEEM_OK) {
        if (place == 0) {
            part->reply.input_tokens = whole->reply.input_tokens;
            part->reply.output_tokens = whole->reply.output_tokens;
            part->reply.cost = whole->reply.cost;
        }
        return copy_error(batch, whole, part);
    }
    return dm_part_write(&part->body, &whole->reply, batch->set, place * batch->set->question_count,
                         place == 0) != 0
               ? -1
               : dm_response_reread(part, batch->limits.check, &batch->index);
}

/* Gives the rows their answers, and the journal its record before anybody sees them. */
static int32_t finish(deem_batch *batch, dm_batch_request *request, deem_response **response) {
    if (request->packed) {
        for (uint32_t i = 0; i < request->count; i++) {
            if (finish_part(batch, request, i, *response) != 0) {
                return DEEM_E_MEMORY;
            }
        }
    } else {
        dm_row *row = request->rows[0];
        row->attempts += request->asked;
        row->response = *response;
        row->response->attempts = row->attempts;
        *response = batch->spare;
        batch->spare = NULL;
    }
    int32_t code = DEEM_OK;
    if (batch->journal.fd >= 0 &&
        dm_journal_append(&batch->journal, request->rows, request->count) != 0) {
        code = DEEM_E_CONFIG;
        if (dm_batch_stop(batch, code, "The batch stopped: the journal cannot be written.") != 0) {
            return DEEM_E_MEMORY;
        }
    }
    for (uint32_t i = 0; i < request->count; i++) {
        if (dm_batch_row_done(batch, request->rows[i]) != 0) {
            return DEEM_E_MEMORY;
        }
    }
    return code;
}

/* A 422 that names one row: that row fails, the others are asked again. 1 when it was so, 0 not, -1
 * no memory. */
static int drop_row(deem_batch *batch, dm_batch_request *request, const deem_response *response) {
    int32_t question;
    dm_span rest;
    int64_t bad = dm_packer_row_of_path(&batch->packer, dm_bytes_span(&response->error.path),
                                        &question, &rest);
    if (bad < 0 || bad >= request->count || request->count == 1) {
        return 0;
    }
    dm_row *row = request->rows[bad];
    if (finish_part(batch, request, (uint32_t)bad, response) != 0 ||
        dm_batch_row_done(batch, row) != 0) {
        return -1;
    }
    request->count--;
    memmove(&request->rows[bad], &request->rows[bad + 1],
            (request->count - (uint32_t)bad) * sizeof(dm_row *));
    batch->stats.splits++;
    batch->stats.retries++;
    return ask_again(batch, request, 0, request->count) != 0 ? -1 : 1;
}

/* Halves a pack that is too large. */
static int halve(deem_batch *batch, const dm_batch_request *request) {
    uint32_t half = request->count / 2;
    batch->stats.splits++;
    batch->stats.retries += 2;
    return ask_again(batch, request, 0, half) != 0 ||
                   ask_again(batch, request, half, request->count - half) != 0
               ? -1
               : 0;
}

/* An error that every request would get stops the batch after the first few. */
static int watch_errors(deem_batch *batch, const deem_response *response) {
    dm_span body = dm_bytes_span(&response->body);
    if (response->http_status >= 200 && response->http_status < 300) {
        batch->hits_all = 0;
    } else if (dm_error_body_hits_all(response->http_status, body) &&
               ++batch->hits_all == HITS_ALL_MOST) {
        dm_bytes_clear(&batch->scratch);
        if (dm_bytes_append_text(&batch->scratch,
                                 "The batch stopped, since every row would get: ") != 0 ||
            dm_bytes_append(&batch->scratch, response->error.message.data,
                            response->error.message.len) != 0) {
            return -1;
        }
        return dm_batch_stop(batch, response->error.code, batch->scratch.data);
    }
    return 0;
}

static int32_t settle(deem_batch *batch, dm_batch_request *request, deem_response **response,
                      int64_t now) {
    count_reply(batch, request, *response, now);
    if (retry(batch, request, *response, now)) {
        return DEEM_OK;
    }
    int32_t code = DEEM_OK;
    int going_on = request->packed && request->count > 1 && batch->stop.code == DEEM_OK;
    dm_span body = dm_bytes_span(&(*response)->body);
    int again = 0;
    if (going_on && dm_error_body_too_large((*response)->http_status, body)) {
        again = halve(batch, request) != 0 ? -1 : 1;
    } else if (going_on && (*response)->error.code == DEEM_E_HTTP_UNPROCESSABLE) {
        again = drop_row(batch, request, *response);
    }
    if (again < 0 || watch_errors(batch, *response) != 0) {
        code = DEEM_E_MEMORY;
    } else if (again == 0) {
        code = finish(batch, request, response);
    }
    dm_form_free_request(request);
    return code;
}

int32_t dm_batch_step(deem_batch *batch) {
    dm_event events[8];
    int rang;
    batch->rung = 0;
    dm_reactor_poll(&batch->reactor, events, sizeof events / sizeof *events, &rang);
    int32_t code = dm_engine_step(batch->client);
    deem_response *response = NULL;
    while (code == DEEM_OK) {
        uint64_t call = 0;
        if (response == NULL) {
            response = batch->spare;
            batch->spare = NULL;
        }
        code = dm_engine_next(batch->client, &batch->completions, &call, &response);
        if (code != DEEM_OK || call == 0) {
            break;
        }
        code = settle(batch, landed(batch, call), &response, dm_clock_now());
    }
    if (response != NULL && batch->spare == NULL) {
        batch->spare = response;
    } else {
        dm_response_free(response);
    }
    int64_t wake = DM_NEVER;
    int64_t now = dm_clock_now();
    if (code == DEEM_OK && batch->settings.rehearsal) {
        code = rehearse(batch) != 0 ? DEEM_E_MEMORY : DEEM_OK;
    } else if (code == DEEM_OK) {
        wake_waiting(batch, now, &wake);
        code = send_ready(batch, now, &wake) != 0 ? DEEM_E_MEMORY : DEEM_OK;
    }
    batch->stats.concurrency = batch->adaptive.limit;
    batch->stats.paused_ms = batch->limiter.paused_until > now
                                 ? (batch->limiter.paused_until - now) / DM_NS_PER_MS + 1
                                 : 0;
    dm_reactor_arm(&batch->reactor, wake, now);
    return code;
}
