/* The byte classes of HTTP, shared by reader, writer and URL. */
#ifndef DM_HTTP1_CHARS_H
#define DM_HTTP1_CHARS_H

#include <stdint.h>

#include "base/bytes.h"

/* 1 for the bytes of a token (RFC 9110, 5.6.2). */
extern const unsigned char dm_http1_token_byte[256];

/* The offset of the first byte that is not of a token, or text.len. */
size_t dm_http1_token_end(dm_span text);

/* The offset of the first control byte other than HTAB (RFC 9110, 5.5: none may stand in a field
 * value), or text.len. */
size_t dm_http1_value_end(dm_span text);

/* Whether text, in any case, is `lower`, which must be lower case and hold no '@', '[' or '_' (no
 * byte that OR 0x20 would confuse). */
static inline int dm_http1_is(dm_span text, dm_span lower) {
    if (text.len != lower.len) {
        return 0;
    }
    size_t at = 0;
    for (; text.len - at >= 8; at += 8) {
        uint64_t a;
        uint64_t b;
        memcpy(&a, text.data + at, 8);
        memcpy(&b, lower.data + at, 8);
        if ((a | UINT64_C(0x2020202020202020)) != b) {
            return 0;
        }
    }
    for (; at < text.len; at++) {
        if ((text.data[at] | 0x20) != lower.data[at]) {
            return 0;
        }
    }
    return 1;
}

/* The text without spaces and tabs around it. */
static inline dm_span dm_http1_trim(dm_span text) {
    while (text.len != 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.len--;
    }
    while (text.len != 0 && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

#endif
