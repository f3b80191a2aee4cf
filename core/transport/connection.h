/* Non-blocking byte pipes: over a plain socket, or over libcurl's CONNECT_ONLY. No HTTP here.
 *
 * A connection is used by one thread at a time (the one that owns it just now); different
 * connections of one transport may be used by different threads at once. No call waits for the
 * network. Life: open, connect_step until OK (polling wait_set between), send / recv, close.
 */
#ifndef DM_TRANSPORT_CONNECTION_H
#define DM_TRANSPORT_CONNECTION_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "transport/failure.h"
#include "transport/transport.h"

typedef struct dm_connection dm_connection;

typedef enum dm_io {
    DM_IO_OK = 0,
    DM_IO_AGAIN,          /* nothing to do now: poll, then the same call again */
    DM_IO_CLOSED,         /* the peer closed in order (TCP FIN; over TLS with close_notify) */
    DM_IO_NO_DESCRIPTORS, /* EMFILE or ENFILE: close something or wait, then open anew */
    DM_IO_ERROR           /* error says what; dm_connection_failure the kind; only close is left */
} dm_io;

/* Starts a connection of the transport and gives it to the caller, who owns it. Sends nothing yet:
 * the first connect_step does. OK, NO_DESCRIPTORS or ERROR (libcurl missing, memory, exit, forked);
 * *out is NULL unless OK. The first one of a libcurl route opens libcurl (12 to 20 ms, once per
 * process). */
dm_io dm_connection_open(dm_transport *transport, dm_connection **out, dm_error *error);

/* Goes on with DNS, connect, proxy and TLS as far as it can without waiting. now_ns: monotonic (dm_
 * clock_now). OK: ready for send and recv. AGAIN: poll the wait set, then call again.
 * NO_DESCRIPTORS or ERROR: close it. The attempt limit is the caller's. */
dm_io dm_connection_connect_step(dm_connection *connection, int64_t now_ns, dm_error *error);

/* The most descriptors dm_connection_wait_set gives. */
#define DM_CONNECTION_WAIT_MOST 10

/* What to poll before the next call. While connecting: the descriptors libcurl waits for, and one
 * that turns readable when another thread moved this connection on; *timeout_ms is when to call
 * connect_step anyway (-1: no limit). The set can be another after every step, and a descriptor
 * number can come back for another socket (an epoll user sets all of them anew). When connected:
 * the one descriptor, with POLLIN (change events to POLLOUT after a send that gave AGAIN) and
 * *timeout_ms -1. Returns how many of fds (room for capacity) are filled. */
size_t dm_connection_wait_set(dm_connection *connection, struct pollfd *fds, size_t capacity,
                              int64_t now_ns, int *timeout_ms);

/* The descriptor of a connected connection, -1 before. Constant once connected. */
int dm_connection_fd(const dm_connection *connection);

/* Sends as much as goes out now: OK with *sent > 0 (perhaps less than len), AGAIN, CLOSED never, or
 * ERROR (reset). After AGAIN the same pointer and length must be given again (TLS record already
 * built). len must not be 0. No SIGPIPE is raised. */
dm_io dm_connection_send(dm_connection *connection, const void *data, size_t len, size_t *sent,
                         dm_error *error);

/* Receives what is there: OK with *got > 0, AGAIN, CLOSED, or ERROR (a reset; a TLS stream cut
 * without close_notify). Call until AGAIN before polling: TLS may hold bytes that poll cannot see.
 * After AGAIN the same pointer and capacity should be given again. */
dm_io dm_connection_recv(dm_connection *connection, void *buffer, size_t capacity, size_t *got,
                         dm_error *error);

typedef enum dm_probe {
    DM_PROBE_ALIVE = 0, /* nothing came but, over TLS, perhaps tickets: may be used again */
    DM_PROBE_CLOSED,    /* closed or broken: close it */
    DM_PROBE_BYTES      /* bytes nobody asked for: never use it again, close it */
} dm_probe;

/* Looks whether an idle connection may be used again. Never waits. A byte found over libcurl is
 * consumed. */
dm_probe dm_connection_probe(dm_connection *connection);

/* Closes and frees; never waits (QUICK_EXIT: a running name look-up is left behind). NULL is
 * allowed. In the child of a fork it is dm_connection_abandon. */
void dm_connection_close(dm_connection *connection);

/* In the child of a fork: close() on the inherited descriptors and nothing else, so that the
 * parent's connection stays whole; memory and libcurl's handles are leaked. Takes no lock. NULL is
 * allowed. */
void dm_connection_abandon(dm_connection *connection);

/* The kind of the last ERROR or NO_DESCRIPTORS. */
dm_failure dm_connection_failure(const dm_connection *connection);

/* Microseconds each part took, -1 where unknown or not done. */
typedef struct dm_connection_timings {
    int64_t dns_us;
    int64_t connect_us; /* TCP */
    int64_t tls_us;     /* TLS, the proxy's tunnel before it included */
} dm_connection_timings;

/* Filled when connected; all -1 before. */
dm_connection_timings dm_connection_times(const dm_connection *connection);

#endif
