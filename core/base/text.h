/* Text for people: bytes from elsewhere made safe to print. */
#ifndef DM_BASE_TEXT_H
#define DM_BASE_TEXT_H

#include "base/bytes.h"

/* Appends bytes so that a terminal and a log stay safe: control bytes, DEL, C1 controls and invalid
 * UTF-8 become \xNN, and more than `most` bytes are cut with "… (N bytes)". 0 or -1 (no memory). */
int dm_text_append_safe(dm_bytes *out, dm_span text, size_t most);

/* The offset of the first byte that is not valid UTF-8 (RFC 3629: no surrogates, no overlong forms,
 * nothing above U+10FFFF), or text.len when all of it is valid. */
size_t dm_text_utf8_valid(dm_span text);

/* The length (1..4) of the valid UTF-8 sequence at the start of the text, or 0 when there is none.
 */
size_t dm_text_utf8_sequence(const char *text, size_t len);

/* The text without the white space (RFC 8259's four bytes) around it. */
dm_span dm_text_trim(dm_span text);

/* Whether two ASCII texts are equal when case is ignored. */
int dm_text_equal_nocase(dm_span a, dm_span b);

#endif
