/* What the two floors share: a connected socket, the request as one block, and a reply's end. */
#ifndef COMPARE_RAW_CONNECTION_H
#define COMPARE_RAW_CONNECTION_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/protocol.h"

#define RAW_ROOM (64 * 1024)

static struct setup raw_setup;
static struct sockaddr_in raw_address;
static char *raw_request;
static size_t raw_request_length;

struct raw_connection {
    int descriptor;
    size_t sent, have;
    char in[RAW_ROOM];
};

/* Only http to an IPv4 address and port: a floor has no TLS and asks no name server. */
static bool raw_open(const struct setup *setup, char *error, size_t room) {
    char host[64];
    int port = 0;
    raw_setup = *setup;
    if (sscanf(setup->url.data, "http://%63[0-9.]:%d", host, &port) != 2) {
        snprintf(error, room, "the floor speaks plain http to an IPv4 address only");
        return false;
    }
    raw_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &raw_address.sin_addr);
    raw_request = malloc(setup->body.length + 1024);
    if (!raw_request)
        abort();
    int head = snprintf(raw_request, 1024,
                        "POST /v1/systemone HTTP/1.1\r\nHost: %s:%d\r\nAuthorization: Bearer %s\r\n"
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                        host, port, setup->key.data, setup->body.length);
    memcpy(raw_request + head, setup->body.data, setup->body.length);
    raw_request_length = (size_t)head + setup->body.length;
    return true;
}

static void raw_free(void) {
    free(raw_request);
    raw_request = NULL;
}

static bool raw_connect(struct raw_connection *connection) {
    int on = 1;
    connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection->descriptor, (struct sockaddr *)&raw_address, sizeof raw_address))
        return false;
    setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return true;
}

/* The body of a whole reply in in[], or NULL while it is incomplete. */
static const char *raw_body(struct raw_connection *connection, size_t *length) {
    static const char name[] = "\r\nContent-Length:";
    char *end = memmem(connection->in, connection->have, "\r\n\r\n", 4);
    if (!end)
        return NULL;
    const char *field =
        memmem(connection->in, (size_t)(end - connection->in), name, sizeof name - 1);
    *length = field ? strtoul(field + sizeof name - 1, NULL, 10) : 0;
    const char *body = end + 4;
    return connection->have >= (size_t)(body - connection->in) + *length ? body : NULL;
}

static void raw_read(struct raw_connection *connection, const char *body, size_t length,
                     struct outcome *outcome) {
    if (strncmp(connection->in, "HTTP/1.1 200 ", 13))
        snprintf(outcome->error, sizeof outcome->error, "%.12s", connection->in);
    else
        read_body(&raw_setup, body, length, outcome);
}

#endif
