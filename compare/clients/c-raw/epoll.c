/* The floor of many calls from one thread: sockets that do not block and one epoll. */
#include <fcntl.h>
#include <sys/epoll.h>

#include "connection.h"

static bool request(struct raw_connection *connection) {
    while (connection->sent < raw_request_length) {
        ssize_t count = send(connection->descriptor, raw_request + connection->sent,
                             raw_request_length - connection->sent, MSG_NOSIGNAL);
        if (count < 0)
            return errno == EAGAIN;
        connection->sent += (size_t)count;
    }
    return true;
}

static void watch(int epoll, struct raw_connection *connection, int how, uint64_t slot) {
    bool sending = connection->sent < raw_request_length;
    struct epoll_event event = {.events = sending ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.u64 = slot};
    epoll_ctl(epoll, how, connection->descriptor, &event);
}

/* Starts the slot's next call. Returns false when there is none. */
static bool start(struct meter *meter, int epoll, struct raw_connection *connection, size_t slot) {
    struct outcome outcome = {0};
    while (meter_begin(meter, slot)) {
        bool new = connection->descriptor < 0;
        if (new &&raw_connect(connection))
            fcntl(connection->descriptor, F_SETFL, O_NONBLOCK);
        connection->have = connection->sent = 0;
        if (request(connection)) {
            if (new || connection->sent < raw_request_length)
                watch(epoll, connection, new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, slot);
            return true;
        }
        snprintf(outcome.error, sizeof outcome.error, "send: %s", strerror(errno));
        close(connection->descriptor);
        connection->descriptor = -1;
        meter_end(meter, slot, &outcome);
    }
    return false;
}

/* Goes on with a call. Returns true when it is over. */
static bool proceed(int epoll, struct raw_connection *connection, uint32_t events, size_t slot,
                    struct outcome *outcome) {
    if (events & EPOLLOUT) {
        request(connection);
        watch(epoll, connection, EPOLL_CTL_MOD, slot);
    }
    if (!(events & (uint32_t)~EPOLLOUT))
        return false;
    ssize_t count = recv(connection->descriptor, connection->in + connection->have,
                         RAW_ROOM - connection->have, 0);
    if (count <= 0) {
        snprintf(outcome->error, sizeof outcome->error, "recv: %s", strerror(errno));
        close(connection->descriptor);
        connection->descriptor = -1;
        return true;
    }
    connection->have += (size_t)count;
    size_t length = 0;
    const char *body = raw_body(connection, &length);
    if (body)
        raw_read(connection, body, length, outcome);
    return body != NULL;
}

static struct raw_connection *connections;
static size_t connection_count;
static int epoll = -1;

/* Connections are kept from one operation to the next. */
static void grow(size_t count) {
    if (epoll < 0)
        epoll = epoll_create1(EPOLL_CLOEXEC);
    if (count <= connection_count)
        return;
    connections = realloc(connections, count * sizeof *connections);
    if (!connections)
        abort();
    for (; connection_count < count; connection_count++)
        connections[connection_count].descriptor = -1;
}

static void drive(struct meter *meter, size_t in_flight) {
    struct epoll_event events[256];
    size_t open = 0;
    grow(in_flight);
    for (size_t slot = 0; slot < in_flight; slot++)
        open += start(meter, epoll, &connections[slot], slot);
    while (open) {
        int count = epoll_wait(epoll, events, 256, 10000);
        for (int i = 0; i < count; i++) {
            size_t slot = events[i].data.u64;
            struct outcome outcome = {0};
            if (!proceed(epoll, &connections[slot], events[i].events, slot, &outcome))
                continue;
            meter_end(meter, slot, &outcome);
            open -= !start(meter, epoll, &connections[slot], slot);
        }
    }
}

static void done(void) {
    for (size_t i = 0; i < connection_count; i++)
        if (connections[i].descriptor >= 0)
            close(connections[i].descriptor);
    free(connections);
    connections = NULL;
    connection_count = 0;
    close(epoll);
    epoll = -1;
    raw_free();
}

static void answer(FILE *out) {
    struct raw_connection *connection = malloc(sizeof *connection);
    size_t length = 0;
    const char *body = NULL;
    if (!connection)
        abort();
    connection->sent = connection->have = 0;
    if (raw_connect(connection) && request(connection))
        while (!body) {
            ssize_t count = recv(connection->descriptor, connection->in + connection->have,
                                 RAW_ROOM - connection->have, 0);
            if (count <= 0)
                break;
            connection->have += (size_t)count;
            body = raw_body(connection, &length);
        }
    fputs("{\"body\":", out);
    write_json_text(out, body ? body : "", body ? length : 0);
    fputs("}", out);
    close(connection->descriptor);
    free(connection);
}

int main(void) {
    return serve(&(struct contestant){.library = "none",
                                      .version = "",
                                      .open = raw_open,
                                      .close = done,
                                      .drive = drive,
                                      .answer = answer});
}
