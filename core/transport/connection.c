#include "transport/connection.h"

#include "base/alloc.h"
#include "transport/lifecycle.h"
#include "transport/parts.h"

static const char forked_text[] =
    "this connection was made before a fork and belongs to the parent process";

dm_io dm_connection_fail(dm_connection *connection, dm_error *error, dm_failure kind,
                         const char *text) {
    connection->failure = kind;
    dm_fail(error, kind, "%s", text);
    return kind == DM_FAIL_DESCRIPTORS ? DM_IO_NO_DESCRIPTORS : DM_IO_ERROR;
}

static int is_inherited(const dm_connection *connection) {
    return connection->generation != dm_fork_generation();
}

dm_io dm_connection_open(dm_transport *transport, dm_connection **out, dm_error *error) {
    *out = NULL;
    if (transport->generation != dm_fork_generation()) {
        dm_fail(error, DM_FAIL_FORKED, "%s",
                "this client was made before a fork and belongs to the parent process: make a new "
                "one in the child");
        return DM_IO_ERROR;
    }
    dm_connection *connection = NULL;
    dm_io result = transport->uses_curl ? dm_curl_connection_new(transport, &connection, error)
                                        : dm_socket_connection_new(&connection, error);
    if (result != DM_IO_OK) {
        return result;
    }
    connection->transport = dm_transport_ref(transport);
    connection->generation = transport->generation;
    connection->fd = -1;
    connection->times = (dm_connection_timings){-1, -1, -1};
    *out = connection;
    return DM_IO_OK;
}

dm_io dm_connection_connect_step(dm_connection *connection, int64_t now_ns, dm_error *error) {
    if (is_inherited(connection)) {
        return dm_connection_fail(connection, error, DM_FAIL_FORKED, forked_text);
    }
    return connection->connected ? DM_IO_OK : connection->kind->step(connection, now_ns, error);
}

size_t dm_connection_wait_set(dm_connection *connection, struct pollfd *fds, size_t capacity,
                              int64_t now_ns, int *timeout_ms) {
    *timeout_ms = -1;
    if (is_inherited(connection)) {
        *timeout_ms = 0;
        return 0;
    }
    if (!connection->connected) {
        return connection->kind->wait_set(connection, fds, capacity, now_ns, timeout_ms);
    }
    if (capacity > 0) {
        fds[0] = (struct pollfd){connection->fd, POLLIN, 0};
    }
    return capacity > 0;
}

int dm_connection_fd(const dm_connection *connection) {
    return connection->connected ? connection->fd : -1;
}

dm_io dm_connection_send(dm_connection *connection, const void *data, size_t len, size_t *sent,
                         dm_error *error) {
    *sent = 0;
    if (is_inherited(connection)) {
        return dm_connection_fail(connection, error, DM_FAIL_FORKED, forked_text);
    }
    return connection->kind->send(connection, data, len, sent, error);
}

dm_io dm_connection_recv(dm_connection *connection, void *buffer, size_t capacity, size_t *got,
                         dm_error *error) {
    *got = 0;
    if (is_inherited(connection)) {
        return dm_connection_fail(connection, error, DM_FAIL_FORKED, forked_text);
    }
    return connection->kind->recv(connection, buffer, capacity, got, error);
}

dm_probe dm_connection_probe(dm_connection *connection) {
    return is_inherited(connection) ? DM_PROBE_CLOSED : connection->kind->probe(connection);
}

void dm_connection_close(dm_connection *connection) {
    if (connection == NULL) {
        return;
    }
    if (is_inherited(connection)) {
        dm_connection_abandon(connection);
        return;
    }
    if (connection->kind->close(connection)) {
        dm_transport_unref(connection->transport);
        dm_free(connection);
    }
}

void dm_connection_abandon(dm_connection *connection) {
    if (connection != NULL) {
        connection->kind->abandon(connection);
    }
}

dm_failure dm_connection_failure(const dm_connection *connection) {
    return connection->failure;
}

dm_connection_timings dm_connection_times(const dm_connection *connection) {
    return connection->times;
}
