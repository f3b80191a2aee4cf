/* The names that a question has in JSON (wire contract section 2.4). */
#ifndef DM_QUESTIONS_KIND_H
#define DM_QUESTIONS_KIND_H

#include <stdint.h>

#include "base/bytes.h"

enum { DM_KIND_COUNT = 3, DM_FIELD_COUNT = 3 };

/* "noul", "choice", "score". */
extern const char *const dm_kind_names[DM_KIND_COUNT];

/* "type", "instructions", "criteria". */
extern const char *const dm_field_names[DM_FIELD_COUNT];

/* The name of a DEEM_NOUL, DEEM_CHOICE or DEEM_SCORE; "question" for anything else. */
const char *dm_kind_name(int32_t kind);

/* The kind of a name, or 0. */
int32_t dm_kind_of(dm_span name);

/* Whether a question's field of that name has a meaning of its own. */
int dm_field_is_known(dm_span name);

#endif
