#include "batch_rows.h"

#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch_record.h"
#include "command.h"
#include "text.h"

/* CHARACTER_MOST: bytes of a character that may be cut off at the end of a block. */
enum { BLOCK = 65536, CHARACTER_MOST = 4 };

struct cell {
    size_t start, len; /* in the cells' text */
};

struct cli_rows {
    struct cli_rows_options options;
    const char *path;
    int descriptor;
    uint64_t size; /* of a file; 0: a stream */
    uint64_t consumed;
    uint64_t number;
    bool ended;
    char block[BLOCK];
    size_t held; /* bytes in the block */
    size_t good; /* of these: whole characters */
    char *refused;
    struct cli_row *first, *last;
    /* lines */
    struct cli_text line;
    size_t line_room;
    /* cells */
    struct csv_parser csv;
    struct cli_text cells;
    size_t cells_room;
    struct cell *row;
    size_t row_len, row_room;
    struct cli_text names; /* the header's, in one text */
    struct cli_field *fields;
    size_t field_count;
};

static void append(struct cli_text *text, size_t *room, const char *data, size_t len) {
    if (text->len + len + 1 > *room) {
        *room = (text->len + len + 1) * 2;
        text->data = realloc(text->data, *room);
        if (text->data == NULL)
            cli_die(CLI_LOCAL, "out of memory");
    }
    if (len > 0)
        memcpy(text->data + text->len, data, len);
    text->len += len;
    text->data[text->len] = '\0';
}

__attribute__((format(printf, 2, 3))) static void refuse(struct cli_rows *rows, const char *format,
                                                         ...) {
    va_list arguments;
    if (rows->refused != NULL)
        return;
    va_start(arguments, format);
    if (vasprintf(&rows->refused, format, arguments) < 0)
        cli_die(CLI_LOCAL, "out of memory");
    va_end(arguments);
}

