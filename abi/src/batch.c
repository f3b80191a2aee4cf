/* deem_batch_*: checks handles and ranges, hands on to core/batch. */
#include "batch/batch.h"

#include "base/alloc.h"
#include "deemster_experimental.h"
#include "out.h"
#include "text_setting.h"

_Static_assert(sizeof(deem_batch_row) == 64, "the record's size is part of the ABI");
_Static_assert(sizeof(deem_batch_stats) == 192, "the record's size is part of the ABI");

#define DAY_MS       INT64_C(86400000)
#define MOST_ROWS    INT64_C(16777216)
#define MOST_PACK    INT64_C(65536)
#define MOST_AT_ONCE 65536

int32_t deem_batch_settings_new(deem_batch_settings **settings) {
    DM_OUT(settings, NULL);
    if (settings == NULL) {
        return DEEM_E_MISUSE;
    }
    deem_batch_settings *made = dm_alloc(sizeof *made);
    if (made == NULL) {
        return DEEM_E_MEMORY;
    }
    dm_batch_settings_init(made);
    *settings = made;
    return DEEM_OK;
}

void deem_batch_settings_free(deem_batch_settings *settings) {
    if (settings != NULL) {
        dm_batch_settings_wipe(settings);
        dm_free(settings);
    }
}

int32_t deem_batch_settings_error(const deem_batch_settings *settings, const char **message,
                                  size_t *len) {
    if (settings == NULL) {
        dm_out_text(dm_span_of(NULL, 0), message, len);
        return DEEM_E_MISUSE;
    }
    dm_out_error_text(&settings->error, message, len);
    return DEEM_OK;
}

