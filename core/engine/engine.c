#include "engine/engine.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "deemster.h"
#include "engine/reactor.h"
#include "engine/task.h"
#include "engine/timers.h"

/* BUFFER: one read. STEP_TASKS, STEP_NS: a step gives way after this much, the rest is done by the
 * next one. */
enum { BUFFER = 65536, STEP_EVENTS = 256, STEP_TASKS = 1024, DEAD_MOST = 8, PROBE_AFTER_MS = 1000 };
#define STEP_NS         (8 * DM_NS_PER_MS)
#define DESCRIPTOR_WAIT (20 * DM_NS_PER_MS)

/* Who a watched descriptor belongs to; both NULL: nobody. */
typedef struct watch {
    dm_task *task;
    dm_connection *connection; /* idle */
    int events;
} watch;

struct dm_engine {
    deem_client *client;
    dm_reactor reactor;
    _Atomic int stepping;
    /* the stepping thread's own */
    dm_timers timers;
    watch *watches; /* by descriptor */
    size_t watch_cap;
    uint32_t handshakes; /* begun in this step */
    dm_json_index index;
    char buffer[BUFFER];
    /* under the lock */
    pthread_mutex_t lock;
    dm_completions inbox; /* to be looked at, linked by ready_next */
    int rung;             /* the bell has been rung since the last poll */
    dm_completions done;
};

/* Under the engine's lock. */
static void ring(struct dm_engine *engine) {
    if (!engine->rung) {
        engine->rung = 1;
        dm_reactor_ring(&engine->reactor);
    }
}

static void push_inbox(struct dm_engine *engine, dm_task *task) {
    pthread_mutex_lock(&engine->lock);
    if (!task->in_ready && !task->finished) {
        task->in_ready = 1;
        task->ready_next = NULL;
        if (engine->inbox.last != NULL) {
            engine->inbox.last->ready_next = task;
        } else {
            engine->inbox.first = task;
        }
        engine->inbox.last = task;
        ring(engine);
    }
    pthread_mutex_unlock(&engine->lock);
}

static dm_task *pop_inbox(struct dm_engine *engine) {
    pthread_mutex_lock(&engine->lock);
    dm_task *task = engine->inbox.first;
    if (task != NULL) {
        engine->inbox.first = task->ready_next;
        if (engine->inbox.first == NULL) {
            engine->inbox.last = NULL;
        }
        task->in_ready = 0;
    }
    pthread_mutex_unlock(&engine->lock);
    return task;
}

/* A task that finishes may be in the inbox (cancelled at that moment). Under the lock. */
static void leave_inbox(struct dm_engine *engine, dm_task *task) {
    if (!task->in_ready) {
        return;
    }
    dm_task *before = NULL;
    for (dm_task *at = engine->inbox.first; at != task; at = at->ready_next) {
        before = at;
    }
    *(before != NULL ? &before->ready_next : &engine->inbox.first) = task->ready_next;
    if (engine->inbox.last == task) {
        engine->inbox.last = before;
    }
    task->in_ready = 0;
}

void dm_engine_poke(dm_task *task) {
    push_inbox(task->call.client->engine, task);
}

static void granted(void *user) {
    dm_engine_poke(user);
}

/* ---- descriptors ---- */

static watch *watch_of(struct dm_engine *engine, int fd) {
    if ((size_t)fd >= engine->watch_cap) {
        size_t cap = engine->watch_cap == 0 ? 64 : engine->watch_cap;
        while (cap <= (size_t)fd) {
            cap *= 2;
        }
        watch *watches = dm_realloc(engine->watches, cap * sizeof *watches);
        if (watches == NULL) {
            return NULL;
        }
        memset(watches + engine->watch_cap, 0, (cap - engine->watch_cap) * sizeof *watches);
        engine->watches = watches;
        engine->watch_cap = cap;
    }
    return &engine->watches[fd];
}

