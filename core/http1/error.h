/* What can go wrong with HTTP/1.1 framing. */
#ifndef DM_HTTP1_ERROR_H
#define DM_HTTP1_ERROR_H

#include "base/bytes.h"

typedef enum dm_http1_problem {
    DM_HTTP1_NONE = 0,
    DM_HTTP1_FRAMING,   /* the bytes are no HTTP/1 message; trying again may help */
    DM_HTTP1_TRUNCATED, /* the connection or the coded data ended too early; retryable */
    DM_HTTP1_TOO_LARGE, /* a limit on head, body or decoded size was passed */
    DM_HTTP1_ENCODING,  /* a content coding that is not spoken, or coded data that is broken */
    DM_HTTP1_INVALID,   /* our own side: a header, target or URL that must not be sent */
    DM_HTTP1_NO_MEMORY
} dm_http1_problem;

/* All zero means "no error". The message is one sentence for people, with the numbers, never with a
 * header value or a URL's secret; bytes from the peer in it are escaped. Owns its text. */
typedef struct dm_http1_error {
    dm_http1_problem problem;
    dm_bytes message;
} dm_http1_error;

/* Forgets the error and keeps the memory. */
void dm_http1_error_clear(dm_http1_error *error);

/* Gives the memory back. */
void dm_http1_error_free(dm_http1_error *error);

/* Sets problem and message (printf form, no floating point) and returns -1. Without memory for the
 * message the problem still stands, with an empty message. */
int dm_http1_error_set(dm_http1_error *error, dm_http1_problem problem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
