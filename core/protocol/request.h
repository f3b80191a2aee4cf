/* Writes the body of an evaluation (wire contract section 2.1). */
#ifndef DM_PROTOCOL_REQUEST_H
#define DM_PROTOCOL_REQUEST_H

#include "base/error.h"
#include "http1/writer.h"
#include "questions/plan.h"

/* What goes into a body; everything is borrowed. */
typedef struct dm_evaluation {
    const deem_question_set *set;
    dm_span state;
    int state_is_json;
    dm_span model;
    const dm_http1_field *fields; /* further top-level fields: name, and value as JSON */
    uint32_t field_count;
} dm_evaluation;

/* Checks that a state may be sent. DEEM_OK, or DEEM_E_STATE with error filled. Any thread. */
int32_t dm_request_check_state(dm_span state, int is_json, dm_error *error);

/* Empties body and writes `{"state":…,"model":…,"questions":…,…}` into it. A further field with one
 * of those names stands in its place. The state is checked first. Returns DEEM_OK, DEEM_E_STATE
 * with error filled, or DEEM_E_MEMORY. */
int32_t dm_request_write(const dm_evaluation *evaluation, dm_bytes *body, dm_error *error);

#endif
