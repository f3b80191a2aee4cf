/* Connections over plain sockets, against sockets of this very test. */
#include "transport/connection.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "deemster.h"

static const char *no_environment(const char *name, void *user) {
    (void)name;
    (void)user;
    return NULL;
}

/* Listens on loopback of the family, at port or at a free one when it is 0. */
static int listen_on(int family, uint16_t *port) {
    int fd = socket(family, SOCK_STREAM, 0);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        struct sockaddr_in6 address = {0};
        address.sin6_family = AF_INET6;
        address.sin6_addr = in6addr_loopback;
        address.sin6_port = htons(*port);
        cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        socklen_t len = sizeof address;
        getsockname(fd, (struct sockaddr *)&address, &len);
        *port = ntohs(address.sin6_port);
    } else {
        struct sockaddr_in address = {0};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(*port);
        cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        socklen_t len = sizeof address;
        getsockname(fd, (struct sockaddr *)&address, &len);
        *port = ntohs(address.sin_port);
    }
    cr_assert_eq(listen(fd, 16), 0);
    return fd;
}

static dm_transport *transport_to(const char *host, uint16_t port) {
    dm_transport_settings settings = {0};
    settings.host = dm_span_of(host, strlen(host));
    settings.port = port;
    settings.environment = no_environment;
    dm_transport *transport = NULL;
    dm_error error = {0};
    cr_assert_eq(dm_transport_new(&settings, &transport, &error), 0);
    dm_error_free(&error);
    return transport;
}

/* Steps to the end, polling the wait set between. */
static dm_io drive(dm_connection *connection, dm_error *error) {
    for (int step = 0; step < 1000; step++) {
        dm_io result = dm_connection_connect_step(connection, dm_clock_now(), error);
        if (result != DM_IO_AGAIN) {
            return result;
        }
        struct pollfd fds[DM_CONNECTION_WAIT_MOST];
        int timeout = -1;
        size_t count = dm_connection_wait_set(connection, fds, DM_CONNECTION_WAIT_MOST,
                                              dm_clock_now(), &timeout);
        cr_assert(count > 0 || timeout >= 0);
        poll(fds, (nfds_t)count, timeout < 0 ? 5000 : timeout);
    }
    return DM_IO_AGAIN;
}

static dm_connection *connected(dm_transport *transport) {
    dm_connection *connection = NULL;
    dm_error error = {0};
    cr_assert_eq(dm_connection_open(transport, &connection, &error), DM_IO_OK);
    cr_assert_eq(dm_connection_fd(connection), -1);
    cr_assert_eq(drive(connection, &error), DM_IO_OK, "%s", error.message.data);
    cr_assert_geq(dm_connection_fd(connection), 0);
    dm_error_free(&error);
    return connection;
}

static dm_io recv_soon(dm_connection *connection, char *buffer, size_t size, size_t *got) {
    dm_error error = {0};
    struct pollfd fds[1];
    int timeout = 0;
    dm_io result = dm_connection_recv(connection, buffer, size, got, &error);
    while (result == DM_IO_AGAIN) {
        cr_assert_eq(dm_connection_wait_set(connection, fds, 1, dm_clock_now(), &timeout), 1);
        cr_assert_eq(timeout, -1);
        cr_assert_eq(poll(fds, 1, 5000), 1);
        result = dm_connection_recv(connection, buffer, size, got, &error);
    }
    dm_error_free(&error);
    return result;
}

