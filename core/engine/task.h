/* A call under way with everything that moves it: the machine, its attempt over a connection, and
 * its place among the client's calls. */
#ifndef DM_ENGINE_TASK_H
#define DM_ENGINE_TASK_H

#include "engine/call.h"
#include "engine/flight.h"
#include "engine/pool.h"

typedef struct dm_task {
    dm_call call;
    dm_json_index index; /* a blocking call's own */
    dm_flight flight;
    dm_waiter waiter;
    dm_side side;
    uint64_t id; /* 0: none */
    _Atomic int cancelled;
    int cancel_fd;        /* an eventfd that wakes a blocking call; -1 until first needed */
    int parked;           /* interrupted: waits for the caller to come back */
    int has_slot;         /* of the pool */
    struct dm_task *next; /* among the active or the spare ones */
    struct dm_task *previous;
    /* engine only, see engine/reactor.h */
    deem_client *client; /* one reference */
    deem_response *own_response;
    int64_t due;
    uint32_t heap_place; /* in the engine's timer heap, from 1; 0: not in it */
    uint32_t watched;    /* descriptors of this task in the epoll set */
    int watch_fds[DM_CONNECTION_WAIT_MOST];
    int in_ready; /* these three under the engine's lock */
    int finished;
    struct dm_task *ready_next;
    struct dm_task *queue_next;
    struct dm_completions *to; /* NULL: the engine's own */
} dm_task;

/* Finished calls in order, linked by queue_next, under the engine's lock. All zero is an empty one.
 */
typedef struct dm_completions {
    dm_task *first;
    dm_task *last;
} dm_completions;

/* A new idle task, or NULL without memory or descriptors. */
dm_task *dm_task_new(void);

/* Makes sure that cancel_fd is open, which another thread may then write to. 0, or -1 without
 * descriptors. */
int dm_task_ensure_cancel_fd(dm_task *task);

/* Gives it back with everything it holds. */
void dm_task_free(dm_task *task);

#endif
