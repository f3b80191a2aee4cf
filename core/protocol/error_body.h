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

/* Whether an error says that the request has more tokens than the server takes (400 with
 * max_tokens_exceeded, in either spelling, or OpenAI's sentence; wire contract section 4.1), or is
 * too large (413). */
int dm_error_body_too_large(int http_status, dm_span body);

/* Whether an error would meet every request of this key and model alike: 401, 402, 403, no such
 * route, an unknown model (wire contract section 4.1). */
int dm_error_body_hits_all(int http_status, dm_span body);

#endif
