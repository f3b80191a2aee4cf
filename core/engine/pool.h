/* The connections of a client: one limit, last-used first, waiting calls in order. Every function
 * is called under the client's lock. */
#ifndef DM_ENGINE_POOL_H
#define DM_ENGINE_POOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "transport/connection.h"

/* The two kinds of users: an engine's idle connections are watched by its epoll, a blocking call's
 * are not. */
typedef enum dm_side { DM_SIDE_BLOCKING = 0, DM_SIDE_ENGINE = 1 } dm_side;

/* A connection that nobody uses just now. */
typedef struct dm_idle {
    dm_connection *connection;
    int64_t since; /* when it became idle */
    int64_t until; /* when it is too old (DM_NEVER: never) */
    dm_side side;
} dm_idle;

typedef struct dm_idle_stack {
    dm_idle *items;
    uint32_t count;
    uint32_t cap;
} dm_idle_stack;

/* A call that waits for a connection slot. */
typedef struct dm_waiter {
    struct dm_waiter *next;
    struct dm_waiter *previous;
    int queued;
    _Atomic int granted; /* it owns a slot now */
    dm_connection *gift; /* and this connection, when one was handed on; else NULL */
    dm_side gift_side;
    void (*wake)(void *user); /* called under the lock when granted */
    void *user;
} dm_waiter;

typedef struct dm_pool {
    uint32_t limit;
    uint32_t used; /* slots in use, idle connections included */
    dm_idle_stack idle[2];
    dm_waiter *first;
    dm_waiter *last;
} dm_pool;

typedef enum dm_take {
    DM_TAKE_IDLE = 0, /* *idle is yours, with its slot */
    DM_TAKE_SLOT,     /* a slot is yours: open a connection */
    DM_TAKE_QUEUED    /* the waiter will be woken */
} dm_take;

/* Takes a connection or a slot. fresh: not an idle one. Connections that are too old are put on
 * *dead (at most dead_cap; the caller closes them outside the lock). An idle one of the other side
 * is taken only when this one has none. */
dm_take dm_pool_take(dm_pool *pool, dm_side side, int fresh, int64_t now, dm_waiter *waiter,
                     dm_idle *idle, dm_connection **dead, uint32_t dead_cap, uint32_t *dead_count);

/* Gives a slot back with a connection that may serve again until a moment: the oldest waiter gets
 * both at once, else it becomes idle. 0, or -1 when there is no memory to keep it (the caller
 * closes it and gives the slot back by dm_pool_release). */
int dm_pool_keep(dm_pool *pool, dm_side side, dm_connection *connection, int64_t now,
                 int64_t until);

/* Gives a slot back without a connection, to the oldest waiter if there is one. */
void dm_pool_release(dm_pool *pool);

/* Leaves the queue, or gives a granted slot on. Returns a connection that came with it, to be
 * closed, or NULL. */
dm_connection *dm_pool_leave(dm_pool *pool, dm_waiter *waiter);

/* Takes any idle connection out, NULL when there is none; its slot is released. */
dm_connection *dm_pool_pop_any(dm_pool *pool);

/* Takes one given idle connection out with its slot, to look at it; 1 when it was there. */
int dm_pool_withdraw(dm_pool *pool, dm_side side, const dm_connection *connection, dm_idle *idle);

/* Gives the memory back; the connections have been taken out. */
void dm_pool_free(dm_pool *pool);

#endif