/* Sets *to, or refuses a number outside the range. */
static int32_t set_number(deem_batch_settings *settings, int64_t *to, const char *what,
                          int64_t value, int64_t least, int64_t most) {
    if (settings == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_error_clear(&settings->error);
    if (value < least || value > most) {
        return dm_error_set(&settings->error, DEEM_E_CONFIG, 0, "%s must be %lld to %lld.", what,
                            (long long)least, (long long)most);
    }
    *to = value;
    return DEEM_OK;
}

static int32_t set_pair(deem_batch_settings *settings, int64_t *to, int64_t *per, const char *what,
                        int64_t value, int64_t milliseconds) {
    int64_t window = 0;
    int32_t code =
        set_number(settings, &window, "The window in milliseconds", milliseconds, 1, DAY_MS);
    code = code != DEEM_OK ? code : set_number(settings, to, what, value, 0, INT64_MAX / 1000);
    if (code == DEEM_OK) {
        *per = window;
    }
    return code;
}

int32_t deem_batch_settings_set_options(deem_batch_settings *settings,
                                        const deem_options *options) {
    if (settings == NULL || options == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_error_clear(&settings->error);
    return dm_options_copy(&settings->options, options) != 0 ? DEEM_E_MEMORY : DEEM_OK;
}

int32_t deem_batch_settings_set_requests(deem_batch_settings *settings, int64_t requests,
                                         int64_t milliseconds) {
    return settings == NULL ? DEEM_E_MISUSE
                            : set_pair(settings, &settings->requests, &settings->requests_ms,
                                       "The number of requests", requests, milliseconds);
}

int32_t deem_batch_settings_set_tokens(deem_batch_settings *settings, int64_t tokens,
                                       int64_t milliseconds) {
    return settings == NULL ? DEEM_E_MISUSE
                            : set_pair(settings, &settings->tokens, &settings->tokens_ms,
                                       "The number of tokens", tokens, milliseconds);
}

int32_t deem_batch_settings_set_concurrency(deem_batch_settings *settings, int32_t requests) {
    int64_t value = 0;
    int32_t code =
        set_number(settings, &value, "The requests in flight", requests, 1, MOST_AT_ONCE);
    if (code == DEEM_OK) {
        settings->concurrency = (int32_t)value;
    }
    return code;
}

int32_t deem_batch_settings_set_window(deem_batch_settings *settings, int64_t rows, int64_t bytes) {
    int64_t window = 0;
    int32_t code = set_number(settings, &window, "The rows held", rows, 2, MOST_ROWS);
    code = code != DEEM_OK ? code
                           : set_number(settings, &settings->window_bytes, "The bytes held", bytes,
                                        1024, INT64_MAX / 4);
    if (code == DEEM_OK) {
        settings->window_rows = window;
    }
    return code;
}

static int32_t set_switch(deem_batch_settings *settings, int32_t *to, const char *what,
                          int32_t value) {
    int64_t checked = 0;
    int32_t code = set_number(settings, &checked, what, value, 0, 1);
    if (code == DEEM_OK) {
        *to = (int32_t)checked;
    }
    return code;
}

int32_t deem_batch_settings_set_ordered(deem_batch_settings *settings, int32_t ordered) {
    return settings == NULL ? DEEM_E_MISUSE
                            : set_switch(settings, &settings->ordered, "ordered", ordered);
}

int32_t deem_batch_settings_set_dedupe(deem_batch_settings *settings, int64_t rows) {
    return settings == NULL ? DEEM_E_MISUSE
                            : set_number(settings, &settings->dedupe_rows,
                                         "The rows compared for equality", rows, 0, MOST_ROWS);
}

int32_t deem_batch_settings_set_pack(deem_batch_settings *settings, int32_t shape, int64_t rows) {
    int64_t checked = 0;
    int32_t code = set_number(settings, &checked, "The shape of packs", shape, DEEM_PACK_NONE,
                              DEEM_PACK_STATE);
    code = code != DEEM_OK ? code
                           : set_number(settings, &settings->pack.rows, "The rows of a pack", rows,
                                        1, MOST_PACK);
    if (code == DEEM_OK) {
        settings->shape = (int32_t)checked;
    }
    return code;
}

int32_t deem_batch_settings_set_pack_limits(deem_batch_settings *settings, int64_t questions,
                                            int64_t bytes, int64_t tokens, int64_t half) {
    if (settings == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_pack_limits limits = settings->pack;
    const int64_t most = INT64_MAX / 4;
    int32_t code =
        set_number(settings, &limits.questions, "The questions of a request", questions, 1, most);
    code = code != DEEM_OK
               ? code
               : set_number(settings, &limits.bytes, "The bytes of a request", bytes, 1, most);
    code = code != DEEM_OK
               ? code
               : set_number(settings, &limits.tokens, "The tokens of a request", tokens, 1, most);
    code = code != DEEM_OK ? code
                           : set_number(settings, &limits.half,
                                        "The tokens of state and longest question", half, 1, most);
    if (code == DEEM_OK) {
        settings->pack = limits;
    }
    return code;
}

int32_t deem_batch_settings_set_pack_shuffle(deem_batch_settings *settings, uint64_t seed) {
    if (settings == NULL) {
        return DEEM_E_MISUSE;
    }
    settings->shuffle = 1;
    settings->seed = seed;
    return DEEM_OK;
}

int32_t deem_batch_settings_set_journal(deem_batch_settings *settings, const char *path, size_t len,
                                        int32_t resume) {
    if (settings == NULL || (path == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    int32_t code = set_switch(settings, &settings->resume, "resume", resume);
    if (code == DEEM_OK && len != 0 && memchr(path, '\0', len) != NULL) {
        code = dm_error_set(&settings->error, DEEM_E_CONFIG, 0,
                            "The journal's path holds a zero byte.");
    }
    return code != DEEM_OK
               ? code
               : dm_text_setting_put(&settings->journal, dm_span_of(path, len), &settings->error);
}

int32_t deem_batch_settings_set_most_tokens(deem_batch_settings *settings, int64_t tokens) {
    return settings == NULL ? DEEM_E_MISUSE
                            : set_number(settings, &settings->most_tokens, "The cap on tokens",
                                         tokens, 0, INT64_MAX / 4);
}

int32_t deem_batch_settings_set_rehearsal(deem_batch_settings *settings, int32_t rehearsal) {
    return settings == NULL ? DEEM_E_MISUSE
                            : set_switch(settings, &settings->rehearsal, "rehearsal", rehearsal);
}

int32_t deem_batch_new(deem_client *client, deem_question_set *set, deem_batch_settings *settings,
                       deem_batch **batch) {
    DM_OUT(batch, NULL);
    if (client == NULL || set == NULL || batch == NULL) {
        return DEEM_E_MISUSE;
    }
    if (settings != NULL) {
        return dm_batch_new(client, set, settings, batch);
    }
    deem_batch_settings defaults;
    dm_batch_settings_init(&defaults);
    int32_t code = dm_batch_new(client, set, &defaults, batch);
    dm_batch_settings_wipe(&defaults);
    return code;
}

void deem_batch_free(deem_batch *batch) {
    if (batch != NULL) {
        dm_batch_free(batch);
    }
}

int32_t deem_batch_room(const deem_batch *batch, size_t *rows) {
    DM_OUT(rows, batch == NULL ? 0 : dm_batch_room(batch));
    return batch == NULL ? DEEM_E_MISUSE : DEEM_OK;
}

static int32_t push(deem_batch *batch, const char *state, size_t len, int is_json,
                    const char *group, size_t group_len, uint64_t tag) {
    if (batch == NULL || (state == NULL && len != 0) || (group == NULL && group_len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_batch_push(batch, dm_span_of(state, len), is_json, dm_span_of(group, group_len), tag,
                         dm_span_of(NULL, 0));
}

int32_t deem_batch_push_text(deem_batch *batch, const char *text, size_t len, const char *group,
                             size_t group_len, uint64_t tag) {
    return push(batch, text, len, 0, group, group_len, tag);
}

int32_t deem_batch_push_json(deem_batch *batch, const char *json, size_t len, const char *group,
                             size_t group_len, uint64_t tag) {
    return push(batch, json, len, 1, group, group_len, tag);
}

int32_t deem_batch_push_error(deem_batch *batch, const char *message, size_t len, uint64_t tag) {
    if (batch == NULL || (message == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_span sentence = message == NULL ? dm_span_of("", 0) : dm_span_of(message, len);
    return dm_batch_push(batch, dm_span_of(NULL, 0), 0, dm_span_of(NULL, 0), tag, sentence);
}

int32_t deem_batch_finish(deem_batch *batch) {
    if (batch == NULL) {
        return DEEM_E_MISUSE;
    }
    return dm_batch_finish(batch) != 0 ? DEEM_E_MEMORY : DEEM_OK;
}

int32_t deem_batch_fd(const deem_batch *batch, int32_t *fd) {
    DM_OUT(fd, batch == NULL ? -1 : batch->reactor.descriptor);
    return batch == NULL ? DEEM_E_MISUSE : DEEM_OK;
}

int32_t deem_batch_step(deem_batch *batch) {
    return batch == NULL ? DEEM_E_MISUSE : dm_batch_step(batch);
}

/* Copies a record of ours into the caller's, whose size may be another. */
static void copy_record(void *to, size_t to_size, const void *from, size_t from_size) {
    size_t copied = to_size < from_size ? to_size : from_size;
    memcpy(to, from, copied);
    memset((char *)to + copied, 0, to_size - copied);
}

int32_t deem_batch_next(deem_batch *batch, void *row, size_t row_size, deem_response **response) {
    if (batch == NULL || row == NULL || row_size < sizeof(deem_batch_row) || row_size % 8 != 0 ||
        response == NULL) {
        return DEEM_E_MISUSE;
    }
    deem_batch_row record = {0};
    int32_t code = dm_batch_next(batch, &record, response);
    copy_record(row, row_size, &record, sizeof record);
    return code;
}

int32_t deem_batch_stop(deem_batch *batch) {
    if (batch == NULL) {
        return DEEM_E_MISUSE;
    }
    return dm_batch_stop(batch, DEEM_E_CANCELLED, "The batch was stopped.") != 0 ? DEEM_E_MEMORY
                                                                                 : DEEM_OK;
}

int32_t deem_batch_cancel(deem_batch *batch) {
    int32_t code = deem_batch_stop(batch);
    if (batch != NULL) {
        for (dm_batch_request *request = batch->flying.first; request != NULL;
             request = request->next) {
            dm_client_cancel(batch->client, request->call);
        }
    }
    return code;
}

int32_t deem_batch_stats_read(const deem_batch *batch, void *stats, size_t stats_size) {
    if (batch == NULL || stats == NULL || stats_size < sizeof(deem_batch_stats) ||
        stats_size % 8 != 0) {
        return DEEM_E_MISUSE;
    }
    copy_record(stats, stats_size, &batch->stats, sizeof batch->stats);
    return DEEM_OK;
}

int32_t deem_batch_warning(const deem_batch *batch, size_t index, const char **text, size_t *len) {
    int there = batch != NULL && index < batch->packer.warning_count;
    dm_out_text(there ? dm_bytes_span(&batch->packer.warnings[index]) : dm_span_of(NULL, 0), text,
                len);
    return there ? DEEM_OK : batch == NULL ? DEEM_E_MISUSE : DEEM_E_ABSENT;
}
