/* Byte spans and a growing byte buffer. */
#ifndef DM_BASE_BYTES_H
#define DM_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes; data may be NULL when len is 0. Not NUL-terminated. */
typedef struct dm_span {
    const char *data;
    size_t len;
} dm_span;

/* A growing buffer. All zero is a valid empty one. After an append data[len] is always a NUL that
 * len does not count. Not thread-safe. */
typedef struct dm_bytes {
    char *data;
    size_t len;
    size_t cap;
} dm_bytes;

static inline dm_span dm_span_of(const char *data, size_t len) {
    dm_span span = {data, len};
    return span;
}

/* A span over a string literal, without its NUL. */
#define DM_LITERAL(text) dm_span_of("" text, sizeof(text) - 1)

static inline int dm_span_equal(dm_span a, dm_span b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* The FNV-1a hash of some bytes (for tables, not for identity). */
static inline uint32_t dm_span_hash(dm_span span) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < span.len; i++) {
        hash = (hash ^ (unsigned char)span.data[i]) * 16777619u;
    }
    return hash;
}

/* Makes room as dm_bytes_reserve when there is not enough yet: the slow part of it. */
int dm_bytes_grow(dm_bytes *bytes, size_t more);

/* Makes room for `more` further bytes and one NUL. 0, or -1 when there is no memory (buffer
 * unchanged). */
static inline int dm_bytes_reserve(dm_bytes *bytes, size_t more) {
    return more < bytes->cap - bytes->len ? 0 : dm_bytes_grow(bytes, more);
}

/* Appends a copy of len bytes. 0, or -1 when there is no memory (buffer unchanged). */
static inline int dm_bytes_append(dm_bytes *bytes, const char *data, size_t len) {
    if (dm_bytes_reserve(bytes, len) != 0) {
        return -1;
    }
    if (len != 0) {
        memcpy(bytes->data + bytes->len, data, len);
    }
    bytes->len += len;
    bytes->data[bytes->len] = '\0';
    return 0;
}

/* Appends one byte. 0 or -1 as dm_bytes_append. */
static inline int dm_bytes_append_char(dm_bytes *bytes, char byte) {
    return dm_bytes_append(bytes, &byte, 1);
}

/* Appends a NUL-terminated text without its NUL. 0 or -1 as dm_bytes_append. */
int dm_bytes_append_text(dm_bytes *bytes, const char *text);

/* Appends formatted text as printf does; no floating-point conversion may be asked for, since those
 * follow the locale. 0 or -1 as dm_bytes_append. */
int dm_bytes_append_format(dm_bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Empties the buffer and keeps its memory. */
static inline void dm_bytes_clear(dm_bytes *bytes) {
    bytes->len = 0;
    if (bytes->data != NULL) {
        bytes->data[0] = '\0';
    }
}

/* Gives the memory back; the buffer is empty and usable again. */
void dm_bytes_free(dm_bytes *bytes);

static inline dm_span dm_bytes_span(const dm_bytes *bytes) {
    return dm_span_of(bytes->data, bytes->len);
}

#endif
