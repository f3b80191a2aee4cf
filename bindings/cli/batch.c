/* deemster batch: asks a question set about every row of a file. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "batch_arguments.h"
#include "batch_output.h"
#include "batch_progress.h"
#include "batch_rows.h"
#include "command.h"
#include "text.h"

enum { REPORTED_MODEL = 80, FIRST_ERROR = 400 };

/* A run under way. */
struct run {
    struct cli_batch_arguments *asked;
    deem_question_set *set;
    deem_batch *batch;
    struct cli_rows *rows;
    struct cli_row *next; /* read, and not pushed yet */
    struct cli_output output;
    FILE *stream, *review;
    struct cli_progress progress;
    deem_batch_stats stats;
    deem_response *response;
    int interrupts;
    int signals;  /* a descriptor, or -1 when SIGINT is ignored */
    bool ended;   /* no more rows are pushed */
    bool stopped; /* and no more are sent */
    uint64_t pushed, taken, written, failed, reviewed;
    char *model;       /* of the first answer */
    bool warned;       /* that the model changed */
    char *first_error; /* of a row, for the summary */
};

static FILE *open_output(const char *path) {
    if (path == NULL || strcmp(path, "-") == 0)
        return stdout;
    FILE *stream = fopen(path, "w");
    if (stream == NULL)
        cli_die(CLI_LOCAL, "cannot write '%s': %s", path, strerror(errno));
    return stream;
}

static void close_output(FILE *stream, const char *path) {
    if (stream == NULL || stream == stdout)
        return;
    if (ferror(stream) || fclose(stream) != 0)
        cli_die(CLI_LOCAL, "cannot write '%s': %s", path, strerror(errno));
}

/* Ctrl-C is taken as a descriptor, except where the shell had it ignored. */
static void begin_signals(struct run *run) {
    struct sigaction action;
    sigset_t interrupt;
    run->signals = -1;
    if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
        return;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, NULL);
    run->signals = signalfd(-1, &interrupt, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->signals < 0)
        sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

static void read_stats(struct run *run) {
    cli_must(deem_batch_stats_read(run->batch, &run->stats, sizeof run->stats));
}

static void stop(struct run *run) {
    cli_must(deem_batch_stop(run->batch));
    run->ended = true;
    run->stopped = true;
}

/* The first Ctrl-C lets what is in flight finish, the second cancels it. */
static void on_signal(struct run *run) {
    struct signalfd_siginfo info;
    while (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        run->interrupts++;
        if (run->interrupts == 1) {
            cli_progress_end(&run->progress);
            read_stats(run);
            fprintf(stderr,
                    "deemster: finishing %d requests in flight; Ctrl-C again stops at once\n",
                    run->stats.in_flight);
            stop(run);
        } else {
            cli_must(deem_batch_cancel(run->batch));
        }
    }
}

static void push(struct run *run, struct cli_row *row) {
    uint64_t tag = (uint64_t)(uintptr_t)row;
    int32_t status;
    if (row->error.data != NULL)
        status = deem_batch_push_error(run->batch, row->error.data, row->error.len, tag);
    else
        status = (row->is_json ? deem_batch_push_json : deem_batch_push_text)(
            run->batch, row->state.data, row->state.len, row->group.data, row->group.len, tag);
    cli_must(status);
    run->pushed++;
    free(row->state.data); /* the batch has its own copy */
    row->state.data = NULL;
}

static bool may_push(const struct run *run) {
    size_t room = 0;
    uint64_t limit = run->asked->limit;
    cli_must(deem_batch_room(run->batch, &room));
    return room > 0 && (limit == 0 || run->pushed < limit);
}

/* Pushes what has been read while there is room. True when more input is wanted. */
static bool feed(struct run *run) {
    while (!run->ended) {
        if (run->next == NULL)
            run->next = cli_rows_take(run->rows);
        if (run->asked->limit > 0 && run->pushed >= run->asked->limit) {
            run->ended = true;
            break;
        }
        if (!may_push(run))
            return false;
        if (run->next == NULL)
            return true;
        push(run, run->next);
        run->next = NULL;
    }
    return false;
}

static void end_input(struct run *run) {
    const char *refused = cli_rows_refused(run->rows);
    while (run->next != NULL || (run->next = cli_rows_take(run->rows)) != NULL) {
        if (!may_push(run))
            return; /* the rest of the last block waits for room */
        push(run, run->next);
        run->next = NULL;
    }
    run->ended = true;
    if (refused != NULL) {
        cli_progress_end(&run->progress);
        fprintf(stderr, "deemster: %s\n", refused);
        stop(run);
    }
}

