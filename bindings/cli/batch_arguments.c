#include "batch_arguments.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

enum {
    OPTION_CONCURRENCY = 0x400,
    OPTION_DRY_RUN,
    OPTION_ESCAPE,
    OPTION_FROM,
    OPTION_ID,
    OPTION_LIMIT,
    OPTION_MAX_COST,
    OPTION_MAX_ERRORS,
    OPTION_NO_DEDUPE,
    OPTION_NO_HEADER,
    OPTION_PACK,
    OPTION_PACK_BY,
    OPTION_PACK_BYTES,
    OPTION_PACK_QUESTIONS,
    OPTION_PACK_SHUFFLE,
    OPTION_PACK_TOKENS,
    OPTION_PRICE,
    OPTION_PROGRESS,
    OPTION_RESUME,
    OPTION_REVIEW,
    OPTION_REVIEW_OUTPUT,
    OPTION_RPM,
    OPTION_STATE,
    OPTION_TO,
    OPTION_TPS,
    OPTION_UNORDERED,
    OPTION_WINDOW
};

static const struct argp_option options[] = {
    {"from", OPTION_FROM, "jsonl|csv|tsv|lines", 0,
     "Form of the input (default: by the file's name, else jsonl)", 0},
    {"no-header", OPTION_NO_HEADER, NULL, 0,
     "The first row of a CSV file is data; columns are called 1, 2, 3", 0},
    {"state", OPTION_STATE, "FIELD|TEMPLATE", 0,
     "What is asked about: a field, or a text with {FIELD} in it (default: the whole row)", 0},
    {"id", OPTION_ID, "FIELD", 0, "Field that is given out with each row (default: id)", 0},
    {"limit", OPTION_LIMIT, "N", 0, "Ask about the first N rows alone", 0},
    {"output", 'o', "FILE", 0, "Write to the file and keep a journal beside it", 4},
    {"to", OPTION_TO, "jsonl|csv|tsv", 0,
     "Form of the output (default: by the file's name, else jsonl)", 4},
    {"unordered", OPTION_UNORDERED, NULL, 0, "Write rows as they finish", 4},
    {"escape-formulas", OPTION_ESCAPE, NULL, 0,
     "Put an apostrophe before cells that a spreadsheet takes for formulas", 4},
    {"resume", OPTION_RESUME, NULL, 0, "Go on with the journal of an earlier run", 4},
    {"review", OPTION_REVIEW, "LOW..HIGH", 0,
     "Write rows with an answer in this band to the review file instead", 4},
    {"review-output", OPTION_REVIEW_OUTPUT, "FILE", 0, "The review file", 4},
    {"progress", OPTION_PROGRESS, "bar|plain|none", 0,
     "How to show progress (default: a bar on a terminal, else none)", 4},
    {"rpm", OPTION_RPM, "N[/TIME]", 0,
     "At most N requests a minute, or in any TIME; 0: no limit (default 1000)", 5},
    {"tps", OPTION_TPS, "N[/TIME]", 0,
     "At most N tokens a second, or in any TIME; 0: no limit (default 100000)", 5},
    {"concurrency", OPTION_CONCURRENCY, "N", 0, "At most N requests in flight (default 64)", 5},
    {"window", OPTION_WINDOW, "ROWS", 0, "Hold at most so many rows (default 4096)", 5},
    {"no-dedupe", OPTION_NO_DEDUPE, NULL, 0, "Ask about equal rows again", 5},
    {"pack", OPTION_PACK, "SHAPE:N", 0,
     "Ask about up to N rows in one request; SHAPE is question or state", 6},
    {"pack-by", OPTION_PACK_BY, "FIELD", 0, "Rows that differ in the field share no request", 6},
    {"pack-shuffle", OPTION_PACK_SHUFFLE, "SEED", 0, "Mix the rows of sixteen packs", 6},
    {"pack-questions", OPTION_PACK_QUESTIONS, "N", 0, "Questions in a request (default 1000)", 6},
    {"pack-bytes", OPTION_PACK_BYTES, "N", 0, "Bytes of a request (default 1048576)", 6},
    {"pack-tokens", OPTION_PACK_TOKENS, "N", 0,
     "Tokens of a request, half of them for state and longest question (default 60000)", 6},
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Send nothing: print rows, requests, tokens and cost", 7},
    {"price", OPTION_PRICE, "P", 0, "Price of a million input tokens", 7},
    {"max-cost", OPTION_MAX_COST, "C", 0, "Send nothing that could cost more; needs --price", 7},
    {"max-errors", OPTION_MAX_ERRORS, "N", 0, "Stop when more than N rows failed", 7},
    {0}};

