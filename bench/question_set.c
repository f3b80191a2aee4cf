/* Building and compiling the triage set (a noul, a choice of two, a score of three): nanoseconds
 * with and without the identity, and allocations. The figure beside it is what Minos.NET publishes
 * for building the same set, measured on another machine. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "deemster.h"

enum { BATCHES = 40, BUILDS = 5000 };

#define TEXT(text) text, sizeof(text) - 1

static deem_question_set *build(void) {
    deem_question_set_builder *b;
    deem_question_set *set;
    deem_question_set_builder_new(&b);
    deem_question_set_builder_add(b, DEEM_NOUL, TEXT("requests_credentials"), DEEM_FORM_TEXT,
                                  TEXT("Does `message` ask for a credential?"));
    deem_question_set_builder_add(b, DEEM_CHOICE, TEXT("team"), DEEM_FORM_TEXT,
                                  TEXT("Which team should handle `message`?"));
    deem_question_set_builder_option(b, TEXT("billing"), DEEM_FORM_TEXT,
                                     TEXT("Charges, invoices, refunds"));
    deem_question_set_builder_option(b, TEXT("account"), DEEM_FORM_TEXT,
                                     TEXT("Login, profile, permissions"));
    deem_question_set_builder_add(b, DEEM_SCORE, TEXT("urgency"), DEEM_FORM_TEXT,
                                  TEXT("How urgent is `message`?"));
    deem_question_set_builder_level(b, DEEM_FORM_TEXT, TEXT("Can wait"));
    deem_question_set_builder_level(b, DEEM_FORM_TEXT, TEXT("This week"));
    deem_question_set_builder_level(b, DEEM_FORM_TEXT, TEXT("Today"));
    deem_question_set_new(b, &set);
    deem_question_set_builder_free(b);
    return set;
}

/* The least mean of a batch, in nanoseconds per build. */
static int64_t measure(int identity) {
    int64_t best = INT64_MAX;
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t start = dm_clock_now();
        for (int i = 0; i < BUILDS; i++) {
            deem_question_set *set = build();
            const char *hex;
            size_t len;
            if (identity) {
                deem_question_set_identity(set, &hex, &len);
            }
            deem_question_set_free(set);
        }
        int64_t mean = (dm_clock_now() - start) / BUILDS;
        best = mean < best ? mean : best;
    }
    return best;
}

static int count_allocation(size_t size, void *user) {
    (void)size;
    ++*(int *)user;
    return 1;
}

int main(void) {
    int allocations = 0;
    dm_alloc_set_gate(count_allocation, &allocations);
    deem_question_set_free(build());
    dm_alloc_set_gate(NULL, NULL);
    printf("triage set, built and compiled      %6" PRId64
           " ns   (Minos.NET, other machine: 825)\n",
           measure(0));
    printf("triage set, with its identity       %6" PRId64 " ns\n", measure(1));
    printf("allocations                         %6d\n", allocations);
    return 0;
}
