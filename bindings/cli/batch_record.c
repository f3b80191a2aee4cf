#include "batch_record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "text.h"

enum { NAME_COLUMNS = 60 };

struct cli_text cli_copy(const char *text, size_t len) {
    struct cli_text copy = {malloc(len + 1), len};
    if (copy.data == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    if (len > 0)
        memcpy(copy.data, text, len);
    copy.data[len] = '\0';
    return copy;
}

void cli_row_refuse(struct cli_row *row, const char *format, ...) {
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (len < 0)
        cli_die(CLI_LOCAL, "out of memory");
    free(row->error.data);
    row->error = (struct cli_text){text, (size_t)len};
}

/* Writing a text piece by piece. */
struct writing {
    FILE *stream;
    char *data;
    size_t len;
};

static void begin(struct writing *writing) {
    writing->stream = open_memstream(&writing->data, &writing->len);
    if (writing->stream == NULL)
        cli_die(CLI_LOCAL, "out of memory");
}

static struct cli_text end(struct writing *writing) {
    if (fclose(writing->stream) != 0)
        cli_die(CLI_LOCAL, "out of memory");
    return (struct cli_text){writing->data, writing->len};
}

/* A name made safe to show. */
static char *shown(const char *name, size_t len) {
    struct writing text;
    begin(&text);
    cli_show(text.stream, name, len, NAME_COLUMNS);
    return end(&text).data;
}

static const struct cli_field *find(const struct cli_record *record, const char *name, size_t len) {
    for (size_t i = 0; i < record->count; i++)
        if (record->fields[i].name_len == len && memcmp(record->fields[i].name, name, len) == 0)
            return &record->fields[i];
    return NULL;
}

static bool is_template(const char *state) {
    return strpbrk(state, "{}") != NULL;
}

/* The next piece of a template: plain text, or (*is_name) a name in braces. {{ and }} stand for one
 * brace. Returns what follows it, NULL at the end; a brace without its other is plain text. */
static const char *next_piece(const char *at, const char **piece, size_t *len, bool *is_name) {
    *is_name = false;
    *piece = at;
    if (*at == '\0')
        return NULL;
    if ((at[0] == '{' && at[1] == '{') || (at[0] == '}' && at[1] == '}')) {
        *len = 1;
        return at + 2;
    }
    const char *close = at[0] == '{' ? strchr(at, '}') : NULL;
    if (close != NULL) {
        *is_name = true;
        *piece = at + 1;
        *len = (size_t)(close - at - 1);
        return close + 1;
    }
    *len = 1 + strcspn(at + 1, "{}");
    return at + *len;
}

static void fill_template(struct cli_row *row, const struct cli_record *record,
                          const char *template) {
    struct writing text;
    const char *piece;
    size_t len = 0;
    bool is_name;
    begin(&text);
    while ((template = next_piece(template, &piece, &len, &is_name)) != NULL) {
        const struct cli_field *field = is_name ? find(record, piece, len) : NULL;
        if (!is_name)
            fwrite(piece, 1, len, text.stream);
        else if (field != NULL)
            fwrite(field->text, 1, field->text_len, text.stream);
        else if (row->error.data == NULL) {
            char *name = shown(piece, len);
            cli_row_refuse(row, "The row has no field '%s'.", name);
            free(name);
        }
    }
    row->state = end(&text);
}

static void fill_cells(struct cli_row *row, const struct cli_record *record) {
    struct writing text;
    begin(&text);
    struct cli_json json = {text.stream, false};
    cli_json_open(&json, '{');
    for (size_t i = 0; i < record->count; i++) {
        cli_json_key(&json, record->fields[i].name, record->fields[i].name_len);
        cli_json_text(&json, record->fields[i].text, record->fields[i].text_len);
    }
    cli_json_close(&json, '}');
    row->state = end(&text);
    row->is_json = true;
}

static void fill_state(struct cli_row *row, const struct cli_record *record, const char *state) {
    if (state == NULL && record->whole == NULL) {
        fill_cells(row, record);
    } else if (state == NULL) {
        row->state = cli_copy(record->whole, record->whole_len);
        row->is_json = true;
    } else if (is_template(state)) {
        fill_template(row, record, state);
    } else {
        const struct cli_field *field = find(record, state, strlen(state));
        if (field == NULL) {
            char *name = shown(state, strlen(state));
            cli_row_refuse(row, "The row has no field '%s'.", name);
            free(name);
        } else if (field->json != NULL) {
            row->state = cli_copy(field->json, field->json_len);
            row->is_json = true;
        } else {
            row->state = cli_copy(field->text, field->text_len);
        }
    }
}

void cli_record_fill(struct cli_row *row, const struct cli_record *record,
                     const struct cli_rows_options *options) {
    const struct cli_field *id = find(record, options->id, strlen(options->id));
    if (id != NULL) {
        row->id = cli_copy(id->text, id->text_len);
        if (id->json != NULL) {
            row->id_json = cli_copy(id->json, id->json_len);
        } else {
            struct writing text;
            begin(&text);
            struct cli_json json = {text.stream, false};
            cli_json_text(&json, id->text, id->text_len);
            row->id_json = end(&text);
        }
    }
    const struct cli_field *group =
        options->group == NULL ? NULL : find(record, options->group, strlen(options->group));
    if (group != NULL)
        row->group = cli_copy(group->text, group->text_len);
    else if (options->group != NULL)
        cli_row_refuse(row, "The row has no field '%s', which --pack-by names.", options->group);
    if (row->error.data == NULL)
        fill_state(row, record, options->state);
}

static char *lacks(const char *option, const char *name, size_t len) {
    char *text = NULL, *safe = shown(name, len);
    if (asprintf(&text, "%s: there is no column '%s'", option, safe) < 0)
        cli_die(CLI_LOCAL, "out of memory");
    free(safe);
    return text;
}

char *cli_record_lacks(const struct cli_record *header, const struct cli_rows_options *options) {
    const char *piece, *at = options->state;
    size_t len = 0;
    bool is_name;
    if (options->group != NULL && find(header, options->group, strlen(options->group)) == NULL)
        return lacks("--pack-by", options->group, strlen(options->group));
    if (at == NULL)
        return NULL;
    if (!is_template(at))
        return find(header, at, strlen(at)) == NULL ? lacks("--state", at, strlen(at)) : NULL;
    while ((at = next_piece(at, &piece, &len, &is_name)) != NULL)
        if (is_name && find(header, piece, len) == NULL)
            return lacks("--state", piece, len);
    return NULL;
}
