#include "protocol/reply.h"

#include <math.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/text.h"
#include "protocol/error_body.h"
#include "protocol/reply_parts.h"

enum { EXCERPT = 80 };

void dm_reply_clear(dm_reply *reply) {
    dm_arena_reset(&reply->arena);
    reply->text = NULL;
    reply->model = (dm_span){0};
    reply->id = (dm_span){0};
    reply->input_tokens = -1;
    reply->output_tokens = -1;
    reply->cost = NAN;
    reply->fields.count = 0;
    reply->extras.count = 0;
    reply->model_count = 0;
}

void dm_reply_free(dm_reply *reply) {
    dm_answers_free(&reply->answers);
    dm_arena_free(&reply->arena);
    dm_free(reply->fields.items);
    dm_free(reply->extras.items);
    dm_free(reply->models);
    *reply = (dm_reply){0};
}

int dm_members_add(dm_members *members, dm_span name, dm_range json) {
    if (members->count == members->cap) {
        uint32_t cap = members->cap == 0 ? 8 : members->cap * 2;
        dm_member *items = dm_realloc(members->items, cap * sizeof *items);
        if (items == NULL) {
            return -1;
        }
        members->items = items;
        members->cap = cap;
    }
    members->items[members->count++] = (dm_member){name, json};
    return 0;
}

static int32_t reason_of(dm_json_reason reason) {
    switch (reason) {
    case DM_JSON_EMPTY:
    case DM_JSON_BLANK:
        return DEEM_REASON_EMPTY;
    case DM_JSON_UTF16:
    case DM_JSON_BAD_UTF8:
        return DEEM_REASON_NOT_UTF8;
    case DM_JSON_TRAILING:
        return DEEM_REASON_TRAILING;
    case DM_JSON_TOO_DEEP:
        return DEEM_REASON_DEPTH;
    case DM_JSON_TOO_MANY:
    case DM_JSON_TOO_LARGE:
        return DEEM_REASON_SIZE;
    case DM_JSON_TRUNCATED:
        return DEEM_REASON_JSON_TRUNCATED;
    default:
        return DEEM_REASON_NOT_JSON;
    }
}

static int32_t refuse_body(dm_error *error, dm_json_fault fault, const char *text, size_t len,
                           dm_span content_type) {
    int32_t reason = reason_of(fault.reason);
    if (reason == DEEM_REASON_EMPTY) {
        return dm_error_set(error, DEEM_E_INVALID_REPLY, reason,
                            "The reply has an empty body where answers were expected.");
    }
    dm_error_set(error, DEEM_E_INVALID_REPLY, reason,
                 "The reply's body cannot be read as JSON: %s at byte %zu",
                 dm_json_reason_text(fault.reason), fault.offset);
    if (reason == DEEM_REASON_NOT_JSON || reason == DEEM_REASON_NOT_UTF8) {
        dm_bytes_append_text(&error->message, " (content type ");
        if (content_type.len == 0) {
            dm_bytes_append_text(&error->message, "not given");
        }
        dm_text_append_safe(&error->message, content_type, EXCERPT);
        dm_bytes_append_text(&error->message, "; it begins: ");
        dm_text_append_safe(&error->message, dm_span_of(text, len), EXCERPT);
        dm_bytes_append_text(&error->message, ")");
    }
    dm_bytes_append_text(&error->message, ".");
    return error->code;
}

static int32_t envelope_error(dm_error *error, int32_t reason, const char *path,
                              const char *sentence) {
    dm_error_set(error, DEEM_E_INVALID_REPLY, reason, "%s", sentence);
    dm_bytes_append_text(&error->path, path);
    return error->code;
}

int32_t dm_reply_open(dm_reply *reply, dm_json_index *index, const char *text, size_t len,
                      dm_span content_type, dm_error *error) {
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3; /* RFC 8259 section 8.1 lets a reader skip it, and nothing is ambiguous */
        len -= 3;
    }
    reply->text = text;
    dm_json_fault fault;
    dm_json_reason why = dm_json_index_run(index, text, len, NULL, &fault);
    if (why == DM_JSON_NO_MEMORY) {
        return DEEM_E_MEMORY;
    }
    if (why != DM_JSON_OK) {
        return refuse_body(error, fault, text, len, content_type);
    }
    if (index->nodes[0].kind != DM_JSON_OBJECT) {
        return envelope_error(error, DEEM_REASON_ENVELOPE, "",
                              "The reply's body is JSON, but not an object with `answers`.");
    }
    return DEEM_OK;
}

