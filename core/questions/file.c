#include "questions/file.h"

#include <stdio.h>

#include "base/alloc.h"
#include "questions/kind.h"
#include "json/index.h"
#include "json/value.h"

typedef struct reader {
    deem_question_set_builder *builder;
    dm_json_index index;
    dm_arena arena;    /* unescaped texts, until they are added */
    uint32_t question; /* the number of the one being read */
    int open;
    int failed; /* there was no memory */
} reader;

static const dm_json_node *node_at(const reader *in, uint32_t node) {
    return &in->index.nodes[node];
}

static int is_kind(const reader *in, uint32_t node, dm_json_kind kind) {
    return node != DM_JSON_NONE && node_at(in, node)->kind == kind;
}

static void note(reader *in, dm_rule rule, const dm_place *place, const dm_finding_facts *facts) {
    in->failed |= dm_draft_note(in->builder, in->question, rule, place, facts) != 0;
}

static void note_wrong_type(reader *in, const dm_place *place, uint32_t node, const char *advice) {
    static const char *const words[] = {
        [DM_JSON_OBJECT] = "an object", [DM_JSON_ARRAY] = "a list",   [DM_JSON_STRING] = "a string",
        [DM_JSON_NUMBER] = "a number",  [DM_JSON_TRUE] = "a boolean", [DM_JSON_FALSE] = "a boolean",
        [DM_JSON_NULL] = "null",
    };
    note(in, DM_RULE_WRONG_TYPE, place,
         &(dm_finding_facts){.what = words[node_at(in, node)->kind], .advice = advice});
}

/* A string's bytes, borrowed until the reader is done. */
static dm_span string_at(reader *in, uint32_t node) {
    dm_span text = {NULL, 0};
    in->failed |= dm_json_string(in->index.text, node_at(in, node), &in->arena, &text) != 0;
    return text;
}

/* A half of a surrogate pair is good JSON and no text: it could not be sent. */
static void note_lone(reader *in, const dm_place *place, uint32_t node) {
    if ((node_at(in, node)->flags & DM_JSON_LONE) != 0) {
        note(in, DM_RULE_INVALID_UTF8, place,
             &(dm_finding_facts){.number = node_at(in, node)->start,
                                 .what = " (half of a surrogate pair)",
                                 .advice = "Write both halves, or the character itself."});
    }
}

/* Instructions, a description, a level or a side: strings are read, anything else keeps its bytes.
 */
static dm_content content_at(reader *in, const dm_place *place, uint32_t node) {
    if (is_kind(in, node, DM_JSON_STRING)) {
        note_lone(in, place, node);
        return (dm_content){string_at(in, node), DEEM_FORM_TEXT};
    }
    if (is_kind(in, node, DM_JSON_NULL)) {
        return (dm_content){.form = DEEM_FORM_NULL};
    }
    return (dm_content){dm_json_raw_value(&in->index, node), DEEM_FORM_JSON};
}

static void add_entry(reader *in, dm_entries *to, dm_span name, const dm_content *content) {
    in->failed |= dm_draft_entry(in->builder, to, name, content->form, content->bytes) != 0;
}

/* An unknown field, with the known one that was probably meant. */
static void note_unknown(reader *in, const dm_place *place, const char *of,
                         const char *const *known, size_t count) {
    char advice[120];
    const char *near = dm_near_name(*place->name, known, count);
    dm_finding_facts facts = {.name = *place->name, .what = of};
    if (near != NULL) {
        snprintf(advice, sizeof advice,
                 "Did you mean \"%s\"? The server ignores or refuses what it does not know.", near);
        facts.advice = advice;
    }
    note(in, DM_RULE_UNKNOWN_FIELD, place, &facts);
}

static void read_sides(reader *in, dm_question *question, uint32_t object, const dm_place *at) {
    static const char *const sides[] = {"true", "false"};
    for (uint32_t key = dm_json_first(object); key < dm_json_end(&in->index, object);
         key = dm_json_next_member(&in->index, key)) {
        dm_span side = string_at(in, key);
        dm_place place = *at;
        place.name = &side;
        if (!in->open && !dm_span_equal(side, DM_LITERAL("true")) &&
            !dm_span_equal(side, DM_LITERAL("false"))) {
            note_unknown(in, &place, "a noul's criteria", sides, 2);
        }
        note_lone(in, &place, key);
        dm_content content = content_at(in, &place, key + 1);
        add_entry(in, &question->entries, side, &content);
    }
}

