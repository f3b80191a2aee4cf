#include "http1/chars.h"

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
    const unsigned char *is = dm_http1_token_byte;
    const unsigned char *data = (const unsigned char *)text.data;
    size_t at = 0;
    while (text.len - at >= 4 &&
           (is[data[at]] & is[data[at + 1]] & is[data[at + 2]] & is[data[at + 3]])) {
        at += 4;
    }
    while (at < text.len && is[data[at]]) {
        at++;
    }
    return at;
}

/* Whether one of eight bytes may be below 0x20 or equal to 0x7F (a neighbour of such a byte may be
 * taken for one too). */
static int has_control(const char *eight) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, eight, sizeof word);
    uint64_t del = word ^ (ones * 0x7F);
    return ((((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & (ones * 0x80)) != 0;
}

size_t dm_http1_value_end(dm_span text) {
    size_t at = 0;
    if (text.len >= 8) {
        while (at + 8 <= text.len && !has_control(text.data + at)) {
            at += 8;
        }
        if (at + 8 > text.len && !has_control(text.data + text.len - 8)) {
            return text.len;
        }
    }
    for (; at < text.len; at++) {
        unsigned char byte = (unsigned char)text.data[at];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F) {
            break;
        }
    }
    return at;
}
