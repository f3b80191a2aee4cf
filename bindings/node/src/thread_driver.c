/* The thread driver: one thread per environment waits for the descriptors of all its clients, steps
 * the clients that have work, and wakes JS through one thread-safe function when calls have
 * finished. */
#include "addon.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The event data of the descriptor that stops the thread. */
#define STOP           UINT64_MAX
#define EVENTS_AT_ONCE 16

static void *drive(void *data) {
    dmn_environment *environment = data;
    struct epoll_event events[EVENTS_AT_ONCE];
    for (;;) {
        int count = epoll_wait(environment->epoll_fd, events, EVENTS_AT_ONCE, -1);
        bool wake = false;
        pthread_mutex_lock(&environment->lock);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 == STOP) {
                pthread_mutex_unlock(&environment->lock);
                return NULL;
            }
            int32_t slot = (int32_t)events[i].data.u64;
            /* The client may have gone since the event was fetched. */
            if (slot < environment->client_count && dmn_in_use(&environment->clients[slot])) {
                wake = dmn_step(environment, slot) > 0 || wake;
            }
        }
        wake = wake && !environment->woken;
        environment->woken = environment->woken || wake;
        pthread_mutex_unlock(&environment->lock);
        if (wake) {
            napi_call_threadsafe_function(environment->wake, NULL, napi_tsfn_nonblocking);
        }
    }
}

static void on_wake(napi_env env, napi_value function, void *context, void *data) {
    (void)function;
    (void)data;
    dmn_environment *environment = context;
    pthread_mutex_lock(&environment->lock);
    environment->woken = false;
    pthread_mutex_unlock(&environment->lock);
    if (env != NULL && !environment->stopping) {
        dmn_call_finished(environment);
    }
}

bool dmn_thread_add(dmn_environment *environment, dmn_client_slot *client, int32_t slot) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)slot};
    if (epoll_ctl(environment->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) != 0) {
        return false;
    }
    if (!environment->thread_runs) {
        /* Signals are the program's business: the thread inherits a mask that blocks them all. */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        environment->thread_runs =
            pthread_create(&environment->thread, NULL, drive, environment) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return environment->thread_runs;
}

void dmn_thread_remove(dmn_environment *environment, dmn_client_slot *client) {
    epoll_ctl(environment->epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
}

/* The environment goes away, perhaps with calls in flight: the thread must have ended before the
 * thread-safe function may go. */
static void stop(void *data) {
    dmn_environment *environment = data;
    environment->stopping = true;
    if (environment->thread_runs) {
        uint64_t one = 1;
        ssize_t written;
        do {
            written = write(environment->stop_fd, &one, sizeof one);
        } while (written < 0);
        pthread_join(environment->thread, NULL);
    }
    napi_release_threadsafe_function(environment->wake, napi_tsfn_abort);
    close(environment->epoll_fd);
    close(environment->stop_fd);
}

/* The thread-safe function is gone: nobody can come back to the environment. */
static void on_wake_gone(napi_env env, void *data, void *hint) {
    (void)env;
    (void)hint;
    dmn_environment_free(data);
}

bool dmn_thread_start(dmn_environment *environment) {
    napi_env env = environment->env;
    napi_value name;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = STOP};
    environment->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    environment->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (environment->epoll_fd < 0 || environment->stop_fd < 0 ||
        epoll_ctl(environment->epoll_fd, EPOLL_CTL_ADD, environment->stop_fd, &event) != 0 ||
        napi_create_string_utf8(env, "deemster", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, environment, on_wake_gone,
                                        environment, on_wake, &environment->wake) != napi_ok) {
        return false;
    }
    napi_unref_threadsafe_function(env, environment->wake);
    return napi_add_env_cleanup_hook(env, stop, environment) == napi_ok;
}
