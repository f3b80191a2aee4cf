#include "batch/batch.h"

#include <math.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "protocol/request.h"
#include "json/write.h"

/* ---- birth and death ---- */

static dm_span model_of(const deem_batch *batch) {
    if (batch->settings.options.model.is_set) {
        return dm_bytes_span(&batch->settings.options.model.text);
    }
    return batch->set->model.len != 0 ? batch->set->model : dm_bytes_span(&batch->client->model);
}

static int32_t open_journal(deem_batch *batch, dm_error *error) {
    const deem_batch_settings *settings = &batch->settings;
    dm_span path = dm_bytes_span(&settings->journal.text);
    if (path.len == 0) {
        return DEEM_OK;
    }
    dm_journal_key key = {.identity = dm_plan_identity(batch->set),
                          .model = model_of(batch),
                          .shape = settings->shape,
                          .pack_rows = settings->shape == DEEM_PACK_NONE ? 1 : settings->pack.rows,
                          .shuffle = settings->shuffle,
                          .seed = settings->seed};
    return dm_journal_open(&batch->journal, path, settings->resume, &key, error);
}

static int32_t prepare(deem_batch *batch, dm_error *error) {
    deem_batch_settings *settings = &batch->settings;
    int fd;
    int32_t code = dm_engine_descriptor(batch->client, &fd);
    if (code != DEEM_OK) {
        return code;
    }
    if (dm_reactor_open(&batch->reactor) != 0 ||
        dm_reactor_watch(&batch->reactor, fd, DM_WATCH_READ) != 0) {
        return DEEM_E_CONNECTION;
    }
    if (dm_dedupe_init(&batch->dedupe, (uint32_t)settings->dedupe_rows) != 0 ||
        (settings->shape != DEEM_PACK_NONE &&
         dm_packer_init(&batch->packer, batch->set, settings->shape) != 0)) {
        return DEEM_E_MEMORY;
    }
    dm_limiter_init(&batch->limiter, settings->requests, settings->requests_ms, settings->tokens,
                    settings->tokens_ms);
    dm_adaptive_init(&batch->adaptive, settings->concurrency, dm_clock_now());
    batch->limits = batch->client->limits;
    dm_limits_merge(&batch->limits, &settings->options.draft);
    batch->random = (uint64_t)dm_clock_now() | 1;
    return open_journal(batch, error);
}

int32_t dm_batch_new(deem_client *client, deem_question_set *set, deem_batch_settings *settings,
                     deem_batch **out) {
    if (client->transport_kind == DEEM_TRANSPORT_CURL) {
        return DEEM_E_UNSUPPORTED;
    }
    deem_batch *batch = dm_alloc_zero(sizeof *batch);
    if (batch == NULL) {
        return DEEM_E_MEMORY;
    }
    batch->reactor = (dm_reactor){.descriptor = -1, .alarm = -1, .bell = -1};
    batch->journal.fd = -1;
    batch->stats.cost = NAN;
    dm_json_index_init(&batch->index, DM_JSON_BY_DEFAULT);
    dm_client_ref(client);
    batch->client = client;
    dm_plan_ref(set);
    batch->set = set;
    dm_error_clear(&settings->error);
    int32_t code = dm_batch_settings_copy(&batch->settings, settings) != 0
                       ? DEEM_E_MEMORY
                       : prepare(batch, &settings->error);
    if (code != DEEM_OK) {
        dm_batch_free(batch);
        return code;
    }
    *out = batch;
    return DEEM_OK;
}

static void free_list(dm_request_list *list) {
    for (dm_batch_request *request; (request = dm_requests_pop(list)) != NULL;) {
        dm_form_free_request(request);
    }
}

