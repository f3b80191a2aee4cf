/* One set, eight threads: references, identity and searches at once. A plain program, since
 * Criterion does not run under ThreadSanitizer. Exits 0 when every thread saw the same. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "deemster.h"

enum { THREADS = 8, ROUNDS = 200 };

static const char document[] =
    "{\"a\":{\"type\":\"noul\",\"instructions\":\"x\"},\"b\":{\"type\":\"choice\",\"instructions\":"
    "\"x\",\"criteria\":{\"l\":null,\"m\":null}}}";
static const char expected[] = "443faec9719fe86517db07b58b10e63ef071062f788af84014bcb1b40598175c";

typedef struct share {
    deem_question_set *set;
    pthread_barrier_t start;
} share;

static void *read_set(void *argument) {
    share *shared = argument;
    size_t wrong = 0;
    pthread_barrier_wait(&shared->start);
    for (int i = 0; i < ROUNDS; i++) {
        const char *hex;
        size_t len;
        int32_t index;
        wrong += deem_question_set_ref(shared->set) != DEEM_OK;
        wrong += deem_question_set_identity(shared->set, &hex, &len) != DEEM_OK;
        wrong += len != 64 || strcmp(hex, expected) != 0;
        wrong += deem_question_set_find(shared->set, "b", 1, &index) != DEEM_OK || index != 1;
        deem_question_set_free(shared->set);
    }
    deem_question_set_free(shared->set); /* this thread's own reference */
    return (void *)wrong;
}

/* How many answers were wrong, or -1 when the set could not be made. */
static int run_round(void) {
    deem_question_set_builder *builder = NULL;
    share shared = {0};
    pthread_t threads[THREADS];
    int failures = 0;
    int32_t status = deem_question_set_builder_new(&builder);
    status |= deem_question_set_builder_json(builder, document, sizeof document - 1);
    status |= deem_question_set_new(builder, &shared.set);
    deem_question_set_builder_free(builder);
    if (status != DEEM_OK) {
        return -1;
    }
    pthread_barrier_init(&shared.start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        failures += deem_question_set_ref(shared.set) != DEEM_OK;
        if (pthread_create(&threads[i], NULL, read_set, &shared) != 0) {
            return -1;
        }
    }
    deem_question_set_free(shared.set); /* the last thread frees the set */
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        failures += wrong != NULL;
    }
    pthread_barrier_destroy(&shared.start);
    return failures;
}

int main(void) {
    for (int round = 0; round < 20; round++) {
        int failures = run_round();
        if (failures != 0) {
            fprintf(stderr, "round %d: %d threads saw something else\n", round, failures);
            return 1;
        }
    }
    return 0;
}
