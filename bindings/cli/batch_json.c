/* A line of JSON as fields: the members of its object, each also in the bytes that it is written
 * in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "batch_record.h"
#include "command.h"

struct reading {
    const char *line;
    yajl_handle parser;
    int depth;
    bool is_object;
    size_t key_end; /* offset behind the key of the member that is being read */
    struct cli_field *fields;
    struct cli_text *texts; /* what the fields' names and texts borrow */
    size_t count, room, text_count, text_room;
};

static void *grow(void *list, size_t *room, size_t size) {
    *room = *room == 0 ? 16 : *room * 2;
    list = realloc(list, *room * size);
    if (list == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    return list;
}

static const char *keep(struct reading *reading, const char *text, size_t len) {
    if (reading->text_count == reading->text_room)
        reading->texts = grow(reading->texts, &reading->text_room, sizeof *reading->texts);
    reading->texts[reading->text_count] = cli_copy(text, len);
    return reading->texts[reading->text_count++].data;
}

/* A value of the outermost object has ended. Of a string its text is given. */
static void end_value(struct reading *reading, const char *text, size_t len) {
    if (reading->depth != 1 || !reading->is_object || reading->count == 0)
        return;
    struct cli_field *field = &reading->fields[reading->count - 1];
    size_t start = reading->key_end, end = yajl_get_bytes_consumed(reading->parser);
    start += strspn(reading->line + start, " \t\r\n:");
    field->json = reading->line + start;
    field->json_len = end - start;
    field->text = text != NULL ? keep(reading, text, len) : field->json;
    field->text_len = text != NULL ? len : field->json_len;
}

static int on_scalar(void *context) {
    end_value(context, NULL, 0);
    return 1;
}

static int on_boolean(void *context, int value) {
    (void)value;
    return on_scalar(context);
}

static int on_number(void *context, const char *text, size_t len) {
    (void)text;
    (void)len;
    return on_scalar(context);
}

static int on_string(void *context, const unsigned char *text, size_t len) {
    end_value(context, (const char *)text, len);
    return 1;
}

static int open_container(void *context, bool is_object) {
    struct reading *reading = context;
    if (reading->depth++ == 0)
        reading->is_object = is_object;
    return 1;
}

static int on_object(void *context) {
    return open_container(context, true);
}

static int on_array(void *context) {
    return open_container(context, false);
}

static int on_close(void *context) {
    struct reading *reading = context;
    reading->depth--;
    return on_scalar(context);
}

static int on_key(void *context, const unsigned char *text, size_t len) {
    struct reading *reading = context;
    if (reading->depth != 1)
        return 1;
    if (reading->count == reading->room)
        reading->fields = grow(reading->fields, &reading->room, sizeof *reading->fields);
    reading->fields[reading->count++] =
        (struct cli_field){keep(reading, (const char *)text, len), len, "", 0, NULL, 0};
    reading->key_end = yajl_get_bytes_consumed(reading->parser);
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_scalar,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_close,
    .yajl_start_array = on_array,
    .yajl_end_array = on_close,
};

static void refuse_line(struct cli_row *row, yajl_handle parser) {
    size_t at = yajl_get_bytes_consumed(parser);
    unsigned char *text = yajl_get_error(parser, 0, NULL, 0);
    size_t len = strcspn((char *)text, ".\n");
    cli_row_refuse(row, "The line is no JSON near byte %zu: %.*s.", at, (int)len, (char *)text);
    yajl_free_error(parser, text);
}

static bool has_twice(const struct reading *reading, const char *name) {
    size_t found = 0;
    for (size_t i = 0; name != NULL && i < reading->count; i++)
        found += reading->fields[i].name_len == strlen(name) &&
                 memcmp(reading->fields[i].name, name, strlen(name)) == 0;
    return found > 1;
}

void cli_record_json(struct cli_row *row, const char *line, size_t len,
                     const struct cli_rows_options *options) {
    struct reading reading = {.line = line};
    reading.parser = yajl_alloc(&callbacks, NULL, &reading);
    if (reading.parser == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    if (yajl_parse(reading.parser, (const unsigned char *)line, len) != yajl_status_ok ||
        yajl_complete_parse(reading.parser) != yajl_status_ok) {
        refuse_line(row, reading.parser);
    } else if (has_twice(&reading, options->id) || has_twice(&reading, options->state) ||
               has_twice(&reading, options->group)) {
        cli_row_refuse(row, "The row has a field twice that is asked for.");
    } else {
        struct cli_record record = {reading.fields, reading.count, line, len};
        cli_record_fill(row, &record, options);
    }
    yajl_free(reading.parser);
    for (size_t i = 0; i < reading.text_count; i++)
        free(reading.texts[i].data);
    free(reading.texts);
    free(reading.fields);
}
