#include "questions/finding.h"

#include "base/path.h"
#include "base/text.h"
#include "deemster.h"

/* In words: {q} the question's key, {x} the name, both in quotes; {k} the kind; {n} the number;
 * {w} the text. */
typedef struct rule_words {
    const char *id;
    int32_t severity;
    const char *message;
    const char *advice;
} rule_words;

#define ERROR   DEEM_SEVERITY_ERROR
#define WARNING DEEM_SEVERITY_WARNING

static const rule_words rules[DM_RULE_COUNT] = {
    [DM_RULE_NO_QUESTION] = {"no-question", ERROR, "The set has no question.",
                             "Add at least one question."},
    [DM_RULE_EMPTY_KEY] = {"empty-key", ERROR, "A question has an empty key.",
                           "Give the question a key of one character or more."},
    [DM_RULE_DUPLICATE_KEY] = {"duplicate-key", ERROR,
                               "The key {q} belongs to more than one question.",
                               "Give each question a key of its own: the server would silently "
                               "keep only the last."},
    [DM_RULE_MISSING_KIND] = {"missing-kind", ERROR, "The question {q} has no type.",
                              "Add the field \"type\": \"noul\", \"choice\" or \"score\"."},
    [DM_RULE_UNKNOWN_KIND] = {"unknown-kind", ERROR, "The question {q} has the unknown type {x}.",
                              "The types are \"noul\", \"choice\" and \"score\"."},
    [DM_RULE_NO_OPTIONS] = {"no-options", ERROR, "The choice {q} has no options.",
                            "Give its criteria as an object of 1 to 255 labels, each with a "
                            "description or null."},
    [DM_RULE_DUPLICATE_LABEL] = {"duplicate-label", ERROR,
                                 "The choice {q} has the label {x} more than once.",
                                 "Give each option a label of its own: the server would silently "
                                 "keep only the last."},
    [DM_RULE_TOO_MANY_OPTIONS] = {"too-many-options", ERROR,
                                  "The choice {q} has {n} options; a choice has at most 255.",
                                  "Leave options out, or ask in two steps: first the group, then "
                                  "the option."},
    [DM_RULE_NO_LEVELS] = {"no-levels", ERROR, "The score {q} has no levels.",
                           "Give its criteria as an ordered list of 1 to 10 levels, lowest first."},
    [DM_RULE_TOO_MANY_LEVELS] = {"too-many-levels", ERROR,
                                 "The score {q} has {n} levels; a score has at most 10.",
                                 "Merge neighbouring levels."},
    [DM_RULE_NULL_LEVEL] = {"null-level", ERROR,
                            "Level {n} (the lowest is 0) of the score {q} is null.",
                            "Say what the level means: a string, an object or a list."},
    [DM_RULE_RUBRIC_NOT_A_LIST] =
        {"rubric-not-a-list", ERROR,
         "The criteria of the score {q} are an object; a score needs an "
         "ordered list.",
         "Write the levels as a list, lowest first: [\"low\", \"high\"]."},
    [DM_RULE_CRITERIA_NOT_AN_OBJECT] = {"criteria-not-an-object", ERROR,
                                        "The criteria of the {k} {q} are a list; a {k} needs an "
                                        "object.",
                                        "Write {\"label\": \"description\"} for a choice, "
                                        "{\"true\": \"...\", \"false\": \"...\"} for a noul."},
    [DM_RULE_NOUL_WITHOUT_MEANING] = {"noul-without-meaning", ERROR,
                                      "The noul {q} has neither instructions nor criteria.",
                                      "Write the yes/no question as its instructions."},
    [DM_RULE_UNKNOWN_FIELD] = {"unknown-field", ERROR, "{x} is not a field of {w}.",
                               "Remove it: the server would ignore or refuse it."},
    [DM_RULE_DUPLICATE_FIELD] = {"duplicate-field", ERROR, "The field {x} is there more than once.",
                                 "Keep one of them: the server would silently keep only the last."},
    [DM_RULE_WRONG_TYPE] = {"wrong-type", ERROR, "This is {w}, which cannot stand here.",
                            "Write a string, an object or a list."},
    [DM_RULE_INVALID_UTF8] = {"invalid-utf8", ERROR,
                              "The text is not valid UTF-8{w} at offset {n}.",
                              "Encode the text as UTF-8."},
    [DM_RULE_INVALID_JSON] = {"invalid-json", ERROR, "This is not one JSON value: {w}.",
                              "Correct the JSON at that place."},
    [DM_RULE_TOO_DEEP] = {"too-deep", ERROR, "The JSON is nested deeper than {n} levels{w}.",
                          "Make the structure flatter: servers fail on deep nesting."},
    [DM_RULE_BLANK_TEXT] = {"blank-text", WARNING, "The content is blank.",
                            "Write what is meant, or leave it out."},
    [DM_RULE_ONE_OPTION] = {"one-option", WARNING,
                            "The choice {q} has one option, which is always the answer.",
                            "Add the other options; some servers refuse a single one."},
    [DM_RULE_MANY_OPTIONS] = {"many-options", WARNING,
                              "The choice {q} has {n} options; answers are reliable to about 240.",
                              "Leave options out, or ask in two steps."},
    [DM_RULE_ONE_LEVEL] = {"one-level", WARNING,
                           "The score {q} has one level, which is always the answer.",
                           "Add the other levels; some servers refuse a single one."},
    [DM_RULE_INSTRUCTIONS_MISSING] = {"instructions-missing", WARNING,
                                      "The {k} {q} has no instructions.",
                                      "Add them: some servers refuse a question without."},
};

