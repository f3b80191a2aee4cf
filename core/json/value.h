/* Reading single values of a JSON index. Every function takes the document's text and a node of the
 * right kind (the caller has looked at node->kind). Nothing here depends on the locale. */
#ifndef DM_JSON_VALUE_H
#define DM_JSON_VALUE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "json/index.h"

/* A string's bytes. Without escapes *out borrows from the text; otherwise it is a copy in the arena
 * with a NUL behind it. A lone half of a surrogate pair reads as U+FFFD; \u0000 reads as a zero
 * byte. 0, or -1 when there is no memory. */
int dm_json_string(const char *text, const dm_json_node *node, dm_arena *arena, dm_span *out);

/* As dm_json_string, always a copy in the arena (for texts that outlive the document). */
int dm_json_string_copy(const char *text, const dm_json_node *node, dm_arena *arena, dm_span *out);

/* Appends a string's bytes to a buffer. 0, or -1 when there is no memory. */
int dm_json_string_append(const char *text, const dm_json_node *node, dm_bytes *out);

/* Whether the string, unescaped, has exactly these bytes. Allocates nothing. */
int dm_json_string_equal(const char *text, const dm_json_node *node, dm_span bytes);

/* Whether two strings are equal once unescaped. Allocates nothing. */
int dm_json_strings_equal(const char *text, const dm_json_node *a, const dm_json_node *b);

/* dm_span_hash of the unescaped bytes. Allocates nothing. */
uint32_t dm_json_string_hash(const char *text, const dm_json_node *node);

typedef enum dm_json_number_result {
    DM_JSON_NUMBER_OK = 0,
    DM_JSON_NUMBER_RANGE,   /* beyond what the type holds */
    DM_JSON_NUMBER_FRACTION /* dm_json_int64 only: not a whole number */
} dm_json_number_result;

/* The double nearest to a number's text (ties to even). A number too small reads as (signed) zero;
 * one too large is DM_JSON_NUMBER_RANGE, with *out an infinity. */
dm_json_number_result dm_json_number(const char *text, const dm_json_node *node, double *out);

/* A number as a whole one, exactly: 21, 21.0 and 2.1e1 are 21; 1.5 is DM_JSON_NUMBER_FRACTION; what
 * int64 cannot hold is DM_JSON_NUMBER_RANGE. *out is set on DM_JSON_NUMBER_OK alone. */
dm_json_number_result dm_json_int64(const char *text, const dm_json_node *node, int64_t *out);

/* How many decimals a number is written to: 0.25 has 2, 0.80 has 2, 25e-2 has 2, 1.5e3 and 7 have
 * 0. At most 65535. Half a unit of the last one is the rounding a sum of such numbers may carry. */
uint32_t dm_json_decimals(const char *text, const dm_json_node *node);

/* Reads a canonical decimal index ("0", "10"; not "", "00", "+1", " 1", "1.0") up to UINT32_MAX
 * - 1. 0, or -1 when the text is no such index (wire contract section 9, trap 20). */
int dm_json_parse_index(dm_span text, uint32_t *out);

#endif
