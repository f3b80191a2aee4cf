/* The lexical rules of JSON (RFC 8259) over [p, end), shared by both indexers and the checker. Also
 * valid C++. No function reads at or behind end. A token function returns the byte behind the
 * token, or NULL with *fault set. */
#ifndef DM_JSON_LEX_H
#define DM_JSON_LEX_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/text.h"
#include "json/index.h"

typedef unsigned char dm_lex_byte;

/* Where a token is wrong: at == end of input when it is truncated. */
typedef struct dm_lex_fault {
    dm_json_reason reason;
    const dm_lex_byte *at;
} dm_lex_fault;

static inline const dm_lex_byte *dm_lex_fail(dm_lex_fault *fault, dm_json_reason reason,
                                             const dm_lex_byte *at) {
    fault->reason = reason;
    fault->at = at;
    return NULL;
}

/* A byte that cannot stand at `at`: broken UTF-8 is named before the grammar, and the end of the
 * input before both. */
static inline const dm_lex_byte *dm_lex_misfit(dm_lex_fault *fault, dm_json_reason reason,
                                               const dm_lex_byte *at, const dm_lex_byte *end) {
    if (at == end) {
        return dm_lex_fail(fault, DM_JSON_TRUNCATED, end);
    }
    if (*at >= 0x80 && dm_text_utf8_sequence((const char *)at, (size_t)(end - at)) == 0) {
        return dm_lex_fail(fault, DM_JSON_BAD_UTF8, at);
    }
    return dm_lex_fail(fault, reason, at);
}

static inline int dm_lex_is_space(dm_lex_byte c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const dm_lex_byte *dm_lex_skip_space(const dm_lex_byte *p, const dm_lex_byte *end) {
    while (p < end && dm_lex_is_space(*p)) {
        p++;
    }
    return p;
}

static inline int dm_lex_is_digit(dm_lex_byte c) {
    return (dm_lex_byte)(c - '0') <= 9;
}

/* Whether a number or literal may be followed by this byte as far as the token itself goes. */
static inline int dm_lex_is_delimiter(dm_lex_byte c) {
    return c == ',' || c == '}' || c == ']' || dm_lex_is_space(c) || c == ':' || c == '"' ||
           c == '{' || c == '[';
}

static inline const dm_lex_byte *dm_lex_skip_digits(const dm_lex_byte *p, const dm_lex_byte *end) {
    while (p < end && dm_lex_is_digit(*p)) {
        p++;
    }
    return p;
}

/* A number at p ('-' or a digit). *flags gets DM_JSON_FRACTION and DM_JSON_EXPONENT, *decimals the
 * digits behind the point. */
static inline const dm_lex_byte *dm_lex_number(const dm_lex_byte *p, const dm_lex_byte *end,
                                               uint8_t *flags, uint16_t *decimals,
                                               dm_lex_fault *fault) {
    if (*p == '-') {
        p++;
    }
    if (p == end || !dm_lex_is_digit(*p)) {
        return dm_lex_misfit(fault, DM_JSON_BAD_NUMBER, p, end);
    }
    p = *p == '0' ? p + 1 : dm_lex_skip_digits(p, end);
    if (p < end && *p == '.') {
        const dm_lex_byte *first = ++p;
        p = dm_lex_skip_digits(p, end);
        if (p == first) {
            return dm_lex_misfit(fault, DM_JSON_BAD_NUMBER, p, end);
        }
        *flags |= DM_JSON_FRACTION;
        *decimals = (uint16_t)(p - first < UINT16_MAX ? p - first : UINT16_MAX);
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-')) {
            p++;
        }
        const dm_lex_byte *first = p;
        p = dm_lex_skip_digits(p, end);
        if (p == first) {
            return dm_lex_misfit(fault, DM_JSON_BAD_NUMBER, p, end);
        }
        *flags |= DM_JSON_EXPONENT;
    }
    if (p < end && !dm_lex_is_delimiter(*p)) {
        return dm_lex_misfit(fault, DM_JSON_BAD_NUMBER, p, end);
    }
    return p;
}

/* The literal `word` at p, whose first byte is known to fit. */
static inline const dm_lex_byte *dm_lex_literal(const dm_lex_byte *p, const dm_lex_byte *end,
                                                const char *word, size_t len, dm_lex_fault *fault) {
    if ((size_t)(end - p) < len || memcmp(p, word, len) != 0) {
        size_t same = 1;
        while (p + same < end && p[same] == (dm_lex_byte)word[same]) {
            same++;
        }
        return dm_lex_misfit(fault, DM_JSON_BAD_LITERAL, p + same, end);
    }
    p += len;
    if (p < end && !dm_lex_is_delimiter(*p)) {
        return dm_lex_misfit(fault, DM_JSON_BAD_LITERAL, p, end);
    }
    return p;
}

