/* The state of an environment: slots for clients and question sets, and the functions that hand
 * them out. */
#include "addon.h"

#include <stdlib.h>
#include <string.h>

napi_value dmn_refuse(napi_env env, const char *message) {
    napi_throw_type_error(env, NULL, message);
    return NULL;
}

dmn_environment *dmn_arguments(napi_env env, napi_callback_info info, size_t *count,
                               napi_value *values) {
    void *data = NULL;
    if (napi_get_cb_info(env, info, count, values, NULL, &data) != napi_ok) {
        return NULL;
    }
    return data;
}

static dmn_client_slot *slot_at(dmn_environment *environment, napi_value value) {
    int32_t slot = -1;
    if (napi_get_value_int32(environment->env, value, &slot) != napi_ok || slot < 0 ||
        slot >= environment->client_count || environment->clients[slot].closing) {
        return NULL;
    }
    return &environment->clients[slot];
}

dmn_client_slot *dmn_client_at(dmn_environment *environment, napi_value value) {
    dmn_client_slot *slot = slot_at(environment, value);
    if (slot == NULL || slot->client == NULL) {
        dmn_refuse(environment->env, "this is no open client");
        return NULL;
    }
    return slot;
}

dmn_client_slot *dmn_batch_at(dmn_environment *environment, napi_value value) {
    dmn_client_slot *slot = slot_at(environment, value);
    if (slot == NULL || slot->batch == NULL) {
        dmn_refuse(environment->env, "this is no open batch");
        return NULL;
    }
    return slot;
}

/* start(byLoop, onFinished) -> 1 when the loop drives, 0 when a thread does. */
static napi_value start(napi_env env, napi_callback_info info) {
    napi_value argument[2], result;
    size_t count = 2;
    bool by_loop = false;
    napi_valuetype type;
    dmn_environment *environment = dmn_arguments(env, info, &count, argument);
    if (environment == NULL || environment->started || count < 2 ||
        napi_get_value_bool(env, argument[0], &by_loop) != napi_ok ||
        napi_typeof(env, argument[1], &type) != napi_ok || type != napi_function) {
        return dmn_refuse(env, "start takes a boolean and a function, once");
    }
    if (napi_create_reference(env, argument[1], 1, &environment->on_finished) != napi_ok) {
        return dmn_refuse(env, "start could not keep the function");
    }
    environment->by_loop = by_loop && dmn_loop_start(environment);
    if (!environment->by_loop && !dmn_thread_start(environment)) {
        return dmn_refuse(env, "the driver could not be set up");
    }
    environment->started = true;
    napi_get_boolean(env, environment->by_loop, &result);
    return result;
}

/* A free slot, growing the table when there is none; -1 without memory. */
static int32_t free_client_slot(dmn_environment *environment) {
    int32_t slot = 0;
    while (slot < environment->client_count && dmn_in_use(&environment->clients[slot])) {
        slot++;
    }
    if (slot == environment->client_count) {
        dmn_client_slot *more = realloc(environment->clients, (size_t)(slot + 8) * sizeof *more);
        if (more == NULL) {
            return -1;
        }
        memset(more + slot, 0, 8 * sizeof *more);
        environment->clients = more;
        environment->client_count = slot + 8;
    }
    return slot;
}

int32_t dmn_open_slot(dmn_environment *environment, dmn_client_slot entry) {
    pthread_mutex_lock(&environment->lock);
    int32_t slot = free_client_slot(environment);
    if (slot >= 0) {
        dmn_client_slot *free_entry = &environment->clients[slot];
        *free_entry = entry;
        bool added = environment->by_loop ? dmn_loop_add(environment, free_entry, slot)
                                          : dmn_thread_add(environment, free_entry, slot);
        if (!added) {
            *free_entry = (dmn_client_slot){0};
            slot = -1;
        }
    }
    pthread_mutex_unlock(&environment->lock);
    return slot;
}

/* openClient(handle) -> slot. The slot takes over the handle's reference when this succeeds. */
static napi_value open_client(napi_env env, napi_callback_info info) {
    napi_value argument, result;
    size_t count = 1;
    int32_t fd = -1;
    dmn_environment *environment = dmn_arguments(env, info, &count, &argument);
    deem_client *client = count == 1 ? dmn_unwrap(env, argument, DMN_CLIENT) : NULL;
    if (environment == NULL || !environment->started || client == NULL) {
        return dmn_refuse(env, "openClient takes a client");
    }
    if (deem_client_fd(client, &fd) != DEEM_OK) {
        return dmn_refuse(env,
                          "the client has no descriptor to wait on: are file descriptors used up?");
    }
    int32_t slot = dmn_open_slot(environment, (dmn_client_slot){.client = client, .fd = fd});
    if (slot < 0) {
        return dmn_refuse(env, "the client cannot be waited on");
    }
    napi_create_int32(env, slot, &result);
    return result;
}

void dmn_settle_client(dmn_environment *environment, int32_t slot) {
    pthread_mutex_lock(&environment->lock);
    dmn_client_slot *entry = &environment->clients[slot];
    dmn_client_slot gone = {0};
    if (dmn_in_use(entry) && entry->closing && entry->in_flight == 0) {
        if (environment->by_loop) {
            dmn_loop_remove(environment, entry);
        } else {
            dmn_thread_remove(environment, entry);
        }
        gone = *entry;
        *entry = (dmn_client_slot){0};
    }
    pthread_mutex_unlock(&environment->lock);
    deem_batch_free(gone.batch);
    deem_client_free(gone.used);
    deem_client_free(gone.client);
}

