/* The JSON form of a question set. */
#ifndef DM_QUESTIONS_FILE_H
#define DM_QUESTIONS_FILE_H

#include "questions/builder.h"

/* Adds every question of a JSON document to a builder: the API's `questions` object, or {"model":
 * …, "questions": …} around it. A document is taken for the second form when it has a member
 * `questions` that is not itself a question (an object whose `type` is a string), or a `model` that
 * is a string. Whatever is wrong with it becomes a note of the draft, with its path. open: unknown
 * fields inside a question are sent as they stand. json is copied. DEEM_OK also for a bad document;
 * DEEM_E_MEMORY (nothing was added); DEEM_E_MISUSE (NULL with a length). One thread at a time. */
int32_t dm_file_read(deem_question_set_builder *builder, dm_span json, int open);

#endif
