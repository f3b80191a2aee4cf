/* One message out of all the shapes of error bodies (wire contract section 4.2). */
#ifndef DM_PROTOCOL_ERROR_BODY_H
#define DM_PROTOCOL_ERROR_BODY_H

#include "base/error.h"
#include "json/index.h"

/* Appends the message of an indexed error body, safe to print. The caller's `input` in a 422 is
 * left out. 0 or -1 (no memory). */
int dm_error_body_append(const dm_json_index *index, dm_bytes *out);

/* Fills an error for a reply that is not 2xx: code and text by status ("422 questions.q.criteria:
 * Field required"), and for a 422 the path of its first issue, as question and field. text has
 * DM_JSON_PADDING readable bytes behind len; it need not be JSON. Returns the code. */
int32_t dm_error_body_read(dm_json_index *index, int http_status, const char *text, size_t len,
                           dm_error *error);

/* The code of an HTTP status that is not 2xx. */
int32_t dm_error_code_of_status(int http_status);

#endif
