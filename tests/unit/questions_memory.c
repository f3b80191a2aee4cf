/* Every allocation of building, reading, checking and compiling fails in turn: the call says so,
 * and the builder is as it was and can go on. */
#include <criterion/criterion.h>

#include "base/alloc.h"
#include "deemster.h"

#define TEXT(text) text, sizeof(text) - 1

static const char good[] =
    "{\"model\":\"m\",\"questions\":{\"a\":{\"type\":\"noul\",\"instructions\":\"\\u0041\"},"
    "\"b\":{\"type\":\"choice\",\"instructions\":{\"x\":[1]},\"criteria\":{\"1\":null,\"2\":null,"
    "\"3\":null,\"4\":null,\"5\":null,\"6\":null,\"7\":null,\"8\":\"\\n\",\"9\":null}},"
    "\"c\":{\"type\":\"score\",\"criteria\":[\"a\",[1]],\"own\":1}}}";
static const char bad[] =
    "{\"a\":{\"type\":\"nuol\",\"critera\":1},\"b\":{\"type\":\"choice\",\"criteria\":[1]},"
    "\"c\":{\"type\":\"score\",\"criteria\":[null,{\"a\":1}],\"type\":1},\"\":5}";

typedef struct gate {
    size_t count;
    size_t failing; /* the allocation that fails, counted from 1; 0: none */
} gate;

static int let_pass(size_t size, void *user) {
    (void)size;
    gate *g = user;
    return ++g->count != g->failing;
}

/* Runs everything; the first status that is not as in a good run. */
static int32_t run(void) {
    deem_question_set_builder *b = NULL;
    deem_question_set *set = NULL;
    const char *json;
    size_t len;
    size_t errors;
    int32_t status = deem_question_set_builder_new(&b);
    if (status == DEEM_OK) {
        status = deem_question_set_builder_json_open(b, TEXT(good));
    }
    if (status == DEEM_OK) {
        status = deem_question_set_builder_add(b, DEEM_SCORE, TEXT("d"), DEEM_FORM_TEXT, TEXT("x"));
    }
    if (status == DEEM_OK) {
        status = deem_question_set_builder_level(b, DEEM_FORM_JSON, TEXT("\"a\\n\""));
    }
    if (status == DEEM_OK) {
        status = deem_question_set_builder_field(b, TEXT("own"), TEXT("1"));
    }
    if (status == DEEM_OK) {
        status = deem_question_set_builder_model(b, TEXT("another"));
    }
    if (status == DEEM_OK) {
        status = deem_question_set_new(b, &set);
    }
    if (status == DEEM_OK) {
        deem_question_set_free(set);
        status = deem_question_set_builder_json(b, TEXT(bad));
        if (status != DEEM_OK) { /* nothing of the document was added */
            gate *none = NULL;
            dm_alloc_set_gate(NULL, none);
            cr_assert_eq(deem_question_set_new(b, &set), DEEM_OK);
            deem_question_set_json(set, &json, &len);
            cr_assert_not_null(strstr(json, "\"d\":{"));
            cr_assert_null(strstr(json, "\"\":"));
            deem_question_set_free(set);
        }
    }
    if (status == DEEM_OK) {
        status = deem_question_set_builder_check(b, &errors, NULL);
        if (status == DEEM_E_QUESTIONS) {
            cr_assert_eq(errors, 10, "%zu errors", errors);
            status = DEEM_OK;
        } else {
            cr_assert_eq(errors, 0);
        }
    }
    if (status == DEEM_OK) {
        status = deem_question_set_builder_json(b, TEXT("{\"z\":"));
    }
    deem_question_set_builder_free(b);
    return status;
}

Test(questions_memory, each_allocation_fails_in_turn) {
    gate g = {0};
    dm_alloc_set_gate(let_pass, &g);
    cr_assert_eq(run(), DEEM_OK);
    size_t all = g.count;
    cr_assert_gt(all, 20);
    for (size_t failing = 1; failing <= all; failing++) {
        g = (gate){0, failing};
        dm_alloc_set_gate(let_pass, &g);
        cr_assert_eq(run(), DEEM_E_MEMORY, "allocation %zu of %zu", failing, all);
    }
    dm_alloc_set_gate(NULL, NULL);
}
