/* deemster evaluate: asks a question set about one state. */
#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "connection.h"
#include "input.h"
#include "questions.h"
#include "report.h"

struct evaluate {
    struct cli_connection connection;
    struct cli_questions questions;
    struct cli_report report;
    deem_question_set *set;
    struct cli_input state;
    bool has_state, is_json;
    const char *question; /* the key of --question, or NULL */
    double threshold;     /* NaN: none */
    double low, high;     /* the review band; NaN: none */
};

enum {
    OPTION_FIELD = 0x100,
    OPTION_JSON,
    OPTION_QUESTION,
    OPTION_QUIET,
    OPTION_REVIEW,
    OPTION_STATE,
    OPTION_STATE_JSON,
    OPTION_THRESHOLD,
    OPTION_VALUE
};

static const struct argp_option options[] = {
    {"state", OPTION_STATE, "TEXT", 0, "The state, taken literally whatever it begins with", 0},
    {"state-json", OPTION_STATE_JSON, NULL, 0, "The state is JSON (a string, object or list)", 0},
    {"json", OPTION_JSON, NULL, 0, "Print one JSON document, also when the call fails", 4},
    {"value", OPTION_VALUE, NULL, 0, "Print the values only: KEY, tab, value; or one value", 4},
    {"quiet", OPTION_QUIET, NULL, 0, "Print nothing: the exit code tells", 4},
    {"question", OPTION_QUESTION, "KEY", 0, "Show, and decide by, this question alone", 4},
    {"threshold", OPTION_THRESHOLD, "P", 0, "Exit 0 if a noul is P or above, else 1", 4},
    {"review", OPTION_REVIEW, "LOW..HIGH", 0, "With a threshold: exit 7 from LOW to HIGH", 4},
    {"field", OPTION_FIELD, "NAME=JSON", 0, "Add a top-level field to the request; repeatable", 3},
    {0}};

static const struct argp_child children[] = {
    {&cli_questions_parser, 0, NULL, 0}, {&cli_connection_parser, 0, NULL, 0}, {0}};

/* A probability, or NaN when the text is none. */
static double read_probability(const char *text) {
    char *end;
    double number = strtod(text, &end);
    return end != text && *end == '\0' && number >= 0 && number <= 1 ? number : NAN;
}

static void read_review(struct evaluate *evaluate, char *text, struct argp_state *state) {
    char *dots = strstr(text, "..");
    if (dots != NULL) {
        *dots = '\0';
        evaluate->low = read_probability(text);
        evaluate->high = read_probability(dots + 2);
    }
    if (!(evaluate->low <= evaluate->high))
        argp_error(state, "--review needs LOW..HIGH, two probabilities, for example 0.4..0.6");
}

static void add_field(struct evaluate *evaluate, const char *text, struct argp_state *state) {
    const char *equals = strchr(text, '='), *message = "";
    size_t len = 0;
    if (equals == NULL) {
        argp_error(state, "--field needs NAME=JSON");
        return;
    }
    deem_options *call = evaluate->connection.options;
    if (deem_options_add_field(call, text, (size_t)(equals - text), equals + 1,
                               strlen(equals + 1)) != DEEM_OK) {
        deem_options_error(call, &message, &len);
        argp_error(state, "--field: %s", message);
    }
}

static void set_state(struct evaluate *evaluate, struct cli_input input, struct argp_state *state) {
    if (evaluate->has_state)
        argp_error(state, "give one state, not several");
    evaluate->state = input;
    evaluate->has_state = true;
}

