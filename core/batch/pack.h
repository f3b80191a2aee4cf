/* Many rows in one request, in two shapes. In shape `question` the state is one fixed sentence and
 * each question's instructions bring the row along; in shape `state` the state holds all rows once
 * and each question is bound to one of them by a sentence. Question keys are ours (r12q3: row 12 of
 * the request, question 3 of the set), and answers are found by key alone. */
#ifndef DM_BATCH_PACK_H
#define DM_BATCH_PACK_H

#include "batch/row.h"
#include "batch/settings.h"

/* One question of the set as it is sent, cut up. Spans borrow from the packer's own copy. */
typedef struct dm_pack_question {
    uint32_t instructions; /* node of the value; DM_JSON_NONE: absent */
    uint32_t criteria;     /* likewise */
    dm_span type;
    dm_span tail;  /* the members behind criteria and instructions, with a comma before each */
    size_t bytes;  /* of the question as the set sends it */
    int has_paths; /* there is a back-tick somewhere in its texts */
} dm_pack_question;

enum { DM_MOST_WARNINGS = 32 };

typedef struct dm_packer {
    const deem_question_set *set; /* borrowed */
    int32_t shape;                /* DEEM_PACK_QUESTION or DEEM_PACK_STATE */
    dm_bytes text;                /* the set's bytes, padded */
    dm_json_index index;          /* of text */
    dm_pack_question *questions;
    size_t longest; /* bytes of the longest question */
    dm_json_index row_index;
    deem_question_set *plan; /* for so many rows, kept for the next pack of that size */
    uint32_t plan_rows;
    dm_bytes warnings[DM_MOST_WARNINGS];
    uint32_t warning_count;
} dm_packer;

/* What a row adds to a request. */
typedef struct dm_pack_load {
    size_t bytes;   /* of state and questions */
    size_t state;   /* of state alone */
    size_t longest; /* the longest question */
} dm_pack_load;

/* Takes the set apart. The set must outlive the packer. 0 or -1 (no memory). */
int dm_packer_init(dm_packer *packer, const deem_question_set *set, int32_t shape);

/* Gives the memory back. All zero is a valid, freed one. */
void dm_packer_free(dm_packer *packer);

/* The bytes that a row whose state has so many bytes of JSON adds, at most. */
dm_pack_load dm_packer_load(const dm_packer *packer, size_t row_bytes);

/* Write the request's state and questions for these rows, whose states are JSON. Paths that cannot
 * be bound to a row become warnings. 0 or -1 (no memory). */
int dm_packer_state(const dm_packer *packer, dm_row *const *rows, uint32_t count, dm_bytes *out);
int dm_packer_questions(dm_packer *packer, dm_row *const *rows, uint32_t count, dm_bytes *out);

/* The set that the reply to so many rows is read by: a new reference, or NULL (no memory). */
deem_question_set *dm_packer_plan(dm_packer *packer, uint32_t count);

/* The row of the request that the path of a 422 names (questions.r3q1.criteria, state.rows[3].x),
 * or -1. For a question, *question is its index and *rest what follows its key; else -1 and the
 * whole path. */
int64_t dm_packer_row_of_path(const dm_packer *packer, dm_span path, int32_t *question,
                              dm_span *rest);

#endif
