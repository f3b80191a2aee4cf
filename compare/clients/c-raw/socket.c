/* The floor of one call at a time: send, poll with a limit, recv. No library, no JSON. */
#include <poll.h>

#include "connection.h"

static void *worker(void) {
    struct raw_connection *connection = malloc(sizeof *connection);
    if (!connection)
        abort();
    connection->descriptor = -1;
    return connection;
}

static void fail(struct raw_connection *connection, struct outcome *outcome, const char *what) {
    snprintf(outcome->error, sizeof outcome->error, "%s: %s", what, strerror(errno));
    close(connection->descriptor);
    connection->descriptor = -1;
}

/* Returns the body, or NULL after noting the failure. */
static const char *exchange(struct raw_connection *connection, size_t *length,
                            struct outcome *outcome) {
    const char *body = NULL;
    if (connection->descriptor < 0 && !raw_connect(connection)) {
        fail(connection, outcome, "connect");
        return NULL;
    }
    for (size_t sent = 0; sent < raw_request_length;) {
        ssize_t count = send(connection->descriptor, raw_request + sent, raw_request_length - sent,
                             MSG_NOSIGNAL);
        if (count < 0) {
            fail(connection, outcome, "send");
            return NULL;
        }
        sent += (size_t)count;
    }
    connection->have = 0;
    while (!body) {
        struct pollfd ready = {.fd = connection->descriptor, .events = POLLIN};
        if (poll(&ready, 1, 10000) != 1) {
            fail(connection, outcome, "poll");
            return NULL;
        }
        ssize_t count = recv(connection->descriptor, connection->in + connection->have,
                             RAW_ROOM - connection->have, 0);
        if (count <= 0) {
            fail(connection, outcome, "recv");
            return NULL;
        }
        connection->have += (size_t)count;
        body = raw_body(connection, length);
    }
    return body;
}

static void call(void *context, struct outcome *outcome) {
    struct raw_connection *connection = context;
    size_t length = 0;
    const char *body = exchange(connection, &length, outcome);
    if (body)
        raw_read(connection, body, length, outcome);
}

static void worker_end(void *context) {
    struct raw_connection *connection = context;
    if (connection->descriptor >= 0)
        close(connection->descriptor);
    free(connection);
}

static void answer(FILE *out) {
    struct raw_connection *connection = worker();
    struct outcome outcome = {0};
    size_t length = 0;
    const char *body = exchange(connection, &length, &outcome);
    fputs("{\"body\":", out);
    write_json_text(out, body ? body : "", length);
    fputs("}", out);
    worker_end(connection);
}

int main(void) {
    return serve(&(struct contestant){.library = "none",
                                      .version = "",
                                      .open = raw_open,
                                      .close = raw_free,
                                      .worker = worker,
                                      .call = call,
                                      .worker_end = worker_end,
                                      .answer = answer});
}
