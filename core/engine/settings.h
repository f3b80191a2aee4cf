/* What a client and a call are told: checked when set, merged when used. */
#ifndef DM_ENGINE_SETTINGS_H
#define DM_ENGINE_SETTINGS_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "http1/writer.h"

/* Statuses 0 to 599 as bits. */
typedef struct dm_status_set {
    uint64_t bits[10];
} dm_status_set;

/* The limits and the retry policy of a call. Times in milliseconds; 0 deadline or attempt: none. */
typedef struct dm_limits {
    int64_t deadline_ms;
    int64_t attempt_ms;
    int32_t max_retries;
    int32_t retry_flags; /* DEEM_RETRY_* */
    int64_t backoff_initial_ms;
    int64_t backoff_most_ms;
    double backoff_jitter;
    int64_t retry_after_cap_ms; /* 0: no cap but the deadline */
    dm_status_set retry_statuses;
    int32_t check; /* DEEM_CHECK_* */
} dm_limits;

/* Which members of a dm_limits were set. */
enum {
    DM_SET_DEADLINE = 1,
    DM_SET_ATTEMPT = 2,
    DM_SET_RETRIES = 4,
    DM_SET_BACKOFF = 8,
    DM_SET_FLAGS = 16,
    DM_SET_STATUSES = 32,
    DM_SET_CAP = 64,
    DM_SET_CHECK = 128
};

/* Limits under construction, with what the last setter refused. */
typedef struct dm_limits_draft {
    dm_limits limits;
    uint32_t set;
    dm_error error;
} dm_limits_draft;

/* A list of pairs of texts: headers, or fields of the request body. Owns its texts. */
typedef struct dm_pairs {
    dm_http1_field *items; /* each name and value is one block of its own */
    uint32_t count;
    uint32_t cap;
} dm_pairs;

/* The defaults of design section 5. */
extern const dm_limits dm_default_limits;

/* Each checks and sets; DEEM_OK, or DEEM_E_CONFIG with draft->error filled and nothing changed. */
int32_t dm_limits_set_deadline(dm_limits_draft *draft, int64_t ms);
int32_t dm_limits_set_attempt(dm_limits_draft *draft, int64_t ms);
int32_t dm_limits_set_retries(dm_limits_draft *draft, int32_t retries);
int32_t dm_limits_set_backoff(dm_limits_draft *draft, int64_t initial, int64_t most, double jitter);
int32_t dm_limits_set_flags(dm_limits_draft *draft, int32_t flags);
int32_t dm_limits_set_statuses(dm_limits_draft *draft, const int32_t *statuses, size_t count);
int32_t dm_limits_set_cap(dm_limits_draft *draft, int64_t ms);
int32_t dm_limits_set_check(dm_limits_draft *draft, int32_t check);

/* Writes what the draft has set over base. */
void dm_limits_merge(dm_limits *base, const dm_limits_draft *draft);

/* Whether the status is in the set. */
static inline int dm_status_set_has(const dm_status_set *set, int status) {
    return status >= 0 && status < 640 && (set->bits[status / 64] >> (status % 64) & 1) != 0;
}

/* Adds a pair, or replaces the value of one whose name is equal (case ignored when asked). 0 or -1
 * (no memory). */
int dm_pairs_put(dm_pairs *pairs, dm_span name, dm_span value, int ignore_case);

/* The value of a name (exact), or data NULL. */
dm_span dm_pairs_get(const dm_pairs *pairs, dm_span name);

/* Empties the list, and wipes nothing: no secrets belong here. */
void dm_pairs_clear(dm_pairs *pairs);

/* Empties the list and gives all memory back. */
void dm_pairs_free(dm_pairs *pairs);

/* Whether the library alone sets this header (wire contract section 1.2). */
int dm_header_is_protected(dm_span name);

/* Checks a header and puts it; a protected one is accepted and left out. DEEM_OK, DEEM_E_CONFIG
 * with error filled, or DEEM_E_MEMORY. */
int32_t dm_header_put(dm_pairs *headers, dm_span name, dm_span value, dm_error *error);

/* Checks that a text is UTF-8 without control bytes and not empty, for settings that go into a
 * header or a body. DEEM_OK or code with error filled ("the WHAT ..."). */
int32_t dm_text_setting_check(dm_span text, const char *what, int32_t code, dm_error *error);

#endif