/* Both families, and localhost with either one listening. */
Test(connection, addresses) {
    static const struct {
        const char *host;
        int family;
    } cases[] = {
        {"127.0.0.1", AF_INET}, {"::1", AF_INET6},       {"::1%lo", AF_INET6},
        {"localhost", AF_INET}, {"localhost", AF_INET6}, {"::ffff:127.0.0.1", AF_INET},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint16_t port = 0;
        int listener = listen_on(cases[i].family, &port);
        dm_transport *transport = transport_to(cases[i].host, port);
        dm_connection *connection = connected(transport);
        int peer = accept(listener, NULL, NULL);
        int value = 0;
        socklen_t len = sizeof value;
        getsockopt(dm_connection_fd(connection), IPPROTO_TCP, TCP_NODELAY, &value, &len);
        cr_expect_neq(value, 0);
        dm_connection_timings times = dm_connection_times(connection);
        cr_expect_eq(times.dns_us, -1);
        cr_expect_eq(times.tls_us, -1);
        cr_expect_geq(times.connect_us, 0);
        size_t count = 0;
        dm_error error = {0};
        cr_expect_eq(dm_connection_send(connection, "ping", 4, &count, &error), DM_IO_OK);
        cr_expect_eq(count, 4);
        char buffer[16];
        cr_expect_eq(recv(peer, buffer, sizeof buffer, 0), 4);
        cr_expect_eq(dm_connection_recv(connection, buffer, sizeof buffer, &count, &error),
                     DM_IO_AGAIN);
        cr_expect_eq(dm_connection_probe(connection), DM_PROBE_ALIVE);
        cr_expect_eq(send(peer, "pong!", 5, 0), 5);
        cr_expect_eq(recv_soon(connection, buffer, sizeof buffer, &count), DM_IO_OK);
        cr_expect_eq(count, 5);
        cr_expect_eq(memcmp(buffer, "pong!", 5), 0);
        close(peer);
        cr_expect_eq(recv_soon(connection, buffer, sizeof buffer, &count), DM_IO_CLOSED);
        cr_expect_eq(count, 0);
        cr_expect_eq(dm_connection_probe(connection), DM_PROBE_CLOSED);
        dm_connection_close(connection);
        dm_transport_unref(transport);
        dm_error_free(&error);
        close(listener);
    }
}

Test(connection, refused) {
    static const char *const hosts[] = {"127.0.0.1", "::1", "localhost"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        uint16_t port = 0;
        close(listen_on(AF_INET, &port));
        dm_transport *transport = transport_to(hosts[i], port);
        dm_connection *connection = NULL;
        dm_error error = {0};
        cr_assert_eq(dm_connection_open(transport, &connection, &error), DM_IO_OK);
        cr_expect_eq(drive(connection, &error), DM_IO_ERROR);
        cr_expect_eq(dm_connection_failure(connection), DM_FAIL_REFUSED);
        cr_expect_eq(error.code, DEEM_E_REFUSED);
        cr_expect(strstr(error.message.data, hosts[i]) != NULL, "%s", error.message.data);
        cr_expect(strstr(error.message.data, "connection refused") != NULL, "%s",
                  error.message.data);
        dm_connection_close(connection);
        dm_transport_unref(transport);
        dm_error_free(&error);
    }
}

/* A reset is told from an orderly close, in both directions, and raises no signal. */
Test(connection, reset) {
    for (int sending = 0; sending < 2; sending++) {
        uint16_t port = 0;
        int listener = listen_on(AF_INET, &port);
        dm_transport *transport = transport_to("127.0.0.1", port);
        dm_connection *connection = connected(transport);
        int peer = accept(listener, NULL, NULL);
        struct linger now = {1, 0};
        setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(peer);
        struct pollfd wait = {dm_connection_fd(connection), POLLIN, 0};
        cr_assert_eq(poll(&wait, 1, 5000), 1);
        char byte = 'x';
        size_t count = 9;
        dm_error error = {0};
        dm_io first = sending ? dm_connection_send(connection, &byte, 1, &count, &error)
                              : dm_connection_recv(connection, &byte, 1, &count, &error);
        cr_expect_eq(first, DM_IO_ERROR);
        cr_expect_eq(count, 0);
        cr_expect_eq(dm_connection_failure(connection), DM_FAIL_RESET);
        cr_expect_eq(error.code, DEEM_E_CONNECTION);
        /* The second send meets a broken pipe: no SIGPIPE. */
        cr_expect_eq(dm_connection_send(connection, &byte, 1, &count, &error), DM_IO_ERROR);
        cr_expect_eq(dm_connection_probe(connection), DM_PROBE_CLOSED);
        dm_connection_close(connection);
        dm_transport_unref(transport);
        dm_error_free(&error);
        close(listener);
    }
}