static const struct argp_child children[] = {
    {&cli_questions_parser, 0, NULL, 0}, {&cli_connection_parser, 0, NULL, 0}, {0}};

/* What the settings' setters need of the options, which come in any order. */
struct reading {
    struct cli_batch_arguments *arguments;
    const char *from, *to, *progress;
    int64_t questions, bytes, tokens;
    int32_t shape;
    int64_t pack_rows;
    bool packs; /* an option that needs --pack was given */
};

/* A whole number of at least `least`, or a usage error. */
static int64_t read_whole(struct argp_state *state, const char *option, const char *text,
                          int64_t least) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < least)
        argp_error(state, "%s needs a whole number from %lld up, not '%s'", option,
                   (long long)least, text);
    return number;
}

/* A number above 0 (or 0 where that is allowed), or a usage error. */
static double read_money(struct argp_state *state, const char *option, const char *text) {
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= 0) || isinf(number))
        argp_error(state, "%s needs a number from 0 up, not '%s'", option, text);
    return number;
}

/* The place of a word in a list that is separated by bars, or a usage error. */
static int read_word(struct argp_state *state, const char *option, const char *text,
                     const char *words) {
    size_t len = strlen(text);
    int place = 0;
    for (const char *at = words;; place++) {
        size_t step = strcspn(at, "|");
        if (step == len && memcmp(at, text, len) == 0)
            return place;
        if (at[step] == '\0')
            break;
        at += step + 1;
    }
    argp_error(state, "%s is %s, not '%s'", option, words, text);
    return 0;
}

/* Dies with the settings' own sentence when a setter refused. */
static void obey(struct argp_state *state, const char *option, deem_batch_settings *settings,
                 int32_t status) {
    const char *message = "";
    size_t len = 0;
    if (status == DEEM_OK)
        return;
    deem_batch_settings_error(settings, &message, &len);
    if (len == 0)
        cli_must(status);
    argp_error(state, "%s: %s", option, message);
}

/* Reads N or N/TIME. */
static void read_rate(struct argp_state *state, const char *option, char *text, int64_t usual_ms,
                      deem_batch_settings *settings,
                      int32_t (*set)(deem_batch_settings *, int64_t, int64_t)) {
    char *slash = strchr(text, '/');
    int64_t window = usual_ms;
    if (slash != NULL) {
        *slash = '\0';
        window = cli_read_time(slash + 1);
        if (window <= 0)
            argp_error(state, "%s: '%s' is no time such as 1s or 500ms", option, slash + 1);
    }
    obey(state, option, settings, set(settings, read_whole(state, option, text, 0), window));
}

static void read_pack(struct argp_state *state, struct reading *reading, char *text) {
    char *colon = strchr(text, ':');
    if (colon == NULL) {
        argp_error(state, "--pack needs SHAPE:N, for example question:32");
        return;
    }
    *colon = '\0';
    reading->shape = read_word(state, "--pack", text, "question|state") == 0 ? DEEM_PACK_QUESTION
                                                                             : DEEM_PACK_STATE;
    reading->pack_rows = read_whole(state, "--pack", colon + 1, 1);
}

static void read_band(struct argp_state *state, struct cli_batch_arguments *arguments, char *text) {
    char *dots = strstr(text, ".."), *end;
    if (dots != NULL) {
        *dots = '\0';
        double low = strtod(text, &end);
        bool good = end != text && *end == '\0';
        double high = strtod(dots + 2, &end);
        if (good && end != dots + 2 && *end == '\0' && low >= 0 && low <= high && high <= 1) {
            arguments->low = low;
            arguments->high = high;
            return;
        }
    }
    argp_error(state, "--review needs LOW..HIGH, two probabilities, for example 0.4..0.6");
}

