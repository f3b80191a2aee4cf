/* Eight threads share one transport: each connects over TLS, asks, listens and closes, again and
 * again, some giving up in the middle of the handshake and some by full libcurl, with every libcurl
 * call watched (guard.h). threads PORT CA_FILE */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "guard.h"
#include "transport/connection.h"
#include "transport/curl_easy.h"

#define THREADS 8
#define ROUNDS  25
#define KEPT    6

static dm_transport *transport;
static char url[100];
static atomic_int answers;

static void fail(const char *what, const dm_error *error) {
    fprintf(stderr, "%s: %s\n", what, error->message.data != NULL ? error->message.data : "");
    exit(1);
}

static void wait_for(dm_connection *connection) {
    struct pollfd fds[DM_CONNECTION_WAIT_MOST];
    int timeout = -1;
    size_t count =
        dm_connection_wait_set(connection, fds, DM_CONNECTION_WAIT_MOST, dm_clock_now(), &timeout);
    poll(fds, (nfds_t)count, timeout);
}

static void exchange(dm_connection *connection) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    char reply[1000] = "";
    size_t have = 0;
    size_t count = 0;
    dm_error error = {0};
    if (dm_connection_send(connection, request, sizeof request - 1, &count, &error) != DM_IO_OK) {
        fail("send", &error);
    }
    while (strstr(reply, "GET 1.1 0 undefined") == NULL) {
        dm_io io =
            dm_connection_recv(connection, reply + have, sizeof reply - 1 - have, &count, &error);
        if (io == DM_IO_AGAIN) {
            wait_for(connection);
        } else if (io != DM_IO_OK) {
            fail("recv", &error);
        }
        have += count;
    }
    atomic_fetch_add(&answers, 1);
    dm_error_free(&error);
}

static dm_connection *connect_one(int give_up) {
    dm_connection *connection = NULL;
    dm_error error = {0};
    if (dm_connection_open(transport, &connection, &error) != DM_IO_OK) {
        fail("open", &error);
    }
    dm_io io = DM_IO_AGAIN;
    for (int step = 0; io == DM_IO_AGAIN && (!give_up || step < 2); step++) {
        io = dm_connection_connect_step(connection, dm_clock_now(), &error);
        if (io == DM_IO_AGAIN && !give_up) {
            wait_for(connection);
        }
    }
    if (io != DM_IO_OK && !give_up) {
        fail("connect", &error);
    }
    dm_error_free(&error);
    return connection;
}

static void ask_full(void) {
    dm_curl_request request = {
        .method = "GET", .url = url, .deadline_ns = DM_NEVER, .cancel_fd = -1};
    dm_curl_reply reply = {0};
    dm_error error = {0};
    if (dm_curl_perform(transport, &request, &reply, &error) != DM_IO_OK || reply.status != 200) {
        fail("full", &error);
    }
    atomic_fetch_add(&answers, 1);
    dm_curl_reply_free(&reply);
    dm_error_free(&error);
}

static void *run(void *unused) {
    (void)unused;
    dm_connection *kept[KEPT] = {NULL};
    for (int round = 0; round < ROUNDS; round++) {
        dm_connection **slot = &kept[round % KEPT];
        if (*slot != NULL && dm_connection_probe(*slot) == DM_PROBE_ALIVE) {
            exchange(*slot);
        }
        dm_connection_close(*slot);
        *slot = NULL;
        if (round % 5 == 4) {
            dm_connection_close(connect_one(1));
            ask_full();
        } else {
            *slot = connect_one(0);
            exchange(*slot);
        }
    }
    for (int i = 0; i < KEPT; i++) {
        dm_connection_close(kept[i]);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3 || guard_install() != 0) {
        return 2;
    }
    dm_transport_settings settings = {0};
    settings.tls = 1;
    settings.host = DM_LITERAL("127.0.0.1");
    settings.port = (uint16_t)atoi(arguments[1]);
    settings.proxy_mode = DM_PROXY_NONE;
    settings.ca_file = dm_span_of(arguments[2], strlen(arguments[2]));
    snprintf(url, sizeof url, "https://127.0.0.1:%s/", arguments[1]);
    dm_error error = {0};
    if (dm_transport_new(&settings, &transport, &error) != 0) {
        fail("transport", &error);
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, run, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    dm_transport_unref(transport);
    int least = THREADS * ROUNDS;
    printf("%d answers, %ld libcurl calls\n", atomic_load(&answers), atomic_load(&guard_calls));
    return atomic_load(&answers) >= least ? 0 : 1;
}
