/* How a connection can fail, and the one place where a kind becomes a public code and reason. */
#ifndef DM_TRANSPORT_FAILURE_H
#define DM_TRANSPORT_FAILURE_H

#include "base/error.h"

typedef enum dm_failure {
    DM_FAIL_NONE = 0,
    DM_FAIL_URL_SETTING,   /* the host cannot be used */
    DM_FAIL_PROXY_SETTING, /* the proxy setting cannot be used */
    DM_FAIL_CA_SETTING,    /* no usable CA certificates */
    DM_FAIL_LIBCURL,       /* no usable libcurl on this system */
    DM_FAIL_DNS,           /* the host name, or the proxy's, could not be resolved */
    DM_FAIL_REFUSED,       /* nobody listens at that address */
    DM_FAIL_UNREACHABLE,   /* no route, no local port or address, TCP gave up */
    DM_FAIL_TLS,           /* the handshake failed */
    DM_FAIL_CERTIFICATE,   /* the server's certificate was refused */
    DM_FAIL_PROXY,         /* the proxy refused the tunnel, or is no proxy */
    DM_FAIL_PROXY_AUTH,    /* the proxy wants another user, password or scheme (407) */
    DM_FAIL_RESET,         /* an open connection broke (RST, TLS cut without close_notify) */
    DM_FAIL_DESCRIPTORS,   /* the process or the system has no descriptor left */
    DM_FAIL_MEMORY,        /* no memory for it */
    DM_FAIL_TIMEOUT,       /* only dm_curl_perform: its deadline passed */
    DM_FAIL_CANCELLED,     /* only dm_curl_perform: its cancel descriptor turned readable */
    DM_FAIL_TOO_LARGE,     /* only dm_curl_perform: the reply is over a limit */
    DM_FAIL_TRUNCATED,     /* only dm_curl_perform: the reply was cut short */
    DM_FAIL_FRAMING,       /* only dm_curl_perform: the reply is no valid HTTP */
    DM_FAIL_EXIT,          /* the process is exiting: libcurl may no longer be entered */
    DM_FAIL_FORKED,        /* the object was made before a fork and is used in the child */
    DM_FAIL_KINDS
} dm_failure;

/* Sets code and reason of the kind and a message (printf form, no floating point); error may be
 * NULL. Foreign text must already be safe to print. Any thread (the error is the caller's). */
void dm_fail(dm_error *error, dm_failure kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 1 when trying the same again cannot help (settings, libcurl, a refused certificate, 407 ...). */
int dm_failure_is_final(dm_failure kind);

/* What a system error number means, in fixed English ("connection refused"), so that a message is
 * the same under every C library and locale. Static text; "system error" for unusual numbers. */
const char *dm_errno_text(int number);

/* The kind a system error number of a socket belongs to. */
dm_failure dm_errno_failure(int number);

/* The short name of a kind for tests and logs: "refused", "dns" ... Static text. */
const char *dm_failure_name(dm_failure kind);

#endif
