/* Connections over a plain socket: IP literals and localhost, whose two addresses are tried in
 * turn. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "transport/parts.h"

typedef struct dm_socket_connection {
    dm_connection base;
    size_t next; /* the address to try next */
    int first_errno;
    int64_t started_ns;
} dm_socket_connection;

static dm_io fail_errno(dm_connection *connection, dm_error *error, int number, const char *doing) {
    char text[400];
    snprintf(text, sizeof text, "%s %s: %s (errno %d)", doing, connection->transport->peer.data,
             dm_errno_text(number), number);
    return dm_connection_fail(connection, error, dm_errno_failure(number), text);
}

static void shut(dm_connection *connection) {
    if (connection->fd >= 0) {
        close(connection->fd);
        connection->fd = -1;
    }
}

/* Opens a socket and starts to connect: 0, EINPROGRESS, or why it failed. */
static int start(dm_socket_connection *self) {
    dm_connection *base = &self->base;
    const struct sockaddr *address =
        (const struct sockaddr *)&base->transport->addresses[self->next].address;
    socklen_t len = base->transport->addresses[self->next].len;
    self->next++;
    base->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (base->fd < 0) {
        return errno;
    }
    int on = 1;
    setsockopt(base->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(base->fd, address, len) == 0) {
        return 0;
    }
    return errno == EINTR ? EINPROGRESS : errno;
}

/* What became of a connect in progress: 0, EINPROGRESS, or why it failed. */
static int outcome(int fd) {
    struct pollfd writable = {fd, POLLOUT, 0};
    if (poll(&writable, 1, 0) <= 0) {
        return EINPROGRESS;
    }
    int number = 0;
    socklen_t len = sizeof number;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &len) == 0 ? number : errno;
}

static dm_io socket_step(dm_connection *connection, int64_t now_ns, dm_error *error) {
    dm_socket_connection *self = (dm_socket_connection *)connection;
    if (self->next == 0) {
        self->started_ns = now_ns;
    }
    for (;;) {
        int number = connection->fd < 0 ? start(self) : outcome(connection->fd);
        if (number == 0) {
            connection->connected = 1;
            connection->times.connect_us = (dm_clock_now() - self->started_ns) / 1000;
            return DM_IO_OK;
        }
        if (number == EINPROGRESS) {
            return DM_IO_AGAIN;
        }
        shut(connection);
        if (self->first_errno == 0 || self->first_errno == EAFNOSUPPORT) {
            self->first_errno = number;
        }
        if (number == EMFILE || number == ENFILE) {
            return fail_errno(connection, error, number, "could not open a socket to");
        }
        if (self->next >= connection->transport->address_count) {
            return fail_errno(connection, error, self->first_errno, "could not connect to");
        }
    }
}

static size_t socket_wait_set(dm_connection *connection, struct pollfd *fds, size_t capacity,
                              int64_t now_ns, int *timeout_ms) {
    (void)now_ns;
    if (connection->fd < 0 || capacity == 0) {
        *timeout_ms = 0;
        return 0;
    }
    fds[0] = (struct pollfd){connection->fd, POLLOUT, 0};
    return 1;
}

static dm_io socket_send(dm_connection *connection, const void *data, size_t len, size_t *sent,
                         dm_error *error) {
    for (;;) {
        ssize_t count = send(connection->fd, data, len, MSG_NOSIGNAL);
        if (count > 0) {
            *sent = (size_t)count;
            return DM_IO_OK;
        }
        if (count == 0 || errno == EAGAIN) {
            return DM_IO_AGAIN;
        }
        if (errno != EINTR) {
            return fail_errno(connection, error, errno, "could not send to");
        }
    }
}

static dm_io socket_recv(dm_connection *connection, void *buffer, size_t capacity, size_t *got,
                         dm_error *error) {
    for (;;) {
        ssize_t count = recv(connection->fd, buffer, capacity, 0);
        if (count > 0) {
            *got = (size_t)count;
            return DM_IO_OK;
        }
        if (count == 0) {
            return DM_IO_CLOSED;
        }
        if (errno == EAGAIN) {
            return DM_IO_AGAIN;
        }
        if (errno != EINTR) {
            return fail_errno(connection, error, errno, "could not receive from");
        }
    }
}

static dm_probe socket_probe(dm_connection *connection) {
    char byte;
    ssize_t count = recv(connection->fd, &byte, 1, MSG_PEEK);
    if (count > 0) {
        return DM_PROBE_BYTES;
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? DM_PROBE_ALIVE : DM_PROBE_CLOSED;
}

static int socket_close(dm_connection *connection) {
    shut(connection);
    return 1;
}

static const dm_connection_kind socket_kind = {
    socket_step, socket_wait_set, socket_send, socket_recv, socket_probe, socket_close, shut,
};

dm_io dm_socket_connection_new(dm_connection **out, dm_error *error) {
    dm_socket_connection *self = dm_alloc_zero(sizeof *self);
    if (self == NULL) {
        dm_fail(error, DM_FAIL_MEMORY, "no memory for a connection");
        return DM_IO_ERROR;
    }
    self->base.kind = &socket_kind;
    *out = &self->base;
    return DM_IO_OK;
}