/* closeClient(slot): cancels its calls or rows; it goes when the last of them has been handed to
 * JS. */
static napi_value close_client(napi_env env, napi_callback_info info) {
    napi_value argument;
    size_t count = 1;
    int32_t slot = -1;
    dmn_environment *environment = dmn_arguments(env, info, &count, &argument);
    if (environment == NULL || count < 1) {
        return dmn_refuse(env, "closeClient takes a client");
    }
    dmn_client_slot *entry = slot_at(environment, argument);
    if (entry == NULL || !dmn_in_use(entry)) {
        return dmn_refuse(env, "this is neither an open client nor an open batch");
    }
    napi_get_value_int32(env, argument, &slot);
    entry->closing = true;
    if (entry->batch != NULL) {
        pthread_mutex_lock(&environment->lock);
        deem_batch_cancel(entry->batch);
        pthread_mutex_unlock(&environment->lock);
    }
    deem_client_close(entry->client);
    dmn_settle_client(environment, slot);
    return NULL;
}

/* openSet(handle) -> slot. The slot takes over the handle's reference when this succeeds. */
static napi_value open_set(napi_env env, napi_callback_info info) {
    napi_value argument, result;
    size_t count = 1;
    dmn_environment *environment = dmn_arguments(env, info, &count, &argument);
    deem_question_set *set = count == 1 ? dmn_unwrap(env, argument, DMN_SET) : NULL;
    if (environment == NULL || set == NULL) {
        return dmn_refuse(env, "openSet takes a question set");
    }
    int32_t slot = 0;
    while (slot < environment->set_count && environment->sets[slot] != NULL) {
        slot++;
    }
    if (slot == environment->set_count) {
        size_t room = (size_t)slot * 2 + 16;
        deem_question_set **more = realloc(environment->sets, room * sizeof *more);
        if (more == NULL) {
            return dmn_refuse(env, "there is no memory for another question set");
        }
        memset(more + slot, 0, (room - (size_t)slot) * sizeof *more);
        environment->sets = more;
        environment->set_count = (int32_t)room;
    }
    environment->sets[slot] = set;
    napi_create_int32(env, slot, &result);
    return result;
}

/* closeSet(slot): calls in flight hold their own reference. */
static napi_value close_set(napi_env env, napi_callback_info info) {
    napi_value argument;
    size_t count = 1;
    int32_t slot = -1;
    dmn_environment *environment = dmn_arguments(env, info, &count, &argument);
    if (environment == NULL || count < 1 || napi_get_value_int32(env, argument, &slot) != napi_ok ||
        slot < 0 || slot >= environment->set_count || environment->sets[slot] == NULL) {
        return dmn_refuse(env, "this is no open question set");
    }
    deem_question_set_free(environment->sets[slot]);
    environment->sets[slot] = NULL;
    return NULL;
}

void dmn_environment_free(dmn_environment *environment) {
    for (int32_t slot = 0; slot < environment->client_count; slot++) {
        deem_batch_free(environment->clients[slot].batch);
        deem_client_free(environment->clients[slot].used);
        deem_client_free(environment->clients[slot].client);
    }
    for (int32_t slot = 0; slot < environment->set_count; slot++) {
        deem_question_set_free(environment->sets[slot]);
    }
    for (size_t i = 0; i < environment->finished_count; i++) {
        deem_response_free(environment->finished[i].response);
    }
    while (environment->spare_count > 0) {
        deem_response_free(environment->spare[--environment->spare_count]);
    }
    pthread_mutex_destroy(&environment->lock);
    free(environment->clients);
    free(environment->sets);
    free(environment->finished);
    free(environment->scratch);
    free(environment);
}

/* An environment whose driver was never started has no driver to take it down. */
static void forget_unstarted(void *data) {
    dmn_environment *environment = data;
    if (!environment->started) {
        dmn_environment_free(environment);
    }
}

void dmn_add_functions(napi_env env, napi_value exports) {
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = {
        {"start", start},
        {"openClient", open_client},
        {"closeClient", close_client},
        {"openSet", open_set},
        {"closeSet", close_set},
        {"submit", dmn_submit},
        {"submitRequest", dmn_submit_request},
        {"cancel", dmn_cancel},
        {"flush", dmn_flush},
        {"openBatch", dmn_open_batch},
        {"pushRow", dmn_push_row},
        {"endBatch", dmn_end_batch},
        {"batchState", dmn_batch_state},
    };
    dmn_environment *environment = calloc(1, sizeof *environment);
    if (environment == NULL) {
        napi_throw_error(env, NULL, "there is no memory for the addon");
        return;
    }
    environment->env = env;
    environment->epoll_fd = environment->stop_fd = -1;
    pthread_mutex_init(&environment->lock, NULL);
    napi_add_env_cleanup_hook(env, forget_unstarted, environment);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        napi_value function;
        if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function,
                                 environment, &function) != napi_ok ||
            napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) {
            napi_throw_error(env, NULL, "the addon could not add its functions");
            return;
        }
    }
}
