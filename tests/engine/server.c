#include "server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char BODY[] = "{\"model\":\"m\",\"answers\":{\"q\":{\"type\":\"noul\",\"noul\":0.9}},"
                           "\"usage\":{\"input_tokens\":10,\"output_tokens\":2}}";

typedef struct visit {
    server *s;
    int fd;
} visit;

void check_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
    _exit(1);
}

/* Reads one request; 0 when the connection ended. */
static int read_request(int fd) {
    char buffer[8192];
    size_t len = 0;
    size_t want = SIZE_MAX;
    while (len < want) {
        ssize_t got = recv(fd, buffer + len, sizeof buffer - 1 - len, 0);
        if (got <= 0) {
            return 0;
        }
        len += (size_t)got;
        buffer[len] = '\0';
        char *end = strstr(buffer, "\r\n\r\n");
        if (end != NULL) {
            char *length = strcasestr(buffer, "content-length:");
            want =
                (size_t)(end - buffer) + 4 + (length != NULL ? strtoul(length + 15, NULL, 10) : 0);
        }
    }
    return 1;
}

static void say(int fd, const char *text, size_t len) {
    (void)!send(fd, text, len, MSG_NOSIGNAL);
}

static void answer(server *s, int fd) {
    char head[128];
    int len = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                       sizeof BODY - 1);
    char all[512];
    memcpy(all, head, (size_t)len);
    memcpy(all + len, BODY, sizeof BODY - 1);
    if (s->manners == DRIPS) {
        say(fd, head, (size_t)len);
        for (size_t i = 0; i < sizeof BODY - 1 && s->manners == DRIPS; i++) {
            say(fd, BODY + i, 1);
            poll(NULL, 0, 50);
        }
        return;
    }
    say(fd, all, (size_t)len + sizeof BODY - 1);
}

static void *attend(void *user) {
    visit v = *(visit *)user;
    free(user);
    int served = 0;
    while (read_request(v.fd)) {
        v.s->requests++;
        if (v.s->manners == CLOSES_AFTERWARDS && served > 0) {
            break;
        }
        while (v.s->manners == HANGS) {
            char byte;
            if (recv(v.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
                break;
            }
            poll(NULL, 0, 5);
        }
        answer(v.s, v.fd);
        served++;
    }
    close(v.fd);
    v.s->open_connections--;
    return NULL;
}

static void *welcome(void *user) {
    server *s = user;
    for (;;) {
        int fd = accept(s->listener, NULL, NULL);
        if (fd < 0) {
            continue;
        }
        s->connections++;
        int now = ++s->open_connections;
        if (now > s->most_open) {
            s->most_open = now;
        }
        visit *v = malloc(sizeof *v);
        v->s = s;
        v->fd = fd;
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, attend, v) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

void server_start(server *s) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    pthread_t thread;
    memset(s, 0, sizeof *s);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(s->listener, (struct sockaddr *)&address, len) == 0);
    CHECK(listen(s->listener, 1024) == 0);
    CHECK(getsockname(s->listener, (struct sockaddr *)&address, &len) == 0);
    s->port = ntohs(address.sin_port);
    CHECK(pthread_create(&thread, NULL, welcome, s) == 0);
    pthread_detach(thread);
}

deem_client *server_client(const server *s, void (*more)(deem_config *config)) {
    deem_config *config;
    deem_client *client;
    char url[64];
    int len = snprintf(url, sizeof url, "http://127.0.0.1:%u", s->port);
    CHECK(deem_config_new(&config) == DEEM_OK);
    deem_config_set_environment(config, 0);
    deem_config_set_api_key(config, "k", 1);
    deem_config_set_base_url(config, url, (size_t)len);
    deem_config_set_backoff(config, 1, 2, 0);
    if (more != NULL) {
        more(config);
    }
    CHECK(deem_client_new(config, &client) == DEEM_OK);
    deem_config_free(config);
    return client;
}

deem_question_set *one_noul(void) {
    deem_question_set_builder *builder;
    deem_question_set *set;
    CHECK(deem_question_set_builder_new(&builder) == DEEM_OK);
    deem_question_set_builder_add(builder, DEEM_NOUL, "q", 1, DEEM_FORM_TEXT, "Is it?", 6);
    CHECK(deem_question_set_new(builder, &set) == DEEM_OK);
    deem_question_set_builder_free(builder);
    return set;
}
