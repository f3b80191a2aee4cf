/* Question sets from files and from the command line, and what their check found. */
#ifndef CLI_QUESTIONS_H
#define CLI_QUESTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "deemster.h"
#include "text.h"

/* The input of cli_questions_parser. */
struct cli_questions {
    deem_question_set_builder *builder; /* owned (deem_question_set_builder_free()) */
    bool open;                          /* unknown fields inside a question are sent */
    bool any;                           /* a question was named */
    const char *key;                    /* for the next inline question, or NULL */
};

/* --questions FILE, --open, and --noul, --choice, --option, --score, --level, --key. Parses into a
 * struct cli_questions that cli_questions_start() has set up. */
extern const struct argp cli_questions_parser;

void cli_questions_start(struct cli_questions *questions);

/* Adds the document in a file ("-": standard input). */
void cli_questions_add_file(struct cli_questions *questions, const char *path);

/* What deem_question_set_builder_check() found. */
struct cli_findings {
    size_t errors, warnings;
};

struct cli_findings cli_questions_check(struct cli_questions *questions);

/* A line for each finding, "error RULE PATH: MESSAGE ADVICE", after the prefix. */
void cli_findings_show(FILE *stream, const struct cli_questions *questions, const char *prefix);

/* A JSON list of the findings. */
void cli_findings_json(struct cli_json *json, const struct cli_questions *questions);

#endif
