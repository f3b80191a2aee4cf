/* The one door to the heap: every allocation of the core goes through it, so that a test can count
 * them and let the Nth fail. */
#ifndef DM_BASE_ALLOC_H
#define DM_BASE_ALLOC_H

#include <stddef.h>

/* As malloc: size in bytes, NULL when there is none. The caller owns the block (dm_free). Any
 * thread. */
void *dm_alloc(size_t size);

/* As dm_alloc, and the block reads as zero. */
void *dm_alloc_zero(size_t size);

/* As realloc: on NULL the old block is untouched and still owned by the caller. Any thread. */
void *dm_realloc(void *block, size_t size);

/* Gives a block back; NULL is allowed. Any thread. */
void dm_free(void *block);

/* Tests only. Called before each allocation with the size in bytes; returning 0 makes that one
 * fail. NULL removes it. Set it while no other thread allocates. */
void dm_alloc_set_gate(int (*gate)(size_t size, void *user), void *user);

#endif