static int watch_fd(struct dm_engine *engine, int fd, int events, dm_task *task,
                    dm_connection *connection) {
    watch *entry = watch_of(engine, fd);
    if (entry == NULL || dm_reactor_watch(&engine->reactor, fd, events) != 0) {
        return -1;
    }
    *entry = (watch){task, connection, events};
    return 0;
}

static void unwatch_fd(struct dm_engine *engine, int fd) {
    if (fd >= 0 && (size_t)fd < engine->watch_cap) {
        dm_reactor_unwatch(&engine->reactor, fd);
        engine->watches[fd] = (watch){0};
    }
}

/* Descriptors watched while connecting change from step to step, and a number may come back for
 * another socket. */
static void forget_connect_watches(struct dm_engine *engine, dm_task *task) {
    for (uint32_t i = 0; i < task->watched; i++) {
        unwatch_fd(engine, task->watch_fds[i]);
    }
    task->watched = 0;
}

static void close_connection(struct dm_engine *engine, dm_connection *connection) {
    if (connection != NULL) {
        unwatch_fd(engine, dm_connection_fd(connection));
        dm_connection_close(connection);
    }
}

void dm_engine_let_go(deem_client *client, const dm_connection *connection) {
    if (connection != NULL && client->engine != NULL) {
        dm_reactor_unwatch(&client->engine->reactor, dm_connection_fd(connection));
    }
}

/* ---- one task ---- */

static void set_due(struct dm_engine *engine, dm_task *task, int64_t due) {
    if (dm_timers_set(&engine->timers, task, due) != 0) {
        push_inbox(engine,
                   task); /* without memory for a timer the task is looked at in every step */
    }
}

static void release_slot(struct dm_engine *engine, dm_task *task) {
    if (task->has_slot) {
        task->has_slot = 0;
        pthread_mutex_lock(&engine->client->lock);
        dm_pool_release(&engine->client->pool);
        pthread_mutex_unlock(&engine->client->lock);
    }
}

/* Keeps or closes the connection of a flight that is over. */
static void land(struct dm_engine *engine, dm_task *task, int64_t now) {
    deem_client *client = engine->client;
    forget_connect_watches(engine, task);
    dm_connection *connection = dm_flight_take_connection(&task->flight);
    int64_t idle_ms = dm_client_idle_ms(client, task->flight.reader.keep_alive_ms);
    if (connection != NULL && task->flight.keep && idle_ms > 0) {
        int fd = dm_connection_fd(connection);
        watch *entry = watch_of(engine, fd);
        if (entry != NULL && entry->events == DM_WATCH_READ) {
            *entry = (watch){NULL, connection, DM_WATCH_READ};
            pthread_mutex_lock(&client->lock);
            int kept = !client->closed && dm_pool_keep(&client->pool, DM_SIDE_ENGINE, connection,
                                                       now, now + idle_ms * DM_NS_PER_MS) == 0;
            pthread_mutex_unlock(&client->lock);
            if (kept) {
                task->has_slot = 0;
                return;
            }
        }
    }
    close_connection(engine, connection);
    release_slot(engine, task);
}

static void complete(struct dm_engine *engine, dm_task *task) {
    dm_timers_set(&engine->timers, task, DM_NEVER);
    pthread_mutex_lock(&engine->lock);
    leave_inbox(engine, task);
    task->finished = 1;
    task->queue_next = NULL;
    dm_completions *to = task->to != NULL ? task->to : &engine->done;
    if (to->last != NULL) {
        to->last->queue_next = task;
    } else {
        to->first = task;
    }
    to->last = task;
    pthread_mutex_unlock(&engine->lock);
}

