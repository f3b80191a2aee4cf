/* The loop driver: the descriptor of each client is watched by the environment's own libuv loop, so
 * that a reply is read on the JS thread with no other thread in between. libuv is reached through
 * dlsym: other runtimes that load this addon have no usable libuv, and take the thread driver. */
#include "addon.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <uv.h>

static struct {
    int (*poll_init)(uv_loop_t *, uv_poll_t *, int);
    int (*poll_start)(uv_poll_t *, int, uv_poll_cb);
    int (*poll_stop)(uv_poll_t *);
    void (*close)(uv_handle_t *, uv_close_cb);
    void (*ref)(uv_handle_t *);
    void (*unref)(uv_handle_t *);
    size_t (*handle_size)(uv_handle_type);
} uv;
static bool found;
static pthread_once_t find_once = PTHREAD_ONCE_INIT;

/* What a registration needs to know, before the handle itself: the handle's size is the running
 * libuv's business. */
typedef struct registration {
    dmn_environment *environment;
    int32_t slot;
} registration;

static void find_uv(void) {
    *(void **)&uv.poll_init = dlsym(RTLD_DEFAULT, "uv_poll_init");
    *(void **)&uv.poll_start = dlsym(RTLD_DEFAULT, "uv_poll_start");
    *(void **)&uv.poll_stop = dlsym(RTLD_DEFAULT, "uv_poll_stop");
    *(void **)&uv.close = dlsym(RTLD_DEFAULT, "uv_close");
    *(void **)&uv.ref = dlsym(RTLD_DEFAULT, "uv_ref");
    *(void **)&uv.unref = dlsym(RTLD_DEFAULT, "uv_unref");
    *(void **)&uv.handle_size = dlsym(RTLD_DEFAULT, "uv_handle_size");
    found = uv.poll_init && uv.poll_start && uv.poll_stop && uv.close && uv.ref && uv.unref &&
            uv.handle_size;
}

static void on_readable(uv_poll_t *handle, int status, int events) {
    (void)status;
    (void)events;
    registration *owner = handle->data;
    dmn_environment *environment = owner->environment;
    pthread_mutex_lock(&environment->lock);
    size_t finished = dmn_step(environment, owner->slot);
    pthread_mutex_unlock(&environment->lock);
    if (finished > 0) {
        dmn_call_finished(environment);
    }
}

/* The last registration of an environment that goes away takes the environment with it. */
static void on_closed(uv_handle_t *handle) {
    registration *owner = handle->data;
    dmn_environment *environment = owner->environment;
    free(owner);
    free(handle);
    environment->open_polls--;
    if (environment->stopping && environment->open_polls == 0) {
        napi_async_cleanup_hook_handle hook = environment->cleanup;
        dmn_environment_free(environment);
        napi_remove_async_cleanup_hook(hook);
    }
}

bool dmn_loop_add(dmn_environment *environment, dmn_client_slot *client, int32_t slot) {
    uv_loop_t *loop = NULL;
    registration *owner = malloc(sizeof *owner);
    uv_poll_t *handle = malloc(uv.handle_size(UV_POLL));
    if (owner == NULL || handle == NULL ||
        napi_get_uv_event_loop(environment->env, &loop) != napi_ok ||
        uv.poll_init(loop, handle, client->fd) != 0) {
        free(owner);
        free(handle);
        return false;
    }
    *owner = (registration){.environment = environment, .slot = slot};
    handle->data = owner;
    uv.poll_start(handle, UV_READABLE, on_readable);
    uv.unref((uv_handle_t *)handle);
    client->poll = handle;
    environment->open_polls++;
    return true;
}

void dmn_loop_remove(dmn_environment *environment, dmn_client_slot *client) {
    (void)environment;
    if (client->poll != NULL) {
        uv.poll_stop(client->poll);
        uv.close((uv_handle_t *)client->poll, on_closed);
        client->poll = NULL;
    }
}

void dmn_loop_hold(dmn_client_slot *client, bool hold) {
    if (client->poll != NULL) {
        (hold ? uv.ref : uv.unref)((uv_handle_t *)client->poll);
    }
}

/* The environment goes away, perhaps with calls in flight: nothing may be called in JS any more. */
static void stop(napi_async_cleanup_hook_handle hook, void *data) {
    dmn_environment *environment = data;
    environment->stopping = true;
    for (int32_t slot = 0; slot < environment->client_count; slot++) {
        dmn_loop_remove(environment, &environment->clients[slot]);
    }
    if (environment->open_polls == 0) {
        dmn_environment_free(environment);
        napi_remove_async_cleanup_hook(hook);
    }
}

bool dmn_loop_start(dmn_environment *environment) {
    napi_env env = environment->env;
    napi_value name;
    uv_loop_t *loop = NULL;
    pthread_once(&find_once, find_uv);
    return found && napi_get_uv_event_loop(env, &loop) == napi_ok && loop != NULL &&
           napi_create_string_utf8(env, "deemster", NAPI_AUTO_LENGTH, &name) == napi_ok &&
           napi_async_init(env, NULL, name, &environment->context) == napi_ok &&
           napi_add_async_cleanup_hook(env, stop, environment, &environment->cleanup) == napi_ok;
}