/* The value of a hexadecimal digit, or -1. */
static inline int dm_lex_hex(dm_lex_byte c) {
    if (dm_lex_is_digit(c)) {
        return c - '0';
    }
    dm_lex_byte lower = (dm_lex_byte)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The four hexadecimal digits at p (all readable) as a number, or -1 when one is no digit. */
static inline int32_t dm_lex_hex4(const dm_lex_byte *p) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = dm_lex_hex(p[i]);
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* The escape at p (a backslash), both halves of a surrogate pair at once. *flags gets
 * DM_JSON_ESCAPED, and DM_JSON_LONE for half a pair. */
static inline const dm_lex_byte *dm_lex_escape(const dm_lex_byte *p, const dm_lex_byte *end,
                                               uint8_t *flags, dm_lex_fault *fault) {
    *flags |= DM_JSON_ESCAPED;
    p++;
    if (p == end || *p != 'u') {
        if (p == end || *p == '\0' || strchr("\"\\/bfnrt", *p) == NULL) {
            return dm_lex_misfit(fault, DM_JSON_BAD_ESCAPE, p, end);
        }
        return p + 1;
    }
    p++;
    for (int i = 0; i < 4; i++) {
        if (p + i == end || dm_lex_hex(p[i]) < 0) {
            return dm_lex_misfit(fault, DM_JSON_BAD_ESCAPE, p + i, end);
        }
    }
    int32_t unit = dm_lex_hex4(p);
    p += 4;
    if ((unit & 0xF800) == 0xD800) {
        if (unit < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
            int32_t low = dm_lex_hex4(p + 2);
            if (low >= 0xDC00 && low <= 0xDFFF) {
                return p + 6;
            }
        }
        *flags |= DM_JSON_LONE;
    }
    return p;
}

/* Whether the bytes up to the end of the input begin a valid UTF-8 sequence that is cut off. */
static inline int dm_lex_utf8_cut(const dm_lex_byte *p, const dm_lex_byte *end) {
    char whole[4] = {(char)0x80, (char)0x80, (char)0x80, (char)0x80};
    size_t have = (size_t)(end - p);
    if (have >= 4) {
        return 0;
    }
    memcpy(whole, p, have);
    /* The second byte decides; where it is missing, one of these fits if any does. */
    static const dm_lex_byte second[] = {0x80, 0x90, 0xA0};
    for (size_t i = 0; i < sizeof second; i++) {
        if (have < 2) {
            whole[1] = (char)second[i];
        }
        if (dm_text_utf8_sequence(whole, 4) > have) {
            return 1;
        }
    }
    return 0;
}

/* The first byte at or behind p that a string cannot simply go on over: a quote, a backslash, a
 * control byte, a byte of 0x80 and more; or end. */
static inline const dm_lex_byte *dm_lex_skip_plain(const dm_lex_byte *p, const dm_lex_byte *end) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    while (end - p >= 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* The comparison is signed, so that bytes from 0x80 on count as below the space too. */
        __m128i stop = _mm_or_si128(
            _mm_cmplt_epi8(block, space),
            _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(stop);
        if (mask != 0) {
            return p + __builtin_ctz(mask);
        }
        p += 16;
    }
#endif
    while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\') {
        p++;
    }
    return p;
}

/* A string whose opening quote is just before p. Returns its closing quote. */
static inline const dm_lex_byte *dm_lex_string(const dm_lex_byte *p, const dm_lex_byte *end,
                                               uint8_t *flags, dm_lex_fault *fault) {
    for (;;) {
        p = dm_lex_skip_plain(p, end);
        if (p == end) {
            return dm_lex_fail(fault, DM_JSON_TRUNCATED, end);
        }
        if (*p == '"') {
            return p;
        }
        if (*p == '\\') {
            p = dm_lex_escape(p, end, flags, fault);
            if (p == NULL) {
                return NULL;
            }
        } else if (*p < 0x20) {
            return dm_lex_fail(fault, DM_JSON_CONTROL, p);
        } else {
            do {
                size_t step = dm_text_utf8_sequence((const char *)p, (size_t)(end - p));
                if (step == 0) {
                    return dm_lex_utf8_cut(p, end) ? dm_lex_fail(fault, DM_JSON_TRUNCATED, end)
                                                   : dm_lex_fail(fault, DM_JSON_BAD_UTF8, p);
                }
                p += step;
            } while (p < end && *p >= 0x80);
        }
    }
}

/* What can be said from the first bytes alone: DM_JSON_EMPTY, DM_JSON_BOM, DM_JSON_UTF16, or
 * DM_JSON_OK. UTF-16 without a mark is known by the zero bytes between its first ASCII characters.
 */
static inline dm_json_reason dm_lex_preamble(const dm_lex_byte *p, size_t len) {
    if (len == 0) {
        return DM_JSON_EMPTY;
    }
    if (len >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF) {
        return DM_JSON_BOM;
    }
    if (len >= 2 && ((p[0] == 0xFF && p[1] == 0xFE) || (p[0] == 0xFE && p[1] == 0xFF))) {
        return DM_JSON_UTF16;
    }
    if (len >= 4) {
        int little = p[0] != 0 && p[1] == 0 && p[3] == 0;
        int big = p[0] == 0 && p[2] == 0 && p[3] != 0;
        return little || big ? DM_JSON_UTF16 : DM_JSON_OK;
    }
    return DM_JSON_OK;
}

#endif