/* Watches what the flight waits for. 0 or -1. */
static int watch_flight(struct dm_engine *engine, dm_task *task, int64_t now, int64_t *due) {
    dm_flight *flight = &task->flight;
    *due = task->call.attempt_until;
    if (flight->phase == DM_PHASE_CONNECT) {
        struct pollfd fds[DM_CONNECTION_WAIT_MOST];
        int timeout;
        size_t count =
            dm_connection_wait_set(flight->connection, fds, DM_CONNECTION_WAIT_MOST, now, &timeout);
        forget_connect_watches(engine, task);
        for (size_t i = 0; i < count; i++) {
            int events = ((fds[i].events & POLLIN) != 0 ? DM_WATCH_READ : 0) |
                         ((fds[i].events & POLLOUT) != 0 ? DM_WATCH_WRITE : 0);
            if (watch_fd(engine, fds[i].fd, events, task, NULL) != 0) {
                return -1;
            }
            task->watch_fds[task->watched++] = fds[i].fd;
        }
        if (timeout >= 0 && now + timeout * DM_NS_PER_MS < *due) {
            *due = now + timeout * DM_NS_PER_MS;
        }
        return 0;
    }
    int fd = dm_connection_fd(flight->connection);
    int events = DM_WATCH_READ | (dm_flight_wants_write(flight) ? DM_WATCH_WRITE : 0);
    if (task->watched > 0) {
        forget_connect_watches(engine, task);
    }
    watch *entry = watch_of(engine, fd);
    if (entry == NULL) {
        return -1;
    }
    if (entry->events == events && entry->task == task) {
        return 0;
    }
    return watch_fd(engine, fd, events, task, NULL);
}

/* A kept connection of the engine is under watch already; one of a blocking call is not, whatever
 * the table says. */
static void adopt(struct dm_engine *engine, dm_task *task, const dm_idle *idle) {
    watch *entry = watch_of(engine, dm_connection_fd(idle->connection));
    if (entry != NULL) {
        *entry = idle->side == DM_SIDE_ENGINE ? (watch){task, NULL, DM_WATCH_READ} : (watch){0};
    }
}

typedef enum acquired { ACQUIRED = 1, WAITS_FOR_SLOT, WAITS_FOR_STEP } acquired;

/* A slot for the due attempt, and a kept connection where one is alive. */
static acquired acquire(struct dm_engine *engine, dm_task *task, dm_connection **connection,
                        int64_t now) {
    deem_client *client = engine->client;
    for (;;) {
        dm_connection *dead[DEAD_MOST];
        uint32_t dead_count = 0;
        dm_idle idle = {0};
        pthread_mutex_lock(&client->lock);
        int limited = dm_transport_uses_curl(client->transport) &&
                      engine->handshakes >= DM_HANDSHAKES_PER_STEP;
        dm_take take = DM_TAKE_QUEUED;
        if (task->has_slot) {
            take = DM_TAKE_SLOT; /* kept from the last step, which had begun handshakes enough */
        } else if (task->waiter.granted) {
            idle = (dm_idle){task->waiter.gift, now, DM_NEVER, task->waiter.gift_side};
            task->waiter.granted = 0;
            task->waiter.gift = NULL;
            take = DM_TAKE_SLOT;
        } else if (!task->waiter.queued) {
            task->waiter.wake = granted;
            task->waiter.user = task;
            take = dm_pool_take(&client->pool, DM_SIDE_ENGINE, task->call.fresh, now, &task->waiter,
                                &idle, dead, DEAD_MOST, &dead_count);
        }
        pthread_mutex_unlock(&client->lock);
        for (uint32_t i = 0; i < dead_count; i++) {
            close_connection(engine, dead[i]);
        }
        if (take == DM_TAKE_QUEUED) {
            return WAITS_FOR_SLOT;
        }
        task->has_slot = 1;
        if (idle.connection != NULL) {
            if (now - idle.since < PROBE_AFTER_MS * DM_NS_PER_MS ||
                dm_connection_probe(idle.connection) == DM_PROBE_ALIVE) {
                *connection = idle.connection;
                adopt(engine, task, &idle);
                return ACQUIRED;
            }
            close_connection(engine, idle.connection);
            release_slot(engine, task);
            continue;
        }
        if (limited) {
            return WAITS_FOR_STEP;
        }
        engine->handshakes++;
        *connection = NULL;
        return ACQUIRED;
    }
}

