#include "engine/pool.h"

#include "base/alloc.h"
#include "base/clock.h"

static void grant_next(dm_pool *pool, dm_connection *gift, dm_side side) {
    dm_waiter *waiter = pool->first;
    pool->first = waiter->next;
    if (pool->first != NULL) {
        pool->first->previous = NULL;
    } else {
        pool->last = NULL;
    }
    waiter->queued = 0;
    waiter->gift = gift;
    waiter->gift_side = side;
    waiter->granted = 1;
    waiter->next = waiter->previous = NULL;
    waiter->wake(waiter->user);
}

static void enqueue(dm_pool *pool, dm_waiter *waiter) {
    waiter->queued = 1;
    waiter->granted = 0;
    waiter->gift = NULL;
    waiter->next = NULL;
    waiter->previous = pool->last;
    if (pool->last != NULL) {
        pool->last->next = waiter;
    } else {
        pool->first = waiter;
    }
    pool->last = waiter;
}

dm_take dm_pool_take(dm_pool *pool, dm_side side, int fresh, int64_t now, dm_waiter *waiter,
                     dm_idle *idle, dm_connection **dead, uint32_t dead_cap, uint32_t *dead_count) {
    *dead_count = 0;
    const dm_side order[] = {side, side == DM_SIDE_BLOCKING ? DM_SIDE_ENGINE : DM_SIDE_BLOCKING};
    for (int i = 0; i < 2 && !fresh; i++) {
        dm_idle_stack *stack = &pool->idle[order[i]];
        while (stack->count > 0) {
            dm_idle top = stack->items[stack->count - 1];
            if (top.until > now) {
                stack->count--;
                *idle = top;
                return DM_TAKE_IDLE;
            }
            if (*dead_count == dead_cap) {
                break;
            }
            stack->count--;
            dead[(*dead_count)++] = top.connection;
            pool->used--;
        }
    }
    if (pool->used >= pool->limit && pool->first == NULL && *dead_count < dead_cap) {
        /* A fresh one is wanted: the oldest idle one makes room. */
        for (int i = 0; i < 2; i++) {
            dm_idle_stack *stack = &pool->idle[i];
            if (stack->count > 0) {
                dead[(*dead_count)++] = stack->items[0].connection;
                for (uint32_t k = 1; k < stack->count; k++) {
                    stack->items[k - 1] = stack->items[k];
                }
                stack->count--;
                pool->used--;
                break;
            }
        }
    }
    if (pool->used < pool->limit && pool->first == NULL) {
        pool->used++;
        return DM_TAKE_SLOT;
    }
    enqueue(pool, waiter);
    return DM_TAKE_QUEUED;
}

int dm_pool_keep(dm_pool *pool, dm_side side, dm_connection *connection, int64_t now,
                 int64_t until) {
    if (pool->first != NULL) {
        grant_next(pool, connection, side);
        return 0;
    }
    dm_idle_stack *stack = &pool->idle[side];
    if (stack->count == stack->cap) {
        uint32_t cap = stack->cap == 0 ? 16 : stack->cap * 2;
        dm_idle *items = dm_realloc(stack->items, cap * sizeof *items);
        if (items == NULL) {
            return -1;
        }
        stack->items = items;
        stack->cap = cap;
    }
    stack->items[stack->count++] = (dm_idle){connection, now, until, side};
    return 0;
}

void dm_pool_release(dm_pool *pool) {
    if (pool->first != NULL) {
        grant_next(pool, NULL, DM_SIDE_BLOCKING);
    } else {
        pool->used--;
    }
}

dm_connection *dm_pool_leave(dm_pool *pool, dm_waiter *waiter) {
    if (waiter->granted) {
        dm_connection *gift = waiter->gift;
        waiter->granted = 0;
        waiter->gift = NULL;
        dm_pool_release(pool);
        return gift;
    }
    if (!waiter->queued) {
        return NULL;
    }
    *(waiter->previous != NULL ? &waiter->previous->next : &pool->first) = waiter->next;
    *(waiter->next != NULL ? &waiter->next->previous : &pool->last) = waiter->previous;
    waiter->queued = 0;
    return NULL;
}

dm_connection *dm_pool_pop_any(dm_pool *pool) {
    for (int i = 0; i < 2; i++) {
        dm_idle_stack *stack = &pool->idle[i];
        if (stack->count > 0) {
            stack->count--;
            pool->used--;
            return stack->items[stack->count].connection;
        }
    }
    return NULL;
}

int dm_pool_withdraw(dm_pool *pool, dm_side side, const dm_connection *connection, dm_idle *idle) {
    dm_idle_stack *stack = &pool->idle[side];
    for (uint32_t i = 0; i < stack->count; i++) {
        if (stack->items[i].connection == connection) {
            *idle = stack->items[i];
            for (uint32_t k = i + 1; k < stack->count; k++) {
                stack->items[k - 1] = stack->items[k];
            }
            stack->count--;
            return 1;
        }
    }
    return 0;
}

void dm_pool_free(dm_pool *pool) {
    for (int i = 0; i < 2; i++) {
        dm_free(pool->idle[i].items);
    }
    *pool = (dm_pool){0};
}
