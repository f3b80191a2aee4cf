/* Random JSON documents and mutilated ones, the same for the same seed on every machine. */
#ifndef DM_TESTS_JSON_RANDOM_H
#define DM_TESTS_JSON_RANDOM_H

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

typedef struct json_random {
    uint64_t state; /* anything but 0 */
} json_random;

/* A number in 0..below-1 (xorshift64*). */
static inline uint32_t json_random_below(json_random *random, uint32_t below) {
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return (uint32_t)((random->state * UINT64_C(2685821657736338717)) >> 33) %
           (below > 0 ? below : 1);
}

static inline void json_random_space(json_random *random, dm_bytes *out) {
    static const char spaces[] = " \t\r\n";
    while (json_random_below(random, 8) == 0) {
        dm_bytes_append_char(out, spaces[json_random_below(random, 4)]);
    }
}

static inline void json_random_string(json_random *random, dm_bytes *out) {
    static const char *const parts[] = {
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\n",
        "\\u0000",
        "\\u00e9",
        "\\uD83D\\uDE00",
        "\\ud800",
        "\\udfff",
        "\xC3\xA9",
        "\xE2\x82\xAC",
        "\xF0\x9F\x98\x80",
        "\x7F",
        "{[,:]}",
    };
    uint32_t length = json_random_below(random, json_random_below(random, 10) == 0 ? 80 : 12);
    uint32_t plain = json_random_below(random, 3);
    dm_bytes_append_char(out, '"');
    for (uint32_t i = 0; i < length; i++) {
        if (plain == 0 && json_random_below(random, 3) == 0) {
            dm_bytes_append_text(out,
                                 parts[json_random_below(random, sizeof parts / sizeof *parts)]);
        } else {
            dm_bytes_append_char(out, (char)('a' + json_random_below(random, 26)));
        }
    }
    dm_bytes_append_char(out, '"');
}

static inline void json_random_number(json_random *random, dm_bytes *out) {
    if (json_random_below(random, 3) == 0) {
        dm_bytes_append_char(out, '-');
    }
    uint32_t digits = json_random_below(random, json_random_below(random, 8) == 0 ? 30 : 4);
    dm_bytes_append_char(out, digits == 0 ? '0' : (char)('1' + json_random_below(random, 9)));
    for (uint32_t i = 1; i < digits; i++) {
        dm_bytes_append_char(out, (char)('0' + json_random_below(random, 10)));
    }
    if (json_random_below(random, 2) == 0) {
        dm_bytes_append_char(out, '.');
        for (uint32_t i = json_random_below(random, 6) + 1; i > 0; i--) {
            dm_bytes_append_char(out, (char)('0' + json_random_below(random, 10)));
        }
    }
    if (json_random_below(random, 6) == 0) {
        static const char *const exponents[] = {"e", "E", "e+", "e-", "E-"};
        dm_bytes_append_text(out, exponents[json_random_below(random, 5)]);
        dm_bytes_append_format(out, "%u", json_random_below(random, 400));
    }
}

static inline void json_random_value(json_random *random, dm_bytes *out, uint32_t depth) {
    static const char *const literals[] = {"true", "false", "null"};
    uint32_t kind = json_random_below(random, depth == 0 ? 6 : 10);
    json_random_space(random, out);
    if (kind < 3) {
        json_random_string(random, out);
    } else if (kind < 5) {
        json_random_number(random, out);
    } else if (kind < 6) {
        dm_bytes_append_text(out, literals[json_random_below(random, 3)]);
    } else {
        int object = kind < 8;
        uint32_t children = json_random_below(random, 6);
        dm_bytes_append_char(out, object ? '{' : '[');
        json_random_space(random, out);
        for (uint32_t i = 0; i < children; i++) {
            if (i != 0) {
                dm_bytes_append_char(out, ',');
                json_random_space(random, out);
            }
            if (object) {
                json_random_string(random, out);
                json_random_space(random, out);
                dm_bytes_append_char(out, ':');
            }
            json_random_value(random, out, depth - 1);
        }
        dm_bytes_append_char(out, object ? '}' : ']');
    }
    json_random_space(random, out);
}

/* Replaces what is in *out by a valid document. */
static inline void json_random_document(json_random *random, dm_bytes *out) {
    dm_bytes_clear(out);
    json_random_value(random, out, json_random_below(random, 7));
}

/* Damages a document in place, at one to three places; returns its new length, never larger. */
static inline size_t json_random_mutate(json_random *random, char *text, size_t len) {
    static const char telling[] = "\"\\{}[]:,0-.eE+tfn \n\x00\x1F\x80\xC3\xE2\xED\xF0\xFF";
    for (uint32_t i = json_random_below(random, 3) + 1; i > 0 && len > 0; i--) {
        size_t at = json_random_below(random, (uint32_t)len);
        size_t other = json_random_below(random, (uint32_t)len);
        switch (json_random_below(random, 6)) {
        case 0:
            text[at] = (char)(text[at] ^ (1 << json_random_below(random, 8)));
            break;
        case 1:
            text[at] = telling[json_random_below(random, sizeof telling - 1)];
            break;
        case 2:
            memmove(text + at, text + at + 1, len - at - 1);
            len--;
            break;
        case 3:
            len = at;
            break;
        case 4:
            text[at] = text[other];
            break;
        default: {
            size_t run = len - (at > other ? at : other);
            run = run > 8 ? 8 : run;
            memmove(text + at, text + other, run);
        }
        }
    }
    return len;
}

#endif
