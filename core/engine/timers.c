#include "engine/timers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/task.h"

static void place(dm_timers *timers, uint32_t at, dm_task *task) {
    timers->heap[at] = task;
    task->heap_place = at;
}

static void rise(dm_timers *timers, uint32_t at, dm_task *task) {
    while (at > 1 && timers->heap[at / 2]->due > task->due) {
        place(timers, at, timers->heap[at / 2]);
        at /= 2;
    }
    place(timers, at, task);
}

static void sink(dm_timers *timers, uint32_t at, dm_task *task) {
    for (;;) {
        uint32_t child = at * 2;
        if (child > timers->count) {
            break;
        }
        if (child < timers->count && timers->heap[child + 1]->due < timers->heap[child]->due) {
            child++;
        }
        if (timers->heap[child]->due >= task->due) {
            break;
        }
        place(timers, at, timers->heap[child]);
        at = child;
    }
    place(timers, at, task);
}

static void take_out(dm_timers *timers, dm_task *task) {
    uint32_t at = task->heap_place;
    dm_task *last = timers->heap[timers->count--];
    task->heap_place = 0;
    if (last != task) {
        if (at > 1 && timers->heap[at / 2]->due > last->due) {
            rise(timers, at, last);
        } else {
            sink(timers, at, last);
        }
    }
}

int dm_timers_set(dm_timers *timers, dm_task *task, int64_t due) {
    if (task->heap_place != 0) {
        if (task->due == due) {
            return 0;
        }
        take_out(timers, task);
    }
    task->due = due;
    if (due == DM_NEVER) {
        return 0;
    }
    if (timers->count + 2 > timers->cap) {
        uint32_t cap = timers->cap == 0 ? 64 : timers->cap * 2;
        dm_task **heap = dm_realloc(timers->heap, cap * sizeof *heap);
        if (heap == NULL) {
            return -1;
        }
        timers->heap = heap;
        timers->cap = cap;
    }
    timers->count++;
    rise(timers, timers->count, task);
    return 0;
}

int64_t dm_timers_next(const dm_timers *timers) {
    return timers->count == 0 ? DM_NEVER : timers->heap[1]->due;
}

dm_task *dm_timers_pop(dm_timers *timers, int64_t now) {
    if (timers->count == 0 || timers->heap[1]->due > now) {
        return NULL;
    }
    dm_task *task = timers->heap[1];
    take_out(timers, task);
    return task;
}

void dm_timers_free(dm_timers *timers) {
    dm_free(timers->heap);
    *timers = (dm_timers){0};
}
