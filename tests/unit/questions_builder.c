/* Building and compiling question sets through the public functions: misuse, what is copied, what
 * is found again, and how many allocations it takes. What the check finds is in the conformance
 * cases. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "deemster.h"
#include "questions/plan.h"

#define TEXT(text) text, sizeof(text) - 1

static deem_question_set_builder *new_builder(void) {
    deem_question_set_builder *builder = NULL;
    cr_assert_eq(deem_question_set_builder_new(&builder), DEEM_OK);
    return builder;
}

static deem_question_set *build(deem_question_set_builder *builder) {
    deem_question_set *set = NULL;
    cr_assert_eq(deem_question_set_new(builder, &set), DEEM_OK);
    deem_question_set_builder_free(builder);
    return set;
}

static void add_triage(deem_question_set_builder *b) {
    int32_t status = 0;
    status |=
        deem_question_set_builder_add(b, DEEM_NOUL, TEXT("requests_credentials"), DEEM_FORM_TEXT,
                                      TEXT("Does `message` ask for a credential?"));
    status |= deem_question_set_builder_add(b, DEEM_CHOICE, TEXT("team"), DEEM_FORM_TEXT,
                                            TEXT("Which team should handle `message`?"));
    status |= deem_question_set_builder_option(b, TEXT("billing"), DEEM_FORM_TEXT,
                                               TEXT("Charges, invoices, refunds"));
    status |= deem_question_set_builder_option(b, TEXT("account"), DEEM_FORM_TEXT,
                                               TEXT("Login, profile, permissions"));
    status |= deem_question_set_builder_add(b, DEEM_SCORE, TEXT("urgency"), DEEM_FORM_TEXT,
                                            TEXT("How urgent is `message`?"));
    status |= deem_question_set_builder_level(b, DEEM_FORM_TEXT, TEXT("Can wait"));
    status |= deem_question_set_builder_level(b, DEEM_FORM_TEXT, TEXT("This week"));
    status |= deem_question_set_builder_level(b, DEEM_FORM_TEXT, TEXT("Today"));
    cr_assert_eq(status, DEEM_OK);
}

Test(questions_builder, misuse) {
    deem_question_set_builder *b = new_builder();
    enum { MISUSE = DEEM_E_MISUSE };
    cr_expect_eq(deem_question_set_builder_new(NULL), MISUSE);
    /* nothing to add to yet */
    cr_expect_eq(deem_question_set_builder_criterion(b, 1, DEEM_FORM_TEXT, TEXT("x")), MISUSE);
    cr_expect_eq(deem_question_set_builder_option(b, TEXT("x"), DEEM_FORM_NULL, NULL, 0), MISUSE);
    cr_expect_eq(deem_question_set_builder_level(b, DEEM_FORM_TEXT, TEXT("x")), MISUSE);
    cr_expect_eq(deem_question_set_builder_field(b, TEXT("x"), TEXT("1")), MISUSE);
    /* kinds, forms, NULL with a length */
    cr_expect_eq(deem_question_set_builder_add(b, 0, TEXT("q"), DEEM_FORM_ABSENT, NULL, 0), MISUSE);
    cr_expect_eq(deem_question_set_builder_add(b, 4, TEXT("q"), DEEM_FORM_ABSENT, NULL, 0), MISUSE);
    cr_expect_eq(deem_question_set_builder_add(b, DEEM_NOUL, TEXT("q"), 4, NULL, 0), MISUSE);
    cr_expect_eq(deem_question_set_builder_add(b, DEEM_NOUL, TEXT("q"), -1, NULL, 0), MISUSE);
    cr_expect_eq(deem_question_set_builder_add(b, DEEM_NOUL, NULL, 1, 0, NULL, 0), MISUSE);
    cr_expect_eq(deem_question_set_builder_add(b, DEEM_NOUL, TEXT("q"), DEEM_FORM_TEXT, NULL, 1),
                 MISUSE);
    cr_expect_eq(deem_question_set_builder_model(b, NULL, 1), MISUSE);
    cr_expect_eq(deem_question_set_builder_json(b, NULL, 1), MISUSE);
    static const int32_t kinds[] = {DEEM_NOUL, DEEM_CHOICE, DEEM_SCORE};
    for (size_t i = 0; i < 3; i++) {
        int32_t kind = kinds[i];
        cr_assert_eq(deem_question_set_builder_add(b, kind, TEXT("q"), DEEM_FORM_TEXT, TEXT("x")),
                     DEEM_OK);
        for (int32_t form = DEEM_FORM_ABSENT; form <= DEEM_FORM_JSON + 1; form++) {
            int bad = form == DEEM_FORM_ABSENT || form > DEEM_FORM_JSON;
            cr_expect_eq(deem_question_set_builder_criterion(b, 0, form, TEXT("{}")),
                         kind == DEEM_NOUL && !bad ? DEEM_OK : MISUSE);
            cr_expect_eq(deem_question_set_builder_option(b, TEXT("a"), form, TEXT("{}")),
                         kind == DEEM_CHOICE && !bad ? DEEM_OK : MISUSE);
            cr_expect_eq(deem_question_set_builder_level(b, form, TEXT("{}")),
                         kind == DEEM_SCORE && !bad ? DEEM_OK : MISUSE);
        }
        cr_expect_eq(deem_question_set_builder_criterion(b, 2, DEEM_FORM_TEXT, TEXT("x")), MISUSE);
        cr_expect_eq(deem_question_set_builder_criterion(b, -1, DEEM_FORM_TEXT, TEXT("x")), MISUSE);
        cr_expect_eq(deem_question_set_builder_option(b, NULL, 1, DEEM_FORM_NULL, NULL, 0), MISUSE);
        cr_expect_eq(deem_question_set_builder_field(b, TEXT("f"), NULL, 1), MISUSE);
    }
    /* a question that a document could not name a kind for takes nothing */
    cr_assert_eq(deem_question_set_builder_json(b, TEXT("{\"z\":5}")), DEEM_OK);
    cr_expect_eq(deem_question_set_builder_option(b, TEXT("a"), DEEM_FORM_NULL, NULL, 0), MISUSE);
    deem_question_set_builder_free(b);
    deem_question_set_builder_free(NULL);
    deem_question_set_free(NULL);
}

