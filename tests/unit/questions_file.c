/* The words of findings: what they name, how they are escaped and cut, and that the same thing
 * gives the same text whatever form it came in. Rules and paths are in the conformance cases. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "deemster.h"
#include "questions/finding.h"

/* The first finding of a document; the texts belong to the builder, which is given out. */
static deem_question_set_builder *first_finding(const char *document, size_t document_len,
                                                const char **rule, const char **path,
                                                const char **message, const char **advice) {
    deem_question_set_builder *builder;
    int32_t severity;
    size_t len;
    cr_assert_eq(deem_question_set_builder_new(&builder), DEEM_OK);
    cr_assert_eq(deem_question_set_builder_json(builder, document, document_len), DEEM_OK);
    deem_question_set_builder_check(builder, NULL, NULL);
    cr_assert_eq(deem_question_set_builder_finding(builder, 0, &severity, rule, path, &len, message,
                                                   &len, advice, &len),
                 DEEM_OK, "%s", document);
    return builder;
}

Test(questions_file, messages_and_advice) {
    static const struct {
        const char *document;
        const char *rule;
        const char *message; /* must hold this */
        const char *advice;  /* and this */
    } rows[] = {
        {"{\"q\":{\"type\":\"choice\",\"critera\":{}}}", "unknown-field", "\"critera\"",
         "Did you mean \"criteria\"?"},
        {"{\"q\":{\"type\":\"noul\",\"instruction\":\"x\"}}", "unknown-field", "\"instruction\"",
         "Did you mean \"instructions\"?"},
        {"{\"q\":{\"type\":\"noul\",\"INSTRUCTIONS\":\"x\"}}", "unknown-field", "a question",
         "Did you mean \"instructions\"?"},
        {"{\"q\":{\"type\":\"noul\",\"instructions\":\"x\",\"weight\":1}}", "unknown-field",
         "\"weight\"", "Remove it"},
        {"{\"q\":{\"type\":\"noul\",\"instructions\":\"x\",\"criteria\":{\"ture\":\"\"}}}",
         "unknown-field", "a noul's criteria", "Did you mean \"true\"?"},
        {"{\"model\":\"m\",\"qestions\":{}}", "unknown-field", "\"qestions\"",
         "Did you mean \"questions\"?"},
        {"{\"questions\":{\"q\":{\"type\":\"noul\",\"instructions\":\"x\"}},\"modle\":1}",
         "unknown-field", "a question set", "Did you mean \"model\"?"},
        {"{\"q\":{\"type\":\"nuol\"}}", "unknown-kind", "\"nuol\"", "Did you mean \"noul\"?"},
        {"{\"q\":{\"type\":\"Score\"}}", "unknown-kind", "\"Score\"", "Did you mean \"score\"?"},
        {"{\"q\":{\"type\":\"box\"}}", "unknown-kind", "\"box\"",
         "\"noul\", \"choice\" and \"score\""},
        {"{\"q\":{\"type\":\"\"}}", "unknown-kind", "\"\"", "\"noul\""},
        {"{\"q\":{\"type\":\"score\",\"instructions\":\"x\",\"criteria\":{\"low\":1}}}",
         "rubric-not-a-list", "needs an ordered list", "lowest first"},
        {"{\"q\":{\"type\":\"choice\",\"instructions\":\"x\",\"criteria\":[1]}}",
         "criteria-not-an-object", "The criteria of the choice \"q\"", "label"},
        {"{\"q\":{\"type\":\"noul\",\"criteria\":[1]}}", "criteria-not-an-object",
         "The criteria of the noul \"q\"", "true"},
        {"{\"q\":5}", "wrong-type", "a number", "object"},
        {"{\"q\":{\"type\":\"noul\",\"instructions\":false}}", "wrong-type", "a boolean",
         "a string, an object or a list"},
        {"{\"q\":\n {\"type\": nul}}", "invalid-json", "offset 19 (line 2, column 14)", "Correct"},
        {"{\"q\":1", "invalid-json", "ends early, at offset 6 (line 1, column 7)", "Correct"},
        {"\xEF\xBB\xBF{}", "invalid-json", "byte order mark", "Correct"},
        {"{\"q\":\"\xFF\"}", "invalid-utf8", "at offset 6", "UTF-8"},
        {"{\"q\":{\"type\":\"noul\",\"instructions\":\"\\ud800\"}}", "invalid-utf8",
         "half of a surrogate pair) at offset 36", "both halves"},
        {"{\"q\":{\"type\":\"score\",\"instructions\":\"x\",\"criteria\":[\"a\",null]}}",
         "null-level", "Level 1 ", "Say"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *rule;
        const char *path;
        const char *message;
        const char *advice;
        deem_question_set_builder *builder = first_finding(
            rows[i].document, strlen(rows[i].document), &rule, &path, &message, &advice);
        cr_expect_str_eq(rule, rows[i].rule, "row %zu: %s", i, rule);
        cr_expect_not_null(strstr(message, rows[i].message), "row %zu: %s", i, message);
        cr_expect_not_null(strstr(advice, rows[i].advice), "row %zu: %s", i, advice);
        deem_question_set_builder_free(builder);
    }
}

/* Missing, null, {} and [] are one and the same mistake, in a document as in builder calls. */
Test(questions_file, no_options_reads_the_same_in_every_form) {
    static const char *const kinds[] = {"choice", "score"};
    static const char *const criteria[] = {"", ",\"criteria\":null", ",\"criteria\":{}",
                                           ",\"criteria\":[]"};
    for (int kind = 0; kind < 2; kind++) {
        deem_question_set_builder *called;
        const char *called_rule;
        const char *called_path;
        const char *called_message;
        const char *called_advice;
        int32_t severity;
        size_t len;
        cr_assert_eq(deem_question_set_builder_new(&called), DEEM_OK);
        cr_assert_eq(deem_question_set_builder_add(called, DEEM_CHOICE + kind, "team", 4,
                                                   DEEM_FORM_TEXT, "x", 1),
                     DEEM_OK);
        cr_assert_eq(deem_question_set_builder_check(called, NULL, NULL), DEEM_E_QUESTIONS);
        deem_question_set_builder_finding(called, 0, &severity, &called_rule, &called_path, &len,
                                          &called_message, &len, &called_advice, &len);
        cr_expect_not_null(strstr(called_message, "\"team\""));
        for (size_t i = 0; i < 4; i++) {
            char document[160];
            const char *rule;
            const char *path;
            const char *message;
            const char *advice;
            snprintf(document, sizeof document,
                     "{\"team\":{\"type\":\"%s\",\"instructions\":\"x\"%s}}", kinds[kind],
                     criteria[i]);
            deem_question_set_builder *read =
                first_finding(document, strlen(document), &rule, &path, &message, &advice);
            cr_expect_str_eq(rule, called_rule);
            cr_expect_str_eq(path, called_path);
            cr_expect_str_eq(message, called_message);
            cr_expect_str_eq(advice, called_advice);
            deem_question_set_builder_free(read);
        }
        deem_question_set_builder_free(called);
    }
}

Test(questions_file, texts_of_the_caller_are_escaped_and_cut) {
    enum { LONG = 100000 };
    static const char prefix[] = "{\"\\u001b]0;x\\u0007";
    static const char suffix[] = "\":{\"type\":\"choice\"}}";
    char *document = malloc(sizeof prefix + LONG + sizeof suffix);
    cr_assert_not_null(document);
    memcpy(document, prefix, sizeof prefix);
    memset(document + sizeof prefix - 1, 'k', LONG);
    memcpy(document + sizeof prefix - 1 + LONG, suffix, sizeof suffix);
    deem_question_set_builder *builder;
    cr_assert_eq(deem_question_set_builder_new(&builder), DEEM_OK);
    cr_assert_eq(deem_question_set_builder_json(builder, document, strlen(document)), DEEM_OK);
    size_t errors;
    size_t warnings;
    cr_assert_eq(deem_question_set_builder_check(builder, &errors, &warnings), DEEM_E_QUESTIONS);
    cr_assert(errors == 1 && warnings == 1);
    for (size_t i = 0; i < 2; i++) {
        const char *rule;
        const char *text[3];
        size_t len[3];
        int32_t severity;
        cr_assert_eq(deem_question_set_builder_finding(builder, i, &severity, &rule, &text[0],
                                                       &len[0], &text[1], &len[1], &text[2],
                                                       &len[2]),
                     DEEM_OK);
        for (int t = 0; t < 3; t++) {
            cr_expect_lt(len[t], 400);
            for (size_t at = 0; at < len[t]; at++) {
                cr_expect((unsigned char)text[t][at] >= 0x20, "a control byte");
            }
        }
        cr_expect_not_null(strstr(text[1], "\\x1B]0;x\\x07"), "%s", text[1]);
        cr_expect_not_null(strstr(text[1], "(100006 bytes)"), "%s", text[1]);
    }
    deem_question_set_builder_free(builder);
    free(document);
}

Test(questions_file, near_names) {
    static const char *const known[] = {"type", "instructions", "criteria"};
    static const struct {
        const char *given;
        const char *near; /* NULL: none */
    } rows[] = {
        {"critera", "criteria"},
        {"Criterias", "criteria"},
        {"crietria", "criteria"},
        {"tpye", "type"},
        {"types", "type"},
        {"TYPE", "type"},
        {"intructions", "instructions"},
        {"instruct", NULL},
        {"kind", NULL},
        {"", NULL},
        {"weight", NULL},
        {"a very long name of a field", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *near = dm_near_name(dm_span_of(rows[i].given, strlen(rows[i].given)), known, 3);
        cr_expect(near == rows[i].near ||
                      (near != NULL && rows[i].near != NULL && strcmp(near, rows[i].near) == 0),
                  "%s: %s", rows[i].given, near == NULL ? "none" : near);
    }
}