/* Waits for what is in flight to be over, which a cancelled call is at the next step. */
static void land_all(deem_batch *batch) {
    deem_response *response = NULL;
    int32_t left = batch->stats.in_flight;
    while (left > 0) {
        uint64_t id = 0;
        if (dm_engine_step(batch->client) != DEEM_OK) {
            sched_yield();
        }
        while (dm_engine_next(batch->client, &batch->completions, &id, &response) == DEEM_OK &&
               id != 0) {
            left--;
        }
    }
    dm_response_free(response);
}

void dm_batch_free(deem_batch *batch) {
    for (dm_batch_request *request = batch->flying.first; request != NULL;
         request = request->next) {
        dm_client_cancel(batch->client, request->call);
    }
    land_all(batch);
    free_list(&batch->flying);
    free_list(&batch->ready);
    free_list(&batch->waiting);
    dm_form_free(batch);
    for (dm_row *row; (row = dm_dedupe_pop(&batch->dedupe)) != NULL;) {
        if (row->delivered) {
            dm_row_free(row);
        }
    }
    dm_dedupe_free(&batch->dedupe);
    for (dm_row *row = batch->first; row != NULL;) {
        dm_row *after = row->after;
        dm_row_free(row);
        row = after;
    }
    dm_journal_close(&batch->journal);
    dm_packer_free(&batch->packer);
    dm_response_free(batch->spare);
    dm_json_index_free(&batch->index);
    dm_reactor_close(&batch->reactor);
    dm_bytes_free(&batch->scratch);
    dm_error_free(&batch->stop);
    dm_batch_settings_wipe(&batch->settings);
    dm_plan_unref(batch->set);
    dm_client_unref(batch->client);
    dm_free(batch);
}

/* ---- rows that are done ---- */

/* An equal row takes the answers of the first, but not its tokens: they were paid once. */
static int follow(deem_batch *batch, const dm_row *leader, dm_row *row) {
    row->response = dm_response_new();
    if (row->response == NULL || dm_response_copy(row->response, leader->response,
                                                  batch->limits.check, &batch->index) != 0) {
        return -1;
    }
    row->response->reply.input_tokens = -1;
    row->response->reply.output_tokens = -1;
    row->response->reply.cost = NAN;
    row->place = leader->place;
    row->attempts = leader->attempts;
    row->flags |= DEEM_ROW_DUPLICATE | (leader->flags & DEEM_ROW_UNSENT);
    return dm_batch_row_done(batch, row);
}

int dm_batch_row_done(deem_batch *batch, dm_row *row) {
    row->done = 1;
    batch->bytes_held -= (int64_t)row->state.len;
    dm_bytes_free(&row->state);
    batch->stats.done++;
    batch->stats.failed += row->response->error.code != DEEM_OK;
    batch->stats.restored += (row->flags & DEEM_ROW_RESTORED) != 0;
    batch->stats.duplicates += (row->flags & DEEM_ROW_DUPLICATE) != 0;
    batch->stats.unsent += (row->flags & DEEM_ROW_UNSENT) != 0;
    if (!batch->settings.ordered) {
        *(batch->last_finished != NULL ? &batch->last_finished->next_finished
                                       : &batch->first_finished) = row;
        batch->last_finished = row;
    }
    while (row->followers != NULL) {
        dm_row *follower = row->followers;
        row->followers = follower->next;
        follower->next = NULL;
        if (follow(batch, row, follower) != 0) {
            return -1;
        }
    }
    return 0;
}

int dm_batch_row_fail(deem_batch *batch, dm_row *row, int32_t code, dm_span message) {
    deem_response *response = dm_response_new();
    if (response == NULL) {
        return -1;
    }
    row->response = response;
    dm_response_begin(response, batch->set);
    response->has_answers = 1;
    response->attempts = row->attempts;
    dm_error_set(&response->error, code, 0, "%s", "");
    return dm_bytes_append(&response->error.message, message.data, message.len) != 0 ||
                   dm_answers_begin(&response->reply.answers, batch->set) != 0
               ? -1
               : dm_batch_row_done(batch, row);
}