/* A token count: absent and null are -1. 0, 1 (not a whole number in range) or the error is the
 * caller's. */
static int read_count(const dm_json_index *index, uint32_t value, int64_t *count) {
    const dm_json_node *node = &index->nodes[value];
    if (node->kind == DM_JSON_NULL) {
        return 0;
    }
    int64_t number = 0;
    if (node->kind != DM_JSON_NUMBER ||
        dm_json_int64(index->text, node, &number) != DM_JSON_NUMBER_OK || number < 0) {
        return 1;
    }
    *count = number;
    return 0;
}

static void read_cost(dm_reply *reply, const dm_json_index *index, uint32_t value) {
    const dm_json_node *node = &index->nodes[value];
    double cost;
    if (node->kind == DM_JSON_NUMBER &&
        dm_json_number(index->text, node, &cost) == DM_JSON_NUMBER_OK) {
        reply->cost = cost;
    }
}

/* Returns the name of the field that is wrong, or NULL. */
static const char *read_usage(dm_reply *reply, const dm_json_index *index, uint32_t usage) {
    if (index->nodes[usage].kind == DM_JSON_NULL) {
        return NULL;
    }
    if (index->nodes[usage].kind != DM_JSON_OBJECT) {
        return "usage";
    }
    const char *wrong = NULL;
    for (uint32_t key = dm_json_first(usage); key < dm_json_end(index, usage);
         key = dm_json_next_member(index, key)) {
        uint32_t value = key + 1;
        if (dm_reply_is(index, key, DM_LITERAL("input_tokens"))) {
            wrong = read_count(index, value, &reply->input_tokens) ? "usage.input_tokens" : wrong;
        } else if (dm_reply_is(index, key, DM_LITERAL("output_tokens"))) {
            wrong = read_count(index, value, &reply->output_tokens) ? "usage.output_tokens" : wrong;
        } else if (dm_reply_is(index, key, DM_LITERAL("prompt_tokens"))) {
            wrong = read_count(index, value, &reply->input_tokens) ? "usage.prompt_tokens" : wrong;
        } else if (dm_reply_is(index, key, DM_LITERAL("completion_tokens"))) {
            wrong =
                read_count(index, value, &reply->output_tokens) ? "usage.completion_tokens" : wrong;
        } else if (dm_reply_is(index, key, DM_LITERAL("cost"))) {
            read_cost(reply, index, value);
        }
    }
    return wrong;
}

/* What the top level holds. */
typedef struct envelope {
    uint32_t answers; /* DM_JSON_NONE: none */
    uint32_t result;
    uint32_t models;
    uint32_t data;
    int answers_twice;
    int says_error;
    int model_mistyped;
    const char *wrong_usage;
} envelope;

/* The members of the top level that mean something. */
typedef enum top_member {
    TOP_OTHER = 0,
    TOP_ANSWERS,
    TOP_MODEL,
    TOP_ID,
    TOP_USAGE,
    TOP_COST,
    TOP_RESULT,
    TOP_MODELS,
    TOP_DATA,
    TOP_ERROR,
    TOP_SUCCESS
} top_member;

static top_member top_member_of(dm_span name) {
    static const struct {
        char name[8];
        uint32_t len;
        top_member member;
    } names[] = {{"answers", 7, TOP_ANSWERS}, {"model", 5, TOP_MODEL},    {"usage", 5, TOP_USAGE},
                 {"id", 2, TOP_ID},           {"cost", 4, TOP_COST},      {"data", 4, TOP_DATA},
                 {"models", 6, TOP_MODELS},   {"result", 6, TOP_RESULT},  {"error", 5, TOP_ERROR},
                 {"detail", 6, TOP_ERROR},    {"success", 7, TOP_SUCCESS}};
    if (name.len < 2 || name.len > 7) {
        return TOP_OTHER;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].name[0] == name.data[0] && names[i].len == name.len &&
            memcmp(names[i].name, name.data, name.len) == 0) {
            return names[i].member;
        }
    }
    return TOP_OTHER;
}