static void read_options(reader *in, dm_question *question, uint32_t object, const dm_place *at) {
    for (uint32_t key = dm_json_first(object); key < dm_json_end(&in->index, object);
         key = dm_json_next_member(&in->index, key)) {
        dm_span label = string_at(in, key);
        dm_place place = *at;
        place.name = &label;
        note_lone(in, &place, key);
        dm_content content = content_at(in, &place, key + 1);
        add_entry(in, &question->entries, label, &content);
    }
}

static void read_levels(reader *in, dm_question *question, uint32_t array, const dm_place *at) {
    dm_place place = *at;
    for (uint32_t level = dm_json_first(array); level < dm_json_end(&in->index, array);
         level = node_at(in, level)->next) {
        place.position++;
        dm_content content = content_at(in, &place, level);
        add_entry(in, &question->entries, dm_span_of(NULL, 0), &content);
    }
}

static void read_criteria(reader *in, dm_question *question, uint32_t node) {
    static const char *const advice[] = {
        [DEEM_NOUL] = "Write an object with \"true\" and \"false\", or leave it out.",
        [DEEM_CHOICE] = "Write an object from each label to its description or null.",
        [DEEM_SCORE] = "Write a list of levels, lowest first.",
    };
    if (node == DM_JSON_NONE || is_kind(in, node, DM_JSON_NULL)) {
        question->criteria = node == DM_JSON_NONE ? DEEM_FORM_ABSENT : DEEM_FORM_NULL;
        return;
    }
    dm_place at = {.root = "questions", .key = &question->key.text, .field = "criteria"};
    dm_finding_facts facts = {.kind = dm_kind_name(question->kind), .key = question->key.text};
    int is_object = is_kind(in, node, DM_JSON_OBJECT);
    int is_array = is_kind(in, node, DM_JSON_ARRAY);
    int empty = node_at(in, node)->count == 0;
    question->criteria = DEEM_FORM_JSON;
    if (question->kind == DEEM_NOUL && is_object) {
        read_sides(in, question, node, &at);
    } else if (question->kind == DEEM_CHOICE && is_object) {
        read_options(in, question, node, &at);
    } else if (question->kind == DEEM_SCORE && is_array) {
        read_levels(in, question, node, &at);
    } else if (question->kind != DEEM_NOUL && (is_object || is_array) && empty) {
        return; /* as good as none: the check says what is missing, the same for every form */
    } else {
        question->unreadable = 1;
        if (is_object) {
            note(in, DM_RULE_RUBRIC_NOT_A_LIST, &at, &facts);
        } else if (is_array) {
            note(in, DM_RULE_CRITERIA_NOT_AN_OBJECT, &at, &facts);
        } else {
            note_wrong_type(in, &at, node, advice[question->kind]);
        }
    }
}

/* The kind that a question's `type` names, or 0 with a note. */
static int32_t read_kind(reader *in, const dm_place *question, uint32_t type) {
    static const char one_of[] = "Write \"noul\", \"choice\" or \"score\".";
    dm_place at = *question;
    at.field = "type";
    if (type == DM_JSON_NONE) {
        note(in, DM_RULE_MISSING_KIND, question, &(dm_finding_facts){.key = *question->key});
        return 0;
    }
    if (!is_kind(in, type, DM_JSON_STRING)) {
        note_wrong_type(in, &at, type, one_of);
        return 0;
    }
    dm_span name = string_at(in, type);
    int32_t kind = dm_kind_of(name);
    if (kind == 0) {
        char advice[80];
        const char *near = dm_near_name(name, dm_kind_names, DM_KIND_COUNT);
        dm_finding_facts facts = {.key = *question->key, .name = name};
        if (near != NULL) {
            snprintf(advice, sizeof advice, "Did you mean \"%s\"?", near);
            facts.advice = advice;
        }
        note(in, DM_RULE_UNKNOWN_KIND, &at, &facts);
    }
    return kind;
}