static struct cli_row *new_row(struct cli_rows *rows) {
    struct cli_row *row = calloc(1, sizeof *row);
    if (row == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    row->number = ++rows->number;
    *(rows->last != NULL ? &rows->last->next : &rows->first) = row;
    rows->last = row;
    return row;
}

/* ---- lines ---- */

static bool is_blank(const char *text, size_t len) {
    return strspn(text, " \t\r") >= len;
}

static void end_line(struct cli_rows *rows) {
    struct cli_text *line = &rows->line;
    append(line, &rows->line_room, "", 0);
    size_t len = line->len > 0 && line->data[line->len - 1] == '\r' ? line->len - 1 : line->len;
    line->data[len] = '\0';
    struct cli_row *row = new_row(rows);
    if (is_blank(line->data, len))
        cli_row_refuse(row, "The line is blank.");
    else if (rows->options.form == CLI_ROWS_JSONL)
        cli_record_json(row, line->data, len, &rows->options);
    else
        row->state = cli_copy(line->data, len);
    line->len = 0;
}

static void feed_lines(struct cli_rows *rows, const char *data, size_t len) {
    for (;;) {
        const char *end = memchr(data, '\n', len);
        size_t step = end != NULL ? (size_t)(end - data) : len;
        append(&rows->line, &rows->line_room, data, step);
        if (end == NULL)
            return;
        end_line(rows);
        data += step + 1;
        len -= step + 1;
    }
}

/* ---- cells ---- */

static int is_return(unsigned char c) {
    return c == '\r';
}

static int is_newline(unsigned char c) {
    return c == '\n';
}

static void on_cell(void *text, size_t len, void *context) {
    struct cli_rows *rows = context;
    if (rows->row_len == rows->row_room) {
        rows->row_room = rows->row_room == 0 ? 16 : rows->row_room * 2;
        rows->row = realloc(rows->row, rows->row_room * sizeof *rows->row);
        if (rows->row == NULL)
            cli_die(CLI_LOCAL, "out of memory");
    }
    rows->row[rows->row_len++] = (struct cell){rows->cells.len, len};
    append(&rows->cells, &rows->cells_room, text, len);
}

/* The names of the columns: of the header, or (header false) their numbers. */
static void set_names(struct cli_rows *rows, bool header) {
    size_t room = 0;
    rows->field_count = rows->row_len;
    rows->fields = calloc(rows->row_len + 1, sizeof *rows->fields);
    if (rows->fields == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    for (int fill = 0; fill < 2; fill++) { /* the text may move while it grows */
        size_t at = 0;
        for (size_t i = 0; i < rows->row_len; i++) {
            char number[24];
            snprintf(number, sizeof number, "%zu", i + 1);
            const char *name = header ? rows->cells.data + rows->row[i].start : number;
            size_t len = header ? rows->row[i].len : strlen(number);
            if (fill == 0)
                append(&rows->names, &room, name, len);
            rows->fields[i].name = rows->names.data + at;
            rows->fields[i].name_len = len;
            at += len;
        }
    }
    for (size_t i = 0; i < rows->field_count; i++)
        for (size_t k = 0; k < i; k++)
            if (rows->fields[i].name_len == rows->fields[k].name_len &&
                memcmp(rows->fields[i].name, rows->fields[k].name, rows->fields[i].name_len) == 0)
                refuse(rows, "columns %zu and %zu of the header have the same name", k + 1, i + 1);
    struct cli_record named = {rows->fields, rows->field_count, NULL, 0};
    char *lacking = cli_record_lacks(&named, &rows->options);
    if (lacking != NULL)
        refuse(rows, "%s", lacking);
    free(lacking);
}

static void on_row(int end, void *context) {
    struct cli_rows *rows = context;
    (void)end;
    bool blank = rows->row_len == 0 || (rows->row_len == 1 && rows->row[0].len == 0);
    if (rows->fields == NULL && !blank) {
        set_names(rows, !rows->options.no_header);
        if (!rows->options.no_header)
            goto done;
    }
    if (rows->fields == NULL)
        goto done; /* blank lines before the header */
    struct cli_row *row = new_row(rows);
    if (rows->row_len == 0) {
        cli_row_refuse(row, "The row is blank.");
    } else if (rows->row_len != rows->field_count) {
        cli_row_refuse(row, "The row has %zu cells, not %zu as the %s.", rows->row_len,
                       rows->field_count, rows->options.no_header ? "first row" : "header");
    } else {
        for (size_t i = 0; i < rows->field_count; i++) {
            rows->fields[i].text = rows->cells.data + rows->row[i].start;
            rows->fields[i].text_len = rows->row[i].len;
        }
        struct cli_record record = {rows->fields, rows->field_count, NULL, 0};
        cli_record_fill(row, &record, &rows->options);
    }
done:
    rows->row_len = 0;
    rows->cells.len = 0;
}

static void feed_cells(struct cli_rows *rows, const char *data, size_t len) {
    if (csv_parse(&rows->csv, data, len, on_cell, on_row, rows) != len)
        refuse(rows, "%s", csv_strerror(csv_error(&rows->csv)));
}

static bool has_cells(const struct cli_rows *rows) {
    return rows->options.form == CLI_ROWS_CSV || rows->options.form == CLI_ROWS_TSV;
}

/* ---- blocks ---- */

/* The first bytes tell encodings that are no UTF-8 at all. Returns how many of them are a mark. */
static size_t check_start(struct cli_rows *rows, const char *data, size_t len) {
    const unsigned char *bytes = (const unsigned char *)data;
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        return 3;
    if (len >= 2 &&
        ((bytes[0] == 0xff && bytes[1] == 0xfe) || (bytes[0] == 0xfe && bytes[1] == 0xff)))
        refuse(rows, "the input is UTF-16 (byte 0): save it as UTF-8");
    else if (len >= 4 && memchr(data, '\0', 4) != NULL)
        refuse(rows,
               "the input looks like UTF-16 or UTF-32 (a zero byte at byte %zu): save it as UTF-8",
               (size_t)((const char *)memchr(data, '\0', 4) - data));
    return 0;
}

/* How much of the block is whole characters; refuses what is no UTF-8. */
static size_t check_block(struct cli_rows *rows, size_t len, bool last) {
    size_t good = cli_utf8(rows->block, len);
    if (good < len &&
        (last || len - good >= CHARACTER_MOST || !cli_utf8_is_cut(rows->block + good, len - good)))
        refuse(rows, "the input is not UTF-8 at byte %llu: save it as UTF-8",
               (unsigned long long)rows->consumed + good);
    return good;
}

/* Reads a block behind the bytes kept from the last one and looks at its encoding. Returns how many
 * bytes of it are whole characters without the mark at the input's start; *data is where they
 * begin.
 */
static size_t take_block(struct cli_rows *rows, const char **data) {
    ssize_t got;
    do
        got = read(rows->descriptor, rows->block + rows->held, BLOCK - rows->held);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        cli_die(CLI_USAGE, "cannot read '%s': %s", rows->path, strerror(errno));
    bool at_start = rows->held == rows->consumed && rows->consumed == 0;
    rows->held += (size_t)got;
    size_t mark = at_start ? check_start(rows, rows->block, rows->held) : 0;
    rows->good = check_block(rows, rows->held, got == 0);
    rows->ended = got == 0 || rows->refused != NULL;
    *data = rows->block + mark;
    return rows->good - mark;
}

/* Keeps what is left of a character that the block cut in two. */
static void drop_block(struct cli_rows *rows) {
    rows->consumed += rows->good;
    rows->held -= rows->good;
    memmove(rows->block, rows->block + rows->good, rows->held);
}

static void finish(struct cli_rows *rows) {
    if (!has_cells(rows)) {
        if (rows->line.len > 0)
            end_line(rows);
        return;
    }
    csv_set_opts(&rows->csv, CSV_REPALL_NL | CSV_STRICT | CSV_STRICT_FINI);
    if (csv_fini(&rows->csv, on_cell, on_row, rows) != 0)
        cli_row_refuse(new_row(rows), "The input ends inside a quoted cell.");
}

bool cli_rows_read(struct cli_rows *rows) {
    const char *data;
    if (rows->ended)
        return false;
    size_t len = take_block(rows, &data);
    if (rows->refused == NULL)
        (has_cells(rows) ? feed_cells : feed_lines)(rows, data, len);
    drop_block(rows);
    rows->ended = rows->ended || rows->refused != NULL;
    if (rows->ended && rows->refused == NULL)
        finish(rows);
    return !rows->ended;
}

/* Looks through a file's encoding before anything of it is used, and goes back to its start. */
static void look_through(struct cli_rows *rows) {
    const char *data;
    while (!rows->ended) {
        take_block(rows, &data);
        drop_block(rows);
    }
    if (rows->refused != NULL)
        cli_die(CLI_USAGE, "%s: %s", rows->path, rows->refused);
    rows->ended = false;
    rows->consumed = 0;
    rows->held = 0;
    if (lseek(rows->descriptor, 0, SEEK_SET) != 0)
        cli_die(CLI_USAGE, "cannot read '%s' twice: %s", rows->path, strerror(errno));
}

enum cli_rows_form cli_rows_form_of(const char *path) {
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strcasecmp(dot, ".csv") == 0)
        return CLI_ROWS_CSV;
    if (dot != NULL && strcasecmp(dot, ".tsv") == 0)
        return CLI_ROWS_TSV;
    if (dot != NULL && strcasecmp(dot, ".txt") == 0)
        return CLI_ROWS_LINES;
    return CLI_ROWS_JSONL;
}

struct cli_rows *cli_rows_open(const char *path, const struct cli_rows_options *options) {
    struct cli_rows *rows = calloc(1, sizeof *rows);
    struct stat status;
    if (rows == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    rows->options = *options;
    rows->path = path;
    rows->descriptor = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (rows->descriptor < 0)
        cli_die(CLI_USAGE, "cannot open '%s': %s", path, strerror(errno));
    if (csv_init(&rows->csv, CSV_REPALL_NL) != 0)
        cli_die(CLI_LOCAL, "out of memory");
    csv_set_delim(&rows->csv, options->form == CLI_ROWS_TSV ? CSV_TAB : CSV_COMMA);
    csv_set_space_func(&rows->csv, is_return); /* blanks are kept, the CR of a CRLF is not */
    csv_set_term_func(&rows->csv, is_newline);
    if (fstat(rows->descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        rows->size = (uint64_t)status.st_size;
        look_through(rows);
        cli_rows_read(rows); /* the header, before anything is written */
        if (rows->refused != NULL)
            cli_die(CLI_USAGE, "%s: %s", path, rows->refused);
    }
    return rows;
}

int cli_rows_descriptor(const struct cli_rows *rows) {
    return rows->descriptor;
}

bool cli_rows_ended(const struct cli_rows *rows) {
    return rows->ended;
}

const char *cli_rows_refused(const struct cli_rows *rows) {
    return rows->refused;
}

struct cli_row *cli_rows_take(struct cli_rows *rows) {
    struct cli_row *row = rows->first;
    if (row != NULL) {
        rows->first = row->next;
        if (rows->first == NULL)
            rows->last = NULL;
        row->next = NULL;
    }
    return row;
}

double cli_rows_progress(const struct cli_rows *rows) {
    return rows->size == 0 ? NAN : (double)rows->consumed / (double)rows->size;
}

void cli_row_free(struct cli_row *row) {
    free(row->state.data);
    free(row->id.data);
    free(row->id_json.data);
    free(row->group.data);
    free(row->error.data);
    free(row);
}

void cli_rows_close(struct cli_rows *rows) {
    for (struct cli_row *row; (row = cli_rows_take(rows)) != NULL;)
        cli_row_free(row);
    if (rows->descriptor != STDIN_FILENO)
        close(rows->descriptor);
    csv_free(&rows->csv);
    free(rows->refused);
    free(rows->line.data);
    free(rows->cells.data);
    free(rows->row);
    free(rows->names.data);
    free(rows->fields);
    free(rows);
}
