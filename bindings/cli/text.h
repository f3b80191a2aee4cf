/* Text for people (escaped, aligned) and for programs (JSON). */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes len bytes of text so that they cannot steer a terminal: control characters (C0, DEL, C1),
 * line separators, marks that turn the writing direction, and bytes that are no UTF-8 are written
 * as \n, \x1b or \u202e. At most `most` characters are shown, "..." stands for the rest. Returns
 * the number of characters written. */
size_t cli_show(FILE *stream, const char *text, size_t len, size_t most);

/* cli_show() without a limit. */
enum { CLI_WHOLE = 0x7fffffff };

/* The shortest decimal text that reads back as the same double; "nan" for none. size >= 32. */
const char *cli_number(char *text, size_t size, double number);

/* How many bytes at the start of the text are valid UTF-8: len when all of them are. */
size_t cli_utf8(const char *text, size_t len);

/* Whether the bytes, 1 to 3, begin a character that is cut off. */
bool cli_utf8_is_cut(const char *text, size_t len);

/* Writes a JSON document to stream: members and elements in order, commas by itself. */
struct cli_json {
    FILE *stream;
    bool comma; /* the next value or key needs one before it */
};

/* A JSON string; bytes that are no UTF-8 become U+FFFD. */
void cli_json_text(struct cli_json *json, const char *text, size_t len);
/* As cli_json_text(), for a NUL-terminated text; null for NULL. */
void cli_json_word(struct cli_json *json, const char *text);
/* len bytes that are one JSON value already. */
void cli_json_raw(struct cli_json *json, const char *value, size_t len);
/* A double in its shortest exact form; null for NaN. */
void cli_json_number(struct cli_json *json, double number);
void cli_json_integer(struct cli_json *json, int64_t number);
void cli_json_null(struct cli_json *json);
/* A member's key; a value must follow. */
void cli_json_key(struct cli_json *json, const char *key, size_t len);
void cli_json_name(struct cli_json *json, const char *name);
/* '{' or '[', and '}' or ']'. */
void cli_json_open(struct cli_json *json, char bracket);
void cli_json_close(struct cli_json *json, char bracket);

#endif
