#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int (*alloc_gate)(size_t size, void *user);
static void *alloc_gate_user;

void dm_alloc_set_gate(int (*gate)(size_t size, void *user), void *user) {
    alloc_gate = gate;
    alloc_gate_user = user;
}

static int refused(size_t size) {
    return __builtin_expect(alloc_gate != NULL, 0) && !alloc_gate(size, alloc_gate_user);
}

void *dm_alloc(size_t size) {
    return refused(size) ? NULL : malloc(size);
}

void *dm_alloc_zero(size_t size) {
    return refused(size) ? NULL : calloc(1, size);
}

void *dm_realloc(void *block, size_t size) {
    return refused(size) ? NULL : realloc(block, size);
}

void dm_free(void *block) {
    free(block);
}