static void take_out(deem_batch *batch, dm_row *row) {
    *(row->before != NULL ? &row->before->after : &batch->first) = row->after;
    *(row->after != NULL ? &row->after->before : &batch->last) = row->before;
    batch->held--;
    row->delivered = 1;
}

static void fill_record(const dm_row *row, deem_batch_row *out) {
    *out = (deem_batch_row){.position = row->position,
                            .tag = row->tag,
                            .pack = row->place.pack,
                            .place = row->place.place,
                            .size = row->place.size,
                            .shape = row->place.shape,
                            .flags = row->flags};
}

int32_t dm_batch_next(deem_batch *batch, deem_batch_row *record, deem_response **response) {
    dm_row *row = batch->settings.ordered ? batch->first : batch->first_finished;
    if (row == NULL || !row->done) {
        return DEEM_E_ABSENT;
    }
    if (row->known) {
        deem_response *copy = *response != NULL ? *response : dm_response_new();
        if (copy == NULL ||
            dm_response_copy(copy, row->response, batch->limits.check, &batch->index) != 0) {
            if (copy != *response) {
                dm_response_free(copy);
            }
            return DEEM_E_MEMORY;
        }
        *response = copy;
    } else {
        dm_response_hand_over(&row->response, response);
        if (batch->spare == NULL) {
            batch->spare = row->response;
            row->response = NULL;
        }
    }
    fill_record(row, record);
    if (!batch->settings.ordered) {
        batch->first_finished = row->next_finished;
        if (batch->first_finished == NULL) {
            batch->last_finished = NULL;
        }
    }
    take_out(batch, row);
    if (!row->known) {
        dm_row_free(row);
    }
    return DEEM_OK;
}

/* There is work for a step that no reply will announce. */
static void announce(deem_batch *batch) {
    if (!batch->rung) {
        batch->rung = 1;
        dm_reactor_ring(&batch->reactor);
    }
}

int dm_batch_finish(deem_batch *batch) {
    batch->finished = 1;
    announce(batch);
    return dm_form_close_all(batch);
}

/* ---- rows that come ---- */

size_t dm_batch_room(const deem_batch *batch) {
    int full = batch->finished || batch->held >= (uint64_t)batch->settings.window_rows ||
               batch->bytes_held >= batch->settings.window_bytes;
    return full ? 0 : (size_t)((uint64_t)batch->settings.window_rows - batch->held);
}

static dm_row *new_row(deem_batch *batch, uint64_t tag) {
    dm_row *row = dm_row_new();
    if (row != NULL) {
        row->position = batch->stats.pushed++;
        row->tag = tag;
        row->bytes_before = batch->bytes_pushed;
        row->before = batch->last;
        *(batch->last != NULL ? &batch->last->after : &batch->first) = row;
        batch->last = row;
        batch->held++;
    }
    return row;
}

/* A packed row is JSON inside a larger document, text too. */
static int keep_state(deem_batch *batch, dm_row *row, dm_span state, int is_json) {
    row->is_json = is_json || batch->settings.shape != DEEM_PACK_NONE;
    int failed = row->is_json && !is_json
                     ? dm_json_write_string(&row->state, state) != 0
                     : dm_bytes_append(&row->state, state.data, state.len) != 0;
    batch->bytes_pushed += row->state.len;
    batch->bytes_held += (int64_t)row->state.len;
    return failed ? -1 : 0;
}

/* Whether an earlier row answers for this one: 1 yes (the row is taken care of), 0 no, -1 no
 * memory.
 */
static int find_equal(deem_batch *batch, dm_row *row) {
    dm_row *equal = dm_dedupe_find(&batch->dedupe, row->digest);
    if (equal == NULL) {
        dm_row *gone = dm_dedupe_add(&batch->dedupe, row);
        if (gone != NULL && gone->delivered) {
            dm_row_free(gone);
        }
        return 0;
    }
    if (equal->done) {
        return follow(batch, equal, row) != 0 ? -1 : 1;
    }
    dm_row **at = &equal->followers;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = row;
    return 1;
}