/* A member of a question or of the document; a second one of the same name is noted. */
static uint32_t find(reader *in, uint32_t object, const char *name, const dm_place *at) {
    dm_span key = dm_span_of(name, strlen(name));
    dm_json_found found = dm_json_find(&in->index, object, key);
    if (found.again != DM_JSON_NONE) {
        dm_place place = *at;
        place.name = &key;
        note(in, DM_RULE_DUPLICATE_FIELD, &place, &(dm_finding_facts){.name = key});
    }
    return found.value;
}

static void read_unknown_fields(reader *in, dm_question *question, uint32_t object,
                                const dm_place *at) {
    for (uint32_t key = dm_json_first(object); key < dm_json_end(&in->index, object);
         key = dm_json_next_member(&in->index, key)) {
        dm_span name = string_at(in, key);
        if (dm_field_is_known(name)) {
            continue;
        }
        dm_place place = *at;
        place.name = &name;
        if (in->open) {
            note_lone(in, &place, key);
            dm_content content = {dm_json_raw_value(&in->index, key + 1), DEEM_FORM_JSON};
            add_entry(in, &question->fields, name, &content);
        } else {
            note_unknown(in, &place, "a question", dm_field_names, DM_FIELD_COUNT);
        }
    }
}

static void read_question(reader *in, uint32_t key_node) {
    uint32_t value = key_node + 1;
    dm_span key = string_at(in, key_node);
    dm_place at = {.root = "questions", .key = &key};
    note_lone(in, &at, key_node);
    int32_t kind = 0;
    uint32_t instructions = DM_JSON_NONE;
    uint32_t criteria = DM_JSON_NONE;
    dm_content content = {.form = DEEM_FORM_ABSENT};
    int is_object = is_kind(in, value, DM_JSON_OBJECT);
    if (!is_object) {
        note_wrong_type(in, &at, value,
                        "Write the question as an object with type, instructions and criteria.");
    } else {
        kind = read_kind(in, &at, find(in, value, "type", &at));
        instructions = find(in, value, "instructions", &at);
        criteria = find(in, value, "criteria", &at);
    }
    if (instructions != DM_JSON_NONE) {
        dm_place place = at;
        place.field = "instructions";
        content = content_at(in, &place, instructions);
    }
    dm_question *question =
        in->failed ? NULL : dm_draft_question(in->builder, kind, key, content.form, content.bytes);
    if (question == NULL) {
        in->failed = 1;
        return;
    }
    if (kind != 0) {
        read_criteria(in, question, criteria);
    }
    if (is_object) {
        read_unknown_fields(in, question, value, &at);
    }
    in->question = in->builder->draft.question_count;
}

static void read_questions(reader *in, uint32_t object) {
    for (uint32_t key = dm_json_first(object); key < dm_json_end(&in->index, object) && !in->failed;
         key = dm_json_next_member(&in->index, key)) {
        read_question(in, key);
    }
}

static void read_model(reader *in, uint32_t node) {
    dm_place at = {.field = "model"};
    if (node == DM_JSON_NONE || is_kind(in, node, DM_JSON_NULL)) {
        return;
    }
    if (!is_kind(in, node, DM_JSON_STRING)) {
        note_wrong_type(in, &at, node, "Write the model's name as a string, or leave it out.");
        return;
    }
    note_lone(in, &at, node);
    dm_span model = string_at(in, node);
    if (model.len == 0) {
        note(in, DM_RULE_BLANK_TEXT, &at, &(dm_finding_facts){0});
    } else {
        in->failed |= dm_builder_model(in->builder, model) != DEEM_OK;
    }
}

static const char needs_object[] = "Write an object from each question's key to the question.";

static void read_wrapped(reader *in) {
    static const char *const known[] = {"model", "questions"};
    const dm_place top = {0};
    read_model(in, find(in, 0, "model", &top));
    uint32_t questions = find(in, 0, "questions", &top);
    if (is_kind(in, questions, DM_JSON_OBJECT)) {
        read_questions(in, questions);
    } else if (questions != DM_JSON_NONE && !is_kind(in, questions, DM_JSON_NULL)) {
        in->builder->draft.unreadable = 1;
        note_wrong_type(in, &(dm_place){.root = "questions"}, questions, needs_object);
    }
    for (uint32_t key = dm_json_first(0); key < dm_json_end(&in->index, 0);
         key = dm_json_next_member(&in->index, key)) {
        dm_span name = string_at(in, key);
        if (!dm_span_equal(name, DM_LITERAL("model")) &&
            !dm_span_equal(name, DM_LITERAL("questions"))) {
            dm_place place = {.name = &name};
            note_unknown(in, &place, "a question set", known, 2);
        }
    }
}