static void leave_queue(struct dm_engine *engine, dm_task *task) {
    pthread_mutex_lock(&engine->client->lock);
    dm_connection *gift = dm_pool_leave(&engine->client->pool, &task->waiter);
    pthread_mutex_unlock(&engine->client->lock);
    close_connection(engine, gift);
}

/* Ends a flight for an outside reason. */
static void cut_flight(struct dm_engine *engine, dm_task *task, int64_t now) {
    dm_flight_abort(&task->flight);
    land(engine, task, now);
}

/* The flight is over: was it for want of a descriptor? 1: the task waits and tries again. */
static int out_of_descriptors(struct dm_engine *engine, dm_task *task, int64_t now) {
    if (!task->flight.no_descriptors) {
        return 0;
    }
    task->flight.no_descriptors = 0;
    forget_connect_watches(engine, task);
    close_connection(engine, dm_flight_take_connection(&task->flight));
    release_slot(engine, task);
    dm_call_attempt_undo(&task->call);
    set_due(engine, task, now + DESCRIPTOR_WAIT);
    return 1;
}

/* Begins the due attempt. 1: go on with the task, 0: it waits. */
static int begin_attempt(struct dm_engine *engine, dm_task *task, int64_t now) {
    dm_connection *connection;
    switch (acquire(engine, task, &connection, now)) {
    case WAITS_FOR_SLOT:
        set_due(engine, task, task->call.deadline_at);
        return 0;
    case WAITS_FOR_STEP:
        push_inbox(engine, task);
        return 0;
    case ACQUIRED:
        break;
    }
    task->call.response->timing_us[DEEM_TIMING_QUEUE] = (now - task->call.started) / 1000;
    dm_flight_begin(&task->flight, &task->call, connection, now);
    if (task->flight.phase == DM_PHASE_NONE) {
        if (out_of_descriptors(engine, task, now)) {
            return 0;
        }
        land(engine, task, now);
    }
    return 1;
}

/* Moves a task as far as it goes without waiting. */
static void drive(struct dm_engine *engine, dm_task *task, int64_t now) {
    dm_call *call = &task->call;
    dm_flight *flight = &task->flight;
    if (atomic_load(&task->cancelled) && !call->done) {
        dm_call_end(call, DEEM_E_CANCELLED, "The call was cancelled.", now);
        leave_queue(engine, task);
        cut_flight(engine, task, now);
    }
    for (;;) {
        if (flight->phase != DM_PHASE_NONE) {
            int over = 1;
            if (now >= call->attempt_until) {
                int sent = dm_flight_is_sent(flight);
                dm_flight_abort(flight);
                dm_call_fail_timeout(call, sent, now);
            } else {
                over = dm_flight_step(flight, call, engine->buffer, BUFFER, now);
            }
            if (!over) {
                int64_t due;
                if (watch_flight(engine, task, now, &due) == 0) {
                    set_due(engine, task, due);
                    return;
                }
                dm_flight_abort(flight);
                dm_call_fail(call, DEEM_E_CONNECTION, "The connection cannot be watched.", 1, 0, 0,
                             now);
            }
            if (out_of_descriptors(engine, task, now)) {
                return;
            }
            land(engine, task, now);
        }
        switch (dm_call_next(call, now)) {
        case DM_ACTION_DONE:
            leave_queue(engine, task);
            release_slot(engine, task);
            complete(engine, task);
            return;
        case DM_ACTION_WAIT:
            set_due(engine, task, call->wait_until);
            return;
        case DM_ACTION_SEND:
            if (!begin_attempt(engine, task, now)) {
                return;
            }
            break;
        }
    }
}

