/* A reply before it goes on the wire: status, headers, body, and how it is to travel. */
#ifndef MOCK_REPLY_H
#define MOCK_REPLY_H

#include <stdbool.h>

#include "buffer.h"
#include "faults.h"

#define MOCK_MAX_HEADERS 16

struct mock_reply {
    int status;
    struct mock_buffer body;
    const char *content_type; /* NULL: none is sent */
    char *names[MOCK_MAX_HEADERS];
    char *values[MOCK_MAX_HEADERS];
    size_t header_count;
    bool foreign;              /* not the service's own: no x-typesafe-request-id */
    enum mock_fault_kind wire; /* a fault of group WIRE, RAW, or MOCK_FAULT_KINDS for none */
    long wire_number;
};

/* Adds a header; past MOCK_MAX_HEADERS it is left out. */
void mock_reply_header(struct mock_reply *reply, const char *name, const char *value);

/* Frees body and headers. */
void mock_reply_free(struct mock_reply *reply);

/* Sets a reply to a plain JSON one with this body text. */
void mock_reply_json(struct mock_reply *reply, int status, const char *body);

/* Fills the reply of a fault of group REPLY. authorization may be NULL; request is the request's
 * body. Returns false if it cannot be done (a raw file that cannot be read). */
bool mock_reply_fault(struct mock_reply *reply, const struct mock_fault *fault,
                      const char *authorization, const struct mock_buffer *request);

/* Works a fault of group BODY into a reply. Returns false if the body does not allow it. */
bool mock_reply_spoil(struct mock_reply *reply, enum mock_fault_kind kind);

/* The phrase of a status; "Unknown" for those without one. */
const char *mock_reply_phrase(int status);

/* Packs body in place: zlib's window bits 15 for deflate, 31 for gzip. */
void mock_reply_pack(struct mock_buffer *body, int window_bits);

#endif
