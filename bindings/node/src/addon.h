/**
 * The hand-written part of the addon: the few functions on the hot path, and who drives the engine.
 *
 * Everything hangs on one dmn_environment per Node environment (the main thread or a worker), which
 * travels as the data pointer of its functions: SWIG owns the environment's instance data. Clients
 * and question sets are known to JS by small slot numbers, so that no wrong, stale or foreign value
 * can reach freed memory.
 *
 * Two drivers run the same engine calls (poll, step, next):
 * - the loop driver registers the descriptor of each client with the environment's libuv loop (Node
 * alone);
 * - the thread driver waits on a thread and wakes JS through one thread-safe function (everywhere
 * else).
 */
#ifndef DMN_ADDON_H
#define DMN_ADDON_H

#include <node_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "deemster.h"
#include "deemster_experimental.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What dmn_unwrap() looks for. */
#define DMN_CLIENT 1
/** What dmn_unwrap() looks for. */
#define DMN_SET 2
/** What dmn_unwrap() looks for. */
#define DMN_OPTIONS 3
/** What dmn_unwrap() looks for. */
#define DMN_BATCH 4

/** How many finished responses are kept for reuse. */
#define DMN_SPARE_RESPONSES 64

struct uv_poll_s;

/** A client or a batch that JS knows by its slot number; free when it is neither. */
typedef struct dmn_client_slot {
    deem_client *client;    /**< NULL: not a client. */
    deem_batch *batch;      /**< NULL: not a batch. */
    deem_client *used;      /**< The client of a batch, freed after it. */
    int32_t trouble;        /**< A batch: what its last step came to. */
    struct uv_poll_s *poll; /**< Loop driver: its registration, or NULL. */
    int32_t fd;             /**< Its descriptor, borrowed from the client. */
    uint32_t in_flight;     /**< Calls submitted, rows pushed, and not yet handed to JS. */
    bool closing;           /**< Freed once nothing is in flight. */
} dmn_client_slot;

/** A call or row that is over and waits to be handed to JS. */
typedef struct dmn_finished {
    uint64_t id;        /**< Of a row: its tag. */
    uint32_t row_flags; /**< DEEM_ROW_* bits of a row. */
    deem_response *response;
    int32_t slot;
} dmn_finished;

/** The state of one Node environment. JS thread only, but for what the comments say. */
typedef struct dmn_environment {
    napi_env env;
    napi_ref on_finished; /**< JS function that takes what dmn_take_finished() gives. */
    bool started;
    bool by_loop;
    bool stopping; /**< The environment is going away. */

    /** Guards everything from here to the blank line, and the stepping of clients. */
    pthread_mutex_t lock;
    dmn_client_slot *clients;
    int32_t client_count;
    dmn_finished *finished;
    size_t finished_count, finished_room;
    deem_response *spare[DMN_SPARE_RESPONSES];
    size_t spare_count;
    bool woken; /**< Thread driver: JS has been called and has not come yet. */

    deem_question_set **sets;
    int32_t set_count;
    uint32_t in_flight;
    char *scratch; /**< Text on its way in. */
    size_t scratch_room;

    /** Loop driver. */
    napi_async_context context;
    napi_async_cleanup_hook_handle cleanup;
    uint32_t open_polls;

    /** Thread driver. */
    napi_threadsafe_function wake;
    pthread_t thread;
    bool thread_runs;
    int epoll_fd, stop_fd;
} dmn_environment;

/** Adds the hand-written functions to the module. Called once per environment, from the module's
 * initialiser. */
void dmn_add_functions(napi_env env, napi_value exports);

/** The C pointer in a SWIG handle object of the kind asked for, or NULL. Lives in deemster.i. */
void *dmn_unwrap(napi_env env, napi_value value, int32_t kind);

/** A SWIG handle object for a response; JS frees it with deem_response_free(). Lives in deemster.i.
 */
napi_value dmn_wrap_response(napi_env env, deem_response *response);

/** Throws a JS TypeError and gives NULL, to be returned. */
napi_value dmn_refuse(napi_env env, const char *message);

/** The environment that a function belongs to, with its arguments. */
dmn_environment *dmn_arguments(napi_env env, napi_callback_info info, size_t *count,
                               napi_value *values);

/** The client of a slot number given by JS, or NULL with a JS exception pending. */
dmn_client_slot *dmn_client_at(dmn_environment *environment, napi_value value);

