/* What the command line asked for. */
#ifndef MOCK_OPTIONS_H
#define MOCK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "faults.h"
#include "request.h"

struct mock_options {
    const char *address; /* to listen on */
    const char *port;
    const char *prefix; /* path prefix without a slash at its end, or "" */
    const char *key;    /* the only right key; NULL: any but "wrong-key" */
    bool no_auth;       /* ask for no key */
    uint64_t seed;
    long latency_ms;
    unsigned long rate; /* requests per window; 0: no limit */
    long window_ms;
    const char *certificate; /* PEM files; NULL: plain http */
    const char *private_key;
    const char *fixed; /* file, or "minos"; NULL: answer faithfully */
    bool exit_with_stdin;
    bool quiet;
    bool verbose;
    struct mock_rules rules;
    struct mock_plan plan;
};

/* Exit statuses. */
enum { MOCK_EXIT_FAILED = 1, MOCK_EXIT_USAGE = 2, MOCK_EXIT_FAULT_NEVER_FIRED = 3 };

/* The two servers. Each takes a listening socket, serves until SIGTERM, SIGINT or (if asked for)
 * the end of stdin, and returns the exit status. ready() is called once requests are taken. */
int mock_serve(struct mock_options *options, int listener, void (*ready)(void));
int mock_serve_fixed(const struct mock_options *options, int listener, void (*ready)(void));

/* Milliseconds of the monotonic clock. */
long long mock_now_ms(void);

/* A descriptor that turns readable on SIGTERM or SIGINT, or -1. */
int mock_signal_descriptor(void);

/* Reads what stdin has. Returns false at its end. */
bool mock_stdin_open(void);

#endif