static int32_t add(deem_batch *batch, dm_row *row, dm_span group) {
    int restored = 0;
    if (batch->settings.dedupe_rows > 0 || batch->journal.fd >= 0) {
        if (dm_row_digest(row, group) != 0) {
            return DEEM_E_MEMORY;
        }
        int equal = batch->settings.dedupe_rows > 0 ? find_equal(batch, row) : 0;
        if (equal != 0) {
            return equal < 0 ? DEEM_E_MEMORY : DEEM_OK;
        }
    }
    if (batch->journal.fd >= 0) {
        restored = dm_journal_restore(&batch->journal, row, batch->set, batch->limits.check,
                                      &batch->index);
        row->flags |= restored == 1 ? DEEM_ROW_RESTORED : 0;
    }
    if (restored < 0) {
        return DEEM_E_MEMORY;
    }
    if (batch->stop.code != DEEM_OK && restored == 0) {
        row->flags |= DEEM_ROW_UNSENT;
        return dm_batch_row_fail(batch, row, DEEM_E_CANCELLED,
                                 dm_bytes_span(&batch->stop.message)) != 0
                   ? DEEM_E_MEMORY
                   : DEEM_OK;
    }
    if (dm_form_add(batch, row, group) != 0 ||
        (restored == 1 && dm_batch_row_done(batch, row) != 0)) {
        return DEEM_E_MEMORY;
    }
    return DEEM_OK;
}

int32_t dm_batch_push(deem_batch *batch, dm_span state, int is_json, dm_span group, uint64_t tag,
                      dm_span message) {
    if (dm_batch_room(batch) == 0) {
        return DEEM_E_MISUSE;
    }
    dm_row *row = new_row(batch, tag);
    if (row == NULL) {
        return DEEM_E_MEMORY;
    }
    dm_error error = {0};
    int32_t code = DEEM_E_STATE;
    if (message.data == NULL) {
        code = dm_request_check_state(state, is_json, &error);
        message = dm_bytes_span(&error.message);
    }
    if (code != DEEM_OK) {
        code = dm_batch_row_fail(batch, row, code, message) != 0 ? DEEM_E_MEMORY : DEEM_OK;
    } else if (keep_state(batch, row, state, is_json) != 0) {
        code = DEEM_E_MEMORY;
    } else {
        code = add(batch, row, group);
    }
    dm_error_free(&error);
    announce(batch);
    return code;
}

/* ---- the end ---- */

static int fail_unsent(deem_batch *batch, dm_row *row) {
    row->flags |= DEEM_ROW_UNSENT;
    return dm_batch_row_fail(batch, row, DEEM_E_CANCELLED, dm_bytes_span(&batch->stop.message));
}

static int fail_requests(deem_batch *batch, dm_request_list *list) {
    int failed = 0;
    for (dm_batch_request *request; (request = dm_requests_pop(list)) != NULL;) {
        for (uint32_t i = 0; i < request->count && !failed; i++) {
            failed = fail_unsent(batch, request->rows[i]) != 0;
        }
        dm_form_free_request(request);
    }
    return failed;
}

int dm_batch_stop(deem_batch *batch, int32_t code, const char *sentence) {
    if (batch->stop.code != DEEM_OK) {
        return 0;
    }
    dm_error_set(&batch->stop, code, 0, "%s", sentence);
    batch->stats.stopped = code;
    announce(batch);
    int failed =
        fail_requests(batch, &batch->ready) != 0 || fail_requests(batch, &batch->waiting) != 0;
    for (uint32_t i = 0; i < batch->open_count; i++) {
        for (uint32_t k = 0; k < batch->open[i].count && !failed; k++) {
            dm_row *row = batch->open[i].entries[k].row;
            failed = row != NULL && fail_unsent(batch, row) != 0;
        }
    }
    dm_form_free(batch);
    return failed ? -1 : 0;
}
