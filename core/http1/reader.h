/* An incremental reader of one HTTP/1.x reply: bytes in, status, header fields and decoded body
 * out (RFC 9112). Does no I/O. */
#ifndef DM_HTTP1_READER_H
#define DM_HTTP1_READER_H

#include <stdint.h>

#include "base/bytes.h"
#include "http1/decoder.h"
#include "http1/error.h"

/* Zero bytes that can be read behind the end of a complete body (the JSON parser reads ahead). */
#define DM_HTTP1_PADDING 64

/* Most header fields of one head, and most trailer fields. */
#define DM_HTTP1_MAX_FIELDS 128

/* Sizes in bytes. */
typedef struct dm_http1_limits {
    uint32_t line;    /* one line of a head or trailer, its line end included */
    uint32_t head;    /* all heads (interim ones too), chunk extensions and trailers together */
    uint64_t body;    /* the body as it comes, before decoding */
    uint64_t decoded; /* the body after decoding, when it is compressed */
} dm_http1_limits;

/* Lines of 16 KiB, heads of 64 KiB, bodies of 64 MiB coded and decoded. */
extern const dm_http1_limits dm_http1_default_limits;

/* What feed and eof return. */
enum { DM_HTTP1_FAILED = -1, DM_HTTP1_MORE = 0, DM_HTTP1_COMPLETE = 1 };

/* Where a name and its value lie in the head buffer. */
typedef struct dm_http1_place {
    uint32_t name;
    uint32_t name_len;
    uint32_t value;
    uint32_t value_len;
} dm_http1_place;

/* A reader. The first block may be read by anyone at any time after a reset, the second belongs to
 * the reader. One thread at a time. About 2.5 KiB. */
typedef struct dm_http1_reader {
    int status;            /* of the final reply: 100..999; 0 before its status line was read */
    int minor;             /* 0 or 1 of HTTP/1.x */
    int complete;          /* 1 once the whole message was read */
    int reusable;          /* 1 when complete and the connection may carry another request */
    int any_byte;          /* 1 once any reply byte was seen (interim replies count) */
    int head_complete;     /* 1 once status and fields of the final reply can be read */
    int64_t keep_alive_ms; /* Keep-Alive: timeout=N in milliseconds, or -1 */
    uint64_t coded_bytes;  /* body bytes read so far, before decoding */
    size_t field_count;    /* header fields of the final reply */
    dm_http1_error error;  /* set when feed or eof returned DM_HTTP1_FAILED */

    dm_http1_limits limits;
    dm_bytes *body;
    dm_bytes head; /* the lines of the final head, then of the trailer */
    dm_http1_decoder decoder;
    uint64_t remaining; /* of the body (Content-Length) or the chunk */
    uint64_t content_length;
    uint32_t line_start; /* of the line being read, in head */
    uint32_t head_used;  /* counted against limits.head: whole lines, chunk extensions */
    uint32_t bad_coding; /* the first content coding that cannot be decoded, in head */
    uint32_t bad_coding_len;
    uint16_t trailer_count;
    uint8_t state;
    uint8_t coding;
    uint8_t is_head_request;
    uint8_t has_length;
    uint8_t chunked;
    uint8_t says_close;
    uint8_t says_keep_alive;
    uint8_t digits; /* of the chunk size, so far */
    dm_http1_place fields[DM_HTTP1_MAX_FIELDS];
} dm_http1_reader;

/* Makes a reader ready for reset; limits NULL means dm_http1_default_limits. Allocates nothing. */
void dm_http1_reader_init(dm_http1_reader *reader, const dm_http1_limits *limits);

/* Starts a new reply. The body is emptied and will be filled; it is the caller's and must outlive
 * the reading. is_head_request: the request was HEAD, so the reply has no body. Keeps all memory.
 */
void dm_http1_reader_reset(dm_http1_reader *reader, dm_bytes *body, int is_head_request);

/* Takes len bytes as they came from the connection, cut anywhere. DM_HTTP1_MORE: all were consumed
 * and more are needed. DM_HTTP1_COMPLETE: the message is whole, *consumed bytes belonged to it;
 * what lies behind them (also in a later feed) makes the connection not reusable. DM_HTTP1_FAILED:
 * reader->error says why; the connection must be closed. How the bytes are cut never changes the
 * result. */
int dm_http1_reader_feed(dm_http1_reader *reader, const char *data, size_t len, size_t *consumed);

/* The connection ended: completes a body that is delimited by the close, else fails as truncated.
 * Returns as feed does. */
int dm_http1_reader_eof(dm_http1_reader *reader);

/* The i-th header field, i < field_count, in the order of the reply, values trimmed. Valid until
 * the next feed or reset. */
dm_span dm_http1_reader_name(const dm_http1_reader *reader, size_t i);
dm_span dm_http1_reader_value(const dm_http1_reader *reader, size_t i);

/* The value of the first field of that name (any case); data is NULL when there is none. Valid
 * until the next feed or reset. */
dm_span dm_http1_reader_find(const dm_http1_reader *reader, dm_span name);

/* Gives all memory of the reader back, not the body's. */
void dm_http1_reader_free(dm_http1_reader *reader);

#endif
