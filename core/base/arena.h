/* A bump arena: many small blocks, given back all at once. */
#ifndef DM_BASE_ARENA_H
#define DM_BASE_ARENA_H

#include <stddef.h>

#include "base/bytes.h"

struct dm_arena_chunk;

/* All zero is a valid empty arena. Not thread-safe. */
typedef struct dm_arena {
    struct dm_arena_chunk *chunk;
    size_t used;
} dm_arena;

/* size bytes, aligned for any object, valid until reset or free. NULL when there is no memory. */
void *dm_arena_take(dm_arena *arena, size_t size);

/* A copy of the bytes with a NUL behind them. data is NULL when there is no memory. */
dm_span dm_arena_copy(dm_arena *arena, const char *data, size_t len);

/* Forgets every block and keeps the largest chunk, so that a steady state allocates nothing. */
void dm_arena_reset(dm_arena *arena);

/* Gives all memory back; the arena is empty and usable again. */
void dm_arena_free(dm_arena *arena);

#endif
