#include "batch_progress.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { BAR_MS = 200, PLAIN_MS = 5000, BAR_WIDTH = 20 };

int64_t cli_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static int interval(const struct cli_progress *progress) {
    return progress->form == CLI_PROGRESS_BAR ? BAR_MS : PLAIN_MS;
}

int cli_progress_timeout(const struct cli_progress *progress) {
    if (progress->form == CLI_PROGRESS_NONE)
        return -1;
    int64_t left = progress->shown + interval(progress) - cli_now_ms();
    return left > 0 ? (int)left : 0;
}

/* The time left, from the rate so far and the share of the input that is done. */
static void show_left(double seconds) {
    if (isnan(seconds) || seconds > 360000)
        return;
    long s = (long)seconds;
    fprintf(stderr, ", %ld:%02ld:%02ld left", s / 3600, s / 60 % 60, s % 60);
}

void cli_progress_show(struct cli_progress *progress, const deem_batch_stats *stats, double read) {
    int64_t now = cli_now_ms();
    if (progress->form == CLI_PROGRESS_NONE || now < progress->shown + interval(progress))
        return;
    progress->shown = now;
    double seconds = (double)(now - progress->began) / 1000;
    double rate = (double)(stats->done - stats->restored) / (seconds > 0 ? seconds : 1);
    double share = stats->pushed > 0 ? read * (double)stats->done / (double)stats->pushed : NAN;
    if (progress->form == CLI_PROGRESS_BAR) {
        fputc('\r', stderr);
        for (int i = 0; !isnan(share) && i < BAR_WIDTH; i++)
            fputc(i < share * BAR_WIDTH ? '#' : '.', stderr);
        fputc(' ', stderr);
    } else {
        fputs("deemster: ", stderr);
    }
    fprintf(stderr, "%llu done, %llu failed, %llu retried, %.0f rows/s, %lld tokens",
            (unsigned long long)stats->done, (unsigned long long)(stats->failed - stats->unsent),
            (unsigned long long)stats->retries, rate, (long long)stats->input_tokens);
    if (stats->paused_ms > 0)
        fprintf(stderr, ", the server asks to wait %lld s",
                (long long)(stats->paused_ms + 999) / 1000);
    show_left(share > 0 ? seconds * (1 - share) / share : NAN);
    fputs(progress->form == CLI_PROGRESS_BAR ? "\033[K" : "\n", stderr);
    fflush(stderr);
}

void cli_progress_end(const struct cli_progress *progress) {
    if (progress->form == CLI_PROGRESS_BAR)
        fputs("\r\033[K", stderr);
}
