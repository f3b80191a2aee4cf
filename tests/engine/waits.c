/* What wakes a blocking call: the attempt limit, a cancel, close, a signal; and what a dead kept
 * connection costs. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "server.h"

static server web;
static deem_question_set *set;

static int32_t ask(deem_client *client, const deem_options *options, deem_response **response) {
    return deem_evaluate_text(client, set, "x", 1, options, response);
}

static int32_t attempts_of(const deem_response *response) {
    int32_t attempts = -1;
    deem_response_attempts(response, &attempts);
    return attempts;
}

static void short_attempts(deem_config *config) {
    deem_config_set_attempt_ms(config, 100);
    deem_config_set_max_retries(config, 1);
}

static void short_deadline(deem_config *config) {
    deem_config_set_deadline_ms(config, 150);
    deem_config_set_attempt_ms(config, 100);
    deem_config_set_max_retries(config, 50);
}

static void only_unsent(deem_config *config) {
    deem_config_set_retry_flags(config, DEEM_RETRY_CONNECTION | DEEM_RETRY_ONLY_UNSENT);
}

static void limits(void) {
    static const struct {
        manners manners;
        void (*more)(deem_config *config);
        int32_t code;
        int32_t attempts;
    } rows[] = {
        {HANGS, short_attempts, DEEM_E_TIMEOUT, 2},
        {DRIPS, short_attempts, DEEM_E_TIMEOUT, 2},
        {HANGS, short_deadline, DEEM_E_DEADLINE, 2},
        {ANSWERS, short_attempts, DEEM_OK, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        web.manners = (int)rows[i].manners;
        deem_client *client = server_client(&web, rows[i].more);
        deem_response *response = NULL;
        CHECK(ask(client, NULL, &response) == rows[i].code);
        CHECK(attempts_of(response) == rows[i].attempts);
        deem_response_free(response);
        deem_client_free(client);
    }
    web.manners = ANSWERS;
}

static void stale_connections(void) {
    web.manners = CLOSES_AFTERWARDS;
    deem_client *client = server_client(&web, NULL);
    deem_response *response = NULL;
    int32_t reused = -1;
    CHECK(ask(client, NULL, &response) == DEEM_OK);
    CHECK(attempts_of(response) == 1);
    CHECK(ask(client, NULL, &response) == DEEM_OK);
    CHECK(attempts_of(response) == 2); /* the same body at once on a fresh connection */
    deem_response_traffic(response, NULL, NULL, &reused);
    CHECK(reused == 0);
    deem_client_free(client);

    client = server_client(&web, only_unsent);
    CHECK(ask(client, NULL, &response) == DEEM_OK);
    CHECK(ask(client, NULL, &response) == DEEM_E_TRUNCATED);
    CHECK(attempts_of(response) == 1);
    deem_response_free(response);
    deem_client_free(client);
    web.manners = ANSWERS;
}

typedef struct later {
    deem_client *client;
    uint64_t id; /* 0: close */
} later;

static void *cancel_later(void *user) {
    const later *l = user;
    poll(NULL, 0, 60);
    if (l->id == 0) {
        deem_client_close(l->client);
    } else {
        deem_client_cancel(l->client, l->id);
    }
    return NULL;
}

static void cancels(void) {
    web.manners = HANGS;
    deem_client *client = server_client(&web, NULL);
    deem_options *options;
    deem_response *response = NULL;
    deem_options_new(&options);
    uint64_t id;
    CHECK(deem_client_call_id(client, &id) == DEEM_OK && id != 0);
    deem_options_set_call_id(options, id);
    later l = {client, id};
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, &l);
    CHECK(ask(client, options, &response) == DEEM_E_CANCELLED);
    CHECK(attempts_of(response) == 1);
    pthread_join(thread, NULL);
    CHECK(deem_client_cancel(client, id) == DEEM_OK); /* finished: nothing happens */
    CHECK(deem_client_cancel(client, 123456789) == DEEM_OK);
    CHECK(ask(client, options, &response) == DEEM_E_MISUSE); /* an id serves once */

    CHECK(deem_client_call_id(client, &id) == DEEM_OK);
    CHECK(deem_client_cancel(client, id) == DEEM_OK); /* before its call */
    deem_options_set_call_id(options, id);
    CHECK(ask(client, options, &response) == DEEM_E_CANCELLED);
    CHECK(attempts_of(response) == 0);

    l = (later){client, 0};
    pthread_create(&thread, NULL, cancel_later, &l);
    CHECK(ask(client, NULL, &response) == DEEM_E_CANCELLED);
    pthread_join(thread, NULL);
    CHECK(ask(client, NULL, &response) == DEEM_E_CANCELLED); /* closed for good */
    deem_response_free(response);
    deem_options_free(options);
    deem_client_free(client);
    web.manners = ANSWERS;
}

static void on_alarm(int number) {
    (void)number;
}

static void interrupts(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    web.manners = HANGS;
    int before = web.requests;
    deem_client *client = server_client(&web, NULL);
    deem_options *options;
    deem_response *response = NULL;
    uint64_t id;
    deem_options_new(&options);
    deem_client_call_id(client, &id);
    deem_options_set_call_id(options, id);
    deem_options_set_interruptible(options, 1);
    struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK(ask(client, options, &response) == DEEM_E_INTERRUPTED);
    web.manners = ANSWERS;
    deem_response *other = NULL; /* another response than the first time */
    CHECK(ask(client, options, &other) == DEEM_OK);
    CHECK(attempts_of(other) == 1);
    CHECK(web.requests == before + 1);
    double probability;
    CHECK(deem_response_noul(other, 0, &probability) == DEEM_OK && probability == 0.9);

    web.manners = HANGS;
    deem_client_call_id(client, &id);
    deem_options_set_call_id(options, id);
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK(ask(client, options, &response) == DEEM_E_INTERRUPTED);
    deem_client_cancel(client, id); /* nobody comes back for it */
    CHECK(ask(client, options, &response) == DEEM_E_MISUSE);

    deem_options_set_call_id(options, 0);
    deem_options_set_interruptible(options, 0);
    setitimer(ITIMER_REAL, &soon, NULL); /* a call that is not interruptible goes on */
    later l = {client, 0};
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, &l);
    CHECK(ask(client, options, &response) == DEEM_E_CANCELLED);
    pthread_join(thread, NULL);
    deem_response_free(response);
    deem_response_free(other);
    deem_options_free(options);
    deem_client_free(client);
    web.manners = ANSWERS;
}

int main(void) {
    server_start(&web);
    set = one_noul();
    limits();
    stale_connections();
    cancels();
    interrupts();
    deem_question_set_free(set);
    return 0;
}
