#include "json/value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/c_locale.h"
#include "json/lex.h"

/* Strings. The indexer has checked every escape, so that none is looked at twice here. */

static const dm_lex_byte *byte_at(const char *text, uint32_t offset) {
    return (const dm_lex_byte *)text + offset;
}

static size_t encode_utf8(int32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* Turns the escape at *p (a backslash) into its 1..4 bytes and moves *p behind it. */
static size_t unescape(const dm_lex_byte **p, const dm_lex_byte *end, char out[4]) {
    dm_lex_byte letter = (*p)[1];
    *p += 2;
    switch (letter) {
    case 'b':
        out[0] = '\b';
        return 1;
    case 'f':
        out[0] = '\f';
        return 1;
    case 'n':
        out[0] = '\n';
        return 1;
    case 'r':
        out[0] = '\r';
        return 1;
    case 't':
        out[0] = '\t';
        return 1;
    case 'u':
        break;
    default:
        out[0] = (char)letter;
        return 1;
    }
    int32_t code = dm_lex_hex4(*p);
    *p += 4;
    if ((code & 0xF800) == 0xD800) {
        int32_t low = -1;
        if (code < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
            low = dm_lex_hex4(*p + 2);
        }
        if (low >= 0xDC00 && low <= 0xDFFF) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            *p += 6;
        } else {
            code = 0xFFFD;
        }
    }
    return encode_utf8(code, out);
}

/* A string read piece by piece: each piece is borrowed text or one unescaped character. */
typedef struct pieces {
    const dm_lex_byte *p;
    const dm_lex_byte *end;
    char character[4];
} pieces;

static pieces pieces_of(const char *text, const dm_json_node *node) {
    pieces it = {byte_at(text, node->start), byte_at(text, node->end), {0}};
    return it;
}

/* The next piece; its len is 0 at the end. */
static dm_span next_piece(pieces *it) {
    if (it->p == it->end) {
        return dm_span_of(NULL, 0);
    }
    if (*it->p == '\\') {
        size_t len = unescape(&it->p, it->end, it->character);
        return dm_span_of(it->character, len);
    }
    const dm_lex_byte *start = it->p;
    const dm_lex_byte *stop = memchr(start, '\\', (size_t)(it->end - start));
    it->p = stop != NULL ? stop : it->end;
    return dm_span_of((const char *)start, (size_t)(it->p - start));
}

int dm_json_string_copy(const char *text, const dm_json_node *node, dm_arena *arena, dm_span *out) {
    /* No escape is shorter than what it stands for. */
    char *copy = dm_arena_take(arena, (size_t)(node->end - node->start) + 1);
    if (copy == NULL) {
        return -1;
    }
    size_t len = 0;
    pieces it = pieces_of(text, node);
    for (dm_span piece = next_piece(&it); piece.len != 0; piece = next_piece(&it)) {
        memcpy(copy + len, piece.data, piece.len);
        len += piece.len;
    }
    copy[len] = '\0';
    *out = dm_span_of(copy, len);
    return 0;
}

int dm_json_string(const char *text, const dm_json_node *node, dm_arena *arena, dm_span *out) {
    if ((node->flags & DM_JSON_ESCAPED) != 0) {
        return dm_json_string_copy(text, node, arena, out);
    }
    *out = dm_span_of(text + node->start, node->end - node->start);
    return 0;
}

int dm_json_string_append(const char *text, const dm_json_node *node, dm_bytes *out) {
    if (dm_bytes_reserve(out, node->end - node->start) != 0) {
        return -1;
    }
    pieces it = pieces_of(text, node);
    for (dm_span piece = next_piece(&it); piece.len != 0; piece = next_piece(&it)) {
        if (dm_bytes_append(out, piece.data, piece.len) != 0) {
            return -1;
        }
    }
    return 0;
}

int dm_json_string_equal(const char *text, const dm_json_node *node, dm_span bytes) {
    if ((node->flags & DM_JSON_ESCAPED) == 0) {
        return dm_span_equal(dm_span_of(text + node->start, node->end - node->start), bytes);
    }
    size_t at = 0;
    pieces it = pieces_of(text, node);
    for (dm_span piece = next_piece(&it); piece.len != 0; piece = next_piece(&it)) {
        if (piece.len > bytes.len - at || memcmp(piece.data, bytes.data + at, piece.len) != 0) {
            return 0;
        }
        at += piece.len;
    }
    return at == bytes.len;
}

