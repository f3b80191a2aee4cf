/* The second transport: one HTTP exchange, blocking, with libcurl doing HTTP as well. Slower (it
 * costs 12 to 14 microseconds more a call), for proxies that want more than Basic and for HTTP/2,
 * and as the comparator in tests. */
#ifndef DM_TRANSPORT_CURL_EASY_H
#define DM_TRANSPORT_CURL_EASY_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "transport/connection.h"
#include "transport/failure.h"
#include "transport/transport.h"

/* All borrowed for the call. */
typedef struct dm_curl_request {
    const char *method;         /* "GET", "POST" ... */
    const char *url;            /* absolute, to the transport's own origin */
    const char *const *headers; /* "Name: value" lines, sent as they are */
    size_t header_count;
    dm_span body;        /* empty: no body (POST then sends Content-Length: 0) */
    size_t header_most;  /* bytes of status line and headers allowed; 0: 65,536 */
    size_t body_most;    /* bytes of body allowed (after decompression); 0: 16 MiB */
    int64_t deadline_ns; /* monotonic; DM_NEVER: none. Reached: DM_FAIL_TIMEOUT */
    int cancel_fd;       /* turns readable to cancel (not read from); -1: none */
    int http2;           /* 1: HTTP/2 where the server offers it in ALPN; 0: HTTP/1.1 */
    int any_proxy_auth;  /* 1: whatever the proxy wants (Digest, NTLM, Negotiate); 0: Basic */
    int accept_gzip;     /* 1: Accept-Encoding: gzip and libcurl decompresses */
} dm_curl_request;

/* All zero is a valid empty one; reused it keeps its memory. Owned by the caller. */
typedef struct dm_curl_reply {
    long status;
    dm_bytes
        headers; /* the lines of the final reply, each ending in CR LF, without the status line */
    dm_bytes body;
    dm_failure failure;
    dm_connection_timings times;
    int64_t sent_bytes; /* of the body */
    int reused;         /* 1: on a connection kept from an earlier call */
    int http_version;   /* 10, 11, 20 */
} dm_curl_reply;

/* Runs one exchange and waits for its end on the caller's thread; connections are kept in the
 * transport for the next call. Redirects are not followed. DM_IO_OK, NO_DESCRIPTORS or ERROR
 * (reply-> failure is the kind; status and headers stand when they had come). Never waits past the
 * deadline or a cancel. Any thread. */
dm_io dm_curl_perform(dm_transport *transport, const dm_curl_request *request, dm_curl_reply *reply,
                      dm_error *error);

/* Gives the memory back; reply is empty and usable again. */
void dm_curl_reply_free(dm_curl_reply *reply);

#endif
