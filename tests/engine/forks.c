/* Forks before use, after use and with calls in flight: replies never cross, the parent's
 * connections live on, the child starts clean. */
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

static server web;
static deem_question_set *set;

static void evaluate(deem_client *client) {
    deem_response *response = NULL;
    double probability;
    CHECK(deem_evaluate_text(client, set, "x", 1, NULL, &response) == DEEM_OK);
    CHECK(deem_response_noul(response, 0, &probability) == DEEM_OK && probability == 0.9);
    deem_response_free(response);
}

/* Runs the loop until a call ends; its code. */
static int32_t finish(deem_client *client, uint64_t id) {
    deem_response *response = NULL;
    uint64_t done = 0;
    int32_t fd;
    CHECK(deem_client_fd(client, &fd) == DEEM_OK);
    for (;;) {
        CHECK(deem_client_next(client, &done, &response) == DEEM_OK);
        if (done == id) {
            int32_t code = deem_response_code(response);
            deem_response_free(response);
            return code;
        }
        CHECK(done == 0);
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 20000) == 1);
        CHECK(deem_client_step(client) == DEEM_OK);
    }
}

static void wait_for(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void before_use(void) {
    deem_client *client = server_client(&web, NULL);
    pid_t child = fork();
    evaluate(client);
    deem_client_free(client);
    if (child == 0) {
        _exit(0);
    }
    wait_for(child);
}

static void after_use(void) {
    deem_client *client = server_client(&web, NULL);
    evaluate(client);
    int connections = web.connections;
    pid_t child = fork();
    if (child == 0) {
        evaluate(client);
        evaluate(client);
        deem_client_free(client);
        _exit(0);
    }
    wait_for(child);
    CHECK(web.connections == connections + 1); /* the child's own, which served both of its calls */
    evaluate(client);
    CHECK(web.connections == connections + 1); /* the parent's lives on */
    deem_client_free(client);
}

static void in_flight(void) {
    deem_client *client = server_client(&web, NULL);
    uint64_t id;
    uint64_t own;
    int32_t old_fd;
    int32_t new_fd;
    web.manners = HANGS;
    CHECK(deem_submit_text(client, set, "x", 1, NULL, &id) == DEEM_OK);
    CHECK(deem_client_step(client) == DEEM_OK); /* connects */
    poll(NULL, 0, 20);
    CHECK(deem_client_step(client) == DEEM_OK); /* sends */
    CHECK(deem_client_fd(client, &old_fd) == DEEM_OK);
    pid_t child = fork();
    if (child == 0) {
        CHECK(deem_client_fd(client, &new_fd) == DEEM_OK); /* must be fetched again */
        CHECK(finish(client, id) == DEEM_E_CANCELLED);
        CHECK(deem_submit_text(client, set, "x", 1, NULL, &own) == DEEM_OK);
        CHECK(own != id);
        CHECK(finish(client, own) == DEEM_OK);
        deem_client_free(client);
        _exit(0);
    }
    poll(NULL, 0, 50);
    web.manners = ANSWERS;
    CHECK(finish(client, id) == DEEM_OK); /* while the child calls too */
    wait_for(child);
    evaluate(client);
    deem_client_free(client);
}

int main(void) {
    server_start(&web);
    set = one_noul();
    before_use();
    after_use();
    in_flight();
    deem_question_set_free(set);
    return 0;
}