/* More than the socket's buffers hold: AGAIN, and the same bytes go on later, none lost. */
Test(connection, again) {
    uint16_t port = 0;
    int listener = listen_on(AF_INET, &port);
    dm_transport *transport = transport_to("127.0.0.1", port);
    dm_connection *connection = connected(transport);
    int peer = accept(listener, NULL, NULL);
    size_t size = 32u << 20;
    unsigned char *data = malloc(size);
    for (size_t i = 0; i < size; i++) {
        data[i] = (unsigned char)(i * 31 >> 4);
    }
    unsigned char *received = malloc(size);
    size_t sent = 0, got = 0;
    int again = 0;
    dm_error error = {0};
    while (got < size) {
        size_t count = 0;
        if (sent < size) {
            dm_io result = dm_connection_send(connection, data + sent, size - sent, &count, &error);
            cr_assert(result == DM_IO_OK || result == DM_IO_AGAIN);
            sent += count;
            again += result == DM_IO_AGAIN;
        }
        if (again > 0) {
            ssize_t part = recv(peer, received + got, size - got, MSG_DONTWAIT);
            got += part > 0 ? (size_t)part : 0;
        }
    }
    cr_expect_gt(again, 0);
    cr_expect_eq(memcmp(data, received, size), 0);
    cr_expect_eq(send(peer, "zz", 2, 0), 2);
    struct pollfd wait = {dm_connection_fd(connection), POLLIN, 0};
    cr_assert_eq(poll(&wait, 1, 5000), 1);
    cr_expect_eq(dm_connection_probe(connection), DM_PROBE_BYTES);
    dm_connection_close(connection);
    dm_transport_unref(transport);
    dm_error_free(&error);
    free(data);
    free(received);
}

Test(connection, no_descriptors) {
    uint16_t port = 0;
    int listener = listen_on(AF_INET, &port);
    dm_transport *transport = transport_to("127.0.0.1", port);
    int lowest = dup(listener);
    close(lowest);
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit few = {(rlim_t)lowest, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    dm_connection *connection = NULL;
    dm_error error = {0};
    dm_io opened = dm_connection_open(transport, &connection, &error);
    dm_io stepped = dm_connection_connect_step(connection, dm_clock_now(), &error);
    setrlimit(RLIMIT_NOFILE, &before);
    cr_expect_eq(opened, DM_IO_OK);
    cr_expect_eq(stepped, DM_IO_NO_DESCRIPTORS);
    cr_expect_eq(dm_connection_failure(connection), DM_FAIL_DESCRIPTORS);
    dm_connection_close(connection);
    dm_connection_close(connected(transport));
    dm_transport_unref(transport);
    dm_error_free(&error);
}

/* The child may only let go: its calls say so, and the parent's connection stays whole. */
Test(connection, fork) {
    uint16_t port = 0;
    int listener = listen_on(AF_INET, &port);
    dm_transport *transport = transport_to("127.0.0.1", port);
    dm_connection *connection = connected(transport);
    int peer = accept(listener, NULL, NULL);
    int fd = dm_connection_fd(connection);
    dm_error error = {0};
    size_t count = 0;
    pid_t child = fork();
    if (child == 0) {
        dm_connection *other = NULL;
        char byte;
        int good = dm_connection_open(transport, &other, &error) == DM_IO_ERROR &&
                   error.code == DEEM_E_CANCELLED && other == NULL &&
                   dm_connection_send(connection, "no", 2, &count, &error) == DM_IO_ERROR &&
                   dm_connection_failure(connection) == DM_FAIL_FORKED &&
                   dm_connection_recv(connection, &byte, 1, &count, &error) == DM_IO_ERROR &&
                   dm_connection_probe(connection) == DM_PROBE_CLOSED;
        dm_connection_close(connection);
        dm_transport_unref(transport);
        dm_transport *own = transport_to("127.0.0.1", port);
        good = good && fcntl(fd, F_GETFD) == -1;
        dm_connection_close(connected(own));
        dm_transport_unref(own);
        _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    cr_expect_eq(status, 0);
    cr_expect_eq(dm_connection_send(connection, "yes", 3, &count, &error), DM_IO_OK);
    char buffer[8];
    cr_expect_eq(recv(peer, buffer, sizeof buffer, 0), 3);
    dm_connection_close(connection);
    dm_transport_unref(transport);
    dm_error_free(&error);
    dm_connection_close(NULL);
    dm_connection_abandon(NULL);
}

/* Every kind has a name, and a fitting error number its kind. */
Test(connection, kinds) {
    for (int kind = 0; kind < DM_FAIL_KINDS; kind++) {
        cr_expect_not_null(dm_failure_name((dm_failure)kind));
        dm_error error = {0};
        dm_fail(&error, (dm_failure)kind, "text %d", kind);
        cr_expect_eq(error.code == DEEM_OK, kind == DM_FAIL_NONE);
        dm_error_free(&error);
    }
    dm_fail(NULL, DM_FAIL_DNS, "nobody listens");
    cr_expect_eq(dm_failure_is_final(DM_FAIL_CERTIFICATE), 1);
    cr_expect_eq(dm_failure_is_final(DM_FAIL_RESET), 0);
    cr_expect_str_eq(dm_errno_text(99999), "system error");
    cr_expect_eq(dm_errno_failure(99999), DM_FAIL_UNREACHABLE);
}
