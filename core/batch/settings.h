/* The public deem_batch_settings as the batch sees it. */
#ifndef DM_BATCH_SETTINGS_H
#define DM_BATCH_SETTINGS_H

#include "base/error.h"
#include "deemster.h"
#include "engine/options.h"

/* Where a pack is cut. */
typedef struct dm_pack_limits {
    int64_t rows;
    int64_t questions; /* of one request */
    int64_t bytes;     /* of state and questions together */
    int64_t tokens;    /* of state and all questions, by a pessimistic estimate */
    int64_t half;      /* of state and the longest question, likewise */
} dm_pack_limits;

typedef struct deem_batch_settings {
    dm_error error;
    deem_options options; /* of every request; owned texts and pairs */
    int64_t requests, requests_ms;
    int64_t tokens, tokens_ms;
    int32_t concurrency;
    int64_t window_rows;
    int64_t window_bytes;
    int32_t ordered;
    int64_t dedupe_rows; /* 0: rows are never compared */
    int32_t shape;       /* DEEM_PACK_* */
    dm_pack_limits pack;
    int32_t shuffle;
    uint64_t seed;
    dm_text_setting journal;
    int32_t resume;
    int64_t most_tokens; /* 0: no cap */
    int32_t rehearsal;
} deem_batch_settings;

/* Writes the defaults. */
void dm_batch_settings_init(deem_batch_settings *settings);

/* Gives the memory of what it holds back, not its own. */
void dm_batch_settings_wipe(deem_batch_settings *settings);

/* Copies everything but the error. 0 or -1 (no memory). */
int dm_batch_settings_copy(deem_batch_settings *to, const deem_batch_settings *from);

/* Copies the settings of a call: model, limits, headers, fields. 0 or -1 (no memory). */
int dm_options_copy(deem_options *to, const deem_options *from);

#endif
