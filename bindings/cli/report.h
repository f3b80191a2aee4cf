/* What an evaluation came to, as a table, as values or as a JSON document. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdint.h>

#include "deemster.h"
#include "text.h"

enum cli_form { CLI_TABLE, CLI_VALUE, CLI_JSON, CLI_QUIET };

struct cli_report {
    enum cli_form form;
    int32_t only;         /* the question that is shown; -1: all */
    const char *decision; /* what the threshold made of it: "yes", "no", "review"; or NULL */
};

/* Writes the response to stdout in the form that was asked for, and to stderr what went wrong. Only
 * answers that passed the checks are shown; a lenient call's doubtful ones with their problem. */
void cli_report(const struct cli_report *report, const deem_response *response);

/* Writes the response's error to stderr, with the request id. */
void cli_report_error(const deem_response *response);

/* The members of a JSON document that every response has: code, message, reason, path,
 * http_status, retry_after_ms, request_id, attempts, total_ms. */
void cli_report_call(struct cli_json *json, const deem_response *response);

#endif
