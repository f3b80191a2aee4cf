/* Findings: what the check of a question set has to say. Every rule's id, severity and words lie in
 * one table, so that each language shows the same text. */
#ifndef DM_QUESTIONS_FINDING_H
#define DM_QUESTIONS_FINDING_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

/* The rules, in the order of docs/question-sets.md. */
typedef enum dm_rule {
    DM_RULE_NO_QUESTION,
    DM_RULE_EMPTY_KEY,
    DM_RULE_DUPLICATE_KEY,
    DM_RULE_MISSING_KIND,
    DM_RULE_UNKNOWN_KIND,
    DM_RULE_NO_OPTIONS,
    DM_RULE_DUPLICATE_LABEL,
    DM_RULE_TOO_MANY_OPTIONS,
    DM_RULE_NO_LEVELS,
    DM_RULE_TOO_MANY_LEVELS,
    DM_RULE_NULL_LEVEL,
    DM_RULE_RUBRIC_NOT_A_LIST,
    DM_RULE_CRITERIA_NOT_AN_OBJECT,
    DM_RULE_NOUL_WITHOUT_MEANING,
    DM_RULE_UNKNOWN_FIELD,
    DM_RULE_DUPLICATE_FIELD,
    DM_RULE_WRONG_TYPE,
    DM_RULE_INVALID_UTF8,
    DM_RULE_INVALID_JSON,
    DM_RULE_TOO_DEEP,
    DM_RULE_BLANK_TEXT,
    DM_RULE_ONE_OPTION,
    DM_RULE_MANY_OPTIONS,
    DM_RULE_ONE_LEVEL,
    DM_RULE_INSTRUCTIONS_MISSING,
    DM_RULE_COUNT
} dm_rule;

/* The rule's id, such as "duplicate-key"; lives as long as the library. */
const char *dm_rule_id(dm_rule rule);

/* DEEM_SEVERITY_ERROR or DEEM_SEVERITY_WARNING. */
int32_t dm_rule_severity(dm_rule rule);

/* Where a finding is: the steps of its path behind one another, as far as they are there. All zero
 * is the document itself. */
typedef struct dm_place {
    const char *root;    /* "questions", or NULL */
    const dm_span *key;  /* the question's key, or NULL */
    const char *field;   /* a field known to the library, or NULL */
    const dm_span *name; /* a label, or a field that is not known; or NULL */
    size_t position;     /* 1 + a level's index, or 0 */
} dm_place;

/* What a rule's words speak of; each rule uses some of these. */
typedef struct dm_finding_facts {
    const char *kind;   /* "noul", "choice", "score" */
    dm_span key;        /* the question's key */
    dm_span name;       /* a label or field */
    size_t number;      /* how many, or the offset of a byte */
    const char *what;   /* a NUL-terminated text, such as "a number" */
    const char *advice; /* replaces the rule's own advice; NULL: keep it */
} dm_finding_facts;

/* One finding; texts are NUL-terminated and live in the arena they were made in. */
typedef struct dm_finding {
    dm_rule rule;
    dm_span path;
    dm_span message;
    dm_span advice;
} dm_finding;

/* Makes a finding in an arena. Texts of the caller are escaped and cut (dm_text_append_safe), so
 * that it is safe to print. 0, or -1 when there is no memory. */
int dm_finding_make(dm_finding *out, dm_arena *arena, dm_rule rule, const dm_place *place,
                    const dm_finding_facts *facts);

/* The known name that is nearest to a mistyped one (by edit distance, case ignored), or NULL when
 * none is near. */
const char *dm_near_name(dm_span given, const char *const *known, size_t count);

#endif
