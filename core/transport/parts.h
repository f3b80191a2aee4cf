/* The inside of transports and connections, for core/transport alone. */
#ifndef DM_TRANSPORT_PARTS_H
#define DM_TRANSPORT_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "transport/ca_search.h"
#include "transport/connection.h"
#include "transport/proxy.h"

struct dm_shard;

#define DM_ADDRESSES_MOST 2

struct dm_transport {
    atomic_uint references;
    uint32_t generation; /* of forks, at birth */
    dm_route route;
    int tls;
    int uses_curl;
    int has_proxy;
    dm_proxy proxy;
    dm_bytes authorization; /* Proxy-Authorization of the absolute route */
    dm_bytes peer;          /* host:port that is connected to, as people are shown it */
    /* Socket routes: what connect() is given, in turn. */
    struct {
        struct sockaddr_storage address;
        socklen_t len;
    } addresses[DM_ADDRESSES_MOST];
    size_t address_count;
    /* libcurl's routes. */
    dm_bytes url; /* what a CONNECT_ONLY handle is opened for; ends in a slash */
    dm_ca_found ca;
    pthread_mutex_t lock;    /* of the list of shards and their free places; no other lock inside */
    struct dm_shard *shards; /* newest first; they live as long as the transport */
};

/* What a kind of connection can do; the rules are those of connection.h. */
typedef struct dm_connection_kind {
    dm_io (*step)(dm_connection *connection, int64_t now_ns, dm_error *error);
    size_t (*wait_set)(dm_connection *connection, struct pollfd *fds, size_t capacity,
                       int64_t now_ns, int *timeout_ms);
    dm_io (*send)(dm_connection *connection, const void *data, size_t len, size_t *sent,
                  dm_error *error);
    dm_io (*recv)(dm_connection *connection, void *buffer, size_t capacity, size_t *got,
                  dm_error *error);
    dm_probe (*probe)(dm_connection *connection);
    /* Lets go of all but the memory of dm_connection: 1; 0: that must be leaked. */
    int (*close)(dm_connection *connection);
    void (*abandon)(dm_connection *connection); /* the descriptors only */
} dm_connection_kind;

/* First member of every kind of connection. */
struct dm_connection {
    const dm_connection_kind *kind;
    dm_transport *transport;
    uint32_t generation;
    int connected;
    int fd;
    dm_failure failure;
    dm_connection_timings times;
};

/* Makes a connection of that kind, with everything but kind, transport and generation zeroed by the
 * caller's dm_connection_open. NO_DESCRIPTORS and ERROR as there. */
dm_io dm_socket_connection_new(dm_connection **out, dm_error *error);
dm_io dm_curl_connection_new(dm_transport *transport, dm_connection **out, dm_error *error);

/* Notes the kind on the connection, fills error and returns ERROR (NO_DESCRIPTORS for that kind).
 */
dm_io dm_connection_fail(dm_connection *connection, dm_error *error, dm_failure kind,
                         const char *text);

/* Frees all shards; none has a connection any more. */
void dm_shards_free(dm_transport *transport);

#endif
