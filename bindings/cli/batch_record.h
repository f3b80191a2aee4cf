/* One input row as named fields, and the state, id and group that are made of them. */
#ifndef CLI_BATCH_RECORD_H
#define CLI_BATCH_RECORD_H

#include "batch_rows.h"

/* A field of a row. Texts are borrowed while the row is being made. */
struct cli_field {
    const char *name;
    size_t name_len;
    const char *text; /* the cell; of JSON: the string's text, or the value as it is written */
    size_t text_len;
    const char *json; /* the value as it is written; NULL: a cell, which is a string */
    size_t json_len;
};

struct cli_record {
    const struct cli_field *fields;
    size_t count;
    const char *whole; /* the row as it stands when it is JSON; NULL: a row of cells */
    size_t whole_len;
};

/* Fills state, id and group of the row, or its error. */
void cli_record_fill(struct cli_row *row, const struct cli_record *record,
                     const struct cli_rows_options *options);

/* What of the options a header of these names lacks, as a sentence (free()), or NULL. */
char *cli_record_lacks(const struct cli_record *header, const struct cli_rows_options *options);

/* Sets the row's error by printf form. */
__attribute__((format(printf, 2, 3))) void cli_row_refuse(struct cli_row *row, const char *format,
                                                          ...);

/* A copy that the caller owns. Exits without memory. */
struct cli_text cli_copy(const char *text, size_t len);

/* Takes a line of JSON apart and fills the row from it. */
void cli_record_json(struct cli_row *row, const char *line, size_t len,
                     const struct cli_rows_options *options);

#endif
