/* deem_config_*: checks handles, hands on to core/engine. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "deemster.h"
#include "engine/client.h"
#include "out.h"
#include "text_setting.h"
#include "json/state.h"

int32_t deem_config_new(deem_config **config) {
    if (config == NULL) {
        return DEEM_E_MISUSE;
    }
    *config = dm_alloc_zero(sizeof **config);
    if (*config == NULL) {
        return DEEM_E_MEMORY;
    }
    (*config)->environment = 1;
    (*config)->auth = DEEM_AUTH_BEARER;
    (*config)->transport = DEEM_TRANSPORT_FAST;
    (*config)->log_level = -1;
    (*config)->max_connections = 256;
    (*config)->idle_ms = 60000;
    (*config)->max_reply_bytes = INT64_C(16) << 20;
    return DEEM_OK;
}

void deem_config_free(deem_config *config) {
    if (config == NULL) {
        return;
    }
    dm_text_setting *const texts[] = {
        &config->api_key, &config->base_url, &config->evaluate_path,
        &config->model,   &config->proxy,    &config->no_proxy,
        &config->ca_file, &config->ca_dir,   &config->user_agent_suffix,
        &config->runtime};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dm_text_setting_wipe(texts[i]);
    }
    dm_pairs_free(&config->headers);
    dm_error_free(&config->draft.error);
    dm_free(config);
}

int32_t deem_config_error(const deem_config *config, const char **message, size_t *len) {
    if (config == NULL) {
        dm_out_text(dm_span_of(NULL, 0), message, len);
        return DEEM_E_MISUSE;
    }
    dm_out_error_text(&config->draft.error, message, len);
    return DEEM_OK;
}

static int32_t refuse(deem_config *config, int32_t code, const char *sentence) {
    return dm_error_set(&config->draft.error, code, 0, "%s", sentence);
}

static int32_t set_flag(deem_config *config, int32_t *member, int32_t value, int32_t least,
                        int32_t most, const char *sentence) {
    if (value < least || value > most) {
        return refuse(config, DEEM_E_CONFIG, sentence);
    }
    dm_error_clear(&config->draft.error);
    *member = value;
    return DEEM_OK;
}

int32_t deem_config_set_environment(deem_config *config, int32_t enabled) {
    return config == NULL ? DEEM_E_MISUSE
                          : set_flag(config, &config->environment, enabled, 0, 1,
                                     "Whether the environment is read must be 0 or 1.");
}

int32_t deem_config_set_auth(deem_config *config, int32_t auth) {
    return config == NULL ? DEEM_E_MISUSE
                          : set_flag(config, &config->auth, auth, DEEM_AUTH_BEARER,
                                     DEEM_AUTH_API_KEY, "The auth must be a DEEM_AUTH_* number.");
}

int32_t deem_config_set_transport(deem_config *config, int32_t transport) {
    return config == NULL
               ? DEEM_E_MISUSE
               : set_flag(config, &config->transport, transport, DEEM_TRANSPORT_FAST,
                          DEEM_TRANSPORT_CURL, "The transport must be a DEEM_TRANSPORT_* number.");
}

int32_t deem_config_set_max_connections(deem_config *config, int32_t connections) {
    return config == NULL ? DEEM_E_MISUSE
                          : set_flag(config, &config->max_connections, connections, 1, 65536,
                                     "The number of connections must be 1 to 65536.");
}

int32_t deem_config_set_log_level(deem_config *config, int32_t level) {
    return config == NULL ? DEEM_E_MISUSE
                          : set_flag(config, &config->log_level, level, DEEM_LOG_OFF,
                                     DEEM_LOG_DEBUG, "The log level must be a DEEM_LOG_* number.");
}

int32_t deem_config_set_idle_ms(deem_config *config, int64_t milliseconds) {
    if (config == NULL) {
        return DEEM_E_MISUSE;
    }
    if (milliseconds < 0 || milliseconds > INT64_C(86400000)) {
        return refuse(config, DEEM_E_CONFIG, "The idle time must be 0 to 86400000 milliseconds.");
    }
    dm_error_clear(&config->draft.error);
    config->idle_ms = milliseconds;
    return DEEM_OK;
}

int32_t deem_config_set_max_reply_bytes(deem_config *config, int64_t bytes) {
    if (config == NULL) {
        return DEEM_E_MISUSE;
    }
    if (bytes < 1024 || bytes > INT64_C(1) << 30) {
        return refuse(config, DEEM_E_CONFIG, "The largest reply must be 1024 bytes to 1 GiB.");
    }
    dm_error_clear(&config->draft.error);
    config->max_reply_bytes = bytes;
    return DEEM_OK;
}

int32_t deem_config_set_api_key(deem_config *config, const char *key, size_t len) {
    if (config == NULL || (key == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_span text = dm_text_trim(dm_span_of(key, len));
    if (text.len == 0) {
        return refuse(config, DEEM_E_CONFIG_KEY, "The API key is empty.");
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~') {
            return dm_error_set(&config->draft.error, DEEM_E_CONFIG_KEY, 0,
                                "The API key holds white space, a control or a non-ASCII character "
                                "at byte %zu.",
                                i);
        }
    }
    dm_text_setting_wipe(&config->api_key);
    return dm_text_setting_put(&config->api_key, text, &config->draft.error);
}

int32_t deem_config_set_base_url(deem_config *config, const char *url, size_t len) {
    if (config == NULL || (url == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    dm_url parsed = {0};
    dm_http1_error why = {0};
    dm_span text = dm_text_trim(dm_span_of(url, len));
    int32_t code = DEEM_OK;
    if (dm_url_parse(&parsed, text, &why) != 0) {
        code = why.problem == DM_HTTP1_NO_MEMORY ? DEEM_E_MEMORY : DEEM_E_CONFIG_URL;
        refuse(config, code, why.message.data != NULL ? why.message.data : "");
    }
    dm_url_free(&parsed);
    dm_http1_error_free(&why);
    return code != DEEM_OK ? code
                           : dm_text_setting_put(&config->base_url, text, &config->draft.error);
}

int32_t deem_config_set_evaluate_path(deem_config *config, const char *path, size_t len) {
    if (config == NULL || (path == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    if (len == 0 || path[0] != '/') {
        return refuse(config, DEEM_E_CONFIG_URL, "The path must begin with a slash.");
    }
    return dm_text_setting_put(&config->evaluate_path, dm_span_of(path, len), &config->draft.error);
}

int32_t deem_config_set_model(deem_config *config, const char *model, size_t len) {
    if (config == NULL || (model == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_checked(&config->model, dm_span_of(model, len), "model", DEEM_E_CONFIG,
                                   &config->draft.error);
}

int32_t deem_config_set_proxy(deem_config *config, const char *url, size_t len) {
    if (config == NULL || (url == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_put(&config->proxy, dm_span_of(url, len), &config->draft.error);
}

int32_t deem_config_set_no_proxy(deem_config *config, const char *list, size_t len) {
    if (config == NULL || (list == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_put(&config->no_proxy, dm_span_of(list, len), &config->draft.error);
}

int32_t deem_config_set_ca_file(deem_config *config, const char *path, size_t len) {
    if (config == NULL || (path == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_checked(&config->ca_file, dm_span_of(path, len), "CA file's path",
                                   DEEM_E_CONFIG_CA, &config->draft.error);
}

int32_t deem_config_set_ca_dir(deem_config *config, const char *path, size_t len) {
    if (config == NULL || (path == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_checked(&config->ca_dir, dm_span_of(path, len), "CA folder's path",
                                   DEEM_E_CONFIG_CA, &config->draft.error);
}

int32_t deem_config_set_user_agent_suffix(deem_config *config, const char *suffix, size_t len) {
    if (config == NULL || (suffix == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_checked(&config->user_agent_suffix, dm_span_of(suffix, len),
                                   "User-Agent suffix", DEEM_E_CONFIG, &config->draft.error);
}

int32_t deem_config_set_runtime(deem_config *config, const char *runtime, size_t len) {
    if (config == NULL || (runtime == NULL && len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_text_setting_checked(&config->runtime, dm_span_of(runtime, len), "runtime",
                                   DEEM_E_CONFIG, &config->draft.error);
}

int32_t deem_config_add_header(deem_config *config, const char *name, size_t name_len,
                               const char *value, size_t value_len) {
    if (config == NULL || name == NULL || (value == NULL && value_len != 0)) {
        return DEEM_E_MISUSE;
    }
    return dm_header_put(&config->headers, dm_span_of(name, name_len), dm_span_of(value, value_len),
                         &config->draft.error);
}

int32_t deem_config_set_deadline_ms(deem_config *config, int64_t milliseconds) {
    return config == NULL ? DEEM_E_MISUSE : dm_limits_set_deadline(&config->draft, milliseconds);
}

int32_t deem_config_set_attempt_ms(deem_config *config, int64_t milliseconds) {
    return config == NULL ? DEEM_E_MISUSE : dm_limits_set_attempt(&config->draft, milliseconds);
}

int32_t deem_config_set_max_retries(deem_config *config, int32_t retries) {
    return config == NULL ? DEEM_E_MISUSE : dm_limits_set_retries(&config->draft, retries);
}

int32_t deem_config_set_backoff(deem_config *config, int64_t initial_ms, int64_t most_ms,
                                double jitter) {
    return config == NULL ? DEEM_E_MISUSE
                          : dm_limits_set_backoff(&config->draft, initial_ms, most_ms, jitter);
}

int32_t deem_config_set_retry_flags(deem_config *config, int32_t flags) {
    return config == NULL ? DEEM_E_MISUSE : dm_limits_set_flags(&config->draft, flags);
}

int32_t deem_config_set_retry_statuses(deem_config *config, const int32_t *statuses, size_t count) {
    return config == NULL ? DEEM_E_MISUSE : dm_limits_set_statuses(&config->draft, statuses, count);
}

int32_t deem_config_set_retry_after_cap_ms(deem_config *config, int64_t milliseconds) {
    return config == NULL ? DEEM_E_MISUSE : dm_limits_set_cap(&config->draft, milliseconds);
}

int32_t deem_config_set_check(deem_config *config, int32_t check) {
    return config == NULL ? DEEM_E_MISUSE : dm_limits_set_check(&config->draft, check);
}
