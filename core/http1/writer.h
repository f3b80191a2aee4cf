/* Requests as bytes: a head is prepared once and written for each call, head and body in one run of
 * bytes so that they leave in one send. Does no I/O. */
#ifndef DM_HTTP1_WRITER_H
#define DM_HTTP1_WRITER_H

#include "base/bytes.h"
#include "http1/error.h"

/* One header field. */
typedef struct dm_http1_field {
    dm_span name;
    dm_span value;
} dm_http1_field;

/* What a prepared head is made of; everything is borrowed during dm_http1_head_make only. */
typedef struct dm_http1_request {
    dm_span method; /* a token, for example POST */
    dm_span target; /* origin-form (/v1/x?a=b), or absolute-form (http://host/v1/x) for a proxy */
    dm_span host;   /* the Host value: host, or host:port where the port is not the default */
    const dm_http1_field *fields;
    size_t field_count;
    int with_body; /* 0: no Content-Length is written and Content-Type fields are left out */
} dm_http1_request;

/* A prepared head. All zero is a valid empty one. Immutable after make: any number of threads may
 * write from it at once. */
typedef struct dm_http1_head {
    dm_bytes bytes; /* request line and fixed fields, each with its CRLF, no empty line */
    int with_body;
} dm_http1_head;

/* Checks one field: the name is a token (RFC 9110, 5.6.2) and not one that the framing owns
 * (Connection, Content-Length, Expect, Host, Keep-Alive, Proxy-Connection, TE, Trailer,
 * Transfer-Encoding, Upgrade); the value holds no control byte but HTAB (RFC 9110, 5.5). 0, or -1
 * with DM_HTTP1_INVALID in error; the message names the field, never its value. Any thread. */
int dm_http1_field_check(const dm_http1_field *field, dm_http1_error *error);

/* Prepares a head from a request (replacing what head held). The fields are written in their order
 * after Host. 0, or -1 with the error set and head empty. */
int dm_http1_head_make(dm_http1_head *head, const dm_http1_request *request, dm_http1_error *error);

/* Empties out and writes the whole request into it: the prepared head, Content-Length when the head
 * is one with a body (also for an empty body), the extra fields of this call (checked as above;
 * they do not replace prepared ones), the empty line, the body. `body` must not lie in out. Once
 * out is large enough nothing is allocated. 0, or -1 with the error set (invalid, or memory).
 * No Expect header is ever written (wire contract, trap 36). */
int dm_http1_head_write(const dm_http1_head *head, const dm_http1_field *extra, size_t extra_count,
                        dm_span body, dm_bytes *out, dm_http1_error *error);

/* Wipes the bytes (they may hold a key) and gives the memory back. */
void dm_http1_head_free(dm_http1_head *head);

#endif
