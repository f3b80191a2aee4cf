/* Runs question_sets.json: each case is a document or a script of builder calls, the findings it
 * must have (rule, severity, path; in order) and, when none is an error, the bytes that are sent,
 * their identity and the model. Also sees that every rule has a case and stands in
 * docs/question-sets.md. Usage: question_sets CASES DOCS. Exits 0 when all is as it must be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "deemster.h"
#include "questions/finding.h"
#include "json/index.h"
#include "json/value.h"

static dm_json_index cases;
static dm_arena arena;
static int failures;
static int rule_met[DM_RULE_COUNT];

static void fail(const char *name, const char *what) {
    printf("FAILED: %s: %s\n", name, what);
    failures++;
}

static void die(const char *what) {
    fprintf(stderr, "question_sets: %s\n", what);
    exit(2);
}

static dm_bytes read_file(const char *path) {
    dm_bytes text = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL || dm_bytes_reserve(&text, 4 << 20) != 0) {
        die("a file cannot be read");
    }
    text.len = fread(text.data, 1, text.cap - 1, file);
    text.data[text.len] = '\0';
    fclose(file);
    return text;
}

static uint32_t member(uint32_t object, const char *name) {
    return dm_json_get(&cases, object, dm_span_of(name, strlen(name)));
}

static dm_span base64(dm_span text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = dm_arena_take(&arena, text.len + 1);
    size_t len = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < text.len && text.data[i] != '='; i++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, text.data[i]) - digits);
        if (i % 4 != 0) {
            out[len++] = (char)(bits >> (6 - 2 * (i % 4)));
        }
    }
    return dm_span_of(out, len);
}

/* A string, or {"base64": "…"} for bytes that JSON cannot hold. */
static dm_span text_of(uint32_t node) {
    dm_span text = {NULL, 0};
    uint32_t inner = member(node, "base64");
    if (inner != DM_JSON_NONE) {
        return base64(text_of(inner));
    }
    if (node == DM_JSON_NONE || cases.nodes[node].kind != DM_JSON_STRING ||
        dm_json_string_copy(cases.text, &cases.nodes[node], &arena, &text) != 0) {
        die("a text is missing in a case");
    }
    return text;
}

static int32_t number_of(dm_span word, const char *const *words, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (dm_span_equal(word, dm_span_of(words[i], strlen(words[i])))) {
            return i;
        }
    }
    die("an unknown word in a case");
    return -1;
}

static int32_t form_of(dm_span word) {
    static const char *const forms[] = {"absent", "null", "text", "json"};
    return number_of(word, forms, 4);
}

static int32_t run_step(deem_question_set_builder *builder, uint32_t step) {
    static const char *const steps[] = {"add",   "criterion", "option", "level",
                                        "field", "model",     "json"};
    static const char *const kinds[] = {"", "noul", "choice", "score"};
    dm_span word[5] = {{NULL, 0}};
    int64_t side = 0;
    uint32_t count = 0;
    for (uint32_t node = dm_json_first(step); node < dm_json_end(&cases, step);
         node = cases.nodes[node].next) {
        if (cases.nodes[node].kind == DM_JSON_NUMBER) {
            dm_json_int64(cases.text, &cases.nodes[node], &side);
            word[count++] = dm_span_of(NULL, 0);
        } else {
            word[count++] = text_of(node);
        }
    }
    dm_span *w = word;
    switch (number_of(w[0], steps, 7)) {
    case 0:
        return deem_question_set_builder_add(builder, number_of(w[1], kinds, 4), w[2].data,
                                             w[2].len, form_of(w[3]), w[4].data, w[4].len);
    case 1:
        return deem_question_set_builder_criterion(builder, (int32_t)side, form_of(w[2]), w[3].data,
                                                   w[3].len);
    case 2:
        return deem_question_set_builder_option(builder, w[1].data, w[1].len, form_of(w[2]),
                                                w[3].data, w[3].len);
    case 3:
        return deem_question_set_builder_level(builder, form_of(w[1]), w[2].data, w[2].len);
    case 4:
        return deem_question_set_builder_field(builder, w[1].data, w[1].len, w[2].data, w[2].len);
    case 5:
        return deem_question_set_builder_model(builder, w[1].data, w[1].len);
    default:
        return deem_question_set_builder_json(builder, w[1].data, w[1].len);
    }
}

static int32_t build(deem_question_set_builder *builder, uint32_t one) {
    uint32_t script = member(one, "script");
    if (script == DM_JSON_NONE) {
        uint32_t encoded = member(one, "document_base64");
        dm_span document =
            encoded != DM_JSON_NONE ? base64(text_of(encoded)) : text_of(member(one, "document"));
        return member(one, "open") != DM_JSON_NONE
                   ? deem_question_set_builder_json_open(builder, document.data, document.len)
                   : deem_question_set_builder_json(builder, document.data, document.len);
    }
    int32_t status = DEEM_OK;
    for (uint32_t step = dm_json_first(script); step < dm_json_end(&cases, script);
         step = cases.nodes[step].next) {
        status |= run_step(builder, step);
    }
    return status;
}

