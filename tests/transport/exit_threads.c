/* Returns from main while threads are in the middle of TLS: the process must end well.
 * exit_threads PORT CA_FILE MILLISECONDS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/connection.h"

static dm_transport *transport;

static void wait_for(dm_connection *connection) {
    struct pollfd fds[DM_CONNECTION_WAIT_MOST];
    int timeout = -1;
    size_t count =
        dm_connection_wait_set(connection, fds, DM_CONNECTION_WAIT_MOST, dm_clock_now(), &timeout);
    poll(fds, (nfds_t)count, timeout);
}

/* Connects and asks for ever; ends when the process is exiting. */
static void *run(void *unused) {
    (void)unused;
    static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    for (;;) {
        dm_connection *connection = NULL;
        dm_error error = {0};
        dm_io io = dm_connection_open(transport, &connection, &error);
        if (io != DM_IO_OK) {
            dm_error_free(&error);
            return NULL;
        }
        while ((io = dm_connection_connect_step(connection, dm_clock_now(), &error)) ==
               DM_IO_AGAIN) {
            wait_for(connection);
        }
        for (int i = 0; i < 20 && io == DM_IO_OK; i++) {
            char reply[4096];
            size_t count = 0;
            io = dm_connection_send(connection, request, sizeof request - 1, &count, &error);
            while (io == DM_IO_OK && (io = dm_connection_recv(connection, reply, sizeof reply,
                                                              &count, &error)) == DM_IO_AGAIN) {
                wait_for(connection);
                io = DM_IO_OK;
            }
        }
        dm_connection_close(connection);
        dm_error_free(&error);
    }
}

int main(int count, char **arguments) {
    if (count != 4) {
        return 2;
    }
    dm_transport_settings settings = {0};
    settings.tls = 1;
    settings.host = DM_LITERAL("127.0.0.1");
    settings.port = (uint16_t)atoi(arguments[1]);
    settings.proxy_mode = DM_PROXY_NONE;
    settings.ca_file = dm_span_of(arguments[2], strlen(arguments[2]));
    dm_error error = {0};
    if (dm_transport_new(&settings, &transport, &error) != 0) {
        fprintf(stderr, "%s\n", error.message.data);
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run, NULL);
        pthread_detach(thread);
    }
    usleep((useconds_t)atoi(arguments[3]) * 1000);
    return 0;
}
