/* The fixed-body server: one thread, one bare epoll loop, nothing checked. It is the ceiling that
 * clients are measured against, so a request costs one recv, one send and a share of epoll_wait. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "options.h"

/* The answer that Minos's comparison serves, as recorded on 2026-10-02: 565 bytes. */
static const char minos[] = "{\n"
                            "  \"model\": \"typesafe/jev-1.13-20260917\",\n"
                            "  \"answers\": {\n"
                            "    \"intent\": {\n"
                            "      \"type\": \"choice\",\n"
                            "      \"choice\": \"look_up_booking\",\n"
                            "      \"probabilities\": {\n"
                            "        \"look_up_booking\": 0.99,\n"
                            "        \"change_booking\": 0,\n"
                            "        \"other\": 0.01,\n"
                            "        \"dispute_charge\": 0\n"
                            "      },\n"
                            "      \"confidence\": 0.99\n"
                            "    },\n"
                            "    \"travels_within24_hours\": {\n"
                            "      \"type\": \"noul\",\n"
                            "      \"noul\": 0.86\n"
                            "    }\n"
                            "  },\n"
                            "  \"usage\": {\n"
                            "    \"input_tokens\": 405,\n"
                            "    \"output_tokens\": 76,\n"
                            "    \"cost\": 0.00001701\n"
                            "  },\n"
                            "  \"id\": \"gen-dec-1790931715-q54ioHwi0K33vdKV3nRq\",\n"
                            "  \"provider\": \"TypeSafe\"\n"
                            "}\n";

#define ROOM 16384 /* for a request head; bodies are skipped, not kept */

struct connection {
    int descriptor;
    size_t have;            /* bytes in in[] */
    size_t body_left;       /* of the request being skipped */
    bool post;              /* that request gets the fixed body */
    bool close;             /* after the last reply */
    bool waits_for_room;    /* EPOLLOUT is asked for */
    struct mock_buffer out; /* replies that could not be sent at once */
    unsigned pending;       /* delayed replies in the queue */
    char in[ROOM];
};

/* Replies due later; the delay is one for all, so the queue is in order of time. */
struct delayed {
    struct connection *connection;
    long long due_us;
};

struct fixed {
    const struct mock_options *options;
    int epoll, listener, timer, signals;
    struct mock_buffer reply;                /* head and body */
    unsigned long count, connections, bytes; /* answered, accepted, received since the start */
    struct delayed *queue;
    size_t queue_first, queue_length, queue_capacity;
};

static long long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void watch(struct fixed *fixed, struct connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(fixed->epoll, EPOLL_CTL_MOD, connection->descriptor, &event);
}

static void drop(struct fixed *fixed, struct connection *connection) {
    for (size_t i = 0; connection->pending && i < fixed->queue_length; i++) {
        struct delayed *delayed = &fixed->queue[(fixed->queue_first + i) % fixed->queue_capacity];
        if (delayed->connection == connection)
            delayed->connection = NULL;
    }
    close(connection->descriptor);
    mock_buffer_free(&connection->out);
    free(connection);
}

/* Sends, or keeps what the socket does not take. Returns false if the connection is dead. */
static bool put(struct fixed *fixed, struct connection *connection, const char *bytes,
                size_t length) {
    ssize_t sent = 0;
    if (!connection->out.length) {
        sent = send(connection->descriptor, bytes, length, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR)
                return false;
            sent = 0;
        }
        if ((size_t)sent == length)
            return true;
    }
    mock_buffer_add(&connection->out, bytes + sent, length - (size_t)sent);
    if (!connection->waits_for_room) {
        connection->waits_for_room = true;
        watch(fixed, connection, EPOLLIN | EPOLLOUT);
    }
    return true;
}