/* 0 or -1 (no memory). */
static int read_top_member(dm_reply *reply, const dm_json_index *index, dm_span name,
                           uint32_t value, envelope *found) {
    const dm_json_node *node = &index->nodes[value];
    switch (top_member_of(name)) {
    case TOP_ANSWERS:
        found->answers_twice |= found->answers != DM_JSON_NONE;
        found->answers = value;
        break;
    case TOP_MODEL:
        if (node->kind == DM_JSON_STRING) {
            return dm_json_string_copy(index->text, node, &reply->arena, &reply->model);
        }
        found->model_mistyped |= node->kind != DM_JSON_NULL;
        break;
    case TOP_ID:
        if (node->kind == DM_JSON_STRING) {
            return dm_json_string_copy(index->text, node, &reply->arena, &reply->id);
        }
        break;
    case TOP_USAGE:
        found->wrong_usage = read_usage(reply, index, value);
        break;
    case TOP_COST:
        if (isnan(reply->cost)) {
            read_cost(reply, index, value);
        }
        break;
    case TOP_RESULT:
        found->result = value;
        break;
    case TOP_MODELS:
        found->models = value;
        break;
    case TOP_DATA:
        found->data = value;
        break;
    case TOP_ERROR:
        found->says_error |= node->kind != DM_JSON_NULL;
        break;
    case TOP_SUCCESS:
        found->says_error |= node->kind == DM_JSON_FALSE;
        break;
    case TOP_OTHER:
        break;
    }
    return 0;
}

static int read_envelope(dm_reply *reply, const dm_json_index *index, envelope *found) {
    *found = (envelope){.answers = DM_JSON_NONE,
                        .result = DM_JSON_NONE,
                        .models = DM_JSON_NONE,
                        .data = DM_JSON_NONE};
    for (uint32_t key = dm_json_first(0); key < dm_json_end(index, 0);
         key = dm_json_next_member(index, key)) {
        dm_span name;
        if (dm_json_string(index->text, &index->nodes[key], &reply->arena, &name) != 0 ||
            dm_members_add(&reply->fields, name, dm_reply_place(index, key + 1)) != 0 ||
            read_top_member(reply, index, name, key + 1, found) != 0) {
            return -1;
        }
    }
    return 0;
}

static int32_t no_answers(const dm_json_index *index, const envelope *found, dm_error *error) {
    if (found->says_error) {
        dm_error_set(error, DEEM_E_INVALID_REPLY, DEEM_REASON_ERROR_BODY,
                     "The server answered 2xx with an error inside: ");
        dm_error_body_append(index, &error->message);
        return error->code;
    }
    if (found->result != DM_JSON_NONE &&
        dm_json_get(index, found->result, DM_LITERAL("answers")) != DM_JSON_NONE) {
        return envelope_error(
            error, DEEM_REASON_ENVELOPE, "result",
            "The answers are wrapped in `result`: this is a gateway's own route; use "
            "one that answers as POST /v1/systemone does.");
    }
    return envelope_error(error, DEEM_REASON_ENVELOPE, "answers", "The reply has no `answers`.");
}

int dm_reply_note(dm_reply *reply, uint32_t question, dm_span tail, dm_span sentence) {
    dm_bytes path = {0};
    int failed = dm_bytes_append_text(&path, "answers") != 0 ||
                 dm_path_append_key(&path, reply->answers.set->questions[question].key) != 0 ||
                 dm_bytes_append(&path, tail.data, tail.len) != 0;
    dm_answer_note *note = &reply->answers.notes[question];
    if (!failed) {
        note->path = dm_arena_copy(&reply->arena, path.data, path.len);
        note->message = dm_arena_copy(&reply->arena, sentence.data, sentence.len);
        failed = note->path.data == NULL || note->message.data == NULL;
    }
    dm_bytes_free(&path);
    return failed ? -1 : 0;
}