/** The batch of a slot number given by JS, or NULL with a JS exception pending. */
dmn_client_slot *dmn_batch_at(dmn_environment *environment, napi_value value);

/** Whether a slot is taken. */
static inline bool dmn_in_use(const dmn_client_slot *slot) {
    return slot->client != NULL || slot->batch != NULL;
}

/** Puts a client or a batch into a free slot and has it driven. @return The slot, -1 when that
 * cannot be. */
int32_t dmn_open_slot(dmn_environment *environment, dmn_client_slot entry);

/** Counts a call or row that was taken: the environment stays alive until it is handed to JS. */
void dmn_count_in(dmn_environment *environment, dmn_client_slot *slot);

/** Reads a JS string as UTF-8 into the environment's scratch buffer. @return false with nothing
 * changed. */
bool dmn_read_text(dmn_environment *environment, napi_value value, const char **text, size_t *len);

/** Gives a large scratch buffer back. */
void dmn_trim(dmn_environment *environment);

/**
 * Steps one client or batch and gathers what has finished. The lock must be held. Any thread.
 * @return How many calls finished.
 */
size_t dmn_step(dmn_environment *environment, int32_t slot);

/**
 * Hands everything finished to JS: a flat array of [slot, id, code, body, details] per call; ids
 * are each client's own. code 0: body is the reply's text and details the packed particulars (see
 * results.c); code -1: the same, but a token count is beyond 2^53; code -2, a reply that a lenient
 * call takes though a check failed, and any other code: details is a response handle that JS must
 * free. For a row of a batch the code is 2 more, plus its DEEM_ROW_* bits times 65536. JS thread.
 * @return The array, or NULL when nothing has finished.
 */
napi_value dmn_take_finished(dmn_environment *environment);

/** Calls JS with what has finished, as a callback of its own. JS thread, outside any JS. */
void dmn_call_finished(dmn_environment *environment);

/** submit(client, set, isJson, state, options) -> id, or minus a status. */
napi_value dmn_submit(napi_env env, napi_callback_info info);

/** submitRequest(client, method, path, body, options) -> id, or minus a status. */
napi_value dmn_submit_request(napi_env env, napi_callback_info info);

/** cancel(client, id). */
napi_value dmn_cancel(napi_env env, napi_callback_info info);

/** flush(client) -> what dmn_take_finished() gives, or undefined: sends what was submitted, without
 * a wait. */
napi_value dmn_flush(napi_env env, napi_callback_info info);

/** openBatch(handle, client) -> slot, which takes both handles over. */
napi_value dmn_open_batch(napi_env env, napi_callback_info info);

/** pushRow(batch, kind, text, group, tag) -> the room that is left, or minus a status; kind 0:
 * text, 1: JSON, 2: an error whose sentence is the text. */
napi_value dmn_push_row(napi_env env, napi_callback_info info);

/** endBatch(batch, how) -> status; how 0: finish, 1: stop, 2: cancel. */
napi_value dmn_end_batch(napi_env env, napi_callback_info info);

/** batchState(batch) -> numbers, in the order of lib/batch.js. */
napi_value dmn_batch_state(napi_env env, napi_callback_info info);

/** Frees a slot that is closing and has nothing in flight. The lock must not be held. JS
 * thread. */
void dmn_settle_client(dmn_environment *environment, int32_t slot);

/** Sets up the loop driver. @return false when libuv cannot be had; nothing has changed then. */
bool dmn_loop_start(dmn_environment *environment);
/** Registers a client. */
bool dmn_loop_add(dmn_environment *environment, dmn_client_slot *client, int32_t slot);
/** Ends a client's registration. */
void dmn_loop_remove(dmn_environment *environment, dmn_client_slot *client);
/** Says whether a client has calls in flight, for which the loop must stay alive. */
void dmn_loop_hold(dmn_client_slot *client, bool hold);

/** Sets up the thread driver; its thread starts with the first client. */
bool dmn_thread_start(dmn_environment *environment);
/** Registers a client, and starts the thread. */
bool dmn_thread_add(dmn_environment *environment, dmn_client_slot *client, int32_t slot);
/** Ends a client's registration. */
void dmn_thread_remove(dmn_environment *environment, dmn_client_slot *client);

/** Frees all that an environment holds, its drivers being stopped already. */
void dmn_environment_free(dmn_environment *environment);

#ifdef __cplusplus
}
#endif

#endif