int dm_json_strings_equal(const char *text, const dm_json_node *a, const dm_json_node *b) {
    if ((b->flags & DM_JSON_ESCAPED) == 0) {
        return dm_json_string_equal(text, a, dm_span_of(text + b->start, b->end - b->start));
    }
    if ((a->flags & DM_JSON_ESCAPED) == 0) {
        return dm_json_string_equal(text, b, dm_span_of(text + a->start, a->end - a->start));
    }
    pieces left = pieces_of(text, a), right = pieces_of(text, b);
    dm_span x = next_piece(&left), y = next_piece(&right);
    while (x.len != 0 && y.len != 0) {
        size_t same = x.len < y.len ? x.len : y.len;
        if (memcmp(x.data, y.data, same) != 0) {
            return 0;
        }
        x = x.len == same ? next_piece(&left) : dm_span_of(x.data + same, x.len - same);
        y = y.len == same ? next_piece(&right) : dm_span_of(y.data + same, y.len - same);
    }
    return x.len == y.len;
}

uint32_t dm_json_string_hash(const char *text, const dm_json_node *node) {
    if ((node->flags & DM_JSON_ESCAPED) == 0) {
        return dm_span_hash(dm_span_of(text + node->start, node->end - node->start));
    }
    uint32_t hash = 2166136261u; /* as dm_span_hash, piece by piece */
    pieces it = pieces_of(text, node);
    for (dm_span piece = next_piece(&it); piece.len != 0; piece = next_piece(&it)) {
        for (size_t i = 0; i < piece.len; i++) {
            hash = (hash ^ (unsigned char)piece.data[i]) * 16777619u;
        }
    }
    return hash;
}

/* Numbers */

enum { FIT_DIGITS = 19, SLOW_DIGITS = 800 };

/* An exponent nearer to zero than this is kept exactly; beyond it every number is 0 or infinite,
 * whatever its digits (of which there are fewer than 2^32). */
#define EXPONENT_MOST INT64_C(1000000000000)

/* A number as (-1)^negative * mantissa * 10^exponent. digits counts the significant digits between
 * the first and the last that is not zero; the mantissa is whole only when they are at most
 * FIT_DIGITS. */
typedef struct decimal {
    const dm_lex_byte *mantissa_begin; /* digits and perhaps a point */
    const dm_lex_byte *mantissa_end;
    uint64_t mantissa;
    int64_t exponent;
    int64_t written_exponent; /* of the whole mantissa text read without its point */
    uint64_t digits;
    int negative;
} decimal;

static const uint64_t power_of_ten[FIT_DIGITS + 1] = {UINT64_C(1),
                                                      UINT64_C(10),
                                                      UINT64_C(100),
                                                      UINT64_C(1000),
                                                      UINT64_C(10000),
                                                      UINT64_C(100000),
                                                      UINT64_C(1000000),
                                                      UINT64_C(10000000),
                                                      UINT64_C(100000000),
                                                      UINT64_C(1000000000),
                                                      UINT64_C(10000000000),
                                                      UINT64_C(100000000000),
                                                      UINT64_C(1000000000000),
                                                      UINT64_C(10000000000000),
                                                      UINT64_C(100000000000000),
                                                      UINT64_C(1000000000000000),
                                                      UINT64_C(10000000000000000),
                                                      UINT64_C(100000000000000000),
                                                      UINT64_C(1000000000000000000),
                                                      UINT64_C(10000000000000000000)};

/* The exponent written at p (behind the e), held to EXPONENT_MOST. */
static int64_t read_exponent(const dm_lex_byte *p, const dm_lex_byte *end) {
    int negative = *p == '-';
    p += negative || *p == '+';
    int64_t value = 0;
    for (; p < end && value < EXPONENT_MOST; p++) {
        value = value * 10 + (*p - '0');
    }
    return negative ? -value : value;
}

static decimal read_decimal(const char *text, const dm_json_node *node) {
    const dm_lex_byte *p = byte_at(text, node->start), *end = byte_at(text, node->end);
    decimal d = {0};
    d.negative = *p == '-';
    p += d.negative;
    d.mantissa_begin = p;
    int64_t written = 0, behind_point = 0, zeros = 0;
    int point = 0;
    for (; p < end && (*p | 0x20) != 'e'; p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        behind_point += point;
        if (*p == '0') {
            zeros += d.digits != 0;
            continue;
        }
        d.digits += (uint64_t)zeros + 1;
        if (d.digits <= FIT_DIGITS) {
            d.mantissa = d.mantissa * power_of_ten[zeros + 1] + (uint64_t)(*p - '0');
        }
        zeros = 0;
    }
    d.mantissa_end = p;
    if (p < end) {
        written = read_exponent(p + 1, end);
    }
    d.written_exponent = written - behind_point;
    d.exponent = d.written_exponent + zeros;
    return d;
}

/* The commonest numbers: at most 15 digits, a point perhaps, no exponent. Digits and power of ten
 * are exact doubles then, so that one division rounds correctly. 0 when it is another. */
