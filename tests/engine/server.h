/* A small keep-alive server inside the test program, a thread per connection, whose manners can be
 * changed while it runs. */
#ifndef TESTS_ENGINE_SERVER_H
#define TESTS_ENGINE_SERVER_H

#include <stdatomic.h>
#include <stdint.h>

#include "deemster.h"

typedef enum manners {
    ANSWERS = 0,      /* a good answer, keep-alive */
    HANGS,            /* reads the request and says nothing until told otherwise, then answers */
    DRIPS,            /* the head at once, then one body byte each 50 ms */
    CLOSES_AFTERWARDS /* answers, says nothing of it, and closes when the next request comes */
} manners;

typedef struct server {
    int listener;
    uint16_t port;
    _Atomic int manners;
    _Atomic int requests;
    _Atomic int connections;      /* ever opened */
    _Atomic int open_connections; /* open now */
    _Atomic int most_open;
} server;

/* Starts it on a free loopback port; the program ends with it. */
void server_start(server *s);

/* A client of it: no environment, key "k", backoff 1 ms. */
deem_client *server_client(const server *s, void (*more)(deem_config *config));

/* One noul question `q`. */
deem_question_set *one_noul(void);

/* Ends the program with a message unless the condition holds. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_failed(__FILE__, __LINE__, #condition);                                          \
        }                                                                                          \
    } while (0)

void check_failed(const char *file, int line, const char *condition);

#endif
