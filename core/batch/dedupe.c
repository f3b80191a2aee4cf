#include "batch/dedupe.h"

#include "base/alloc.h"

int dm_dedupe_init(dm_dedupe *dedupe, uint32_t rows) {
    *dedupe = (dm_dedupe){.room = rows};
    if (rows == 0) {
        return 0;
    }
    uint32_t size = 16;
    while (size < 2 * rows) {
        size *= 2;
    }
    dedupe->mask = size - 1;
    dedupe->slots = dm_alloc_zero(size * sizeof(dm_row *));
    dedupe->order = dm_alloc_zero(rows * sizeof(dm_row *));
    if (dedupe->slots == NULL || dedupe->order == NULL) {
        dm_dedupe_free(dedupe);
        return -1;
    }
    return 0;
}

static uint32_t place_of(const dm_dedupe *dedupe, const char *digest) {
    return dm_span_hash(dm_span_of(digest, 16)) & dedupe->mask;
}

dm_row *dm_dedupe_find(const dm_dedupe *dedupe, const char *digest) {
    if (dedupe->room == 0) {
        return NULL;
    }
    uint32_t at = place_of(dedupe, digest);
    for (; dedupe->slots[at] != NULL; at = (at + 1) & dedupe->mask) {
        if (strcmp(dedupe->slots[at]->digest, digest) == 0) {
            return dedupe->slots[at];
        }
    }
    return NULL;
}

/* Takes a row out of the slots and moves those behind it up, so that no search ends early. */
static void remove_slot(dm_dedupe *dedupe, const dm_row *row) {
    uint32_t hole = place_of(dedupe, row->digest);
    while (dedupe->slots[hole] != row) {
        hole = (hole + 1) & dedupe->mask;
    }
    dedupe->slots[hole] = NULL;
    for (uint32_t at = (hole + 1) & dedupe->mask; dedupe->slots[at] != NULL;
         at = (at + 1) & dedupe->mask) {
        uint32_t wanted = place_of(dedupe, dedupe->slots[at]->digest);
        if (((at - wanted) & dedupe->mask) >= ((at - hole) & dedupe->mask)) {
            dedupe->slots[hole] = dedupe->slots[at];
            dedupe->slots[at] = NULL;
            hole = at;
        }
    }
}

dm_row *dm_dedupe_pop(dm_dedupe *dedupe) {
    if (dedupe->count == 0) {
        return NULL;
    }
    dm_row *row = dedupe->order[dedupe->first];
    dedupe->first = (dedupe->first + 1) % dedupe->room;
    dedupe->count--;
    remove_slot(dedupe, row);
    row->known = 0;
    return row;
}

dm_row *dm_dedupe_add(dm_dedupe *dedupe, dm_row *row) {
    if (dedupe->room == 0) {
        return NULL;
    }
    dm_row *gone = dedupe->count == dedupe->room ? dm_dedupe_pop(dedupe) : NULL;
    dedupe->order[(dedupe->first + dedupe->count) % dedupe->room] = row;
    dedupe->count++;
    uint32_t at = place_of(dedupe, row->digest);
    while (dedupe->slots[at] != NULL) {
        at = (at + 1) & dedupe->mask;
    }
    dedupe->slots[at] = row;
    row->known = 1;
    return gone;
}

void dm_dedupe_free(dm_dedupe *dedupe) {
    dm_free(dedupe->slots);
    dm_free(dedupe->order);
    *dedupe = (dm_dedupe){0};
}
