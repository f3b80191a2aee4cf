/* Shards: one libcurl multi, at most 32 easy handles, one lock. Every libcurl call on them holds
 * the lock (one multi for all: the cost of a request grows with the number of connections; one
 * each: the CA cache is lost). No lock is held over a wait. */
#ifndef DM_TRANSPORT_CURL_SHARD_H
#define DM_TRANSPORT_CURL_SHARD_H

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/curl_dl.h"
#include "transport/failure.h"
#include "transport/parts.h"

#define DM_SHARD_MOST 32

/* Descriptors libcurl may wait for at once for one handle: two families being connected (newer ones
 * try some more) and its resolver's. */
#define DM_WATCHES_MOST 8

typedef struct dm_shard dm_shard;

/* One easy handle in a shard. Lives in a connection or on the stack of dm_curl_perform. */
typedef struct dm_transfer {
    dm_shard *shard;
    const dm_curl_api *api;
    CURL *easy;
    int added; /* to the multi */
    int wake;  /* readable when another thread changed what is waited for; -1: none */
    int done;  /* result stands */
    CURLcode result;
    int descriptors_gone; /* a socket could not be opened for want of descriptors */
    struct pollfd watches[DM_WATCHES_MOST];
    size_t watch_count;
    /* Its open sockets, -1 for a free place; read without the lock in the child of a fork. */
    atomic_int sockets[DM_WATCHES_MOST];
    char message[CURL_ERROR_SIZE];
} dm_transfer;

/* Makes the handle in a shard with room (a new one if need be), with the options every handle of
 * ours has. OK, NO_DESCRIPTORS, or ERROR; kind and error are filled then, and nothing is left. */
dm_io dm_transfer_open(dm_transport *transport, dm_transfer *transfer, dm_failure *kind,
                       dm_error *error);

/* Locks the transfer's shard and enters libcurl: its table; NULL when the process is exiting. */
const dm_curl_api *dm_transfer_enter(dm_transfer *transfer);

/* Leaves both. */
void dm_transfer_leave(dm_transfer *transfer);

/* Runs what is ready for this handle (adds it to the multi at the first call); the shard's expired
 * timers with it. Entered. Sets done and result at the end. */
void dm_transfer_step(dm_transfer *transfer, int64_t now_ns);

/* What to poll until the next step; see dm_connection_wait_set. Not entered: it locks by itself.
 * room: at least DM_WATCHES_MOST + 1. */
size_t dm_transfer_wait_set(dm_transfer *transfer, struct pollfd *fds, size_t capacity,
                            int64_t now_ns, int *timeout_ms);

/* Closes the wake descriptor (nothing is waited for any more). Entered. */
void dm_transfer_settle(dm_transfer *transfer);

/* Removes and frees the handle and its connection: 1. While the process exits nothing is done: 0,
 * and the transfer's memory must be leaked too, since a thread still inside may come upon it. */
int dm_transfer_close(dm_transport *transport, dm_transfer *transfer);

/* In the child of a fork: close() on its sockets, no more. */
void dm_transfer_abandon(dm_transfer *transfer);

/* Fills kind and error for the libcurl code this transfer ended with. Entered. */
dm_failure dm_transfer_explain(const dm_transport *transport, dm_transfer *transfer, CURLcode code,
                               const char *doing, dm_error *error);

/* The timings of a finished connect. Entered. */
dm_connection_timings dm_transfer_times(dm_transfer *transfer);

#endif