Test(questions_builder, null_handles_give_nothing) {
    deem_question_set *set = (deem_question_set *)(void *)&set;
    const char *text = "x";
    const char *more = "x";
    const char *rule = "x";
    size_t len = 7;
    size_t more_len = 7;
    int32_t number = 7;
    cr_expect_eq(deem_question_set_new(NULL, &set), DEEM_E_MISUSE);
    cr_expect_null(set);
    deem_question_set_builder *b = new_builder();
    cr_expect_eq(deem_question_set_new(b, NULL), DEEM_E_MISUSE);
    cr_expect_eq(deem_question_set_builder_check(NULL, &len, &more_len), DEEM_E_MISUSE);
    cr_expect(len == 0 && more_len == 0);
    cr_expect_eq(deem_question_set_builder_check(b, &len, &more_len), DEEM_E_QUESTIONS);
    cr_expect(len == 1 && more_len == 0);
    cr_expect_eq(deem_question_set_builder_check(b, NULL, NULL), DEEM_E_QUESTIONS);
    cr_expect_eq(deem_question_set_builder_finding(b, 1, &number, &rule, &text, &len, &more,
                                                   &more_len, NULL, NULL),
                 DEEM_E_ABSENT);
    cr_expect(number == 0 && rule == NULL && text == NULL && len == 0 && more == NULL &&
              more_len == 0);
    cr_expect_eq(
        deem_question_set_builder_finding(NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        DEEM_E_MISUSE);
    add_triage(b);
    set = build(b);
#define GIVES_NOTHING(call, status)                                                                \
    text = "x";                                                                                    \
    len = 7;                                                                                       \
    cr_expect_eq(call, status);                                                                    \
    cr_expect(text == NULL && len == 0)
    GIVES_NOTHING(deem_question_set_json(NULL, &text, &len), DEEM_E_MISUSE);
    GIVES_NOTHING(deem_question_set_model(NULL, &text, &len), DEEM_E_MISUSE);
    GIVES_NOTHING(deem_question_set_model(set, &text, &len), DEEM_E_ABSENT);
    GIVES_NOTHING(deem_question_set_identity(NULL, &text, &len), DEEM_E_MISUSE);
    GIVES_NOTHING(deem_question_set_label(NULL, 0, 0, &text, &len), DEEM_E_MISUSE);
    GIVES_NOTHING(deem_question_set_label(set, 0, 0, &text, &len), DEEM_E_ABSENT);
    GIVES_NOTHING(deem_question_set_label(set, 1, 2, &text, &len), DEEM_E_ABSENT);
    GIVES_NOTHING(deem_question_set_label(set, 3, 0, &text, &len), DEEM_E_ABSENT);
    GIVES_NOTHING(deem_question_set_question(set, 3, &number, &text, &len, &more_len),
                  DEEM_E_ABSENT);
    cr_expect(number == 0 && more_len == 0);
    cr_expect_eq(deem_question_set_question(NULL, 0, NULL, NULL, NULL, NULL), DEEM_E_MISUSE);
    cr_expect_eq(deem_question_set_find(set, TEXT("nobody"), &number), DEEM_E_ABSENT);
    cr_expect_eq(number, -1);
    number = 7;
    cr_expect_eq(deem_question_set_find(NULL, TEXT("team"), &number), DEEM_E_MISUSE);
    cr_expect_eq(number, -1);
    cr_expect_eq(deem_question_set_find(set, NULL, 3, &number), DEEM_E_MISUSE);
    len = 7;
    cr_expect_eq(deem_question_set_count(NULL, &len), DEEM_E_MISUSE);
    cr_expect_eq(len, 0);
    cr_expect_eq(deem_question_set_ref(NULL), DEEM_E_MISUSE);
    deem_question_set_free(set);
}

Test(questions_builder, a_set_has_what_was_added) {
    char label[] = "a\0b";
    deem_question_set_builder *b = new_builder();
    add_triage(b);
    cr_assert_eq(
        deem_question_set_builder_add(b, DEEM_CHOICE, TEXT("q"), DEEM_FORM_TEXT, TEXT("x")),
        DEEM_OK);
    cr_assert_eq(deem_question_set_builder_option(b, label, 3, DEEM_FORM_NULL, NULL, 0), DEEM_OK);
    memset(label, 'z', 3); /* what was given has been copied */
    cr_assert_eq(deem_question_set_builder_option(b, NULL, 0, DEEM_FORM_NULL, NULL, 0), DEEM_OK);
    cr_assert_eq(deem_question_set_builder_add(b, DEEM_SCORE, TEXT("s"), DEEM_FORM_TEXT, TEXT("x")),
                 DEEM_OK);
    cr_assert_eq(deem_question_set_builder_level(b, DEEM_FORM_JSON, TEXT(" \"\\u0041\\\"\" ")),
                 DEEM_OK);
    cr_assert_eq(deem_question_set_builder_level(b, DEEM_FORM_JSON, TEXT("{\"a\": \"b\"}")),
                 DEEM_OK);
    cr_assert_eq(deem_question_set_builder_model(b, TEXT("first")), DEEM_OK);
    cr_assert_eq(deem_question_set_builder_model(b, TEXT("second")), DEEM_OK);
    deem_question_set *set = build(b);
    static const struct {
        size_t question;
        int32_t kind;
        size_t labels;
        size_t label;
        const char *key;
        const char *text;
        size_t len;
    } rows[] = {
        {1, DEEM_CHOICE, 2, 0, "team", TEXT("billing")},
        {1, DEEM_CHOICE, 2, 1, "team", TEXT("account")},
        {2, DEEM_SCORE, 3, 2, "urgency", TEXT("Today")},
        {3, DEEM_CHOICE, 2, 0, "q", TEXT("a\0b")},
        {3, DEEM_CHOICE, 2, 1, "q", TEXT("")},
        {4, DEEM_SCORE, 2, 0, "s", TEXT("A\"")},
        {4, DEEM_SCORE, 2, 1, "s", TEXT("{\"a\": \"b\"}")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t kind;
        int32_t found;
        const char *key;
        const char *text;
        size_t key_len;
        size_t labels;
        size_t len;
        cr_assert_eq(
            deem_question_set_question(set, rows[i].question, &kind, &key, &key_len, &labels),
            DEEM_OK);
        cr_expect(kind == rows[i].kind && labels == rows[i].labels, "row %zu", i);
        cr_expect(key_len == strlen(rows[i].key) && strcmp(key, rows[i].key) == 0, "row %zu", i);
        cr_expect_eq(deem_question_set_find(set, key, key_len, &found), DEEM_OK);
        cr_expect_eq((size_t)found, rows[i].question);
        cr_assert_eq(deem_question_set_label(set, rows[i].question, rows[i].label, &text, &len),
                     DEEM_OK);
        cr_expect(len == rows[i].len && memcmp(text, rows[i].text, len + 1) == 0, "row %zu", i);
    }
    size_t count;
    const char *model;
    size_t model_len;
    cr_expect_eq(deem_question_set_count(set, &count), DEEM_OK);
    cr_expect_eq(count, 5);
    cr_expect_eq(deem_question_set_model(set, &model, &model_len), DEEM_OK);
    cr_expect(model_len == 6 && strcmp(model, "second") == 0);
    deem_question_set_free(set);
}

Test(questions_builder, builds_again_and_removes_the_model) {
    deem_question_set_builder *b = new_builder();
    add_triage(b);
    cr_assert_eq(deem_question_set_builder_model(b, TEXT("m")), DEEM_OK);
    deem_question_set *first;
    cr_assert_eq(deem_question_set_new(b, &first), DEEM_OK);
    cr_assert_eq(deem_question_set_builder_model(b, NULL, 0), DEEM_OK);
    deem_question_set *second;
    cr_assert_eq(deem_question_set_new(b, &second), DEEM_OK);
    cr_assert_eq(
        deem_question_set_builder_add(b, DEEM_NOUL, TEXT("more"), DEEM_FORM_TEXT, TEXT("x")),
        DEEM_OK);
    deem_question_set *third = build(b);
    const char *a;
    const char *c;
    size_t len;
    cr_assert_eq(deem_question_set_identity(first, &a, &len), DEEM_OK);
    cr_assert_eq(len, 64);
    cr_assert_eq(deem_question_set_identity(second, &c, &len), DEEM_OK);
    cr_expect_str_eq(a, c); /* the model is no part of the questions */
    cr_assert_eq(deem_question_set_identity(third, &c, &len), DEEM_OK);
    cr_expect_str_neq(a, c);
    cr_expect_eq(deem_question_set_model(first, NULL, NULL), DEEM_OK);
    cr_expect_eq(deem_question_set_model(second, NULL, NULL), DEEM_E_ABSENT);
    deem_question_set_free(first);
    deem_question_set_free(second);
    deem_question_set_free(third);
}

Test(questions_builder, thousands_of_questions_with_many_labels) {
    enum { QUESTIONS = 2000, LABELS = 255 };
    char name[32];
    deem_question_set_builder *b = new_builder();
    for (int q = 0; q < QUESTIONS; q++) {
        int len = snprintf(name, sizeof name, "question-%d", q);
        int32_t kind = q % 100 == 0 ? DEEM_CHOICE : DEEM_NOUL;
        cr_assert_eq(
            deem_question_set_builder_add(b, kind, name, (size_t)len, DEEM_FORM_TEXT, TEXT("x")),
            DEEM_OK);
        for (int l = 0; kind == DEEM_CHOICE && l < LABELS; l++) {
            len = snprintf(name, sizeof name, "%d", l);
            cr_assert_eq(
                deem_question_set_builder_option(b, name, (size_t)len, DEEM_FORM_NULL, NULL, 0),
                DEEM_OK);
        }
    }
    deem_question_set *set = build(b);
    cr_assert_eq(set->question_count, QUESTIONS);
    cr_assert_eq(set->label_count, QUESTIONS / 100 * LABELS);
    for (int q = 0; q < QUESTIONS; q++) {
        int len = snprintf(name, sizeof name, "question-%d", q);
        dm_span key = dm_span_of(name, (size_t)len);
        cr_assert_eq(dm_plan_find(set, key, UINT32_MAX), q);
        cr_assert_eq(dm_plan_find(set, key, (uint32_t)q), q);
        cr_assert_eq(dm_plan_find(set, key, 5), q);
        const dm_plan_question *question = &set->questions[q];
        for (int l = 0; l < (int)question->label_count; l++) {
            len = snprintf(name, sizeof name, "%d", l);
            dm_span label = dm_span_of(name, (size_t)len);
            cr_assert_eq(dm_plan_find_label(set, question, label, UINT32_MAX), l);
            cr_assert_eq(dm_plan_find_label(set, question, label, (uint32_t)l), l);
        }
        cr_assert_eq(dm_plan_find_label(set, question, DM_LITERAL("255"), 0), -1);
        cr_assert_eq(dm_plan_find_label(set, question, DM_LITERAL(""), 300), -1);
    }
    cr_expect_eq(dm_plan_find(set, DM_LITERAL("question-2000"), 0), -1);
    cr_expect_eq(dm_plan_find(set, DM_LITERAL(""), QUESTIONS), -1);
    deem_question_set_free(set);
}

static int count_allocation(size_t size, void *user) {
    (void)size;
    ++*(size_t *)user;
    return 1;
}

Test(questions_builder, few_allocations) {
    size_t count = 0;
    dm_alloc_set_gate(count_allocation, &count);
    deem_question_set_builder *b = new_builder();
    add_triage(b);
    deem_question_set *set = build(b);
    const char *hex;
    size_t len;
    cr_assert_eq(deem_question_set_identity(set, &hex, &len), DEEM_OK);
    deem_question_set_free(set);
    dm_alloc_set_gate(NULL, NULL);
    cr_expect_leq(count, 6, "%zu allocations", count);
}
