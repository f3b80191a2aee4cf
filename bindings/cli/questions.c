#include "questions.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "input.h"

enum {
    OPTION_CHOICE = 0x200,
    OPTION_KEY,
    OPTION_LEVEL,
    OPTION_NOUL,
    OPTION_OPEN,
    OPTION_OPTION,
    OPTION_SCORE
};

static const struct argp_option options[] = {
    {"questions", 'q', "FILE", 0, "JSON file with the questions ('-': standard input)", 1},
    {"open", OPTION_OPEN, NULL, 0,
     "Send unknown fields of questions in the files that follow, in place of an error", 1},
    {"key", OPTION_KEY, "KEY", 0, "Key of the next question (default: its kind)", 2},
    {"noul", OPTION_NOUL, "TEXT", 0, "Ask a yes/no question", 2},
    {"choice", OPTION_CHOICE, "TEXT", 0, "Ask for one of the options that follow", 2},
    {"option", OPTION_OPTION, "LABEL[=DESCRIPTION]", 0, "Add an option to the choice", 2},
    {"score", OPTION_SCORE, "TEXT", 0, "Ask for a position on the levels that follow", 2},
    {"level", OPTION_LEVEL, "TEXT", 0, "Add the next higher level to the score", 2},
    {0}};

void cli_questions_start(struct cli_questions *questions) {
    *questions = (struct cli_questions){NULL, false, false, NULL};
    cli_must(deem_question_set_builder_new(&questions->builder));
}

void cli_questions_add_file(struct cli_questions *questions, const char *path) {
    struct cli_input document = cli_read(path);
    cli_must((questions->open ? deem_question_set_builder_json_open
                              : deem_question_set_builder_json)(questions->builder, document.data,
                                                                document.len));
    free(document.data);
    questions->any = true;
}

static void add(struct cli_questions *questions, int32_t kind, const char *name, const char *text) {
    const char *key = questions->key != NULL ? questions->key : name;
    cli_must(deem_question_set_builder_add(questions->builder, kind, key, strlen(key),
                                           DEEM_FORM_TEXT, text, strlen(text)));
    questions->key = NULL;
    questions->any = true;
}

static int32_t add_option(struct cli_questions *questions, const char *text) {
    const char *equals = strchr(text, '=');
    size_t label = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const char *description = equals != NULL ? equals + 1 : "";
    return deem_question_set_builder_option(questions->builder, text, label,
                                            equals != NULL ? DEEM_FORM_TEXT : DEEM_FORM_NULL,
                                            description, strlen(description));
}

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct cli_questions *questions = state->input;
    switch (key) {
    case 'q':
        cli_questions_add_file(questions, text);
        return 0;
    case OPTION_OPEN:
        questions->open = true;
        return 0;
    case OPTION_KEY:
        questions->key = text;
        return 0;
    case OPTION_NOUL:
        add(questions, DEEM_NOUL, "noul", text);
        return 0;
    case OPTION_CHOICE:
        add(questions, DEEM_CHOICE, "choice", text);
        return 0;
    case OPTION_SCORE:
        add(questions, DEEM_SCORE, "score", text);
        return 0;
    case OPTION_OPTION:
        if (add_option(questions, text) != DEEM_OK)
            argp_error(state, "--option stands behind the --choice it belongs to");
        return 0;
    case OPTION_LEVEL:
        if (deem_question_set_builder_level(questions->builder, DEEM_FORM_TEXT, text,
                                            strlen(text)) != DEEM_OK)
            argp_error(state, "--level stands behind the --score it belongs to");
        return 0;
    case ARGP_KEY_END:
        if (questions->key != NULL)
            argp_error(state, "--key stands before the question it belongs to");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_questions_parser = {.options = options, .parser = read_argument};

struct cli_findings cli_questions_check(struct cli_questions *questions) {
    struct cli_findings found = {0, 0};
    int32_t status =
        deem_question_set_builder_check(questions->builder, &found.errors, &found.warnings);
    if (status != DEEM_E_QUESTIONS)
        cli_must(status);
    return found;
}

struct finding {
    int32_t severity;
    const char *rule, *path, *message, *advice;
    size_t path_len, message_len, advice_len;
};

static bool get_finding(const struct cli_questions *questions, size_t index, struct finding *f) {
    return deem_question_set_builder_finding(questions->builder, index, &f->severity, &f->rule,
                                             &f->path, &f->path_len, &f->message, &f->message_len,
                                             &f->advice, &f->advice_len) == DEEM_OK;
}

static const char *severity_name(int32_t severity) {
    return severity == DEEM_SEVERITY_ERROR ? "error" : "warning";
}

void cli_findings_show(FILE *stream, const struct cli_questions *questions, const char *prefix) {
    struct finding f;
    for (size_t i = 0; get_finding(questions, i, &f); i++) {
        cli_show(stream, prefix, strlen(prefix), CLI_WHOLE);
        fprintf(stream, ": %s %s", severity_name(f.severity), f.rule);
        if (f.path_len > 0)
            fputc(' ', stream);
        cli_show(stream, f.path, f.path_len, CLI_WHOLE);
        fputs(": ", stream);
        cli_show(stream, f.message, f.message_len, CLI_WHOLE);
        fputc(' ', stream);
        cli_show(stream, f.advice, f.advice_len, CLI_WHOLE);
        fputc('\n', stream);
    }
}

void cli_findings_json(struct cli_json *json, const struct cli_questions *questions) {
    struct finding f;
    cli_json_open(json, '[');
    for (size_t i = 0; get_finding(questions, i, &f); i++) {
        cli_json_open(json, '{');
        cli_json_name(json, "severity");
        cli_json_word(json, severity_name(f.severity));
        cli_json_name(json, "rule");
        cli_json_word(json, f.rule);
        cli_json_name(json, "path");
        cli_json_text(json, f.path, f.path_len);
        cli_json_name(json, "message");
        cli_json_text(json, f.message, f.message_len);
        cli_json_name(json, "advice");
        cli_json_text(json, f.advice, f.advice_len);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}