/* Options that say nothing about pace or packs. */
static error_t read_plain(int key, char *text, struct argp_state *state) {
    struct reading *reading = state->input;
    struct cli_batch_arguments *arguments = reading->arguments;
    switch (key) {
    case 'o':
        arguments->output = text;
        return 0;
    case OPTION_FROM:
        reading->from = text;
        return 0;
    case OPTION_TO:
        reading->to = text;
        return 0;
    case OPTION_NO_HEADER:
        arguments->rows.no_header = true;
        return 0;
    case OPTION_STATE:
        arguments->rows.state = text;
        return 0;
    case OPTION_ID:
        arguments->rows.id = text;
        return 0;
    case OPTION_LIMIT:
        arguments->limit = (uint64_t)read_whole(state, "--limit", text, 1);
        return 0;
    case OPTION_ESCAPE:
        arguments->form.escape_formulas = true;
        return 0;
    case OPTION_RESUME:
        arguments->resume = true;
        return 0;
    case OPTION_REVIEW:
        read_band(state, arguments, text);
        return 0;
    case OPTION_REVIEW_OUTPUT:
        arguments->review_output = text;
        return 0;
    case OPTION_PROGRESS:
        reading->progress = text;
        return 0;
    case OPTION_DRY_RUN:
        arguments->dry_run = true;
        return 0;
    case OPTION_PRICE:
        arguments->price = read_money(state, "--price", text);
        return 0;
    case OPTION_MAX_COST:
        arguments->max_cost = read_money(state, "--max-cost", text);
        return 0;
    case OPTION_MAX_ERRORS:
        arguments->max_errors = read_whole(state, "--max-errors", text, 0);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t read_pace(int key, char *text, struct argp_state *state) {
    struct reading *reading = state->input;
    deem_batch_settings *settings = reading->arguments->settings;
    switch (key) {
    case OPTION_RPM:
        read_rate(state, "--rpm", text, 60000, settings, deem_batch_settings_set_requests);
        return 0;
    case OPTION_TPS:
        read_rate(state, "--tps", text, 1000, settings, deem_batch_settings_set_tokens);
        return 0;
    case OPTION_CONCURRENCY:
        obey(state, "--concurrency", settings,
             deem_batch_settings_set_concurrency(
                 settings, (int32_t)(read_whole(state, "--concurrency", text, 1) & 0x7fffffff)));
        return 0;
    case OPTION_WINDOW:
        obey(state, "--window", settings,
             deem_batch_settings_set_window(settings, read_whole(state, "--window", text, 2),
                                            64 << 20));
        return 0;
    case OPTION_NO_DEDUPE:
        obey(state, "--no-dedupe", settings, deem_batch_settings_set_dedupe(settings, 0));
        return 0;
    case OPTION_UNORDERED:
        obey(state, "--unordered", settings, deem_batch_settings_set_ordered(settings, 0));
        return 0;
    case OPTION_PACK:
        read_pack(state, reading, text);
        return 0;
    case OPTION_PACK_BY:
        reading->arguments->rows.group = text;
        reading->packs = true;
        return 0;
    case OPTION_PACK_SHUFFLE:
        obey(state, "--pack-shuffle", settings,
             deem_batch_settings_set_pack_shuffle(
                 settings, (uint64_t)read_whole(state, "--pack-shuffle", text, 0)));
        reading->packs = true;
        return 0;
    case OPTION_PACK_QUESTIONS:
        reading->questions = read_whole(state, "--pack-questions", text, 1);
        reading->packs = true;
        return 0;
    case OPTION_PACK_BYTES:
        reading->bytes = read_whole(state, "--pack-bytes", text, 1);
        reading->packs = true;
        return 0;
    case OPTION_PACK_TOKENS:
        reading->tokens = read_whole(state, "--pack-tokens", text, 2);
        reading->packs = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_together(struct argp_state *state, const struct reading *reading) {
    const struct cli_batch_arguments *arguments = reading->arguments;
    if (!arguments->questions.any)
        argp_error(state, "ask something: --questions FILE, or --noul, --choice or --score");
    if (arguments->input == NULL)
        argp_error(state, "name the input: a file, or '-' to read standard input");
    if (arguments->resume && arguments->output == NULL)
        argp_error(state, "--resume needs --output FILE: the journal lies beside it");
    if (isnan(arguments->low) != (arguments->review_output == NULL))
        argp_error(state, "--review LOW..HIGH and --review-output FILE go together");
    if (!isnan(arguments->max_cost) && !(arguments->price > 0))
        argp_error(state, "--max-cost needs --price: an unknown price is not 0");
    if (reading->packs && reading->shape == DEEM_PACK_NONE)
        argp_error(state, "the --pack-… options need --pack SHAPE:N");
}

/* Settles what depends on several options. */
static void settle(struct argp_state *state, struct reading *reading) {
    struct cli_batch_arguments *arguments = reading->arguments;
    deem_batch_settings *settings = arguments->settings;
    check_together(state, reading);
    arguments->rows.form =
        reading->from == NULL
            ? cli_rows_form_of(arguments->input)
            : (enum cli_rows_form)read_word(state, "--from", reading->from, "jsonl|csv|tsv|lines");
    if (arguments->rows.form == CLI_ROWS_LINES &&
        (arguments->rows.state != NULL || arguments->rows.group != NULL))
        argp_error(state, "plain lines have no fields for --state or --pack-by");
    const char *output = arguments->output != NULL ? arguments->output : "";
    arguments->form.form =
        reading->to == NULL
            ? cli_output_form_of(output)
            : (enum cli_output_form)read_word(state, "--to", reading->to, "jsonl|csv|tsv");
    arguments->form.packed = reading->shape != DEEM_PACK_NONE;
    arguments->progress = reading->progress == NULL
                              ? (isatty(STDERR_FILENO) ? CLI_PROGRESS_BAR : CLI_PROGRESS_NONE)
                              : (enum cli_progress_form)read_word(
                                    state, "--progress", reading->progress, "none|bar|plain");
    obey(state, "--pack", settings,
         deem_batch_settings_set_pack(settings, reading->shape, reading->pack_rows));
    obey(state, "--pack", settings,
         deem_batch_settings_set_pack_limits(settings, reading->questions, reading->bytes,
                                             reading->tokens, reading->tokens / 2));
    cli_must(deem_batch_settings_set_options(settings, arguments->connection.options));
    if (!isnan(arguments->max_cost)) {
        double tokens = arguments->max_cost / arguments->price * 1e6;
        int64_t most = tokens < 1 ? 1 : tokens > 1e18 ? (int64_t)1e18 : (int64_t)tokens;
        cli_must(deem_batch_settings_set_most_tokens(settings, most));
    }
    if (arguments->output != NULL && (!arguments->dry_run || arguments->resume)) {
        char *path = NULL;
        int len = asprintf(&path, "%s.journal", arguments->output);
        if (len < 0)
            cli_die(CLI_LOCAL, "out of memory");
        cli_must(deem_batch_settings_set_journal(settings, path, (size_t)len, arguments->resume));
        free(path);
    }
    cli_must(deem_batch_settings_set_rehearsal(settings, arguments->dry_run));
    if (arguments->dry_run) /* nothing is sent: no key is needed */
        cli_must(deem_config_set_auth(arguments->connection.config, DEEM_AUTH_NONE));
}

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct reading *reading = state->input;
    struct cli_batch_arguments *arguments = reading->arguments;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->questions;
        state->child_inputs[1] = &arguments->connection;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->input != NULL)
            argp_error(state, "name one input, not several");
        arguments->input = text;
        return 0;
    case ARGP_KEY_SUCCESS:
        settle(state, reading);
        return 0;
    default: {
        error_t error = read_plain(key, text, state);
        return error != ARGP_ERR_UNKNOWN ? error : read_pace(key, text, state);
    }
    }
}

void cli_batch_arguments_read(struct cli_batch_arguments *arguments, int argc, char **argv) {
    static const struct argp parser = {
        .options = options,
        .parser = read_argument,
        .args_doc = "INPUT",
        .doc =
            "Ask a question set about every row of a file.\vINPUT is a file or '-': JSON Lines, "
            "CSV, TSV or plain lines, in UTF-8. Each row comes out with its own status. "
            "docs/batch.md has the whole story.\n\nExit code: 0 all rows good, 2 usage or "
            "refused input, 3 key or access, 5 refused by the server, 8 this machine, 9 some rows "
            "failed or were left out, 130 interrupted.",
        .children = children};
    *arguments = (struct cli_batch_arguments){.rows = {.id = "id"},
                                              .low = NAN,
                                              .high = NAN,
                                              .price = NAN,
                                              .max_cost = NAN,
                                              .max_errors = -1};
    struct reading reading = {.arguments = arguments,
                              .questions = 1000,
                              .bytes = 1 << 20,
                              .tokens = 60000,
                              .shape = DEEM_PACK_NONE,
                              .pack_rows = 1};
    cli_questions_start(&arguments->questions);
    cli_connection_start(&arguments->connection);
    cli_must(deem_batch_settings_new(&arguments->settings));
    argp_parse(&parser, argc, argv, 0, NULL, &reading);
}

void cli_batch_arguments_end(struct cli_batch_arguments *arguments) {
    deem_batch_settings_free(arguments->settings);
    deem_question_set_builder_free(arguments->questions.builder);
    cli_connection_end(&arguments->connection);
}
