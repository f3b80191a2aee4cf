/* A client: settings fixed at birth, a pool of connections, the calls in flight. The public
 * deem_client is this. */
#ifndef DM_ENGINE_CLIENT_H
#define DM_ENGINE_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "engine/options.h"
#include "engine/pool.h"
#include "engine/settings.h"
#include "http1/url.h"
#include "http1/writer.h"
#include "transport/transport.h"

struct dm_task;
struct dm_engine;

/* An id that was handed out and has not been used by a call yet. */
typedef struct dm_reserved_id {
    uint64_t id;
    int cancelled;
} dm_reserved_id;

typedef struct deem_client {
    _Atomic uint32_t handles; /* the caller's: the last one closes */
    _Atomic uint32_t
        references; /* of the handles together, calls inside, exchanges: the last one frees */
    /* fixed at birth */
    dm_limits limits;
    dm_url url;
    dm_bytes evaluate_path;
    dm_bytes model;
    dm_bytes api_key;
    dm_bytes evaluate_url;      /* as shown to people */
    dm_pairs headers;           /* the caller's own */
    dm_http1_field *protected_; /* Authorization and the like; the texts are owned */
    uint32_t protected_count;
    dm_http1_head evaluate_head;
    dm_transport *transport;
    int32_t transport_kind; /* DEEM_TRANSPORT_* */
    int32_t log_level;
    int64_t max_reply_bytes;
    int64_t idle_ms;
    /* under the lock */
    pthread_mutex_t lock;
    uint32_t generation; /* of forks */
    int closed;
    dm_pool pool;
    struct dm_task *active; /* doubly linked: every call that is under way */
    struct dm_task *spare;  /* singly linked: tasks ready to serve again */
    uint32_t spare_count;
    dm_reserved_id *reserved;
    uint32_t reserved_count;
    uint32_t reserved_cap;
    uint64_t next_id;
    struct dm_engine *engine; /* made at the first submit or fd */
} deem_client;

/* Makes a client with one reference. Returns DEEM_OK, or a DEEM_E_CONFIG* code with config's error
 * filled, or DEEM_E_MEMORY. */
int32_t dm_client_new(deem_config *config, deem_client **client);

/* One handle more, one less: the last one closes the client and gives up its reference. Any thread.
 */
void dm_client_handle_ref(deem_client *client);
void dm_client_handle_unref(deem_client *client);

/* One more reference. Any thread. */
void dm_client_ref(deem_client *client);

/* One reference less; the last one frees it. NULL is allowed. Any thread. */
void dm_client_unref(deem_client *client);

/* Refuses new calls and cancels those under way. Any thread. */
void dm_client_close(deem_client *client);

/* A fresh id. 0 when there is no memory. Any thread. */
uint64_t dm_client_reserve_id(deem_client *client);

/* Cancels the call with that id; an unused reserved one is cancelled when it comes. Any thread. */
void dm_client_cancel(deem_client *client, uint64_t id);

/* The headers of a request: the client's and the call's own merged (the call's win, case ignored),
 * then the protected ones; Content-Type only with a body. Returns how many were written to out
 * (room for all), which borrow from client and options. out NULL: only counts. */
uint32_t dm_client_headers(const deem_client *client, const deem_options *options, int with_body,
                           dm_http1_field *out);

/* After a fork: gives up what belongs to the parent, before any lock is taken. Called on entry of
 * every public function. Returns 1 when this process had inherited the client. */
int dm_client_after_fork(deem_client *client);

/* Takes a task for a call and links it among the active ones; id 0 gets no id, DM_NEW_ID a fresh
 * one. Returns DEEM_OK, DEEM_E_CANCELLED (closed, or that id was cancelled before),
 * DEEM_E_CONNECTION (no descriptors), DEEM_E_MISUSE (not a reserved id), DEEM_E_MEMORY. */
#define DM_NEW_ID UINT64_MAX
int32_t dm_client_begin(deem_client *client, uint64_t id, dm_side side, struct dm_task **task);

/* Unlinks a task and keeps it for another call. */
void dm_client_end(deem_client *client, struct dm_task *task);

/* How long a connection is kept when the server said `Keep-Alive: timeout` (milliseconds, -1:
 * nothing). */
int64_t dm_client_idle_ms(const deem_client *client, int64_t server_ms);

/* The interrupted task with that id, or NULL. */
struct dm_task *dm_client_parked(deem_client *client, uint64_t id);

#endif
