/* 8 threads, an event loop and a storm of cancels on one client; every call ends exactly once, with
 * a full pool and with one of four connections. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>

#include "server.h"

enum { THREADS = 8, CALLS = 150, SUBMITTED = 800, IN_FLIGHT = 20 };

static server web;
static deem_client *client;
static deem_question_set *set;
static _Atomic int good;
static _Atomic int cancelled;
static _Atomic int stop;
static _Atomic uint64_t ids[THREADS];

static void count(int32_t code) {
    CHECK(code == DEEM_OK || code == DEEM_E_CANCELLED);
    *(code == DEEM_OK ? &good : &cancelled) += 1;
}

static void *call(void *user) {
    _Atomic uint64_t *mine = user;
    deem_response *response = NULL;
    deem_options *options;
    deem_options_new(&options);
    for (int i = 0; i < CALLS; i++) {
        uint64_t id;
        CHECK(deem_client_call_id(client, &id) == DEEM_OK);
        deem_options_set_call_id(options, id);
        *mine = id;
        count(deem_evaluate_text(client, set, "hi", 2, options, &response));
    }
    deem_response_free(response);
    deem_options_free(options);
    return NULL;
}

static void *storm(void *user) {
    (void)user;
    for (unsigned i = 0; !stop; i++) {
        deem_client_cancel(client, ids[i % THREADS]);
        poll(NULL, 0, 1);
    }
    return NULL;
}

static void *loop(void *user) {
    (void)user;
    deem_response *response = NULL;
    int32_t fd;
    int submitted = 0;
    int done = 0;
    CHECK(deem_client_fd(client, &fd) == DEEM_OK);
    while (done < SUBMITTED) {
        uint64_t id;
        while (submitted < SUBMITTED && submitted - done < IN_FLIGHT) {
            CHECK(deem_submit_text(client, set, "hi", 2, NULL, &id) == DEEM_OK);
            if (++submitted % 7 == 0) {
                deem_client_cancel(client, id);
            }
        }
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 20000) == 1);
        CHECK(deem_client_step(client) == DEEM_OK);
        for (;;) {
            CHECK(deem_client_next(client, &id, &response) == DEEM_OK);
            if (id == 0) {
                break;
            }
            done++;
            count(deem_response_code(response));
        }
    }
    deem_response_free(response);
    return NULL;
}

static void four(deem_config *config) {
    deem_config_set_max_connections(config, 4);
}

static void round_of(void (*more)(deem_config *config), int most_open) {
    good = cancelled = 0;
    stop = 0;
    web.most_open = 0;
    client = server_client(&web, more);
    pthread_t callers[THREADS];
    pthread_t stormer;
    pthread_t looper;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&callers[i], NULL, call, &ids[i]);
    }
    pthread_create(&looper, NULL, loop, NULL);
    pthread_create(&stormer, NULL, storm, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i], NULL);
    }
    pthread_join(looper, NULL);
    stop = 1;
    pthread_join(stormer, NULL);
    printf("%d good, %d cancelled, at most %d connections\n", good, cancelled, web.most_open);
    CHECK(good + cancelled == THREADS * CALLS + SUBMITTED);
    CHECK(good > 0 && cancelled > 0);
    /* The server sees an end later than we do: a few may overlap. */
    CHECK(web.most_open <= most_open + THREADS);
    deem_client_free(client);
    while (web.open_connections > 0) {
        poll(NULL, 0, 1);
    }
}

int main(void) {
    server_start(&web);
    set = one_noul();
    round_of(NULL, THREADS + IN_FLIGHT + THREADS);
    round_of(four, 4);
    deem_question_set_free(set);
    return 0;
}
