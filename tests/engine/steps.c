/* A step never waits: not for a name that is being looked up, not for many handshakes at once; and
 * what many calls in flight cost. Usage: steps TLS_URL CA_FILE PLAIN_URL. Prints the longest step
 * (a figure, not a verdict). */
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server.h"
#include "transport/curl_dl.h"

static sem_t asked;
static sem_t released;

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* Stands before the C library's: held.test is answered only once the test lets it go on. */
__attribute__((visibility("default"))) int getaddrinfo(const char *restrict node,
                                                       const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict out) {
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    resolver *real;
    memcpy(&real, &symbol, sizeof real);
    if (node != NULL && strcmp(node, "held.test") == 0) {
        sem_post(&asked);
        sem_wait(&released);
        node = "127.0.0.1";
    }
    return real(node, service, hints, out);
}

static const char *ca_file;
static int64_t
    longest_ns; /* of the thread's own CPU time: others may hold the processor meanwhile */

static deem_client *client_of(const char *url) {
    deem_config *config;
    deem_client *client;
    CHECK(deem_config_new(&config) == DEEM_OK);
    deem_config_set_environment(config, 0);
    deem_config_set_api_key(config, "k", 1);
    CHECK(deem_config_set_base_url(config, url, strlen(url)) == DEEM_OK);
    deem_config_set_ca_file(config, ca_file, strlen(ca_file));
    CHECK(deem_client_new(config, &client) == DEEM_OK);
    deem_config_free(config);
    return client;
}

static int64_t cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void step(deem_client *client) {
    int64_t began = cpu_ns();
    CHECK(deem_client_step(client) == DEEM_OK);
    int64_t took = cpu_ns() - began;
    longest_ns = took > longest_ns ? took : longest_ns;
}

/* Takes what is finished; how many were. */
static int take(deem_client *client) {
    deem_response *response = NULL;
    uint64_t id = 0;
    int taken = 0;
    for (;;) {
        CHECK(deem_client_next(client, &id, &response) == DEEM_OK);
        if (id == 0) {
            deem_response_free(response);
            return taken;
        }
        CHECK(deem_response_code(response) == DEEM_OK);
        taken++;
    }
}

static void finish(deem_client *client, int count) {
    int32_t fd;
    CHECK(deem_client_fd(client, &fd) == DEEM_OK);
    for (int done = take(client); done < count; done += take(client)) {
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 20000) == 1);
        step(client);
    }
}

static void submit(deem_client *client, deem_question_set *set, int count) {
    uint64_t id;
    for (int i = 0; i < count; i++) {
        CHECK(deem_submit_text(client, set, "x", 1, NULL, &id) == DEEM_OK);
    }
}

/* While a look-up is held, steps come back and another client's calls are answered. */
static void a_slow_resolver(const char *plain, deem_question_set *set) {
    char url[64];
    snprintf(url, sizeof url, "http://held.test:%s", strrchr(plain, ':') + 1);
    deem_client *held = client_of(url);
    deem_client *other = client_of(plain);
    submit(held, set, 3);
    step(held);
    sem_wait(&asked);
    for (int i = 0; i < 20; i++) {
        step(held);
        CHECK(take(held) == 0);
    }
    submit(other, set, 5);
    finish(other, 5);
    for (int i = 0; i < 3; i++) {
        sem_post(&released); /* one for each connection's look-up */
    }
    finish(held, 3);
    deem_client_free(held);
    deem_client_free(other);
}

/* At most four handshakes begin in a step, so that 64 connections need sixteen steps or more. */
static void many_handshakes(const char *tls, deem_question_set *set) {
    deem_client *client = client_of(tls);
    int32_t fd;
    int steps = 0;
    CHECK(deem_client_fd(client, &fd) == DEEM_OK);
    submit(client, set, 64);
    for (int done = 0; done < 64; done += take(client)) {
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 20000) == 1);
        step(client);
        steps++;
    }
    CHECK(steps >= 16);
    printf("64 TLS connections in %d steps, the longest step took %.1f ms of CPU\n", steps,
           (double)longest_ns / 1e6);
    deem_client_free(client);
}

/* The library opens libcurl so that it sees nothing of the program's; here it must see the resolver
 * above. */
static void use_visible_libcurl(void) {
    static dm_curl_api api;
    dm_error error = {0};
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    CHECK(dm_curl_fill(library, &api, &error) == 0);
    CHECK(dm_curl_start(&api, &error) == 0);
    dm_curl_set_api(&api);
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    use_visible_libcurl();
    ca_file = argv[2];
    sem_init(&asked, 0, 0);
    sem_init(&released, 0, 0);
    deem_question_set *set = one_noul();
    a_slow_resolver(argv[3], set);
    longest_ns = 0;
    many_handshakes(argv[1], set);
    deem_question_set_free(set);
    return 0;
}
