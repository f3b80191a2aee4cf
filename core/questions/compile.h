/* From a checked builder to a compiled set. */
#ifndef DM_QUESTIONS_COMPILE_H
#define DM_QUESTIONS_COMPILE_H

#include "questions/builder.h"
#include "questions/plan.h"

/* Compiles what dm_check() has just found to be free of errors: the bytes that are sent, tables for
 * keys and labels, and copies of all texts, so that the builder may go on or away. *set gets one
 * reference. DEEM_OK or DEEM_E_MEMORY. */
int32_t dm_compile(const deem_question_set_builder *builder, deem_question_set **set);

#endif