/* Whether the document is {"model": …, "questions": …}, and not itself the questions. */
static int is_wrapped(const reader *in) {
    uint32_t questions = dm_json_get(&in->index, 0, DM_LITERAL("questions"));
    if (questions != DM_JSON_NONE) {
        return !is_kind(in, dm_json_get(&in->index, questions, DM_LITERAL("type")), DM_JSON_STRING);
    }
    return is_kind(in, dm_json_get(&in->index, 0, DM_LITERAL("model")), DM_JSON_STRING);
}

static void note_fault(reader *in, dm_span json, const dm_json_fault *fault) {
    char what[200];
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < fault->offset && i < json.len; i++) {
        column = json.data[i] == '\n' ? 1 : column + 1;
        line += json.data[i] == '\n';
    }
    dm_rule rule = DM_RULE_INVALID_JSON;
    dm_finding_facts facts = {.number = fault->offset, .what = what};
    if (fault->reason == DM_JSON_BAD_UTF8) {
        rule = DM_RULE_INVALID_UTF8;
        facts.what = "";
    } else if (fault->reason == DM_JSON_TOO_DEEP) {
        rule = DM_RULE_TOO_DEEP;
        facts.number = DM_JSON_DEPTH_HARD;
        snprintf(what, sizeof what, ", at offset %zu (line %zu, column %zu)", fault->offset, line,
                 column);
    } else {
        snprintf(what, sizeof what, "%s, at offset %zu (line %zu, column %zu)",
                 dm_json_reason_text(fault->reason), fault->offset, line, column);
    }
    note(in, rule, &(dm_place){0}, &facts);
}

static void read_document(reader *in, dm_span json, const char *padded) {
    const dm_json_limits limits = {DM_JSON_DEPTH_HARD, DM_JSON_NODES_DEFAULT};
    dm_json_fault fault;
    dm_json_reason reason = dm_json_index_run(&in->index, padded, json.len, &limits, &fault);
    if (reason == DM_JSON_NO_MEMORY) {
        in->failed = 1;
    } else if (reason != DM_JSON_OK) {
        in->builder->draft.unreadable = 1;
        note_fault(in, json, &fault);
    } else if (!is_kind(in, 0, DM_JSON_OBJECT)) {
        in->builder->draft.unreadable = 1;
        note_wrong_type(in, &(dm_place){0}, 0, needs_object);
    } else if (is_wrapped(in)) {
        read_wrapped(in);
    } else {
        read_questions(in, 0);
    }
}

int32_t dm_file_read(deem_question_set_builder *builder, dm_span json, int open) {
    if (json.data == NULL && json.len != 0) {
        return DEEM_E_MISUSE;
    }
    char *padded = json.len > SIZE_MAX / 16 ? NULL : dm_alloc(json.len + DM_JSON_PADDING);
    if (padded == NULL) {
        return DEEM_E_MEMORY;
    }
    if (json.len != 0) {
        memcpy(padded, json.data, json.len);
    }
    memset(padded + json.len, 0, DM_JSON_PADDING);
    const dm_draft before = builder->draft;
    reader in = {.builder = builder, .question = builder->draft.question_count, .open = open};
    dm_json_index_init(&in.index, DM_JSON_BY_DEFAULT);
    read_document(&in, json, padded);
    dm_json_index_free(&in.index);
    dm_arena_free(&in.arena);
    dm_free(padded);
    if (!in.failed) {
        return DEEM_OK;
    }
    builder->draft =
        before; /* as if nothing had been added; the arena keeps the rest until the end */
    if (before.last != NULL) {
        before.last->next = NULL;
    }
    if (before.last_note != NULL) {
        before.last_note->next = NULL;
    }
    return DEEM_E_MEMORY;
}
