#include "engine/blocking.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "deemster.h"
#include "engine/curl_call.h"
#include "engine/engine.h"
#include "engine/task.h"

/* A signal may arrive between its check and poll: an interruptible wait is never longer than this.
 */
enum { INTERRUPTIBLE_WAIT_MS = 250, BUFFER = 32768, PROBE_AFTER_MS = 1000, DEAD_MOST = 8 };

/* One run, handed down. */
typedef struct run {
    deem_client *client;
    dm_task *task;
    int interruptible;
    int interrupted;
} run;

static void drain(int fd) {
    uint64_t count;
    (void)!read(fd, &count, sizeof count);
}

static int until_ms(int64_t moment, int64_t now) {
    if (moment == DM_NEVER) {
        return -1;
    }
    int64_t ms = (moment - now + DM_NS_PER_MS - 1) / DM_NS_PER_MS;
    return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

/* Waits for descriptors (fds[0] is filled in here with the cancel descriptor) until a moment. 1 go
 * on, 0 the call was cancelled or interrupted. */
static int wait_for(run *r, struct pollfd *fds, nfds_t count, int64_t until) {
    dm_task *task = r->task;
    fds[0] = (struct pollfd){task->cancel_fd, POLLIN, 0};
    int ms = until_ms(until, dm_clock_now());
    int cut = r->interruptible && (ms < 0 || ms > INTERRUPTIBLE_WAIT_MS);
    int ready = poll(fds, count, cut ? INTERRUPTIBLE_WAIT_MS : ms);
    if (r->interruptible && ((ready < 0 && errno == EINTR) || (ready == 0 && cut))) {
        r->interrupted = 1;
        return 0;
    }
    if (ready > 0 && (fds[0].revents & POLLIN) != 0) {
        drain(task->cancel_fd);
    }
    if (__builtin_expect(atomic_load(&task->cancelled), 0)) {
        dm_call_end(&task->call, DEEM_E_CANCELLED, "The call was cancelled.", dm_clock_now());
        return 0;
    }
    return 1;
}

static void wake_waiter(void *user) {
    dm_task *task = user;
    uint64_t one = 1;
    (void)!write(task->cancel_fd, &one, sizeof one);
}

static void release_slot(run *r) {
    if (r->task->has_slot) {
        pthread_mutex_lock(&r->client->lock);
        dm_pool_release(&r->client->pool);
        pthread_mutex_unlock(&r->client->lock);
        r->task->has_slot = 0;
    }
}

/* Whether a connection that was idle since a moment may be used: one that rested is looked at
 * first. */
static int is_alive(dm_connection *connection, int64_t since, int64_t now) {
    return now - since < PROBE_AFTER_MS * DM_NS_PER_MS ||
           dm_connection_probe(connection) == DM_PROBE_ALIVE;
}

/* Waits in the queue. 1: a slot was granted; 0: cancelled, interrupted or too late, and the queue
 * is left. */
static int queue_up(run *r) {
    dm_task *task = r->task;
    struct pollfd fds[1];
    while (!task->waiter.granted) {
        if (!wait_for(r, fds, 1, task->call.deadline_at) ||
            dm_clock_now() >= task->call.deadline_at) {
            pthread_mutex_lock(&r->client->lock);
            dm_connection *gift = dm_pool_leave(&r->client->pool, &task->waiter);
            pthread_mutex_unlock(&r->client->lock);
            dm_engine_let_go(r->client, gift);
            dm_connection_close(gift);
            return 0;
        }
    }
    return 1;
}

/* Owns a slot, and a kept connection where one is alive. 1 owned (*connection may be NULL), 0 the
 * call is over, too late or interrupted. */
static int acquire(run *r, dm_connection **connection) {
    dm_task *task = r->task;
    deem_client *client = r->client;
    for (;;) {
        dm_connection *dead[DEAD_MOST];
        uint32_t dead_count;
        dm_idle idle = {0};
        int64_t now = dm_clock_now();
        task->waiter.wake = wake_waiter;
        task->waiter.user = task;
        pthread_mutex_lock(&client->lock);
        dm_take take = dm_pool_take(&client->pool, DM_SIDE_BLOCKING, task->call.fresh, now,
                                    &task->waiter, &idle, dead, DEAD_MOST, &dead_count);
        pthread_mutex_unlock(&client->lock);
        for (uint32_t i = 0; i < dead_count; i++) {
            dm_engine_let_go(client, dead[i]);
            dm_connection_close(dead[i]);
        }
        if (take == DM_TAKE_QUEUED) {
            if (!queue_up(r)) {
                return 0;
            }
            idle = (dm_idle){task->waiter.gift, dm_clock_now(), DM_NEVER, task->waiter.gift_side};
            task->waiter.granted = 0;
            task->waiter.gift = NULL;
        }
        task->has_slot = 1;
        if (idle.side == DM_SIDE_ENGINE && idle.connection != NULL) {
            dm_engine_let_go(client, idle.connection);
        }
        if (idle.connection == NULL || is_alive(idle.connection, idle.since, now)) {
            *connection = idle.connection;
            return 1;
        }
        dm_connection_close(idle.connection);
        release_slot(r);
    }
}

/* Keeps or closes the connection of a flight that is over, and gives its slot back. */
static void land(run *r) {
    dm_task *task = r->task;
    deem_client *client = r->client;
    dm_connection *connection = dm_flight_take_connection(&task->flight);
    int64_t idle_ms = dm_client_idle_ms(client, task->flight.reader.keep_alive_ms);
    if (connection != NULL && task->flight.keep && idle_ms > 0) {
        int64_t now = dm_clock_now();
        pthread_mutex_lock(&client->lock);
        int kept = !client->closed && dm_pool_keep(&client->pool, DM_SIDE_BLOCKING, connection, now,
                                                   now + idle_ms * DM_NS_PER_MS) == 0;
        pthread_mutex_unlock(&client->lock);
        if (kept) {
            task->has_slot = 0;
            return;
        }
    }
    dm_connection_close(connection);
    release_slot(r);
}

/* Moves the flight to its end. 1 over, 0 interrupted. */
static int fly(run *r) {
    dm_task *task = r->task;
    dm_flight *flight = &task->flight;
    dm_call *call = &task->call;
    char buffer[BUFFER];
    for (;;) {
        int64_t now = dm_clock_now();
        if (now >= call->attempt_until) {
            int sent = dm_flight_is_sent(flight);
            dm_flight_abort(flight);
            dm_call_fail_timeout(call, sent, now);
            return 1;
        }
        if (dm_flight_step(flight, call, buffer, sizeof buffer, now)) {
            return 1;
        }
        struct pollfd fds[1 + DM_CONNECTION_WAIT_MOST];
        int timeout = -1;
        size_t count = dm_connection_wait_set(flight->connection, fds + 1, DM_CONNECTION_WAIT_MOST,
                                              now, &timeout);
        if (dm_flight_wants_write(flight)) {
            fds[1].events |= POLLOUT;
        }
        int64_t until = call->attempt_until;
        if (timeout >= 0 && now + timeout * DM_NS_PER_MS < until) {
            until = now + timeout * DM_NS_PER_MS;
        }
        if (!wait_for(r, fds, (nfds_t)(1 + count), until)) {
            if (!r->interrupted) {
                dm_flight_abort(flight);
                return 1;
            }
            return 0;
        }
    }
}

/* One attempt, from its slot to its end. 0 when the run was interrupted. */
static int attempt(run *r) {
    dm_task *task = r->task;
    if (task->flight.phase == DM_PHASE_NONE) {
        if (r->client->transport_kind == DEEM_TRANSPORT_CURL) {
            dm_curl_call_run(&task->call, task->cancel_fd);
            if (atomic_load(&task->cancelled)) {
                dm_call_end(&task->call, DEEM_E_CANCELLED, "The call was cancelled.",
                            dm_clock_now());
            }
            return 1;
        }
        int64_t asked = dm_clock_now();
        dm_connection *connection;
        if (!acquire(r, &connection)) {
            return !r->interrupted;
        }
        int64_t now = dm_clock_now();
        int64_t *queue = &task->call.response->timing_us[DEEM_TIMING_QUEUE];
        *queue = (*queue < 0 ? 0 : *queue) + (now - asked) / 1000;
        dm_flight_begin(&task->flight, &task->call, connection, now);
    }
    while (task->flight.phase != DM_PHASE_NONE) {
        if (!fly(r)) {
            return 0;
        }
    }
    if (task->flight.no_descriptors) {
        /* Others of this process may give some back: the call waits like one that found the pool
         * full. */
        dm_connection_close(dm_flight_take_connection(&task->flight));
        release_slot(r);
        dm_call_attempt_undo(&task->call);
        struct pollfd fds[1];
        wait_for(r, fds, 1, dm_clock_now() + 20 * DM_NS_PER_MS);
        return !r->interrupted;
    }
    land(r);
    return 1;
}

static int32_t drive(run *r) {
    dm_call *call = &r->task->call;
    for (;;) {
        int64_t now = dm_clock_now();
        if (__builtin_expect(atomic_load(&r->task->cancelled), 0)) {
            dm_call_end(call, DEEM_E_CANCELLED, "The call was cancelled.", now);
        }
        if (r->task->flight.phase != DM_PHASE_NONE) { /* an interrupted attempt goes on */
            if (!attempt(r)) {
                return DEEM_E_INTERRUPTED;
            }
            continue;
        }
        switch (dm_call_next(call, now)) {
        case DM_ACTION_DONE:
            return call->response->error.code;
        case DM_ACTION_SEND:
            if (!attempt(r)) {
                return DEEM_E_INTERRUPTED;
            }
            break;
        case DM_ACTION_WAIT: {
            struct pollfd fds[1];
            if (!wait_for(r, fds, 1, call->wait_until) && r->interrupted) {
                return DEEM_E_INTERRUPTED;
            }
            break;
        }
        }
    }
}

/* Starts the task's call. An interruptible one fills a response of its own, since the caller may
 * come back with another. */
static int32_t start_on(run *r, const dm_ask *ask, deem_response *response) {
    dm_task *task = r->task;
    task->call.index = &task->index;
    if (!r->interruptible) {
        dm_response_free(task->own_response);
        task->own_response = NULL;
        return dm_call_start(&task->call, r->client, ask, response);
    }
    if (task->own_response == NULL) {
        task->own_response = dm_response_new();
    }
    return task->own_response == NULL
               ? DEEM_E_MEMORY
               : dm_call_start(&task->call, r->client, ask, task->own_response);
}

/* A response for a call that could not begin. */
static int32_t refuse(deem_response *response, deem_question_set *set, int32_t code,
                      const char *sentence) {
    dm_response_begin(response, set);
    if (set != NULL && dm_answers_begin(&response->reply.answers, set) == 0) {
        response->has_answers = 1;
    }
    return dm_error_set(&response->error, code, 0, "%s", sentence);
}

static int32_t run_call(deem_client *client, const dm_ask *ask, deem_response *response) {
    uint64_t id = ask->options != NULL ? ask->options->call_id : 0;
    run r = {client, NULL, ask->options != NULL && ask->options->interruptible && id != 0, 0};
    int32_t code = DEEM_OK;
    r.task = id != 0 ? dm_client_parked(client, id) : NULL;
    if (r.task == NULL) {
        code = dm_client_begin(client, id, DM_SIDE_BLOCKING, &r.task);
        if (code == DEEM_E_CANCELLED) {
            return refuse(response, ask->set, code, "The call was cancelled before it began.");
        }
        if (code == DEEM_E_CONNECTION) {
            return refuse(response, ask->set, code, "This process has no file descriptor left.");
        }
        if (code != DEEM_OK) {
            return code;
        }
        code = start_on(&r, ask, response);
    }
    if (code == DEEM_OK) {
        code = drive(&r);
    }
    if (code == DEEM_E_INTERRUPTED) {
        pthread_mutex_lock(&client->lock);
        r.task->parked = 1;
        pthread_mutex_unlock(&client->lock);
        return code;
    }
    if (r.task->own_response != NULL) {
        dm_response_swap(r.task->own_response, response);
    }
    dm_client_end(client, r.task);
    return code;
}

int32_t dm_blocking_run(deem_client *client, const dm_ask *ask, deem_response **io) {
    dm_client_after_fork(client);
    deem_response *response = *io != NULL ? *io : dm_response_new();
    if (response == NULL) {
        return DEEM_E_MEMORY;
    }
    *io = response;
    dm_client_ref(client);
    int32_t code = run_call(client, ask, response);
    dm_client_unref(client);
    return code;
}
