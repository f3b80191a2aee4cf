/* How a batch goes on, on standard error. */
#ifndef CLI_BATCH_PROGRESS_H
#define CLI_BATCH_PROGRESS_H

#include <stdint.h>

#include "deemster_experimental.h"

enum cli_progress_form { CLI_PROGRESS_NONE, CLI_PROGRESS_BAR, CLI_PROGRESS_PLAIN };

struct cli_progress {
    enum cli_progress_form form;
    int64_t began, shown; /* milliseconds */
    uint64_t restored;    /* rows that cost no time do not count for the rate */
};

/* Milliseconds of the monotonic clock. */
int64_t cli_now_ms(void);

/* How long to wait for the next line, in milliseconds; -1: for ever. */
int cli_progress_timeout(const struct cli_progress *progress);

/* Shows a line when it is time for one. read: the share of the input that has been read, NaN when
 * it is not known. */
void cli_progress_show(struct cli_progress *progress, const deem_batch_stats *stats, double read);

/* Wipes the bar. */
void cli_progress_end(const struct cli_progress *progress);

#endif
