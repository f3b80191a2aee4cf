/* A question set under construction: what was added, in order, unread until the check. The public
 * deem_question_set_builder is this. */
#ifndef DM_QUESTIONS_BUILDER_H
#define DM_QUESTIONS_BUILDER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "deemster.h"
#include "questions/finding.h"

/* Text or JSON as the caller gave it. */
typedef struct dm_content {
    dm_span bytes; /* of DEEM_FORM_TEXT and DEEM_FORM_JSON */
    int32_t form;  /* DEEM_FORM_* */
} dm_content;

/* So many keys or labels are compared one by one; more have hashes and a table. */
enum { DM_FEW_NAMES = 8 };

/* The size of the table for so many names: at least twice their number, so that a free slot ends
 * every search; 0: no table. */
static inline size_t dm_name_table_size(size_t count) {
    size_t size = 4 * (size_t)DM_FEW_NAMES;
    while (size < 2 * count) {
        size *= 2;
    }
    return count <= DM_FEW_NAMES ? 0 : size;
}

/* A key or label that may turn out to be there twice. */
typedef struct dm_name {
    dm_span text;
    uint32_t hash;  /* dm_span_hash of text, when there is a table; set by the check */
    uint32_t again; /* how often the same text came after it; set by the check */
} dm_name;

/* An option, a level, a side of a noul, or a field of the caller's own. */
typedef struct dm_entry {
    struct dm_entry *next;
    dm_name name; /* empty for a level */
    dm_content content;
} dm_entry;

typedef struct dm_entries {
    dm_entry *first;
    dm_entry *last;
    uint32_t count;
} dm_entries;

typedef struct dm_question {
    struct dm_question *next;
    dm_name key;
    int32_t kind;     /* DEEM_NOUL, DEEM_CHOICE, DEEM_SCORE; 0: a document's question that could not
                         be read further (a note says why) */
    int32_t criteria; /* DEEM_FORM_ABSENT, DEEM_FORM_NULL, or DEEM_FORM_JSON: given, though they may
                         be empty */
    int32_t unreadable; /* the criteria could not be read (a note says why) */
    dm_content instructions;
    dm_entries entries; /* options, levels, sides of a noul */
    dm_entries fields;  /* of the caller's own */
} dm_question;

/* A finding made while a document was read, and the question it stands at. */
typedef struct dm_note {
    struct dm_note *next;
    uint32_t question; /* how many questions stand before it */
    dm_finding finding;
} dm_note;

/* Everything that was added. */
typedef struct dm_draft {
    dm_question *first;
    dm_question *last;
    uint32_t question_count;
    uint32_t entry_count; /* of all questions, their own fields not counted */
    dm_note *first_note;
    dm_note *last_note;
    dm_span model;      /* empty: none */
    int32_t unreadable; /* a document had no questions that could be read (a note says why) */
    size_t text_bytes;  /* of all texts and JSON; an estimate of what will be sent */
} dm_draft;

struct deem_question_set_builder {
    dm_arena arena; /* the draft's */
    dm_draft draft;
    dm_arena check_arena; /* the findings' texts and the check's tables */
    dm_finding *findings; /* of the last check */
    size_t finding_count;
    size_t finding_room;
    size_t errors;
    size_t warnings;
};

/* A new, empty builder, or NULL when there is no memory. One thread at a time. */
deem_question_set_builder *dm_builder_new(void);

/* Gives a builder back; NULL is allowed. */
void dm_builder_free(deem_question_set_builder *builder);

/* The adders behind deem_question_set_builder_*: they copy and look at nothing but their kinds and
 * forms. Spans with data NULL and a length are refused. DEEM_OK, DEEM_E_MEMORY (nothing was added)
 * or DEEM_E_MISUSE. */
int32_t dm_builder_add(deem_question_set_builder *builder, int32_t kind, dm_span key, int32_t form,
                       dm_span instructions);
int32_t dm_builder_criterion(deem_question_set_builder *builder, int32_t side, int32_t form,
                             dm_span text);
int32_t dm_builder_option(deem_question_set_builder *builder, dm_span label, int32_t form,
                          dm_span description);
int32_t dm_builder_level(deem_question_set_builder *builder, int32_t form, dm_span level);
int32_t dm_builder_field(deem_question_set_builder *builder, dm_span name, dm_span json);
int32_t dm_builder_model(deem_question_set_builder *builder, dm_span model);

/* For the reader of documents: a question (of kind 0 too) at the end, or NULL (no memory). */
dm_question *dm_draft_question(deem_question_set_builder *builder, int32_t kind, dm_span key,
                               int32_t form, dm_span instructions);

/* Likewise an entry of the last question. 0, or -1 (no memory). */
int dm_draft_entry(deem_question_set_builder *builder, dm_entries *entries, dm_span name,
                   int32_t form, dm_span bytes);

/* Likewise a finding that stays with the draft, before the check's own findings about question
 * number `question` (the number of all questions: behind them). 0, or -1 (no memory). */
int dm_draft_note(deem_question_set_builder *builder, uint32_t question, dm_rule rule,
                  const dm_place *place, const dm_finding_facts *facts);

#endif
