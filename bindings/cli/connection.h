/* The options of every command that talks to a server, and the client made of them. */
#ifndef CLI_CONNECTION_H
#define CLI_CONNECTION_H

#include <argp.h>
#include <stdint.h>

#include "deemster.h"

/* The input of cli_connection_parser; owned handles, given back by cli_connection_end(). */
struct cli_connection {
    deem_config *config;
    deem_options *options; /* of the call */
    deem_client *client;   /* NULL until cli_connection_open() */
};

/* --model, --deadline, --attempt, --retries, --base-url, --api-key-file, --auth, --header, --proxy,
 * --ca-file, --lenient, --verbose. Parses into a struct cli_connection that cli_connection_start()
 * has set up. */
extern const struct argp cli_connection_parser;

/* Reads "30", "1.5s", "800ms" or "2m" into milliseconds, or -1. */
int64_t cli_read_time(const char *text);

void cli_connection_start(struct cli_connection *connection);
void cli_connection_end(struct cli_connection *connection);

/* Makes the client. Exits with a message when the settings are refused: CLI_ACCESS when it is the
 * key. */
void cli_connection_open(struct cli_connection *connection);

/* Makes one blocking call, named by `call` and its argument, which passes connection->options and
 * the response on. Ctrl-C cancels it at once. Returns the call's status. */
int32_t cli_connection_call(struct cli_connection *connection,
                            int32_t (*call)(struct cli_connection *connection, void *argument,
                                            deem_response **response),
                            void *argument, deem_response **response);

#endif