/* An idle connection has something to say: it died, or (TLS) got tickets. */
static void look_at_idle(struct dm_engine *engine, dm_connection *connection, int64_t now) {
    deem_client *client = engine->client;
    pthread_mutex_lock(&client->lock);
    dm_idle idle;
    int ours = dm_pool_withdraw(&client->pool, DM_SIDE_ENGINE, connection, &idle);
    pthread_mutex_unlock(&client->lock);
    if (!ours) {
        return; /* a blocking call has it now */
    }
    if (dm_connection_probe(connection) == DM_PROBE_ALIVE) {
        pthread_mutex_lock(&client->lock);
        int kept = dm_pool_keep(&client->pool, DM_SIDE_ENGINE, connection, now, idle.until) == 0;
        pthread_mutex_unlock(&client->lock);
        if (kept) {
            return;
        }
    }
    close_connection(engine, connection);
    pthread_mutex_lock(&client->lock);
    dm_pool_release(&client->pool);
    pthread_mutex_unlock(&client->lock);
}

/* ---- the public part ---- */

static int32_t make(deem_client *client, struct dm_engine **out) {
    int32_t code = DEEM_OK;
    pthread_mutex_lock(&client->lock);
    struct dm_engine *engine = client->engine;
    if (engine == NULL) {
        engine = dm_alloc_zero(sizeof *engine);
        if (engine == NULL) {
            code = DEEM_E_MEMORY;
        } else if (dm_reactor_open(&engine->reactor) != 0) {
            dm_free(engine);
            engine = NULL;
            code = DEEM_E_CONNECTION;
        } else {
            engine->client = client;
            dm_json_index_init(&engine->index, DM_JSON_BY_DEFAULT);
            pthread_mutex_init(&engine->lock, NULL);
            client->engine = engine;
        }
    }
    pthread_mutex_unlock(&client->lock);
    *out = engine;
    return code;
}

int32_t dm_engine_descriptor(deem_client *client, int *fd) {
    dm_client_after_fork(client);
    struct dm_engine *engine;
    int32_t code = make(client, &engine);
    *fd = code == DEEM_OK ? engine->reactor.descriptor : -1;
    return code;
}

int32_t dm_engine_submit(deem_client *client, const dm_ask *ask, uint64_t *id) {
    dm_client_after_fork(client);
    if (client->transport_kind == DEEM_TRANSPORT_CURL) {
        return DEEM_E_UNSUPPORTED;
    }
    struct dm_engine *engine;
    dm_task *task;
    int32_t code = make(client, &engine);
    if (code == DEEM_OK) {
        code = dm_client_begin(client, DM_NEW_ID, DM_SIDE_ENGINE, &task);
    }
    if (code != DEEM_OK) {
        return code;
    }
    task->call.index = &engine->index;
    task->to = ask->to;
    if (task->own_response == NULL) {
        task->own_response = dm_response_new();
    }
    code = task->own_response == NULL ? DEEM_E_MEMORY
                                      : dm_call_start(&task->call, client, ask, task->own_response);
    if (code != DEEM_OK) {
        dm_client_end(client, task);
        return code;
    }
    *id = task->id;
    push_inbox(engine, task);
    return DEEM_OK;
}

