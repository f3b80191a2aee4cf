#include "engine/settings.h"

#include "base/alloc.h"
#include "base/text.h"
#include "deemster.h"
#include "protocol/names.h"

/* Longer than any wait that makes sense, short enough that nanoseconds never overflow. */
#define MOST_MS INT64_C(31536000000)
#define HOUR_MS INT64_C(3600000)

/* 408, 429 and 500 to 599. */
const dm_limits dm_default_limits = {
    .deadline_ms = 30000,
    .attempt_ms = 10000,
    .max_retries = 2,
    .retry_flags = DEEM_RETRY_CONNECTION | DEEM_RETRY_TIMEOUT | DEEM_RETRY_OBEY_SERVER,
    .backoff_initial_ms = 500,
    .backoff_most_ms = 5000,
    .backoff_jitter = 0.25,
    .retry_after_cap_ms = 0,
    .retry_statuses = {{0, 0, 0, 0, 0, 0, UINT64_C(1) << (408 - 384) | UINT64_C(1) << (429 - 384),
                        ~UINT64_C(0) << (500 - 448), ~UINT64_C(0), ~UINT64_C(0) >> (639 - 599)}},
    .check = DEEM_CHECK_STRICT,
};

static int32_t refuse(dm_limits_draft *draft, const char *sentence) {
    return dm_error_set(&draft->error, DEEM_E_CONFIG, 0, "%s", sentence);
}

static int32_t accept(dm_limits_draft *draft, uint32_t member) {
    dm_error_clear(&draft->error);
    draft->set |= member;
    return DEEM_OK;
}

int32_t dm_limits_set_deadline(dm_limits_draft *draft, int64_t ms) {
    if (ms < 0 || ms > MOST_MS) {
        return refuse(draft, "The deadline must be 0 (none) to 31536000000 milliseconds.");
    }
    draft->limits.deadline_ms = ms;
    return accept(draft, DM_SET_DEADLINE);
}

int32_t dm_limits_set_attempt(dm_limits_draft *draft, int64_t ms) {
    if (ms < 0 || ms > MOST_MS) {
        return refuse(draft, "The attempt limit must be 0 (none) to 31536000000 milliseconds.");
    }
    draft->limits.attempt_ms = ms;
    return accept(draft, DM_SET_ATTEMPT);
}

int32_t dm_limits_set_retries(dm_limits_draft *draft, int32_t retries) {
    if (retries < 0 || retries > 100) {
        return refuse(draft, "The number of retries must be 0 to 100.");
    }
    draft->limits.max_retries = retries;
    return accept(draft, DM_SET_RETRIES);
}

int32_t dm_limits_set_backoff(dm_limits_draft *draft, int64_t initial, int64_t most,
                              double jitter) {
    if (initial < 0 || initial > HOUR_MS || most < 0 || most > HOUR_MS) {
        return refuse(draft, "The waits between attempts must be 0 to 3600000 milliseconds.");
    }
    if (!(jitter >= 0 && jitter <= 1)) {
        return refuse(draft, "The jitter must be 0 to 1.");
    }
    draft->limits.backoff_initial_ms = initial;
    draft->limits.backoff_most_ms = most;
    draft->limits.backoff_jitter = jitter;
    return accept(draft, DM_SET_BACKOFF);
}

int32_t dm_limits_set_flags(dm_limits_draft *draft, int32_t flags) {
    const int32_t known = DEEM_RETRY_CONNECTION | DEEM_RETRY_TIMEOUT | DEEM_RETRY_OBEY_SERVER |
                          DEEM_RETRY_ONLY_UNSENT;
    if ((flags & ~known) != 0) {
        return refuse(draft, "Unknown retry flags: combine DEEM_RETRY_* bits alone.");
    }
    draft->limits.retry_flags = flags;
    return accept(draft, DM_SET_FLAGS);
}

int32_t dm_limits_set_statuses(dm_limits_draft *draft, const int32_t *statuses, size_t count) {
    dm_status_set set = {{0}};
    if (count > 300 || (count > 0 && statuses == NULL)) {
        return refuse(draft, "At most 300 statuses can be given.");
    }
    for (size_t i = 0; i < count; i++) {
        if (statuses[i] < 300 || statuses[i] > 599) {
            return refuse(draft, "A status to retry must be 300 to 599.");
        }
        set.bits[statuses[i] / 64] |= UINT64_C(1) << (statuses[i] % 64);
    }
    draft->limits.retry_statuses = set;
    return accept(draft, DM_SET_STATUSES);
}

int32_t dm_limits_set_cap(dm_limits_draft *draft, int64_t ms) {
    if (ms < 0 || ms > MOST_MS) {
        return refuse(draft,
                      "The cap on Retry-After must be 0 (none) to 31536000000 milliseconds.");
    }
    draft->limits.retry_after_cap_ms = ms;
    return accept(draft, DM_SET_CAP);
}

int32_t dm_limits_set_check(dm_limits_draft *draft, int32_t check) {
    if (check != DEEM_CHECK_STRICT && check != DEEM_CHECK_LENIENT) {
        return refuse(draft, "The check must be DEEM_CHECK_STRICT or DEEM_CHECK_LENIENT.");
    }
    draft->limits.check = check;
    return accept(draft, DM_SET_CHECK);
}

