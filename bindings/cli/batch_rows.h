/* The rows of a batch's input: JSON Lines, CSV, TSV or plain lines, read in blocks. */
#ifndef CLI_BATCH_ROWS_H
#define CLI_BATCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_rows_form { CLI_ROWS_JSONL, CLI_ROWS_CSV, CLI_ROWS_TSV, CLI_ROWS_LINES };

/* Text that is owned (free()), with a NUL behind it that len does not count; data NULL: none. */
struct cli_text {
    char *data;
    size_t len;
};

/* One row of the input. */
struct cli_row {
    struct cli_row *next;
    uint64_t number;       /* from 1; the header of a CSV file is not counted */
    struct cli_text state; /* what is asked about */
    bool is_json;
    struct cli_text id;      /* the id as text */
    struct cli_text id_json; /* and as JSON; NULL: the row has none */
    struct cli_text group;   /* of --pack-by */
    struct cli_text error;   /* why the row cannot be asked; NULL: it can */
};

struct cli_rows_options {
    enum cli_rows_form form;
    bool no_header;
    const char *state; /* a field's name, or a template with {names}; NULL: the whole row */
    const char *id;    /* the field with the id, "id" by default */
    const char *group; /* the field that tells groups apart, or NULL */
};

struct cli_rows;

/* Opens the input: a file, or "-" for standard input. A file is looked through for bytes that are
 * no UTF-8 before anything of it is used. Exits with a message when it cannot be read or is
 * refused.
 */
struct cli_rows *cli_rows_open(const char *path, const struct cli_rows_options *options);

/* The form that a file name's ending stands for; JSON Lines for any other. */
enum cli_rows_form cli_rows_form_of(const char *path);

/* The descriptor to poll before cli_rows_read(). */
int cli_rows_descriptor(const struct cli_rows *rows);

/* Reads one block. False at the end of the input. Bytes of standard input that are no UTF-8 end it
 * too, with cli_rows_refused() set; so do a header that has a name twice and a header without a
 * column that is asked for. */
bool cli_rows_read(struct cli_rows *rows);

/* Whether the end has been reached; rows may still be there to take. */
bool cli_rows_ended(const struct cli_rows *rows);

/* Why the input was refused, or NULL. */
const char *cli_rows_refused(const struct cli_rows *rows);

/* Takes the next row that has been read, or NULL. Give it back with cli_row_free(). */
struct cli_row *cli_rows_take(struct cli_rows *rows);

/* The share of a file that has been read, 0 to 1; NaN for a stream. */
double cli_rows_progress(const struct cli_rows *rows);

void cli_row_free(struct cli_row *row);
void cli_rows_close(struct cli_rows *rows);

#endif
