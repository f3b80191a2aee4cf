/* The byte classes of HTTP, shared by reader, writer and URL. */
#ifndef DM_HTTP1_CHARS_H
#define DM_HTTP1_CHARS_H

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
int dm_http1_is(dm_span text, dm_span lower);

/* The text without spaces and tabs around it. */
dm_span dm_http1_trim(dm_span text);

#endif
