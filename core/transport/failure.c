#include "transport/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "deemster.h"

static const struct {
    const char *name;
    int32_t code;
    int32_t reason;
    int final;
} kinds[DM_FAIL_KINDS] = {
    [DM_FAIL_NONE] = {"none", DEEM_OK, 0, 0},
    [DM_FAIL_URL_SETTING] = {"url setting", DEEM_E_CONFIG_URL, 0, 1},
    [DM_FAIL_PROXY_SETTING] = {"proxy setting", DEEM_E_CONFIG_PROXY, 0, 1},
    [DM_FAIL_CA_SETTING] = {"ca setting", DEEM_E_CONFIG_CA, 0, 1},
    [DM_FAIL_LIBCURL] = {"libcurl", DEEM_E_UNSUPPORTED, 0, 1},
    [DM_FAIL_DNS] = {"dns", DEEM_E_DNS, 0, 0},
    [DM_FAIL_REFUSED] = {"refused", DEEM_E_REFUSED, 0, 0},
    [DM_FAIL_UNREACHABLE] = {"unreachable", DEEM_E_CONNECTION, 0, 0},
    [DM_FAIL_TLS] = {"tls", DEEM_E_TLS, 0, 0},
    [DM_FAIL_CERTIFICATE] = {"certificate", DEEM_E_TLS, 0, 1},
    [DM_FAIL_PROXY] = {"proxy", DEEM_E_PROXY, 0, 0},
    [DM_FAIL_PROXY_AUTH] = {"proxy authentication", DEEM_E_PROXY, 0, 1},
    [DM_FAIL_RESET] = {"reset", DEEM_E_CONNECTION, 0, 0},
    [DM_FAIL_DESCRIPTORS] = {"descriptors", DEEM_E_CONNECTION, 0, 0},
    [DM_FAIL_MEMORY] = {"memory", DEEM_E_MEMORY, 0, 1},
    [DM_FAIL_TIMEOUT] = {"timeout", DEEM_E_TIMEOUT, 0, 0},
    [DM_FAIL_CANCELLED] = {"cancelled", DEEM_E_CANCELLED, 0, 1},
    [DM_FAIL_TOO_LARGE] = {"too large", DEEM_E_INVALID_REPLY, DEEM_REASON_SIZE, 1},
    [DM_FAIL_TRUNCATED] = {"truncated", DEEM_E_TRUNCATED, 0, 0},
    [DM_FAIL_FRAMING] = {"framing", DEEM_E_HTTP_FRAMING, 0, 0},
    [DM_FAIL_EXIT] = {"exit", DEEM_E_CANCELLED, 0, 1},
    [DM_FAIL_FORKED] = {"forked", DEEM_E_CANCELLED, 0, 1},
};

void dm_fail(dm_error *error, dm_failure kind, const char *format, ...) {
    if (error == NULL) {
        return;
    }
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dm_error_set(error, kinds[kind].code, kinds[kind].reason, "%s", text);
}

int dm_failure_is_final(dm_failure kind) {
    return kinds[kind].final;
}

const char *dm_failure_name(dm_failure kind) {
    return kinds[kind].name;
}

static const struct {
    int number;
    dm_failure kind;
    const char *text;
} numbers[] = {
    {ECONNREFUSED, DM_FAIL_REFUSED, "connection refused"},
    {ECONNRESET, DM_FAIL_RESET, "connection reset by the peer"},
    {EPIPE, DM_FAIL_RESET, "the peer closed the connection"},
    {ECONNABORTED, DM_FAIL_RESET, "connection aborted"},
    {ENOTCONN, DM_FAIL_RESET, "not connected"},
    {ETIMEDOUT, DM_FAIL_UNREACHABLE, "TCP gave up waiting"},
    {EHOSTUNREACH, DM_FAIL_UNREACHABLE, "no route to the host"},
    {ENETUNREACH, DM_FAIL_UNREACHABLE, "the network is unreachable"},
    {ENETDOWN, DM_FAIL_UNREACHABLE, "the network is down"},
    {EADDRNOTAVAIL, DM_FAIL_UNREACHABLE, "no local address or port is left"},
    {EAFNOSUPPORT, DM_FAIL_UNREACHABLE, "this system has no such address family"},
    {EACCES, DM_FAIL_UNREACHABLE, "not permitted"},
    {EPERM, DM_FAIL_UNREACHABLE, "not permitted"},
    {EINVAL, DM_FAIL_UNREACHABLE, "no such address"},
    {EMFILE, DM_FAIL_DESCRIPTORS, "this process has no file descriptor left"},
    {ENFILE, DM_FAIL_DESCRIPTORS, "the system has no file descriptor left"},
    {ENOMEM, DM_FAIL_MEMORY, "no memory"},
    {ENOBUFS, DM_FAIL_MEMORY, "no buffer memory"},
    {ENOENT, DM_FAIL_UNREACHABLE, "it does not exist"},
    {ENOTDIR, DM_FAIL_UNREACHABLE, "a part of the path is not a folder"},
    {ENAMETOOLONG, DM_FAIL_UNREACHABLE, "the name is too long"},
    {ELOOP, DM_FAIL_UNREACHABLE, "too many symbolic links"},
};

const char *dm_errno_text(int number) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].number == number) {
            return numbers[i].text;
        }
    }
    return "system error";
}

dm_failure dm_errno_failure(int number) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].number == number) {
            return numbers[i].kind;
        }
    }
    return DM_FAIL_UNREACHABLE;
}