void dm_limits_merge(dm_limits *base, const dm_limits_draft *draft) {
    const dm_limits *from = &draft->limits;
    if ((draft->set & DM_SET_DEADLINE) != 0) {
        base->deadline_ms = from->deadline_ms;
    }
    if ((draft->set & DM_SET_ATTEMPT) != 0) {
        base->attempt_ms = from->attempt_ms;
    }
    if ((draft->set & DM_SET_RETRIES) != 0) {
        base->max_retries = from->max_retries;
    }
    if ((draft->set & DM_SET_BACKOFF) != 0) {
        base->backoff_initial_ms = from->backoff_initial_ms;
        base->backoff_most_ms = from->backoff_most_ms;
        base->backoff_jitter = from->backoff_jitter;
    }
    if ((draft->set & DM_SET_FLAGS) != 0) {
        base->retry_flags = from->retry_flags;
    }
    if ((draft->set & DM_SET_STATUSES) != 0) {
        base->retry_statuses = from->retry_statuses;
    }
    if ((draft->set & DM_SET_CAP) != 0) {
        base->retry_after_cap_ms = from->retry_after_cap_ms;
    }
    if ((draft->set & DM_SET_CHECK) != 0) {
        base->check = from->check;
    }
}

static int make_pair(dm_http1_field *pair, dm_span name, dm_span value) {
    char *block = dm_alloc(name.len + value.len + 2);
    if (block == NULL) {
        return -1;
    }
    char *copy = block + name.len + 1;
    if (name.len != 0) {
        memcpy(block, name.data, name.len);
    }
    block[name.len] = '\0';
    if (value.len != 0) {
        memcpy(copy, value.data, value.len);
    }
    copy[value.len] = '\0';
    pair->name = dm_span_of(block, name.len);
    pair->value = dm_span_of(copy, value.len);
    return 0;
}

int dm_pairs_put(dm_pairs *pairs, dm_span name, dm_span value, int ignore_case) {
    dm_http1_field made;
    if (make_pair(&made, name, value) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < pairs->count; i++) {
        dm_span known = pairs->items[i].name;
        if (ignore_case ? dm_text_equal_nocase(known, name) : dm_span_equal(known, name)) {
            dm_free((void *)(uintptr_t)known.data);
            pairs->items[i] = made;
            return 0;
        }
    }
    if (pairs->count == pairs->cap) {
        uint32_t cap = pairs->cap == 0 ? 4 : pairs->cap * 2;
        dm_http1_field *items = dm_realloc(pairs->items, cap * sizeof *items);
        if (items == NULL) {
            dm_free((void *)(uintptr_t)made.name.data);
            return -1;
        }
        pairs->items = items;
        pairs->cap = cap;
    }
    pairs->items[pairs->count++] = made;
    return 0;
}

dm_span dm_pairs_get(const dm_pairs *pairs, dm_span name) {
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (dm_span_equal(pairs->items[i].name, name)) {
            return pairs->items[i].value;
        }
    }
    return dm_span_of(NULL, 0);
}

void dm_pairs_clear(dm_pairs *pairs) {
    for (uint32_t i = 0; i < pairs->count; i++) {
        dm_free((void *)(uintptr_t)pairs->items[i].name.data);
    }
    pairs->count = 0;
}

void dm_pairs_free(dm_pairs *pairs) {
    dm_pairs_clear(pairs);
    dm_free(pairs->items);
    *pairs = (dm_pairs){0};
}

int dm_header_is_protected(dm_span name) {
    static const char *const names[] = {"authorization",
                                        "accept",
                                        "user-agent",
                                        DM_WIRE_SDK,
                                        DM_WIRE_RUNTIME,
                                        "content-type",
                                        DM_WIRE_RETRY_COUNT,
                                        "connection",
                                        "content-length",
                                        "expect",
                                        "host",
                                        "keep-alive",
                                        "proxy-connection",
                                        "te",
                                        "trailer",
                                        "transfer-encoding",
                                        "upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (dm_text_equal_nocase(name, dm_span_of(names[i], strlen(names[i])))) {
            return 1;
        }
    }
    return 0;
}

int32_t dm_header_put(dm_pairs *headers, dm_span name, dm_span value, dm_error *error) {
    dm_error_clear(error);
    if (dm_header_is_protected(name)) {
        return DEEM_OK;
    }
    dm_http1_field field = {name, value};
    dm_http1_error why = {0};
    if (dm_http1_field_check(&field, &why) != 0) {
        dm_error_set(error, DEEM_E_CONFIG, 0, "%s", why.message.data ? why.message.data : "");
        dm_http1_error_free(&why);
        return DEEM_E_CONFIG;
    }
    return dm_pairs_put(headers, name, value, 1) == 0 ? DEEM_OK : DEEM_E_MEMORY;
}

int32_t dm_text_setting_check(dm_span text, const char *what, int32_t code, dm_error *error) {
    dm_error_clear(error);
    if (text.len == 0) {
        return dm_error_set(error, code, 0, "The %s is empty.", what);
    }
    size_t valid = dm_text_utf8_valid(text);
    if (valid != text.len) {
        return dm_error_set(error, code, 0, "The %s is not UTF-8 at byte %zu.", what, valid);
    }
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x20 || byte == 0x7F) {
            return dm_error_set(error, code, 0, "The %s has a control character at byte %zu.", what,
                                i);
        }
    }
    return DEEM_OK;
}
