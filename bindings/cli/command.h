/* What the commands share: their table and the exit codes. docs/cli.md lists both. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdint.h>

/* Exit codes; pinned, since scripts test them. */
enum {
    CLI_GOOD = 0,         /* done; with a threshold: yes */
    CLI_NO = 1,           /* below the threshold */
    CLI_USAGE = 2,        /* wrong arguments, settings, state or question set: nothing was sent */
    CLI_ACCESS = 3,       /* no key, a wrong one, not allowed, billing */
    CLI_TRY_AGAIN = 4,    /* connection, time, rate limit, server error */
    CLI_REFUSED = 5,      /* the server refused the request */
    CLI_BAD_REPLY = 6,    /* the reply failed the checks */
    CLI_REVIEW = 7,       /* inside the review band */
    CLI_LOCAL = 8,        /* this machine: memory, output, a missing program */
    CLI_ROWS_FAILED = 9,  /* batch: some rows failed or were left out */
    CLI_INTERRUPTED = 130 /* Ctrl-C */
};

/* A command. run gets its own arguments, argv[0] being "deemster NAME" for messages, and returns an
 * exit code. */
struct cli_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

int cli_batch(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_evaluate(int argc, char **argv);
int cli_mock(int argc, char **argv);
int cli_models(int argc, char **argv);

/* The exit code for a DEEM_* status; http_status tells a proxy that wants credentials from one that
 * is broken, 0 when there was none. */
int cli_exit_code(int32_t status, int32_t http_status);

/* Writes "deemster: " and the message to stderr and exits with the code. */
__attribute__((noreturn, format(printf, 2, 3))) void cli_die(int code, const char *format, ...);

/* Dies when the status, of a call that can only fail for want of memory, is not DEEM_OK. */
void cli_must(int32_t status);

#endif