static void meet(const char *rule) {
    for (int i = 0; i < DM_RULE_COUNT; i++) {
        rule_met[i] |= strcmp(dm_rule_id((dm_rule)i), rule) == 0;
    }
}

static void check_findings(const char *name, deem_question_set_builder *builder, uint32_t list) {
    size_t index = 0;
    for (uint32_t wanted = dm_json_first(list); wanted < dm_json_end(&cases, list);
         wanted = cases.nodes[wanted].next, index++) {
        uint32_t node = dm_json_first(wanted);
        dm_span rule = text_of(node);
        dm_span severity = text_of(node + 1);
        dm_span path = text_of(node + 2);
        int32_t is;
        const char *is_rule;
        const char *is_path;
        const char *message;
        const char *advice;
        size_t path_len;
        size_t message_len;
        size_t advice_len;
        if (deem_question_set_builder_finding(builder, index, &is, &is_rule, &is_path, &path_len,
                                              &message, &message_len, &advice,
                                              &advice_len) != DEEM_OK) {
            printf("no finding %zu, but %s at %s was expected\n", index, rule.data, path.data);
            fail(name, "too few findings");
            return;
        }
        meet(is_rule);
        int same =
            strcmp(is_rule, rule.data) == 0 && dm_span_equal(path, dm_span_of(is_path, path_len)) &&
            (is == DEEM_SEVERITY_ERROR) == (strcmp(severity.data, "error") == 0) &&
            strlen(is_path) == path_len && message_len != 0 && strlen(message) == message_len &&
            advice_len != 0 && strlen(advice) == advice_len;
        if (!same) {
            printf("finding %zu: %s at %s; expected %s at %s\n", index, is_rule, is_path, rule.data,
                   path.data);
            fail(name, "another finding");
        }
    }
    int32_t severity;
    const char *rule;
    if (deem_question_set_builder_finding(builder, index, &severity, &rule, NULL, NULL, NULL, NULL,
                                          NULL, NULL) != DEEM_E_ABSENT) {
        printf("finding %zu: %s was not expected\n", index, rule);
        fail(name, "too many findings");
    }
}

static void check_set(const char *name, const deem_question_set *set, uint32_t one) {
    const char *text;
    size_t len;
    deem_question_set_json(set, &text, &len);
    if (!dm_span_equal(dm_span_of(text, len), text_of(member(one, "questions")))) {
        printf("sent: %s\n", text);
        fail(name, "other bytes");
    }
    deem_question_set_identity(set, &text, &len);
    if (!dm_span_equal(dm_span_of(text, len), text_of(member(one, "identity")))) {
        fail(name, "another identity");
    }
    dm_span model =
        member(one, "model") == DM_JSON_NONE ? dm_span_of(NULL, 0) : text_of(member(one, "model"));
    int32_t status = deem_question_set_model(set, &text, &len);
    if (status != (model.len == 0 ? DEEM_E_ABSENT : DEEM_OK) ||
        !dm_span_equal(dm_span_of(text, len), model)) {
        fail(name, "another model");
    }
}

static void run_case(uint32_t one) {
    const char *name = text_of(member(one, "name")).data;
    deem_question_set_builder *builder;
    deem_question_set *set;
    int32_t expected = member(one, "questions") == DM_JSON_NONE ? DEEM_E_QUESTIONS : DEEM_OK;
    if (deem_question_set_builder_new(&builder) != DEEM_OK || build(builder, one) != DEEM_OK) {
        die("a builder call failed");
    }
    if (deem_question_set_new(builder, &set) != expected) {
        fail(name, "another status");
    }
    check_findings(name, builder, member(one, "findings"));
    deem_question_set_builder_free(builder);
    if (set != NULL && expected == DEEM_OK) {
        check_set(name, set, one);
    }
    deem_question_set_free(set);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        die("usage: question_sets CASES DOCS");
    }
    dm_bytes text = read_file(argv[1]);
    dm_json_index_init(&cases, DM_JSON_BY_DEFAULT);
    if (dm_bytes_reserve(&text, DM_JSON_PADDING) != 0 ||
        dm_json_index_run(&cases, text.data, text.len, NULL, NULL) != DM_JSON_OK) {
        die("the cases are no JSON");
    }
    size_t count = 0;
    for (uint32_t one = dm_json_first(0); one < dm_json_end(&cases, 0);
         one = cases.nodes[one].next, count++) {
        run_case(one);
    }
    dm_bytes docs = read_file(argv[2]);
    for (int i = 0; i < DM_RULE_COUNT; i++) {
        const char *rule = dm_rule_id((dm_rule)i);
        char heading[80];
        snprintf(heading, sizeof heading, "| `%s` | %s |", rule,
                 dm_rule_severity((dm_rule)i) == DEEM_SEVERITY_ERROR ? "error" : "warning");
        if (!rule_met[i]) {
            fail(rule, "no case has this finding");
        }
        if (strstr(docs.data, heading) == NULL) {
            fail(rule, "the docs do not list this rule with its severity");
        }
    }
    printf("question sets: %zu cases, %d failures\n", count, failures);
    dm_bytes_free(&docs);
    dm_bytes_free(&text);
    dm_json_index_free(&cases);
    dm_arena_free(&arena);
    return failures != 0;
}
