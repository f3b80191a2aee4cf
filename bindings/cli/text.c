#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decodes the character at text (RFC 3629). Returns its length in bytes, 0 when it is no UTF-8. */
static size_t decode(const char *text, size_t len, uint32_t *character) {
    const unsigned char *bytes = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = bytes[0] < 0x80   ? 1
                  : bytes[0] < 0xc0 ? 0
                  : bytes[0] < 0xe0 ? 2
                  : bytes[0] < 0xf0 ? 3
                  : bytes[0] < 0xf8 ? 4
                                    : 0;
    if (size == 0 || size > len)
        return 0;
    uint32_t value = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < least[size] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *character = value;
    return size;
}

size_t cli_utf8(const char *text, size_t len) {
    uint32_t c = 0;
    size_t at = 0, size = 0;
    while (at < len &&
           ((unsigned char)text[at] < 0x80 || (size = decode(text + at, len - at, &c)) > 0))
        at += (unsigned char)text[at] < 0x80 ? 1 : size;
    return at;
}

bool cli_utf8_is_cut(const char *text, size_t len) {
    unsigned char first = (unsigned char)text[0];
    size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < len; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return false;
    return len < size;
}

/* Characters that move the cursor, start a terminal's command or reorder what stands around them.
 */
static bool steers(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

size_t cli_show(FILE *stream, const char *text, size_t len, size_t most) {
    size_t shown = 0;
    for (size_t i = 0; i < len;) {
        if (shown >= most) {
            fputs("...", stream);
            return shown + 3;
        }
        uint32_t c = 0;
        size_t size = decode(text + i, len - i, &c);
        int written = 1;
        if (size == 0)
            written = fprintf(stream, "\\x%02x", (unsigned char)text[i]);
        else if (c == '\n' || c == '\t' || c == '\r')
            written = fprintf(stream, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (steers(c))
            written = fprintf(stream, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
        else
            fwrite(text + i, 1, size, stream);
        shown += written > 0 ? (size_t)written : 0;
        i += size > 0 ? size : 1;
    }
    return shown;
}

const char *cli_number(char *text, size_t size, double number) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return text;
}

static void comma(struct cli_json *json) {
    if (json->comma)
        fputc(',', json->stream);
    json->comma = true;
}

static void string(struct cli_json *json, const char *text, size_t len) {
    fputc('"', json->stream);
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        size_t size = decode(text + i, len - i, &c);
        if (size == 0) {
            fputs("\\ufffd", json->stream);
            size = 1;
        } else if (c == '"' || c == '\\') {
            fprintf(json->stream, "\\%c", (int)c);
        } else if (c < 0x20 || c == 0x7f) {
            fprintf(json->stream, "\\u%04x", c);
        } else {
            fwrite(text + i, 1, size, json->stream);
        }
        i += size;
    }
    fputc('"', json->stream);
}

void cli_json_text(struct cli_json *json, const char *text, size_t len) {
    comma(json);
    string(json, text, len);
}

void cli_json_word(struct cli_json *json, const char *text) {
    if (text == NULL)
        cli_json_null(json);
    else
        cli_json_text(json, text, strlen(text));
}

void cli_json_raw(struct cli_json *json, const char *value, size_t len) {
    comma(json);
    fwrite(value, 1, len, json->stream);
}

void cli_json_number(struct cli_json *json, double number) {
    char text[32] = "";
    if (isnan(number))
        cli_json_null(json);
    else
        cli_json_raw(json, text, strlen(cli_number(text, sizeof text, number)));
}

void cli_json_integer(struct cli_json *json, int64_t number) {
    comma(json);
    fprintf(json->stream, "%lld", (long long)number);
}

void cli_json_null(struct cli_json *json) {
    cli_json_raw(json, "null", 4);
}

void cli_json_key(struct cli_json *json, const char *key, size_t len) {
    cli_json_text(json, key, len);
    fputc(':', json->stream);
    json->comma = false;
}

void cli_json_name(struct cli_json *json, const char *name) {
    cli_json_key(json, name, strlen(name));
}

void cli_json_open(struct cli_json *json, char bracket) {
    comma(json);
    fputc(bracket, json->stream);
    json->comma = false;
}

void cli_json_close(struct cli_json *json, char bracket) {
    fputc(bracket, json->stream);
    json->comma = true;
}
