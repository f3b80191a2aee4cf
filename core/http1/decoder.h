/* Content codings (RFC 9110, 8.4.1): gzip, x-gzip and deflate, decoded as the bytes come. */
#ifndef DM_HTTP1_DECODER_H
#define DM_HTTP1_DECODER_H

#include <stdint.h>

#include "base/bytes.h"
#include "http1/error.h"

enum { DM_CODING_IDENTITY = 0, DM_CODING_GZIP = 1, DM_CODING_DEFLATE = 2 };

/* All zero is a valid idle decoder; its zlib state is made at the first coded body and kept. One
 * thread at a time. */
typedef struct dm_http1_decoder {
    struct dm_http1_inflater *inflater;
    uint64_t decoded; /* bytes given out since begin */
    uint8_t coding;
    uint8_t started; /* zlib knows the form of the data */
    uint8_t ended;   /* the end of a gzip member or of the deflate data, checksum included, came */
    uint8_t first;   /* deflate: the first byte, kept until the second tells zlib form from raw */
    uint8_t has_first;
} dm_http1_decoder;

/* Begins a body in DM_CODING_GZIP or DM_CODING_DEFLATE; opens zlib when it is not open yet. 0, or
 * -1 with DM_HTTP1_ENCODING (no zlib on this system) or DM_HTTP1_NO_MEMORY. */
int dm_http1_decoder_begin(dm_http1_decoder *decoder, uint8_t coding, dm_http1_error *error);

/* Decodes len bytes and appends the result to out, keeping `padding` bytes of room behind it. At
 * most `most` bytes come out of one body. Several gzip members in a row are one body (RFC 1952,
 * 2.2). 0, or -1 with the error set. */
int dm_http1_decoder_feed(dm_http1_decoder *decoder, const char *data, size_t len, dm_bytes *out,
                          uint64_t most, size_t padding, dm_http1_error *error);

/* The body has ended: 0 when the coded data is whole, its checksum included; -1 with
 * DM_HTTP1_TRUNCATED when it is not. */
int dm_http1_decoder_end(dm_http1_decoder *decoder, dm_http1_error *error);

/* Gives the memory back. */
void dm_http1_decoder_free(dm_http1_decoder *decoder);

#endif
