/* What the command line of `deemster batch` asks for. */
#ifndef CLI_BATCH_ARGUMENTS_H
#define CLI_BATCH_ARGUMENTS_H

#include "batch_output.h"
#include "batch_progress.h"
#include "batch_rows.h"
#include "connection.h"
#include "questions.h"

struct cli_batch_arguments {
    struct cli_connection connection;
    struct cli_questions questions;
    deem_batch_settings *settings;
    const char *input; /* a file, or "-" */
    struct cli_rows_options rows;
    struct cli_output form; /* its set is filled in later */
    const char *output;     /* NULL: standard output */
    const char *review_output;
    double low, high; /* of the review band; NaN: none */
    bool resume, dry_run;
    double price; /* for a million input tokens; NaN: unknown */
    double max_cost;
    uint64_t limit;     /* rows; 0: all */
    int64_t max_errors; /* -1: any number */
    enum cli_progress_form progress;
};

/* Reads the arguments; exits with a message when they are wrong. */
void cli_batch_arguments_read(struct cli_batch_arguments *arguments, int argc, char **argv);

/* Gives the handles back. */
void cli_batch_arguments_end(struct cli_batch_arguments *arguments);

#endif