const char *dm_rule_id(dm_rule rule) {
    return rules[rule].id;
}

int32_t dm_rule_severity(dm_rule rule) {
    return rules[rule].severity;
}

enum { MOST_SHOWN = 64 };

static int append_quoted(dm_bytes *out, dm_span text) {
    return dm_bytes_append_char(out, '"') != 0 || dm_text_append_safe(out, text, MOST_SHOWN) != 0 ||
                   dm_bytes_append_char(out, '"') != 0
               ? -1
               : 0;
}

static int append_fact(dm_bytes *out, char letter, const dm_finding_facts *facts) {
    switch (letter) {
    case 'q':
        return append_quoted(out, facts->key);
    case 'x':
        return append_quoted(out, facts->name);
    case 'n':
        return dm_bytes_append_format(out, "%zu", facts->number);
    default: {
        const char *text = letter == 'k' ? facts->kind : facts->what;
        return text == NULL ? 0 : dm_bytes_append_text(out, text);
    }
    }
}

static int append_message(dm_bytes *out, const char *words, const dm_finding_facts *facts) {
    while (*words != '\0') {
        size_t plain = strcspn(words, "{");
        if (dm_bytes_append(out, words, plain) != 0) {
            return -1;
        }
        words += plain;
        if (*words == '{') {
            if (append_fact(out, words[1], facts) != 0) {
                return -1;
            }
            words += 3;
        }
    }
    return 0;
}

static int append_path(dm_bytes *out, const dm_place *place) {
    int failed = 0;
    if (place->root != NULL) {
        failed |= dm_bytes_append_text(out, place->root);
    }
    if (place->key != NULL) {
        failed |= dm_path_append_key(out, *place->key);
    }
    if (place->field != NULL) {
        failed |= dm_path_append_key(out, dm_span_of(place->field, strlen(place->field)));
    }
    if (place->name != NULL) {
        failed |= dm_path_append_key(out, *place->name);
    }
    if (place->position != 0) {
        failed |= dm_path_append_index(out, place->position - 1);
    }
    return failed ? -1 : 0;
}

int dm_finding_make(dm_finding *out, dm_arena *arena, dm_rule rule, const dm_place *place,
                    const dm_finding_facts *facts) {
    const char *advice = facts->advice == NULL ? rules[rule].advice : facts->advice;
    dm_bytes text = {0};
    out->rule = rule;
    int good = append_path(&text, place) == 0;
    if (good) {
        out->path = dm_arena_copy(arena, text.data, text.len);
        dm_bytes_clear(&text);
        good = out->path.data != NULL && append_message(&text, rules[rule].message, facts) == 0;
    }
    if (good) {
        out->message = dm_arena_copy(arena, text.data, text.len);
        out->advice = dm_arena_copy(arena, advice, strlen(advice));
        good = out->message.data != NULL && out->advice.data != NULL;
    }
    dm_bytes_free(&text);
    return good ? 0 : -1;
}

enum { LONGEST_NAME = 24 };

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* How many letters must be put in, left out, changed or swapped with their neighbour to make b of
 * a. Both have at most LONGEST_NAME bytes. */
static size_t edit_distance(dm_span a, dm_span b) {
    size_t rows[LONGEST_NAME + 1][LONGEST_NAME + 1];
    for (size_t i = 0; i <= a.len; i++) {
        for (size_t j = 0; j <= b.len; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            int same = lower(a.data[i - 1]) == lower(b.data[j - 1]);
            size_t best = least(rows[i - 1][j], rows[i][j - 1]) + 1;
            best = least(best, rows[i - 1][j - 1] + (size_t)!same);
            if (i > 1 && j > 1 && lower(a.data[i - 1]) == lower(b.data[j - 2]) &&
                lower(a.data[i - 2]) == lower(b.data[j - 1])) {
                best = least(best, rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    return rows[a.len][b.len];
}

const char *dm_near_name(dm_span given, const char *const *known, size_t count) {
    const char *nearest = NULL;
    size_t nearest_distance = SIZE_MAX;
    for (size_t i = 0; i < count && given.len <= LONGEST_NAME; i++) {
        dm_span name = dm_span_of(known[i], strlen(known[i]));
        size_t distance = edit_distance(given, name);
        /* Two letters may be wrong in a word of five or more, three in a long one. */
        if (distance <= 1 + name.len / 5 && distance < nearest_distance) {
            nearest = known[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}
