/* When tasks are to be looked at again: a binary heap, nearest first. No clock, no thread. */
#ifndef DM_ENGINE_TIMERS_H
#define DM_ENGINE_TIMERS_H

#include <stdint.h>

struct dm_task;

typedef struct dm_timers {
    struct dm_task **heap; /* from index 1 */
    uint32_t count;
    uint32_t cap;
} dm_timers;

/* Sets when a task is due (task->due), adding or moving it; DM_NEVER takes it out. 0 or -1 (no
 * memory). */
int dm_timers_set(dm_timers *timers, struct dm_task *task, int64_t due);

/* The nearest moment, DM_NEVER when there is none. */
int64_t dm_timers_next(const dm_timers *timers);

/* Takes out a task that is due at that moment, NULL when none is. */
struct dm_task *dm_timers_pop(dm_timers *timers, int64_t now);

/* Gives the memory back. */
void dm_timers_free(dm_timers *timers);

#endif
