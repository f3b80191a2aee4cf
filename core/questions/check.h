/* The offline check of a question set: every finding at once (wire contract sections 2.3 to 2.5, 9
 * traps 1 to 6). docs/question-sets.md lists the rules. */
#ifndef DM_QUESTIONS_CHECK_H
#define DM_QUESTIONS_CHECK_H

#include "questions/builder.h"

enum {
    DM_MOST_OPTIONS = 255,
    DM_RELIABLE_OPTIONS = 240,
    DM_MOST_LEVELS = 10,
    DM_MOST_DEPTH = 60 /* containers inside each other in one structured value */
};

/* Checks everything added so far and notes the findings in the builder, replacing those of the last
 * check; hashes every key and label (dm_name). DEEM_OK when there is no error, DEEM_E_QUESTIONS
 * when there is, DEEM_E_MEMORY (no findings then). One thread at a time. */
int32_t dm_check(deem_question_set_builder *builder);

#endif