static int read_all_answers(dm_reply *reply, const dm_json_index *index, uint32_t answers) {
    const deem_question_set *set = reply->answers.set;
    uint32_t expected = 0;
    for (uint32_t key = dm_json_first(answers); key < dm_json_end(index, answers);
         key = dm_json_next_member(index, key)) {
        dm_span name;
        if (dm_json_string(index->text, &index->nodes[key], &reply->arena, &name) != 0) {
            return -1;
        }
        int32_t question = dm_plan_find(set, name, expected);
        if (question < 0) {
            if (dm_json_string_copy(index->text, &index->nodes[key], &reply->arena, &name) != 0 ||
                dm_members_add(&reply->extras, name, dm_reply_place(index, key + 1)) != 0) {
                return -1;
            }
            continue;
        }
        uint32_t q = (uint32_t)question;
        expected = q + 1;
        dm_answer_note *note = &reply->answers.notes[q];
        if (note->json.len != 0) {
            dm_answers_refuse(&reply->answers, q, DEEM_REASON_DUPLICATE);
            if (dm_reply_note(reply, q, DM_LITERAL(""),
                              DM_LITERAL("This question is answered twice.")) != 0) {
                return -1;
            }
            continue;
        }
        note->json = dm_reply_place(index, key + 1);
        if (dm_reply_read_answer(reply, index, q, key + 1) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Names the questions without an answer and finds the first bad one; -1 when all are good, -2
 * without memory. */
static int64_t first_bad(dm_reply *reply) {
    int64_t first = -1;
    for (uint32_t q = 0; q < reply->answers.set->question_count; q++) {
        if (reply->answers.records[q].status == DEEM_ANSWER_OK) {
            continue;
        }
        if (first < 0) {
            first = q;
        }
        if (reply->answers.records[q].status == DEEM_REASON_MISSING &&
            dm_reply_note(reply, q, DM_LITERAL(""),
                          DM_LITERAL("The reply has no answer for this question.")) != 0) {
            return -2;
        }
    }
    return first;
}

int32_t dm_reply_read_answers(dm_reply *reply, dm_json_index *index, const deem_question_set *set,
                              const char *text, size_t len, int32_t check, dm_span content_type,
                              dm_error *error) {
    if (dm_answers_begin(&reply->answers, set) != 0) {
        return DEEM_E_MEMORY;
    }
    int32_t code = dm_reply_open(reply, index, text, len, content_type, error);
    if (code != DEEM_OK) {
        return code;
    }
    envelope found;
    if (read_envelope(reply, index, &found) != 0) {
        return DEEM_E_MEMORY;
    }
    reply->answers.blank = 0;
    if (found.answers == DM_JSON_NONE) {
        return no_answers(index, &found, error);
    }
    if (index->nodes[found.answers].kind != DM_JSON_OBJECT) {
        return envelope_error(error, DEEM_REASON_ENVELOPE, "answers",
                              "`answers` is not an object keyed by question.");
    }
    if (found.answers_twice) {
        return envelope_error(error, DEEM_REASON_DUPLICATE, "answers",
                              "The reply has `answers` twice.");
    }
    if (read_all_answers(reply, index, found.answers) != 0) {
        return DEEM_E_MEMORY;
    }
    int64_t bad = first_bad(reply);
    if (bad == -2) {
        return DEEM_E_MEMORY;
    }
    if (check != DEEM_CHECK_STRICT) {
        return DEEM_OK;
    }
    dm_answers_blank_doubtful(&reply->answers);
    if (bad >= 0) {
        const dm_answer_note *note = &reply->answers.notes[bad];
        dm_error_set(error, DEEM_E_INVALID_REPLY, reply->answers.records[bad].status, "%s: %s",
                     note->path.data, note->message.data);
        dm_bytes_append(&error->path, note->path.data, note->path.len);
        return error->code;
    }
    if (found.wrong_usage != NULL) {
        dm_error_set(error, DEEM_E_INVALID_REPLY, DEEM_REASON_USAGE,
                     "%s is not a whole number from 0 to 9223372036854775807.", found.wrong_usage);
        dm_bytes_append_text(&error->path, found.wrong_usage);
        return error->code;
    }
    if (found.model_mistyped) {
        return envelope_error(error, DEEM_REASON_TYPE, "model", "`model` is not a string.");
    }
    return DEEM_OK;
}

int32_t dm_reply_read_any(dm_reply *reply, dm_json_index *index, const char *text, size_t len) {
    dm_error ignored = {0};
    int32_t code = dm_reply_open(reply, index, text, len, dm_span_of(NULL, 0), &ignored);
    dm_error_free(&ignored);
    envelope found;
    if (code == DEEM_OK && read_envelope(reply, index, &found) != 0) {
        code = DEEM_E_MEMORY;
    }
    return code == DEEM_E_MEMORY ? code : DEEM_OK;
}

static int read_text(const dm_json_index *index, uint32_t value, dm_arena *arena, dm_span *out) {
    if (index->nodes[value].kind != DM_JSON_STRING) {
        return 0;
    }
    return dm_json_string_copy(index->text, &index->nodes[value], arena, out);
}

static int add_model(dm_reply *reply, const dm_json_index *index, uint32_t entry) {
    dm_listed_model model = {0};
    for (uint32_t key = dm_json_first(entry); key < dm_json_end(index, entry);
         key = dm_json_next_member(index, key)) {
        dm_span *out = NULL;
        int names = dm_reply_is(index, key, DM_LITERAL("name"));
        if (names || (dm_reply_is(index, key, DM_LITERAL("id")) && model.name.data == NULL)) {
            out = &model.name;
        } else if (dm_reply_is(index, key, DM_LITERAL("description"))) {
            out = &model.description;
        } else if (dm_reply_is(index, key, DM_LITERAL("release_date"))) {
            out = &model.release_date;
        }
        if (out != NULL && read_text(index, key + 1, &reply->arena, out) != 0) {
            return -1;
        }
    }
    if (reply->model_count == reply->model_cap) {
        uint32_t cap = reply->model_cap == 0 ? 8 : reply->model_cap * 2;
        dm_listed_model *models = dm_realloc(reply->models, cap * sizeof *models);
        if (models == NULL) {
            return -1;
        }
        reply->models = models;
        reply->model_cap = cap;
    }
    reply->models[reply->model_count++] = model;
    return 0;
}

int32_t dm_reply_read_models(dm_reply *reply, dm_json_index *index, const char *text, size_t len,
                             dm_span content_type, dm_error *error) {
    int32_t code = dm_reply_open(reply, index, text, len, content_type, error);
    if (code != DEEM_OK) {
        return code;
    }
    envelope found;
    if (read_envelope(reply, index, &found) != 0) {
        return DEEM_E_MEMORY;
    }
    uint32_t list = found.models != DM_JSON_NONE ? found.models : found.data;
    const char *path =
        found.models == DM_JSON_NONE && found.data != DM_JSON_NONE ? "data" : "models";
    if (list == DM_JSON_NONE || index->nodes[list].kind != DM_JSON_ARRAY) {
        return envelope_error(error, DEEM_REASON_ENVELOPE, path,
                              "The reply has no list of models under `models` or `data`.");
    }
    for (uint32_t entry = dm_json_first(list); entry < dm_json_end(index, list);
         entry = index->nodes[entry].next) {
        uint32_t number = reply->model_count;
        if (index->nodes[entry].kind == DM_JSON_OBJECT && add_model(reply, index, entry) != 0) {
            return DEEM_E_MEMORY;
        }
        if (reply->model_count == number || reply->models[number].name.data == NULL) {
            dm_error_set(error, DEEM_E_INVALID_REPLY, DEEM_REASON_SHAPE,
                         "A listed model is not an object with a name.");
            dm_bytes_append_text(&error->path, path);
            dm_path_append_index(&error->path, number);
            reply->model_count = 0;
            return error->code;
        }
    }
    return DEEM_OK;
}