static bool flush(struct fixed *fixed, struct connection *connection) {
    struct mock_buffer *out = &connection->out;
    ssize_t sent = send(connection->descriptor, out->data, out->length, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    memmove(out->data, out->data + sent, out->length - (size_t)sent);
    out->length -= (size_t)sent;
    if (!out->length) {
        connection->waits_for_room = false;
        watch(fixed, connection, EPOLLIN);
        return !connection->close || connection->pending;
    }
    return true;
}

static void set_timer(struct fixed *fixed) {
    struct itimerspec when = {0};
    if (fixed->queue_length) {
        long long due = fixed->queue[fixed->queue_first].due_us;
        when.it_value.tv_sec = due / 1000000;
        when.it_value.tv_nsec = due % 1000000 * 1000;
    }
    timerfd_settime(fixed->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void delay(struct fixed *fixed, struct connection *connection) {
    if (fixed->queue_length == fixed->queue_capacity) {
        size_t capacity = fixed->queue_capacity ? fixed->queue_capacity * 2 : 256;
        struct delayed *queue = mock_resize(NULL, capacity * sizeof *queue);
        for (size_t i = 0; i < fixed->queue_length; i++)
            queue[i] = fixed->queue[(fixed->queue_first + i) % fixed->queue_capacity];
        free(fixed->queue);
        fixed->queue = queue;
        fixed->queue_first = 0;
        fixed->queue_capacity = capacity;
    }
    fixed->queue[(fixed->queue_first + fixed->queue_length++) % fixed->queue_capacity] =
        (struct delayed){.connection = connection,
                         .due_us = now_us() + fixed->options->latency_ms * 1000};
    connection->pending++;
    if (fixed->queue_length == 1)
        set_timer(fixed);
}

static void release_due(struct fixed *fixed) {
    uint64_t expirations;
    if (read(fixed->timer, &expirations, sizeof expirations) < 0)
        return;
    long long now = now_us();
    while (fixed->queue_length && fixed->queue[fixed->queue_first].due_us <= now) {
        struct connection *connection = fixed->queue[fixed->queue_first].connection;
        fixed->queue_first = (fixed->queue_first + 1) % fixed->queue_capacity;
        fixed->queue_length--;
        if (!connection)
            continue;
        connection->pending--;
        if (!put(fixed, connection, fixed->reply.data, fixed->reply.length) ||
            (connection->close && !connection->pending && !connection->out.length))
            drop(fixed, connection);
    }
    set_timer(fixed);
}

static bool put_text(struct fixed *fixed, struct connection *connection, const char *status,
                     const char *text) {
    char reply[256];
    int length =
        snprintf(reply, sizeof reply,
                 "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s", status,
                 strlen(text), text);
    return put(fixed, connection, reply, (size_t)length);
}

/* The value of a header in a head (which ends in an empty line), or NULL. */
static const char *header(const char *head, size_t length, const char *name, size_t name_length) {
    const char *end = head + length;
    for (const char *line = memchr(head, '\n', length); line && line + 1 + name_length < end;
         line = memchr(line + 1, '\n', (size_t)(end - line - 1)))
        if ((line[1] | 0x20) == (name[0] | 0x20) && !strncasecmp(line + 1, name, name_length))
            return line + 1 + name_length;
    return NULL;
}

/* Answers a request without its body. */
static bool answer(struct fixed *fixed, struct connection *connection, const char *head,
                   size_t length) {
    char count[96];
    const char *prefix = fixed->options->prefix;
    const char *space = memchr(head, ' ', length);
    const char *path = space ? space + 1 : head;
    size_t prefix_length = strlen(prefix);
    if (prefix_length && !strncmp(path, prefix, prefix_length))
        path += prefix_length;
    if (!strncmp(head, "GET ", 4) && !strncmp(path, "/count ", 7)) {
        snprintf(count, sizeof count, "%lu", fixed->count);
        return put_text(fixed, connection, "200 OK", count);
    }
    if (!strncmp(head, "GET ", 4) && !strncmp(path, "/count/traffic ", 15)) {
        snprintf(count, sizeof count, "%lu %lu", fixed->connections, fixed->bytes);
        return put_text(fixed, connection, "200 OK", count);
    }
    if (!strncmp(head, "POST ", 5) && !strncmp(path, "/count/reset ", 13)) {
        fixed->count = 0;
        return put_text(fixed, connection, "200 OK", "0");
    }
    return put_text(fixed, connection, "404 Not Found", "Not Found");
}

/* Takes whole requests off in[]. Returns false if the connection is done. */
static bool take_requests(struct fixed *fixed, struct connection *connection) {
    static const char length_name[] = "content-length:", chunked_name[] = "transfer-encoding:",
                      close_name[] = "connection: close";
    size_t at = 0;
    for (;;) {
        size_t left = connection->have - at;
        size_t skip = connection->body_left < left ? connection->body_left : left;
        at += skip;
        left -= skip;
        connection->body_left -= skip;
        if (connection->body_left)
            break;
        if (connection->post) {
            connection->post = false;
            fixed->count++;
            if (fixed->options->latency_ms)
                delay(fixed, connection);
            else if (!put(fixed, connection, fixed->reply.data, fixed->reply.length))
                return false;
        }
        const char *head = connection->in + at;
        const char *end = left ? memmem(head, left, "\r\n\r\n", 4) : NULL;
        if (!end)
            break;
        size_t length = (size_t)(end - head) + 4;
        const char *body = header(head, length, length_name, sizeof length_name - 1);
        connection->body_left = body ? strtoul(body, NULL, 10) : 0;
        if (header(head, length, close_name, sizeof close_name - 1))
            connection->close = true;
        if (header(head, length, chunked_name, sizeof chunked_name - 1)) {
            put_text(fixed, connection, "411 Length Required", "send Content-Length");
            return false;
        }
        size_t path = 5 + strlen(fixed->options->prefix);
        if (length > path + 14 && !strncmp(head, "POST ", 5) &&
            !strncmp(head + 5, fixed->options->prefix, path - 5) &&
            !strncmp(head + path, "/v1/systemone ", 14))
            connection->post = true;
        else if (!answer(fixed, connection, head, length))
            return false;
        at += length;
    }
    connection->have -= at;
    if (connection->have == ROOM - 1)
        return false; /* a head that does not fit */
    memmove(connection->in, connection->in + at, connection->have);
    return !connection->close || connection->have || connection->body_left || connection->pending ||
           connection->out.length;
}

static void on_event(struct fixed *fixed, struct connection *connection, uint32_t events) {
    bool alive = true;
    if (events & EPOLLOUT)
        alive = flush(fixed, connection);
    if (alive && (events & ~(uint32_t)EPOLLOUT)) {
        ssize_t got = recv(connection->descriptor, connection->in + connection->have,
                           ROOM - 1 - connection->have, 0);
        if (got > 0) {
            fixed->bytes += (unsigned long)got;
            connection->have += (size_t)got;
            connection->in[connection->have] = 0;
            alive = take_requests(fixed, connection);
        } else {
            alive = got < 0 && (errno == EAGAIN || errno == EINTR);
        }
    }
    if (!alive)
        drop(fixed, connection);
}

static void accept_all(struct fixed *fixed) {
    int on = 1, descriptor;
    while ((descriptor = accept4(fixed->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = mock_resize(NULL, sizeof *connection);
        memset(connection, 0, offsetof(struct connection, in));
        connection->descriptor = descriptor;
        fixed->connections++;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(fixed->epoll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

static bool make_reply(struct fixed *fixed) {
    struct mock_buffer body = {0};
    if (!strcmp(fixed->options->fixed, "minos")) {
        mock_buffer_add(&body, minos, sizeof minos - 1);
    } else {
        char block[4096];
        size_t got;
        FILE *file = fopen(fixed->options->fixed, "rb");
        while (file && (got = fread(block, 1, sizeof block, file)) > 0)
            mock_buffer_add(&body, block, got);
        bool good = file && !ferror(file);
        if (file)
            fclose(file);
        if (!good) {
            fprintf(stderr, "deemster-mock: cannot read %s\n", fixed->options->fixed);
            mock_buffer_free(&body);
            return false;
        }
    }
    mock_buffer_print(&fixed->reply,
                      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                      "Content-Length: %zu\r\n\r\n",
                      body.length);
    mock_buffer_add(&fixed->reply, body.data, body.length);
    mock_buffer_free(&body);
    return true;
}

static void add(struct fixed *fixed, int descriptor, void *mark) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};
    epoll_ctl(fixed->epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void loop(struct fixed *fixed) {
    struct epoll_event events[256];
    for (;;) {
        int count = epoll_wait(fixed->epoll, events, 256, -1);
        bool timer = false;
        for (int i = 0; i < count; i++) {
            void *mark = events[i].data.ptr;
            if (mark == &fixed->signals)
                return;
            if (mark == &fixed->options && !mock_stdin_open())
                return;
            if (mark == &fixed->listener)
                accept_all(fixed);
            else if (mark == &fixed->timer)
                timer = true;
            else if (mark != &fixed->options)
                on_event(fixed, mark, events[i].events);
        }
        /* Last, since it may drop connections that events still name. */
        if (timer)
            release_due(fixed);
    }
}

int mock_serve_fixed(const struct mock_options *options, int listener, void (*ready)(void)) {
    struct fixed fixed = {.options = options, .listener = listener};
    if (!make_reply(&fixed))
        return MOCK_EXIT_FAILED;
    fixed.epoll = epoll_create1(EPOLL_CLOEXEC);
    fixed.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    fixed.signals = mock_signal_descriptor();
    if (fixed.epoll < 0 || fixed.timer < 0 || fixed.signals < 0) {
        fprintf(stderr, "deemster-mock: cannot start: %s\n", strerror(errno));
        return MOCK_EXIT_FAILED;
    }
    add(&fixed, listener, &fixed.listener);
    add(&fixed, fixed.timer, &fixed.timer);
    add(&fixed, fixed.signals, &fixed.signals);
    if (options->exit_with_stdin)
        add(&fixed, 0, &fixed.options);
    ready();
    loop(&fixed);
    close(fixed.epoll);
    close(fixed.timer);
    close(fixed.signals);
    mock_buffer_free(&fixed.reply);
    free(fixed.queue);
    return 0;
}
