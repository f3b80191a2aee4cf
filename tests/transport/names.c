/* Host names, with a resolver of our own: this program's getaddrinfo stands before the C library's.
 *   good.test    127.0.0.1           both.test   ::1, then 127.0.0.1
 *   missing.test unknown             held.test   127.0.0.1, but only once the test lets it go on
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "deemster.h"
#include "transport/connection.h"
#include "transport/curl_dl.h"

#define CHECK(fact)                                                                                \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fact);                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static sem_t asked, released;

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

__attribute__((visibility("default"))) int getaddrinfo(const char *restrict node,
                                                       const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict out) {
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    resolver *real;
    memcpy(&real, &symbol, sizeof real);
    if (node == NULL || strstr(node, ".test") == NULL) {
        return real(node, service, hints, out);
    }
    if (strcmp(node, "missing.test") == 0) {
        return EAI_NONAME;
    }
    if (strcmp(node, "held.test") == 0) {
        sem_post(&asked);
        sem_wait(&released);
    }
    int result = real("127.0.0.1", service, hints, out);
    struct addrinfo *first = NULL;
    if (result == 0 && strcmp(node, "both.test") == 0 && real("::1", service, hints, &first) == 0) {
        first->ai_next = *out;
        *out = first;
    }
    return result;
}

static dm_transport *transport_to(const char *host, uint16_t port) {
    dm_transport_settings settings = {0};
    settings.host = dm_span_of(host, strlen(host));
    settings.port = port;
    settings.proxy_mode = DM_PROXY_NONE;
    dm_transport *transport = NULL;
    dm_error error = {0};
    CHECK(dm_transport_new(&settings, &transport, &error) == 0);
    CHECK(dm_transport_route(transport) == DM_ROUTE_CURL);
    dm_error_free(&error);
    return transport;
}

static void wait_for(dm_connection *connection) {
    struct pollfd fds[DM_CONNECTION_WAIT_MOST];
    int timeout = -1;
    size_t count =
        dm_connection_wait_set(connection, fds, DM_CONNECTION_WAIT_MOST, dm_clock_now(), &timeout);
    CHECK(count > 0 || timeout >= 0);
    poll(fds, (nfds_t)count, timeout);
}

static dm_io drive(dm_connection *connection, dm_error *error) {
    dm_io io;
    while ((io = dm_connection_connect_step(connection, dm_clock_now(), error)) == DM_IO_AGAIN) {
        wait_for(connection);
    }
    return io;
}

/* libcurl with its symbols bound to this program first, so that our resolver is asked. */
static void use_visible_libcurl(void) {
    static dm_curl_api api;
    dm_error error = {0};
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    CHECK(dm_curl_fill(library, &api, &error) == 0);
    CHECK(dm_curl_start(&api, &error) == 0);
    dm_curl_set_api(&api);
}

int main(void) {
    alarm(60);
    use_visible_libcurl();
    sem_init(&asked, 0, 0);
    sem_init(&released, 0, 0);
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof address;
    CHECK(bind(listener, (struct sockaddr *)&address, len) == 0);
    CHECK(listen(listener, 16) == 0);
    getsockname(listener, (struct sockaddr *)&address, &len);
    uint16_t port = ntohs(address.sin_port);
    dm_error error = {0};
    dm_connection *connection = NULL;

    /* A name, and one whose first address nobody listens at. */
    static const char *const names[] = {"good.test", "both.test"};
    for (int i = 0; i < 2; i++) {
        dm_transport *transport = transport_to(names[i], port);
        CHECK(dm_connection_open(transport, &connection, &error) == DM_IO_OK);
        CHECK(drive(connection, &error) == DM_IO_OK);
        CHECK(dm_connection_times(connection).dns_us > 0);
        CHECK(dm_connection_times(connection).connect_us > 0);
        CHECK(dm_connection_times(connection).tls_us == -1);
        dm_connection_close(connection);
        dm_transport_unref(transport);
    }

    /* An unknown name. */
    dm_transport *transport = transport_to("missing.test", port);
    CHECK(dm_connection_open(transport, &connection, &error) == DM_IO_OK);
    CHECK(drive(connection, &error) == DM_IO_ERROR);
    CHECK(dm_connection_failure(connection) == DM_FAIL_DNS);
    CHECK(error.code == DEEM_E_DNS);
    CHECK(strstr(error.message.data, "missing.test") != NULL);
    dm_connection_close(connection);
    dm_transport_unref(transport);

    /* A resolver that does not answer holds no step, no close of a connection, and no other name of
     * the same shard: this thread would hang here otherwise, since it alone lets the resolver go.
     */
    transport = transport_to("held.test", port);
    CHECK(dm_connection_open(transport, &connection, &error) == DM_IO_OK);
    CHECK(dm_connection_connect_step(connection, dm_clock_now(), &error) == DM_IO_AGAIN);
    sem_wait(&asked);
    for (int i = 0; i < 100; i++) {
        CHECK(dm_connection_connect_step(connection, dm_clock_now(), &error) == DM_IO_AGAIN);
    }
    dm_connection *given_up = NULL;
    CHECK(dm_connection_open(transport, &given_up, &error) == DM_IO_OK);
    CHECK(dm_connection_connect_step(given_up, dm_clock_now(), &error) == DM_IO_AGAIN);
    sem_wait(&asked);
    dm_connection_close(given_up);
    sem_post(&released);
    sem_post(&released);
    CHECK(drive(connection, &error) == DM_IO_OK);
    dm_connection_close(connection);
    dm_transport_unref(transport);

    /* No descriptor left: its own result, at whatever point it shows, and well again afterwards. */
    transport = transport_to("good.test", port);
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    int lowest = dup(listener);
    close(lowest);
    int refused = 0;
    for (dm_io io = DM_IO_NO_DESCRIPTORS; io != DM_IO_OK; refused += io != DM_IO_OK) {
        struct rlimit few = {(rlim_t)(lowest + refused), before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &few);
        io = dm_connection_open(transport, &connection, &error);
        if (io == DM_IO_OK) {
            io = drive(connection, &error);
            dm_connection_close(connection);
        }
        setrlimit(RLIMIT_NOFILE, &before);
        CHECK(io == DM_IO_OK || io == DM_IO_NO_DESCRIPTORS);
    }
    CHECK(refused >= 2);
    CHECK(dm_connection_open(transport, &connection, &error) == DM_IO_OK);
    CHECK(drive(connection, &error) == DM_IO_OK);
    dm_connection_close(connection);
    dm_transport_unref(transport);
    dm_error_free(&error);
    return 0;
}
