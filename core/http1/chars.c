#include "http1/chars.h"

#include <stdint.h>

#define ROW10 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
const unsigned char dm_http1_token_byte[256] = {
    ['!'] = 1,     ['#'] = 1,          ['$'] = 1, ['%'] = 1,     ['&'] = 1,     ['\''] = 1,
    ['*'] = 1,     ['+'] = 1,          ['-'] = 1, ['.'] = 1,     ['^'] = 1,     ['_'] = 1,
    ['`'] = 1,     ['|'] = 1,          ['~'] = 1, ['0'] = ROW10, ['A'] = ROW10, ['A' + 10] = ROW10,
    ['U'] = 1,     ['V'] = 1,          ['W'] = 1, ['X'] = 1,     ['Y'] = 1,     ['Z'] = 1,
    ['a'] = ROW10, ['a' + 10] = ROW10, ['u'] = 1, ['v'] = 1,     ['w'] = 1,     ['x'] = 1,
    ['y'] = 1,     ['z'] = 1,
};

size_t dm_http1_token_end(dm_span text) {
    size_t at = 0;
    while (at < text.len && dm_http1_token_byte[(unsigned char)text.data[at]]) {
        at++;
    }
    return at;
}

static int bad_in_value(unsigned char byte) {
    return (byte < 0x20 && byte != '\t') || byte == 0x7F;
}

size_t dm_http1_value_end(dm_span text) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t highs = ones * 0x80;
    size_t at = 0;
    while (at < text.len) {
        uint64_t word;
        while (text.len - at >= sizeof word) {
            memcpy(&word, text.data + at, sizeof word);
            /* A high bit for every byte below 0x20 or equal to 0x7F (and perhaps for a neighbour,
             * which the byte loop below then clears). */
            uint64_t del = word ^ (ones * 0x7F);
            if ((((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & highs) {
                break;
            }
            at += sizeof word;
        }
        size_t stop = text.len - at < sizeof word ? text.len : at + sizeof word;
        for (; at < stop; at++) {
            if (bad_in_value((unsigned char)text.data[at])) {
                return at;
            }
        }
    }
    return at;
}

int dm_http1_is(dm_span text, dm_span lower) {
    if (text.len != lower.len) {
        return 0;
    }
    for (size_t i = 0; i < text.len; i++) {
        if ((text.data[i] | 0x20) != lower.data[i]) {
            return 0;
        }
    }
    return 1;
}

dm_span dm_http1_trim(dm_span text) {
    while (text.len != 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.len--;
    }
    while (text.len != 0 && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}