int32_t dm_engine_step(deem_client *client) {
    dm_client_after_fork(client);
    struct dm_engine *engine;
    int32_t code = make(client, &engine);
    if (code != DEEM_OK) {
        return code;
    }
    if (atomic_exchange(&engine->stepping, 1) != 0) {
        return DEEM_E_MISUSE;
    }
    dm_event events[STEP_EVENTS];
    int rang;
    size_t count = dm_reactor_poll(&engine->reactor, events, STEP_EVENTS, &rang);
    int64_t now = dm_clock_now();
    const int64_t began = now;
    engine->handshakes = 0;
    if (rang) {
        pthread_mutex_lock(&engine->lock);
        engine->rung = 0;
        pthread_mutex_unlock(&engine->lock);
    }
    for (size_t i = 0; i < count && now - began < STEP_NS; i++) {
        watch entry =
            (size_t)events[i].fd < engine->watch_cap ? engine->watches[events[i].fd] : (watch){0};
        if (entry.task != NULL) {
            drive(engine, entry.task, now);
        } else if (entry.connection != NULL) {
            look_at_idle(engine, entry.connection, now);
        }
        now = dm_clock_now();
    }
    /* What is pushed back while this runs waits for the next step. */
    pthread_mutex_lock(&engine->lock);
    dm_task *last = engine->inbox.last;
    pthread_mutex_unlock(&engine->lock);
    for (int i = 0; i < STEP_TASKS && last != NULL && now - began < STEP_NS; i++) {
        dm_task *task = pop_inbox(engine);
        if (task == NULL) {
            break;
        }
        drive(engine, task, now);
        now = dm_clock_now();
        if (task == last) {
            break;
        }
    }
    for (dm_task *task; now - began < STEP_NS && (task = dm_timers_pop(&engine->timers, now));) {
        drive(engine, task, now);
        now = dm_clock_now();
    }
    pthread_mutex_lock(&engine->lock);
    if (engine->inbox.first != NULL) {
        ring(engine);
    }
    pthread_mutex_unlock(&engine->lock);
    dm_reactor_arm(&engine->reactor, dm_timers_next(&engine->timers), now);
    atomic_store(&engine->stepping, 0);
    return DEEM_OK;
}

int32_t dm_engine_next(deem_client *client, dm_completions *from, uint64_t *id,
                       deem_response **response) {
    dm_client_after_fork(client);
    *id = 0;
    struct dm_engine *engine = client->engine;
    if (engine == NULL) {
        return DEEM_OK;
    }
    pthread_mutex_lock(&engine->lock);
    from = from != NULL ? from : &engine->done;
    dm_task *task = from->first;
    if (task != NULL) {
        from->first = task->queue_next;
        if (from->first == NULL) {
            from->last = NULL;
        }
    }
    pthread_mutex_unlock(&engine->lock);
    if (task == NULL) {
        return DEEM_OK;
    }
    *id = task->id;
    dm_response_hand_over(&task->own_response, response);
    dm_client_end(client, task);
    return DEEM_OK;
}

void dm_engine_free(struct dm_engine *engine) {
    if (engine == NULL) {
        return;
    }
    dm_reactor_close(&engine->reactor);
    dm_timers_free(&engine->timers);
    dm_json_index_free(&engine->index);
    dm_free(engine->watches);
    pthread_mutex_destroy(&engine->lock);
    dm_free(engine);
}

void dm_engine_after_fork(deem_client *client) {
    struct dm_engine *inherited = client->engine;
    dm_task *task = client->active;
    client->engine = NULL;
    client->active = NULL;
    if (inherited == NULL) {
        return;
    }
    dm_reactor_close(&inherited->reactor); /* the rest is leaked: its lock may be held */
    struct dm_engine *engine;
    if (make(client, &engine) != DEEM_OK) {
        return;
    }
    while (task != NULL) {
        dm_task *next = task->next;
        if (task->side == DM_SIDE_ENGINE) {
            task->previous = NULL;
            task->next = client->active;
            if (client->active != NULL) {
                client->active->previous = task;
            }
            client->active = task;
            task->heap_place = 0;
            task->in_ready = 0;
            task->watched = 0;
            task->has_slot = 0;
            task->waiter = (dm_waiter){0};
            dm_flight_abort(&task->flight);
            dm_call_end(&task->call, DEEM_E_CANCELLED,
                        "The process was forked: this call belongs to the parent.", dm_clock_now());
            complete(engine, task);
        }
        task = next;
    }
}