/* Warns once when the answers come from another model than before. */
static void watch_model(struct run *run) {
    const char *model;
    size_t len = 0;
    if (deem_response_model(run->response, &model, &len) != DEEM_OK)
        return;
    if (run->model == NULL) {
        run->model = strndup(model, len);
    } else if (!run->warned && (strlen(run->model) != len || memcmp(run->model, model, len) != 0)) {
        run->warned = true;
        cli_progress_end(&run->progress);
        fputs("deemster: the model changed in mid run from ", stderr);
        cli_show(stderr, run->model, strlen(run->model), REPORTED_MODEL);
        fputs(" to ", stderr);
        cli_show(stderr, model, len, REPORTED_MODEL);
        fputs(": answers before and after may differ; each row names its model\n", stderr);
    }
}

static void note_failure(struct run *run, const struct cli_row *row) {
    const char *message = "";
    size_t len = 0, size = 0;
    run->failed++;
    if (run->first_error != NULL)
        return;
    FILE *text = open_memstream(&run->first_error, &size);
    if (text == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    deem_response_message(run->response, &message, &len);
    fprintf(text, "row %llu: %s: ", (unsigned long long)row->number,
            deem_status_name(deem_response_code(run->response)));
    cli_show(text, message, len, FIRST_ERROR);
    fclose(text);
}

/* Takes every finished row and writes it. Rows that were never asked are left out. */
static void drain(struct run *run) {
    struct cli_batch_arguments *asked = run->asked;
    deem_batch_row record;
    int32_t status;
    while ((status = deem_batch_next(run->batch, &record, sizeof record, &run->response)) ==
           DEEM_OK) {
        struct cli_row *row = (struct cli_row *)(uintptr_t)record.tag;
        run->taken++;
        if ((record.flags & DEEM_ROW_UNSENT) == 0) {
            if (deem_response_code(run->response) != DEEM_OK)
                note_failure(run, row);
            watch_model(run);
            bool review = run->review != NULL &&
                          cli_output_in_band(&run->output, run->response, asked->low, asked->high);
            if (!asked->dry_run)
                cli_output_row(&run->output, review ? run->review : run->stream, row, &record,
                               run->response);
            run->reviewed += review;
            run->written++;
            if (asked->max_errors >= 0 && run->failed > (uint64_t)asked->max_errors &&
                !run->stopped) {
                cli_progress_end(&run->progress);
                fprintf(stderr, "deemster: stopping, since more than %lld rows failed\n",
                        (long long)asked->max_errors);
                stop(run);
            }
        }
        cli_row_free(row);
    }
    if (status != DEEM_E_ABSENT)
        cli_must(status);
}

static void wait_for_work(struct run *run, bool wants_input) {
    int32_t fd = -1;
    cli_must(deem_batch_fd(run->batch, &fd));
    struct pollfd fds[3] = {{fd, POLLIN, 0},
                            {run->signals, POLLIN, 0},
                            {wants_input ? cli_rows_descriptor(run->rows) : -1, POLLIN, 0}};
    if (poll(fds, 3, cli_progress_timeout(&run->progress)) < 0 && errno != EINTR)
        cli_die(CLI_LOCAL, "cannot wait: %s", strerror(errno));
    if ((fds[1].revents & POLLIN) != 0)
        on_signal(run);
    if (fds[0].revents != 0) {
        int32_t status = deem_batch_step(run->batch);
        if (status == DEEM_E_CONFIG)
            cli_die(CLI_LOCAL, "the journal cannot be written: %s", strerror(errno));
        cli_must(status);
    }
    if (fds[2].revents != 0 && !cli_rows_read(run->rows))
        end_input(run);
}

static void loop(struct run *run) {
    bool finished = false, reading = true;
    for (;;) {
        bool wants_input = reading && feed(run);
        if (!run->ended && !wants_input && cli_rows_ended(run->rows))
            end_input(run);
        if (run->ended && !finished) {
            cli_must(deem_batch_finish(run->batch));
            finished = true;
        }
        drain(run);
        read_stats(run);
        cli_progress_show(&run->progress, &run->stats, cli_rows_progress(run->rows));
        if (run->stats.stopped != DEEM_OK)
            run->ended = true;
        if (finished && run->taken == run->pushed)
            return;
        wait_for_work(run, wants_input && !run->ended);
    }
}

/* ---- what is said at the end ---- */

static void show_cost(FILE *stream, const struct cli_batch_arguments *asked, int64_t tokens) {
    if (isnan(asked->price))
        fputs("unknown (give --price)", stream);
    else
        fprintf(stream, "%.6f", (double)tokens * asked->price / 1e6);
}

static void show_plan(struct run *run) {
    const struct cli_batch_arguments *asked = run->asked;
    printf("rows: %llu\n", (unsigned long long)run->stats.pushed);
    printf("rows that cannot be asked: %llu\n",
           (unsigned long long)(run->stats.failed - run->stats.unsent));
    printf("equal rows: %llu\n", (unsigned long long)run->stats.duplicates);
    printf("rows in the journal: %llu\n", (unsigned long long)run->stats.restored);
    printf("requests: %llu\n", (unsigned long long)run->stats.requests);
    printf("input tokens, estimated: %lld\n", (long long)run->stats.estimated_tokens);
    fputs("cost, estimated: ", stdout);
    show_cost(stdout, asked, run->stats.estimated_tokens);
    fputc('\n', stdout);
}

static void show_summary(struct run *run) {
    const deem_batch_stats *stats = &run->stats;
    uint64_t left = run->pushed - run->written;
    bool stopped = run->interrupts > 0 || stats->stopped != DEEM_OK;
    for (size_t i = 0;; i++) {
        const char *text;
        size_t len = 0;
        if (deem_batch_warning(run->batch, i, &text, &len) != DEEM_OK)
            break;
        fputs("deemster: warning: ", stderr);
        cli_show(stderr, text, len, CLI_WHOLE);
        fputc('\n', stderr);
    }
    if (run->progress.form != CLI_PROGRESS_NONE || run->failed > 0 || stopped) {
        fprintf(
            stderr,
            "deemster: %llu rows written, %llu failed; %llu requests, %llu retries, %lld tokens "
            "in; cost ",
            (unsigned long long)run->written, (unsigned long long)run->failed,
            (unsigned long long)stats->requests, (unsigned long long)stats->retries,
            (long long)stats->input_tokens);
        if (isnan(run->asked->price) && !isnan(stats->cost))
            fprintf(stderr, "%.6f as the server states", stats->cost);
        else
            show_cost(stderr, run->asked, stats->input_tokens);
        fputc('\n', stderr);
    }
    if (run->first_error != NULL)
        fprintf(stderr, "deemster: the first that failed: %s\n", run->first_error);
    if (stats->stopped == DEEM_E_ABSENT)
        fputs("deemster: stopped before the next request could pass --max-cost\n", stderr);
    if (stopped && run->asked->output != NULL)
        fprintf(stderr,
                "deemster: %llu rows that were read were not asked; the same command with --resume "
                "goes on\n",
                (unsigned long long)left);
    else if (stopped)
        fprintf(
            stderr,
            "deemster: %llu rows that were read were not asked; with --output FILE a run can be "
            "gone on with\n",
            (unsigned long long)left);
}

static int exit_code(const struct run *run) {
    if (cli_rows_refused(run->rows) != NULL)
        return CLI_USAGE;
    if (run->interrupts > 0)
        return CLI_INTERRUPTED;
    if (run->stats.stopped > DEEM_E_ABSENT)
        return cli_exit_code(run->stats.stopped, 0);
    return run->failed > 0 || run->written < run->pushed ? CLI_ROWS_FAILED : CLI_GOOD;
}

static void make_batch(struct run *run) {
    struct cli_batch_arguments *asked = run->asked;
    const char *message = "";
    size_t len = 0;
    int32_t status =
        deem_batch_new(asked->connection.client, run->set, asked->settings, &run->batch);
    if (status == DEEM_OK)
        return;
    deem_batch_settings_error(asked->settings, &message, &len);
    if (len == 0)
        cli_must(status);
    cli_die(CLI_USAGE, "%s", message);
}

static int execute(struct cli_batch_arguments *asked, deem_question_set *set) {
    struct run run = {.asked = asked, .set = set};
    run.output = asked->form;
    run.output.set = set;
    cli_output_check(&run.output);
    run.rows = cli_rows_open(asked->input, &asked->rows);
    cli_connection_open(&asked->connection);
    make_batch(&run);
    begin_signals(&run);
    run.progress = (struct cli_progress){asked->progress, cli_now_ms(), cli_now_ms(), 0};
    run.stream = asked->dry_run ? stdout : open_output(asked->output);
    run.review =
        asked->review_output != NULL && !asked->dry_run ? open_output(asked->review_output) : NULL;
    if (!asked->dry_run)
        cli_output_begin(&run.output, run.stream);
    if (run.review != NULL)
        cli_output_begin(&run.output, run.review);
    loop(&run);
    cli_progress_end(&run.progress);
    if (asked->dry_run && cli_rows_refused(run.rows) == NULL)
        show_plan(&run);
    else
        show_summary(&run);
    int code = exit_code(&run);
    if (asked->dry_run && code == CLI_ROWS_FAILED)
        code = CLI_GOOD;
    close_output(run.stream, asked->output);
    close_output(run.review, asked->review_output);
    if (run.next != NULL)
        cli_row_free(run.next);
    if (run.signals >= 0)
        close(run.signals);
    cli_rows_close(run.rows);
    deem_response_free(run.response);
    deem_batch_free(run.batch);
    free(run.model);
    free(run.first_error);
    return code;
}

int cli_batch(int argc, char **argv) {
    struct cli_batch_arguments asked;
    deem_question_set *set = NULL;
    cli_batch_arguments_read(&asked, argc, argv);
    struct cli_findings found = cli_questions_check(&asked.questions);
    cli_findings_show(stderr, &asked.questions, "deemster");
    int code = CLI_USAGE;
    if (found.errors == 0) {
        cli_must(deem_question_set_new(asked.questions.builder, &set));
        code = execute(&asked, set);
    }
    deem_question_set_free(set);
    cli_batch_arguments_end(&asked);
    return code;
}
