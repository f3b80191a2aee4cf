/* A compiled question set: immutable, counted, read by any number of threads. The public
 * deem_question_set is this. */
#ifndef DM_QUESTIONS_PLAN_H
#define DM_QUESTIONS_PLAN_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/bytes.h"

/* One option or level. For an option text is the label; for a level its text, or the JSON that is
 * sent. */
typedef struct dm_plan_label {
    dm_span text;
    uint32_t hash; /* dm_span_hash of text, when its question has a table */
} dm_plan_label;

typedef struct dm_plan_question {
    dm_span key;
    uint32_t hash;        /* dm_span_hash of key, when the set has a key table */
    int32_t kind;         /* DEEM_NOUL, DEEM_CHOICE, DEEM_SCORE */
    uint32_t first_label; /* into labels; a label's probability has the same index */
    uint32_t label_count; /* 0 for a noul */
    uint32_t table;       /* into slots: label table of a choice */
    uint32_t table_mask;  /* size of the table less one; 0: no table, compare one by one */
} dm_plan_question;

typedef struct deem_question_set {
    _Atomic uint32_t references;
    uint32_t question_count;
    uint32_t label_count;    /* of all questions; also the number of probabilities of a response */
    uint32_t key_table_mask; /* size of the key table less one; 0: no table, compare one by one */
    const dm_plan_question *questions;
    const dm_plan_label *labels;
    const uint16_t *slots;     /* label tables: label index within the question + 1, 0 = free */
    const uint32_t *key_table; /* question index + 1, 0 = free */
    dm_span json;              /* the value of "questions" as it is sent */
    dm_span model;             /* empty: none */
    _Atomic int identity_state;
    char identity[65];
} deem_question_set;

/* One more reference. Any thread. */
void dm_plan_ref(deem_question_set *set);

/* One reference less; the last frees the set. NULL is allowed. Any thread. */
void dm_plan_unref(deem_question_set *set);

/* The index of a key, or -1. `expected` is tried first: replies mostly keep the order. */
int32_t dm_plan_find(const deem_question_set *set, dm_span key, uint32_t expected);

/* The index of an option's label within its question, or -1; `expected` is tried first. */
int32_t dm_plan_find_label(const deem_question_set *set, const dm_plan_question *question,
                           dm_span label, uint32_t expected);

/* The SHA-256 of json in hexadecimal, worked out at the first call. Any thread. */
const char *dm_plan_identity(deem_question_set *set);

#endif
