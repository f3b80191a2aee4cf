/* What comes out of a batch: one line or record for each row. */
#ifndef CLI_BATCH_OUTPUT_H
#define CLI_BATCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "batch_rows.h"
#include "deemster.h"
#include "deemster_experimental.h"

enum cli_output_form { CLI_OUTPUT_JSONL, CLI_OUTPUT_CSV, CLI_OUTPUT_TSV };

struct cli_output {
    enum cli_output_form form;
    deem_question_set *set; /* borrowed */
    bool packed;            /* columns for packs */
    bool escape_formulas;
};

/* The form that a file name's ending stands for; JSON Lines for any other. */
enum cli_output_form cli_output_form_of(const char *path);

/* Exits with a message when two columns would have the same name. */
void cli_output_check(const struct cli_output *output);

/* Writes the header, where the form has one. */
void cli_output_begin(const struct cli_output *output, FILE *stream);

/* Writes one finished row. */
void cli_output_row(const struct cli_output *output, FILE *stream, const struct cli_row *row,
                    const deem_batch_row *record, const deem_response *response);

/* Whether an answer of the row lies in the band, ends included: the probability of yes of a noul,
 * the largest probability of a choice or a score. Failed rows are in no band. */
bool cli_output_in_band(const struct cli_output *output, const deem_response *response, double low,
                        double high);

#endif
