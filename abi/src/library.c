/* What the library is: version, features, names of numbers. */
#include <string.h>

#include "base/version.h"
#include "deemster.h"
#include "out.h"
#include "transport/curl_dl.h"

int32_t deem_abi_version(uint32_t *major, uint32_t *minor, uint32_t *oldest) {
    DM_OUT(major, DEEM_ABI_MAJOR);
    DM_OUT(minor, DEEM_ABI_MINOR);
    DM_OUT(oldest, 1);
    return DEEM_OK;
}

const char *deem_version(void) {
    return DM_VERSION;
}

static int curl_is_usable(void) {
    dm_error ignored = {0};
    int usable = dm_curl_load(&ignored) != NULL;
    dm_error_free(&ignored);
    return usable;
}

int32_t deem_has(const char *feature, size_t len) {
    dm_span name = dm_span_of(feature, feature == NULL ? 0 : len);
    if (dm_span_equal(name, DM_LITERAL("curl"))) {
        return curl_is_usable();
    }
#ifndef DM_JSON_SCAN_ONLY
    if (dm_span_equal(name, DM_LITERAL("simdjson"))) {
        return 1;
    }
#endif
    return dm_span_equal(name, DM_LITERAL("engine")) || dm_span_equal(name, DM_LITERAL("hosted"));
}

#define NAME(number)                                                                               \
    case number:                                                                                   \
        return #number

const char *deem_status_name(int32_t status) {
    switch (status) {
        NAME(DEEM_OK);
        NAME(DEEM_E_MISUSE);
        NAME(DEEM_E_MEMORY);
        NAME(DEEM_E_CANCELLED);
        NAME(DEEM_E_INTERRUPTED);
        NAME(DEEM_E_UNSUPPORTED);
        NAME(DEEM_E_ABSENT);
        NAME(DEEM_E_NO_ANSWER);
        NAME(DEEM_E_CONFIG);
        NAME(DEEM_E_CONFIG_KEY);
        NAME(DEEM_E_CONFIG_URL);
        NAME(DEEM_E_CONFIG_PROXY);
        NAME(DEEM_E_CONFIG_CA);
        NAME(DEEM_E_QUESTIONS);
        NAME(DEEM_E_STATE);
        NAME(DEEM_E_CONNECTION);
        NAME(DEEM_E_DNS);
        NAME(DEEM_E_REFUSED);
        NAME(DEEM_E_TLS);
        NAME(DEEM_E_TRUNCATED);
        NAME(DEEM_E_PROXY);
        NAME(DEEM_E_HTTP_FRAMING);
        NAME(DEEM_E_TIMEOUT);
        NAME(DEEM_E_DEADLINE);
        NAME(DEEM_E_HTTP_REDIRECT);
        NAME(DEEM_E_HTTP_BAD_REQUEST);
        NAME(DEEM_E_HTTP_AUTHENTICATION);
        NAME(DEEM_E_HTTP_PAYMENT);
        NAME(DEEM_E_HTTP_PERMISSION);
        NAME(DEEM_E_HTTP_NOT_FOUND);
        NAME(DEEM_E_HTTP_TIMEOUT);
        NAME(DEEM_E_HTTP_CONFLICT);
        NAME(DEEM_E_HTTP_TOO_LARGE);
        NAME(DEEM_E_HTTP_UNPROCESSABLE);
        NAME(DEEM_E_HTTP_RATE_LIMIT);
        NAME(DEEM_E_HTTP_OTHER);
        NAME(DEEM_E_HTTP_SERVER);
        NAME(DEEM_E_HTTP_OVERLOADED);
        NAME(DEEM_E_INVALID_REPLY);
    default:
        return "DEEM_E_UNKNOWN";
    }
}

const char *deem_reason_name(int32_t reason) {
    switch (reason) {
        NAME(DEEM_ANSWER_OK);
        NAME(DEEM_REASON_MISSING);
        NAME(DEEM_REASON_WRONG_KIND);
        NAME(DEEM_REASON_SHAPE);
        NAME(DEEM_REASON_TYPE);
        NAME(DEEM_REASON_RANGE);
        NAME(DEEM_REASON_LABEL);
        NAME(DEEM_REASON_PROBABILITY_MISSING);
        NAME(DEEM_REASON_SUM);
        NAME(DEEM_REASON_NOT_TOP);
        NAME(DEEM_REASON_LEVEL);
        NAME(DEEM_REASON_DUPLICATE);
        NAME(DEEM_REASON_SCORE_MEAN);
        NAME(DEEM_REASON_LEGEND);
        NAME(DEEM_REASON_EMPTY);
        NAME(DEEM_REASON_NOT_JSON);
        NAME(DEEM_REASON_NOT_UTF8);
        NAME(DEEM_REASON_TRAILING);
        NAME(DEEM_REASON_DEPTH);
        NAME(DEEM_REASON_SIZE);
        NAME(DEEM_REASON_ENVELOPE);
        NAME(DEEM_REASON_ERROR_BODY);
        NAME(DEEM_REASON_USAGE);
        NAME(DEEM_REASON_JSON_TRUNCATED);
        NAME(DEEM_REASON_ENCODING);
    default:
        return "DEEM_REASON_UNKNOWN";
    }
}
