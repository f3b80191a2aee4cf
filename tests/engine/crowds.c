/* Many at once: ten thousand that time out together, a pool that is too small, descriptors that run
 * out; and every call completes exactly once, in order where a queue is meant. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

static server web;
static deem_question_set *set;

/* Submits `count` calls and takes every completion; codes[code] counts them. */
static void run(deem_client *client, int count, int *codes) {
    deem_response *response = NULL;
    uint64_t *seen = calloc((size_t)count + 1, sizeof *seen);
    uint64_t first = 0;
    int32_t fd;
    CHECK(deem_client_fd(client, &fd) == DEEM_OK);
    for (int i = 0; i < count; i++) {
        uint64_t id;
        CHECK(deem_submit_text(client, set, "x", 1, NULL, &id) == DEEM_OK);
        first = i == 0 ? id : first;
        CHECK(id == first + (uint64_t)i);
    }
    for (int done = 0; done < count;) {
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 30000) == 1);
        CHECK(deem_client_step(client) == DEEM_OK);
        for (;;) {
            uint64_t id;
            CHECK(deem_client_next(client, &id, &response) == DEEM_OK);
            if (id == 0) {
                break;
            }
            CHECK(id >= first && id < first + (uint64_t)count && seen[id - first] == 0);
            seen[id - first] = 1;
            codes[deem_response_code(response)]++;
            done++;
        }
    }
    uint64_t id;
    CHECK(deem_client_next(client, &id, &response) == DEEM_OK && id == 0);
    deem_response_free(response);
    free(seen);
}

static void hurried(deem_config *config) {
    deem_config_set_deadline_ms(config, 300);
    deem_config_set_max_connections(config, 64);
}

static void few(deem_config *config) {
    deem_config_set_max_connections(config, 3);
}

static void ten_thousand_deadlines(void) {
    int codes[1024] = {0};
    web.manners = HANGS;
    deem_client *client = server_client(&web, hurried);
    run(client, 10000, codes);
    CHECK(codes[DEEM_E_DEADLINE] == 10000);
    deem_client_free(client);
    web.manners = ANSWERS;
}

static void a_small_pool(void) {
    int codes[1024] = {0};
    while (web.open_connections > 0) {
        poll(NULL, 0, 1);
    }
    web.most_open = 0;
    deem_client *client = server_client(&web, few);
    run(client, 500, codes);
    CHECK(codes[DEEM_OK] == 500);
    CHECK(web.most_open == 3);
    deem_client_free(client);
}

/* The limit is the process's: the server needs one of its own. */
static pid_t server_elsewhere(server *s) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        server_start(s);
        CHECK(write(ends[1], &s->port, sizeof s->port) == sizeof s->port);
        for (;;) {
            pause();
        }
    }
    CHECK(read(ends[0], &s->port, sizeof s->port) == sizeof s->port);
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void no_descriptors_left(void) {
    server other;
    pid_t child = server_elsewhere(&other);
    struct rlimit old;
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    deem_client *client = server_client(&other, NULL);
    int32_t fd;
    CHECK(deem_client_fd(client, &fd) == DEEM_OK);
    struct rlimit tight = {(rlim_t)fd + 20, old.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    int codes[1024] = {0};
    run(client, 200, codes);
    CHECK(codes[DEEM_OK] == 200);
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    deem_client_free(client);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static void closed_in_flight(void) {
    int codes[1024] = {0};
    web.manners = HANGS;
    deem_client *client = server_client(&web, NULL);
    deem_response *response = NULL;
    uint64_t id;
    for (int i = 0; i < 50; i++) {
        CHECK(deem_submit_text(client, set, "x", 1, NULL, &id) == DEEM_OK);
    }
    deem_client_step(client);
    deem_client_close(client);
    CHECK(deem_submit_text(client, set, "x", 1, NULL, &id) == DEEM_E_CANCELLED && id == 0);
    int done = 0;
    while (done < 50) {
        deem_client_step(client);
        for (deem_client_next(client, &id, &response); id != 0;
             deem_client_next(client, &id, &response)) {
            codes[deem_response_code(response)]++;
            done++;
        }
    }
    CHECK(codes[DEEM_E_CANCELLED] == 50);
    deem_response_free(response);
    deem_client_free(client);

    client = server_client(&web, NULL); /* freed with calls under way */
    for (int i = 0; i < 50; i++) {
        CHECK(deem_submit_text(client, set, "x", 1, NULL, &id) == DEEM_OK);
    }
    deem_client_step(client);
    deem_client_free(client);
    web.manners = ANSWERS;
}

int main(void) {
    set = one_noul();
    no_descriptors_left();
    server_start(&web);
    a_small_pool();
    ten_thousand_deadlines();
    closed_in_flight();
    deem_question_set_free(set);
    return 0;
}
