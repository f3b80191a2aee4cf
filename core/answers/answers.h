/* The answers of one reply, by question index, and the checks that decide which may be believed.
 * Knows no wire names: core/protocol reads the reply and asks here. */
#ifndef DM_ANSWERS_ANSWERS_H
#define DM_ANSWERS_ANSWERS_H

#include <stdint.h>

#include "base/arena.h"
#include "deemster.h"
#include "questions/plan.h"

/* Where something stands in the reply's body; len 0: nowhere. */
typedef struct dm_range {
    uint32_t start;
    uint32_t len;
} dm_range;

/* What is known about one answer beside its record. Texts lie in the response's arena. */
typedef struct dm_answer_note {
    dm_range json;
    dm_span path;
    dm_span message;
} dm_answer_note;

/* All zero is a valid empty one. One thread at a time. */
typedef struct dm_answers {
    const deem_question_set *set; /* borrowed */
    deem_answer *records;
    dm_answer_note *notes;
    double *probabilities;
    dm_range *legend; /* one per label; used for levels */
    uint32_t question_cap;
    uint32_t label_cap;
    int blank; /* nothing was written since begin */
} dm_answers;

/* Which part of an answer a check is about. */
typedef enum dm_answer_part {
    DM_PART_WHOLE = 0,
    DM_PART_VALUE,
    DM_PART_CONFIDENCE,
    DM_PART_PROBABILITIES,
    DM_PART_PROBABILITY /* of the label in dm_verdict.label */
} dm_answer_part;

/* The outcome of a check: DEEM_ANSWER_OK or the first reason. */
typedef struct dm_verdict {
    int32_t reason;
    dm_answer_part part;
    uint32_t label;
    double seen;  /* the number that was wrong, for the message */
    double limit; /* what it was compared with */
} dm_verdict;

/* What a reply says about one question, freed of its spelling. The probabilities have been written
 * to their places in answers->probabilities (NaN: not given). */
typedef struct dm_claim {
    double value;            /* noul and score; NaN for a choice */
    double confidence;       /* NaN: none */
    int32_t chosen;          /* choice: index of the named option */
    uint32_t given;          /* how many probabilities were given */
    uint32_t decimals;       /* most decimals seen among the probabilities */
    uint32_t value_decimals; /* decimals of a score */
    int has_probabilities;
    int has_legend;
} dm_claim;

/* Makes room for the set and marks every question as not answered. 0 or -1 (no memory). Allocates
 * nothing once it has served a set of that size. */
int dm_answers_begin(dm_answers *answers, const deem_question_set *set);

/* Checks a claim (design section 5) and writes the record: good; doubtful (complete, but a check
 * failed); or bad (numbers NaN, indices -1). Returns why. */
dm_verdict dm_answers_judge(dm_answers *answers, uint32_t question, const dm_claim *claim);

/* Marks a question as badly answered: its record holds no number any more. */
void dm_answers_refuse(dm_answers *answers, uint32_t question, int32_t reason);

/* Takes the numbers out of doubtful records (strict calls hand out none). */
void dm_answers_blank_doubtful(dm_answers *answers);

/* Gives the memory back. */
void dm_answers_free(dm_answers *answers);

#endif
