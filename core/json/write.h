/* Writing JSON. Nothing here depends on the locale. */
#ifndef DM_JSON_WRITE_H
#define DM_JSON_WRITE_H

#include <stdint.h>

#include "base/bytes.h"

/* Appends text as a JSON string in quotes: quotes, backslashes and control bytes escaped, UTF-8
 * kept as it is. The text must be valid UTF-8 (dm_text_utf8_valid). 0, or -1 when there is no
 * memory. */
int dm_json_write_string(dm_bytes *out, dm_span text);

/* The same without the quotes around it. */
int dm_json_write_string_inside(dm_bytes *out, dm_span text);

/* Appends the shortest decimal form that reads back as the same double; 1.0 is "1". NaN and the
 * infinities, which JSON cannot say, become null. 0 or -1 as above. */
int dm_json_write_double(dm_bytes *out, double value);

/* Appends a whole number. 0 or -1 as above. */
int dm_json_write_int64(dm_bytes *out, int64_t value);

#endif