static struct cli_input literal(const char *text) {
    struct cli_input input = {strdup(text), strlen(text)};
    if (input.data == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    return input;
}

static void check_arguments(const struct evaluate *evaluate, struct argp_state *state) {
    if (!evaluate->questions.any)
        argp_error(state, "ask something: --questions FILE, or --noul, --choice or --score");
    if (!evaluate->has_state)
        argp_error(state, "give the state: a text, @FILE, or '-' to read standard input");
    if (!isnan(evaluate->low) && isnan(evaluate->threshold))
        argp_error(state, "--review needs --threshold");
    if (evaluate->threshold < evaluate->low || evaluate->threshold > evaluate->high)
        argp_error(state, "the threshold lies outside the review band");
}

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct evaluate *evaluate = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &evaluate->questions;
        state->child_inputs[1] = &evaluate->connection;
        return 0;
    case OPTION_STATE:
        set_state(evaluate, literal(text), state);
        return 0;
    case ARGP_KEY_ARG:
        set_state(evaluate,
                  text[0] == '@'           ? cli_read(text + 1)
                  : strcmp(text, "-") == 0 ? cli_read(text)
                                           : literal(text),
                  state);
        return 0;
    case OPTION_STATE_JSON:
        evaluate->is_json = true;
        return 0;
    case OPTION_JSON:
        evaluate->report.form = CLI_JSON;
        return 0;
    case OPTION_VALUE:
        evaluate->report.form = CLI_VALUE;
        return 0;
    case OPTION_QUIET:
        evaluate->report.form = CLI_QUIET;
        return 0;
    case OPTION_QUESTION:
        evaluate->question = text;
        return 0;
    case OPTION_THRESHOLD:
        evaluate->threshold = read_probability(text);
        if (isnan(evaluate->threshold))
            argp_error(state, "--threshold needs a probability from 0 to 1, not '%s'", text);
        return 0;
    case OPTION_REVIEW:
        read_review(evaluate, text, state);
        return 0;
    case OPTION_FIELD:
        add_field(evaluate, text, state);
        return 0;
    case ARGP_KEY_END:
        check_arguments(evaluate, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Compiles the set; shows what the check found. Returns an exit code. */
static int make_set(struct evaluate *evaluate) {
    struct cli_findings found = cli_questions_check(&evaluate->questions);
    cli_findings_show(stderr, &evaluate->questions, "deemster");
    if (found.errors == 0) {
        cli_must(deem_question_set_new(evaluate->questions.builder, &evaluate->set));
        return CLI_GOOD;
    }
    if (evaluate->report.form == CLI_JSON) {
        struct cli_json json = {stdout, false};
        cli_json_open(&json, '{');
        cli_json_name(&json, "code");
        cli_json_word(&json, deem_status_name(DEEM_E_QUESTIONS));
        cli_json_name(&json, "findings");
        cli_findings_json(&json, &evaluate->questions);
        cli_json_close(&json, '}');
        fputc('\n', stdout);
    }
    return CLI_USAGE;
}

/* Finds the question that --question names, or the only one; a threshold needs it to be a noul. */
static void pick_question(struct evaluate *evaluate) {
    int32_t only = -1, kind = 0;
    size_t count = 0;
    cli_must(deem_question_set_count(evaluate->set, &count));
    if (evaluate->question != NULL &&
        deem_question_set_find(evaluate->set, evaluate->question, strlen(evaluate->question),
                               &only) != DEEM_OK)
        cli_die(CLI_USAGE, "--question: the question set has no such key");
    if (!isnan(evaluate->threshold)) {
        if (only < 0 && count == 1)
            only = 0;
        if (only < 0)
            cli_die(CLI_USAGE, "--threshold needs --question KEY: the set has %zu questions",
                    count);
        cli_must(deem_question_set_question(evaluate->set, (size_t)only, &kind, NULL, NULL, NULL));
        if (kind != DEEM_NOUL)
            cli_die(CLI_USAGE, "--threshold needs a noul");
    }
    evaluate->report.only = only;
}

static int32_t ask(struct cli_connection *connection, void *argument, deem_response **response) {
    struct evaluate *evaluate = argument;
    return (evaluate->is_json ? deem_evaluate_json : deem_evaluate_text)(
        connection->client, evaluate->set, evaluate->state.data, evaluate->state.len,
        connection->options, response);
}

/* What is wrong with an answer: DEEM_ANSWER_OK or a DEEM_REASON_*. */
static int32_t reason_of(const deem_response *response, int32_t question) {
    int32_t reason = 0;
    cli_must(deem_response_problem(response, (size_t)question, &reason, NULL, NULL, NULL, NULL));
    return reason;
}

/* What the threshold makes of the answer. A lenient call's answer that failed a check decides
 * nothing. */
static int decide(struct evaluate *evaluate, const deem_response *response) {
    double p = NAN;
    if (reason_of(response, evaluate->report.only) != DEEM_ANSWER_OK ||
        deem_response_noul(response, (size_t)evaluate->report.only, &p) != DEEM_OK)
        return CLI_BAD_REPLY;
    bool review = p >= evaluate->low && p <= evaluate->high;
    bool yes = p >= evaluate->threshold;
    evaluate->report.decision = review ? "review" : yes ? "yes" : "no";
    return review ? CLI_REVIEW : yes ? CLI_GOOD : CLI_NO;
}

/* Whether every shown answer is good. */
static bool all_good(const struct evaluate *evaluate, const deem_response *response) {
    size_t count = 0;
    cli_must(deem_question_set_count(evaluate->set, &count));
    for (int32_t q = 0; q < (int32_t)count; q++)
        if ((evaluate->report.only < 0 || evaluate->report.only == q) &&
            reason_of(response, q) != DEEM_ANSWER_OK)
            return false;
    return true;
}

static int run(struct evaluate *evaluate) {
    int code = make_set(evaluate);
    if (code != CLI_GOOD)
        return code;
    pick_question(evaluate);
    cli_connection_open(&evaluate->connection);
    deem_response *response = NULL;
    int32_t http = 0;
    int32_t status = cli_connection_call(&evaluate->connection, ask, evaluate, &response);
    deem_response_http_status(response, &http);
    code = cli_exit_code(status, http);
    if (status == DEEM_OK && !isnan(evaluate->threshold))
        code = decide(evaluate, response);
    else if (status == DEEM_OK && !all_good(evaluate, response))
        code = CLI_BAD_REPLY;
    cli_report(&evaluate->report, response);
    deem_response_free(response);
    return code;
}

int cli_evaluate(int argc, char **argv) {
    static const struct argp parser = {
        .options = options,
        .parser = read_argument,
        .args_doc = "[STATE]",
        .doc = "Ask a question set about a state.\vSTATE is a text, @FILE, or '-' for standard "
               "input; files are read as UTF-8 bytes.\n\nExit code: 0 good or yes, 1 no, 2 usage "
               "or refused question set, 3 key or access, 4 may be tried again, 5 refused by the "
               "server, 6 invalid reply, 7 review, 8 this machine, 130 interrupted.",
        .children = children};
    struct evaluate evaluate = {
        .report = {CLI_TABLE, -1, NULL}, .threshold = NAN, .low = NAN, .high = NAN};
    cli_questions_start(&evaluate.questions);
    cli_connection_start(&evaluate.connection);
    argp_parse(&parser, argc, argv, 0, NULL, &evaluate);
    int code = run(&evaluate);
    deem_question_set_free(evaluate.set);
    deem_question_set_builder_free(evaluate.questions.builder);
    cli_connection_end(&evaluate.connection);
    free(evaluate.state.data);
    return code;
}
