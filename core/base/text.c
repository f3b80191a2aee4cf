#include "base/text.h"

#include <stdint.h>

static int continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

size_t dm_text_utf8_sequence(const char *text, size_t len) {
    const unsigned char *p = (const unsigned char *)text;
    if (len == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    if (p[0] >= 0xC2 && p[0] <= 0xDF) {
        return len >= 2 && continuation(p[1]) ? 2 : 0;
    }
    if (p[0] >= 0xE0 && p[0] <= 0xEF) {
        if (len < 3 || !continuation(p[1]) || !continuation(p[2])) {
            return 0;
        }
        int overlong = p[0] == 0xE0 && p[1] < 0xA0;
        int surrogate = p[0] == 0xED && p[1] > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        if (len < 4 || !continuation(p[1]) || !continuation(p[2]) || !continuation(p[3])) {
            return 0;
        }
        int overlong = p[0] == 0xF0 && p[1] < 0x90;
        int beyond = p[0] == 0xF4 && p[1] > 0x8F;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

size_t dm_text_utf8_valid(dm_span text) {
    size_t at = 0;
    while (at < text.len) {
        uint64_t word;
        if (text.len >= sizeof word) {
            /* The last word begins in what is already known to be valid. */
            size_t from = text.len - at >= sizeof word ? at : text.len - sizeof word;
            memcpy(&word, text.data + from, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                at = from + sizeof word;
                continue;
            }
        }
        size_t step = (unsigned char)text.data[at] < 0x80
                          ? 1
                          : dm_text_utf8_sequence(text.data + at, text.len - at);
        if (step == 0) {
            return at;
        }
        at += step;
    }
    return at;
}

int dm_text_append_safe(dm_bytes *out, dm_span text, size_t most) {
    size_t at = 0;
    while (at < text.len && at < most) {
        unsigned char byte = (unsigned char)text.data[at];
        size_t step = dm_text_utf8_sequence(text.data + at, text.len - at);
        int c1 = byte == 0xC2 && step == 2 && (unsigned char)text.data[at + 1] < 0xA0;
        int failed;
        if (step == 0 || byte < 0x20 || byte == 0x7F) {
            failed = dm_bytes_append_format(out, "\\x%02X", byte);
            step = 1;
        } else if (c1) {
            failed = dm_bytes_append_format(out, "\\x%02X", (unsigned char)text.data[at + 1]);
        } else {
            failed = dm_bytes_append(out, text.data + at, step);
        }
        if (failed) {
            return -1;
        }
        at += step;
    }
    if (at < text.len) {
        return dm_bytes_append_format(out, "\xE2\x80\xA6 (%zu bytes)", text.len);
    }
    return 0;
}

static int is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

dm_span dm_text_trim(dm_span text) {
    while (text.len > 0 && is_space(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

static unsigned char lower(char byte) {
    unsigned char b = (unsigned char)byte;
    return b >= 'A' && b <= 'Z' ? (unsigned char)(b + 32) : b;
}

int dm_text_equal_nocase(dm_span a, dm_span b) {
    if (a.len != b.len) {
        return 0;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.data[i]) != lower(b.data[i])) {
            return 0;
        }
    }
    return 1;
}
