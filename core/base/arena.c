#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>

#include "base/alloc.h"

struct dm_arena_chunk {
    struct dm_arena_chunk *previous;
    size_t size;
    alignas(max_align_t) char data[];
};

enum { FIRST_CHUNK = 1024 };

void *dm_arena_take(dm_arena *arena, size_t size) {
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    size = (size + align - 1) / align * align;
    if (arena->chunk == NULL || arena->chunk->size - arena->used < size) {
        size_t next = arena->chunk == NULL ? FIRST_CHUNK : arena->chunk->size * 2;
        while (next < size) {
            next *= 2;
        }
        struct dm_arena_chunk *chunk = dm_alloc(sizeof *chunk + next);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->previous = arena->chunk;
        chunk->size = next;
        arena->chunk = chunk;
        arena->used = 0;
    }
    void *block = arena->chunk->data + arena->used;
    arena->used += size;
    return block;
}

dm_span dm_arena_copy(dm_arena *arena, const char *data, size_t len) {
    char *copy = dm_arena_take(arena, len + 1);
    if (copy == NULL) {
        return dm_span_of(NULL, 0);
    }
    if (len != 0) {
        memcpy(copy, data, len);
    }
    copy[len] = '\0';
    return dm_span_of(copy, len);
}

static void free_before(struct dm_arena_chunk *chunk) {
    while (chunk != NULL) {
        struct dm_arena_chunk *previous = chunk->previous;
        dm_free(chunk);
        chunk = previous;
    }
}

void dm_arena_reset(dm_arena *arena) {
    if (arena->chunk != NULL) {
        free_before(arena->chunk->previous);
        arena->chunk->previous = NULL;
    }
    arena->used = 0;
}

void dm_arena_free(dm_arena *arena) {
    free_before(arena->chunk);
    *arena = (dm_arena){0};
}
