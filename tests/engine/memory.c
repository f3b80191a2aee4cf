/* A warm call allocates nothing; a call in which any one allocation fails says so, crashes nothing
 * and leaks nothing (the address sanitizer looks). */
#include <poll.h>
#include <stdio.h>

#include "base/alloc.h"
#include "deemster_experimental.h"
#include "server.h"

static server web;
static deem_question_set *set;
static int allocations;
static int fails_at; /* 0: never */

static int gate(size_t size, void *user) {
    (void)size;
    (void)user;
    return ++allocations != fails_at;
}

static int32_t blocking(deem_client *client, deem_response **response) {
    return deem_evaluate_text(client, set, "some state", 10, NULL, response);
}

static int32_t engine(deem_client *client, deem_response **response) {
    uint64_t id;
    uint64_t done = 0;
    int32_t fd;
    int32_t code = deem_client_fd(client, &fd);
    code = code != DEEM_OK ? code : deem_submit_text(client, set, "some state", 10, NULL, &id);
    while (code == DEEM_OK && done == 0) {
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 10000) == 1);
        CHECK(deem_client_step(client) == DEEM_OK);
        code = deem_client_next(client, &done, response);
    }
    return code != DEEM_OK ? code : deem_response_code(*response);
}

static int32_t hosted(deem_client *client, deem_response **response) {
    static const char body[] = "{\"answers\":{\"q\":{\"type\":\"noul\",\"noul\":0.9}}}";
    deem_exchange *exchange;
    int32_t action = 0;
    int32_t code = deem_exchange_new(client, &exchange);
    if (code != DEEM_OK) {
        return code;
    }
    code = deem_exchange_start_text(exchange, set, "some state", 10, NULL);
    code = code != DEEM_OK ? code : deem_exchange_next(exchange, &action, NULL);
    code =
        code != DEEM_OK ? code : deem_exchange_reply_header(exchange, "x-request-id", 12, "r", 1);
    code = code != DEEM_OK ? code : deem_exchange_reply(exchange, 200, body, sizeof body - 1);
    code = code != DEEM_OK ? code : deem_exchange_next(exchange, &action, NULL);
    code = code != DEEM_OK ? code : deem_exchange_take(exchange, response);
    deem_exchange_free(exchange);
    return code != DEEM_OK ? code : deem_response_code(*response);
}

typedef int32_t (*way)(deem_client *client, deem_response **response);

static void warm_calls_allocate_nothing(way call) {
    deem_client *client = server_client(&web, NULL);
    deem_response *response = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK(call(client, &response) == DEEM_OK);
    }
    allocations = 0;
    dm_alloc_set_gate(gate, NULL);
    for (int i = 0; i < 100; i++) {
        CHECK(call(client, &response) == DEEM_OK);
    }
    dm_alloc_set_gate(NULL, NULL);
    CHECK(allocations == 0);
    deem_response_free(response);
    deem_client_free(client);
}

static void every_allocation_fails_in_turn(const char *name, way call) {
    int failed = 0;
    for (int n = 1;; n++) {
        deem_client *client = server_client(&web, NULL);
        deem_response *response = NULL;
        allocations = 0;
        fails_at = n;
        dm_alloc_set_gate(gate, NULL);
        int32_t code = call(client, &response);
        dm_alloc_set_gate(NULL, NULL);
        fails_at = 0;
        double probability = 0;
        if (code == DEEM_OK) {
            CHECK(deem_response_noul(response, 0, &probability) == DEEM_OK && probability == 0.9);
        } else {
            CHECK(code == DEEM_E_MEMORY);
            CHECK(deem_response_noul(response, 0, &probability) != DEEM_OK);
            CHECK(probability != probability);
            failed++;
        }
        deem_response_free(response);
        deem_client_free(client);
        if (allocations < n) {
            CHECK(code == DEEM_OK);
            break;
        }
    }
    printf("%s: %d places where an allocation can fail\n", name, failed);
    CHECK(failed > 3);
}

int main(void) {
    server_start(&web);
    set = one_noul();
    warm_calls_allocate_nothing(blocking);
    warm_calls_allocate_nothing(engine);
    every_allocation_fails_in_turn("blocking", blocking);
    every_allocation_fails_in_turn("engine", engine);
    every_allocation_fails_in_turn("hosted", hosted);
    deem_question_set_free(set);
    return 0;
}
