/* deem_options_*: checks handles, hands on to core/engine. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "deemster.h"
#include "engine/options.h"
#include "out.h"
#include "text_setting.h"
#include "json/state.h"

enum { DEEPEST_FIELD = 128 };

int32_t deem_options_new(deem_options **options) {
    if (options == NULL) {
        return DEEM_E_MISUSE;
    }
    *options = dm_alloc_zero(sizeof **options);
    return *options == NULL ? DEEM_E_MEMORY : DEEM_OK;
}

void deem_options_free(deem_options *options) {
    if (options == NULL) {
        return;
    }
    dm_text_setting_wipe(&options->model);
    dm_pairs_free(&options->headers);
    dm_pairs_free(&options->fields);
    dm_error_free(&options->draft.error);
    dm_free(options);
}

int32_t deem_options_reset(deem_options *options) {
    if (options == NULL) {
        return DEEM_E_MISUSE;
    }
    options->draft.set = 0;
    dm_error_clear(&options->draft.error);
    options->model.is_set = 0;
    dm_pairs_clear(&options->headers);
    dm_pairs_clear(&options->fields);
    options->call_id = 0;
    options->interruptible = 0;
    return DEEM_OK;
}

int32_t deem_options_error(const deem_options *options, const char **message, size_t *len) {
    if (options == NULL) {
        dm_out_text(dm_span_of(NULL, 0), message, len);
        return DEEM_E_MISUSE;
    }
    dm_out_error_text(&options->draft.error, message, len);
    return DEEM_OK;
}

int32_t deem_options_set_model(deem_options *options, const char *model, size_t len) {
    if (options == NULL || (model == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_checked(&options->model, dm_span_of(model, len), "model", DEEM_E_CONFIG,
                                   &options->draft.error);
}

int32_t deem_options_add_header(deem_options *options, const char *name, size_t name_len,
                                const char *value, size_t value_len) {
    if (options == NULL || name == NULL || (value == NULL && value_len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_header_put(&options->headers, dm_span_of(name, name_len),
                         dm_span_of(value, value_len), &options->draft.error);
}

int32_t deem_options_add_field(deem_options *options, const char *name, size_t name_len,
                               const char *json, size_t json_len) {
    if (options == NULL || name == NULL || json == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_span key = dm_span_of(name, name_len);
    if (dm_text_utf8_valid(key) != name_len) {
        return dm_error_set(&options->draft.error, DEEM_E_CONFIG, 0,
                            "The field's name is not UTF-8.");
    }
    dm_json_fault fault;
    if (dm_json_check_value(json, json_len, DEEPEST_FIELD, &fault) != DM_JSON_OK) {
        return dm_error_set(&options->draft.error, DEEM_E_CONFIG, 0,
                            "The field's value is not JSON: %s at byte %zu.",
                            dm_json_reason_text(fault.reason), fault.offset);
    }
    dm_error_clear(&options->draft.error);
    return dm_pairs_put(&options->fields, key, dm_span_of(json, json_len), 0) == 0 ? DEEM_OK
                                                                                   : DEEM_E_MEMORY;
}

int32_t deem_options_set_call_id(deem_options *options, uint64_t id) {
    if (options == NULL) {
        return DEEM_E_MISUSE;
    }
    options->call_id = id;
    return DEEM_OK;
}

int32_t deem_options_set_interruptible(deem_options *options, int32_t interruptible) {
    if (options == NULL) {
        return DEEM_E_MISUSE;
    }
    if (interruptible != 0 && interruptible != 1) {
        return dm_error_set(&options->draft.error, DEEM_E_CONFIG, 0,
                            "Whether a call is interruptible must be 0 or 1.");
    }
    dm_error_clear(&options->draft.error);
    options->interruptible = interruptible;
    return DEEM_OK;
}

int32_t deem_options_set_deadline_ms(deem_options *options, int64_t milliseconds) {
    return options == NULL ? DEEM_E_MISUSE : dm_limits_set_deadline(&options->draft, milliseconds);
}

int32_t deem_options_set_attempt_ms(deem_options *options, int64_t milliseconds) {
    return options == NULL ? DEEM_E_MISUSE : dm_limits_set_attempt(&options->draft, milliseconds);
}

int32_t deem_options_set_max_retries(deem_options *options, int32_t retries) {
    return options == NULL ? DEEM_E_MISUSE : dm_limits_set_retries(&options->draft, retries);
}

int32_t deem_options_set_backoff(deem_options *options, int64_t initial_ms, int64_t most_ms,
                                 double jitter) {
    return options == NULL ? DEEM_E_MISUSE
                           : dm_limits_set_backoff(&options->draft, initial_ms, most_ms, jitter);
}

int32_t deem_options_set_retry_flags(deem_options *options, int32_t flags) {
    return options == NULL ? DEEM_E_MISUSE : dm_limits_set_flags(&options->draft, flags);
}

int32_t deem_options_set_retry_statuses(deem_options *options, const int32_t *statuses,
                                        size_t count) {
    return options == NULL ? DEEM_E_MISUSE
                           : dm_limits_set_statuses(&options->draft, statuses, count);
}

int32_t deem_options_set_retry_after_cap_ms(deem_options *options, int64_t milliseconds) {
    return options == NULL ? DEEM_E_MISUSE : dm_limits_set_cap(&options->draft, milliseconds);
}

int32_t deem_options_set_check(deem_options *options, int32_t check) {
    return options == NULL ? DEEM_E_MISUSE : dm_limits_set_check(&options->draft, check);
}
