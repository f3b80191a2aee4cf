/* deemster check: everything that is wrong with question sets, offline. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "questions.h"

struct check {
    bool as_json, open;
    char **files; /* argv's */
    int file_count;
};

enum { OPTION_JSON = 0x100, OPTION_OPEN };

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Print one JSON document", 0},
    {"open", OPTION_OPEN, NULL, 0, "Let unknown fields of questions pass", 0},
    {0}};

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct check *check = state->input;
    (void)text;
    switch (key) {
    case OPTION_JSON:
        check->as_json = true;
        return 0;
    case OPTION_OPEN:
        check->open = true;
        return 0;
    case ARGP_KEY_ARGS:
        check->files = state->argv + state->next;
        check->file_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name at least one file");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *plural(size_t count) {
    return count == 1 ? "" : "s";
}

static void show(const char *file, const struct cli_questions *questions, struct cli_findings found,
                 const deem_question_set *set) {
    size_t count = 0;
    cli_findings_show(stdout, questions, file);
    cli_show(stdout, file, strlen(file), CLI_WHOLE);
    fputs(": ", stdout);
    if (deem_question_set_count(set, &count) == DEEM_OK)
        printf("%zu question%s, ", count, plural(count));
    printf("%zu error%s, %zu warning%s\n", found.errors, plural(found.errors), found.warnings,
           plural(found.warnings));
}

static void show_json(struct cli_json *json, const char *file,
                      const struct cli_questions *questions, struct cli_findings found,
                      deem_question_set *set) {
    size_t count = 0, len = 0;
    const char *text = NULL;
    cli_json_open(json, '{');
    cli_json_name(json, "file");
    cli_json_word(json, file);
    cli_json_name(json, "errors");
    cli_json_integer(json, (int64_t)found.errors);
    cli_json_name(json, "warnings");
    cli_json_integer(json, (int64_t)found.warnings);
    if (deem_question_set_count(set, &count) == DEEM_OK) {
        cli_json_name(json, "questions");
        cli_json_integer(json, (int64_t)count);
        cli_json_name(json, "identity");
        cli_must(deem_question_set_identity(set, &text, &len));
        cli_json_text(json, text, len);
        if (deem_question_set_model(set, &text, &len) == DEEM_OK) {
            cli_json_name(json, "model");
            cli_json_text(json, text, len);
        }
    }
    cli_json_name(json, "findings");
    cli_findings_json(json, questions);
    cli_json_close(json, '}');
}

int cli_check(int argc, char **argv) {
    static const struct argp parser = {
        .options = options,
        .parser = read_argument,
        .args_doc = "FILE...",
        .doc = "Find what is wrong with question sets, offline: every error and warning, with its "
               "path and what to do.\v'-' is standard input. Exit code: 0 no error, 2 an error or "
               "wrong arguments."};
    struct check check = {false, false, NULL, 0};
    argp_parse(&parser, argc, argv, 0, NULL, &check);

    /* All files are read before anything is printed: one that cannot be read cuts no document. */
    struct cli_questions *all = calloc((size_t)check.file_count, sizeof *all);
    if (all == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    for (int i = 0; i < check.file_count; i++) {
        cli_questions_start(&all[i]);
        all[i].open = check.open;
        cli_questions_add_file(&all[i], check.files[i]);
    }

    int code = CLI_GOOD;
    struct cli_json json = {stdout, false};
    if (check.as_json) {
        cli_json_open(&json, '{');
        cli_json_name(&json, "files");
        cli_json_open(&json, '[');
    }
    for (int i = 0; i < check.file_count; i++) {
        deem_question_set *set = NULL;
        struct cli_findings found = cli_questions_check(&all[i]);
        if (found.errors > 0)
            code = CLI_USAGE;
        else
            cli_must(deem_question_set_new(all[i].builder, &set));
        if (check.as_json)
            show_json(&json, check.files[i], &all[i], found, set);
        else
            show(check.files[i], &all[i], found, set);
        deem_question_set_free(set);
        deem_question_set_builder_free(all[i].builder);
    }
    free(all);
    if (check.as_json) {
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
        fputc('\n', stdout);
    }
    return code;
}