static int read_simple(const dm_lex_byte *p, const dm_lex_byte *end, double *out) {
    int negative = *p == '-';
    p += negative;
    if (end - p > 16) {
        return 0;
    }
    uint64_t mantissa = 0;
    const dm_lex_byte *point = NULL;
    const dm_lex_byte *first = p;
    for (; p < end; p++) {
        unsigned digit = (unsigned)*p - '0';
        if (digit <= 9) {
            mantissa = mantissa * 10 + digit;
        } else if (*p == '.') {
            point = p;
        } else {
            return 0;
        }
    }
    if (end - first - (point != NULL) > 15) {
        return 0;
    }
    double value = (double)mantissa;
    if (point != NULL) {
        value /= (double)power_of_ten[end - point - 1];
    }
    *out = negative ? -value : value;
    return 1;
}

/* Any number by the C library. Halfway points between doubles have at most 767 significant digits,
 * so that digits beyond SLOW_DIGITS matter only as "a little more": one 1 stands for them. */
static double read_slowly(const decimal *d) {
    char digits[SLOW_DIGITS + 32];
    size_t count = 0;
    int64_t exponent = d->written_exponent;
    int more = 0;
    for (const dm_lex_byte *p = d->mantissa_begin; p < d->mantissa_end; p++) {
        if (*p == '.' || (*p == '0' && count == 0)) {
            continue;
        }
        if (count < SLOW_DIGITS) {
            digits[count++] = (char)*p;
        } else {
            exponent++;
            more |= *p != '0';
        }
    }
    if (more) {
        digits[count++] = '1';
        exponent--;
    }
    snprintf(digits + count, sizeof digits - count, "e%lld", (long long)exponent);
    return strtod_l(digits, NULL, dm_json_c_locale());
}

dm_json_number_result dm_json_number(const char *text, const dm_json_node *node, double *out) {
    static const double exact_power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if ((node->flags & DM_JSON_EXPONENT) == 0 &&
        read_simple(byte_at(text, node->start), byte_at(text, node->end), out)) {
        return DM_JSON_NUMBER_OK;
    }
    decimal d = read_decimal(text, node);
    double value;
    if (d.digits == 0) {
        value = 0;
    } else if (FLT_EVAL_METHOD == 0 && d.digits <= FIT_DIGITS &&
               d.mantissa <= UINT64_C(1) << DBL_MANT_DIG && d.exponent >= -22 && d.exponent <= 22) {
        /* Both operands are exact, so that one operation rounds once. */
        value = d.exponent < 0 ? (double)d.mantissa / exact_power[-d.exponent]
                               : (double)d.mantissa * exact_power[d.exponent];
    } else {
        value = read_slowly(&d);
    }
    *out = d.negative ? -value : value;
    return isinf(value) ? DM_JSON_NUMBER_RANGE : DM_JSON_NUMBER_OK;
}

dm_json_number_result dm_json_int64(const char *text, const dm_json_node *node, int64_t *out) {
    if ((node->flags & (DM_JSON_EXPONENT | DM_JSON_FRACTION)) == 0 &&
        node->end - node->start < FIT_DIGITS) {
        const dm_lex_byte *p = byte_at(text, node->start), *end = byte_at(text, node->end);
        int negative = *p == '-';
        int64_t whole = 0;
        for (p += negative; p < end; p++) {
            whole = whole * 10 + (*p - '0');
        }
        *out = negative ? -whole : whole;
        return DM_JSON_NUMBER_OK;
    }
    decimal d = read_decimal(text, node);
    if (d.digits == 0) {
        *out = 0;
        return DM_JSON_NUMBER_OK;
    }
    if (d.exponent < 0) {
        return DM_JSON_NUMBER_FRACTION;
    }
    if (d.exponent >= FIT_DIGITS || d.digits + (uint64_t)d.exponent > FIT_DIGITS) {
        return DM_JSON_NUMBER_RANGE;
    }
    uint64_t value = d.mantissa * power_of_ten[d.exponent];
    if (value > (uint64_t)INT64_MAX + (d.negative ? 1 : 0)) {
        return DM_JSON_NUMBER_RANGE;
    }
    *out = !d.negative ? (int64_t)value : value > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)value;
    return DM_JSON_NUMBER_OK;
}

uint32_t dm_json_decimals(const char *text, const dm_json_node *node) {
    if ((node->flags & DM_JSON_EXPONENT) == 0) {
        return node->count;
    }
    int64_t decimals = -read_decimal(text, node).written_exponent;
    return decimals < 0 ? 0 : decimals > UINT16_MAX ? UINT16_MAX : (uint32_t)decimals;
}

int dm_json_parse_index(dm_span text, uint32_t *out) {
    uint64_t value = 0;
    if (text.len == 0 || text.len > 10 || (text.data[0] == '0' && text.len != 1)) {
        return -1;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!dm_lex_is_digit((dm_lex_byte)text.data[i])) {
            return -1;
        }
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    if (value >= UINT32_MAX) {
        return -1;
    }
    *out = (uint32_t)value;
    return 0;
}
