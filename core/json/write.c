#include "json/write.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/c_locale.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static int needs_escape(unsigned char c) {
    return c < 0x20 || c == '"' || c == '\\';
}

/* Whether one of eight bytes is below 0x20, a quote or a backslash (bytes of 0x80 and above may be
 * taken for one, never the other way round). */
static int word_needs_escape(uint64_t word) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t highs = ones * 0x80;
    uint64_t quote = word ^ (ones * '"');
    uint64_t backslash = word ^ (ones * '\\');
    return (((word - ones * 0x20) | (quote - ones) | (backslash - ones) | word) & highs) != 0;
}

/* How many bytes at the start of the text need no escape. */
static size_t plain_run(const char *text, size_t len) {
    size_t at = 0;
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i last_control = _mm_set1_epi8(0x1F);
    while (at < len && len >= 16) {
        /* The last block begins in what is already known to be plain. */
        size_t from = len - at >= 16 ? at : len - 16;
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(text + from));
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
        __m128i stop = _mm_or_si128(
            control, _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(stop);
        if (mask != 0) {
            return from + (size_t)__builtin_ctz(mask);
        }
        at = from + 16;
    }
#endif
    while (len - at >= 8) {
        uint64_t word;
        memcpy(&word, text + at, sizeof word);
        if (word_needs_escape(word)) {
            break;
        }
        at += 8;
    }
    while (at < len && !needs_escape((unsigned char)text[at])) {
        at++;
    }
    return at;
}

static int write_escape(dm_bytes *out, unsigned char c) {
    static const char hex[] = "0123456789abcdef";
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    if (c >= 0x20 || letters[c] != 0) {
        escape[1] = c >= 0x20 ? (char)c : letters[c];
        return dm_bytes_append(out, escape, 2);
    }
    return dm_bytes_append(out, escape, sizeof escape);
}

int dm_json_write_string_inside(dm_bytes *out, dm_span text) {
    if (dm_bytes_reserve(out, text.len) != 0) {
        return -1;
    }
    size_t at = 0;
    while (at < text.len) {
        size_t run = plain_run(text.data + at, text.len - at);
        if (run != 0 && dm_bytes_append(out, text.data + at, run) != 0) {
            return -1;
        }
        at += run;
        if (at < text.len && write_escape(out, (unsigned char)text.data[at++]) != 0) {
            return -1;
        }
    }
    return 0;
}

int dm_json_write_string(dm_bytes *out, dm_span text) {
    if (dm_bytes_reserve(out, text.len + 2) != 0) {
        return -1;
    }
    out->data[out->len++] = '"';
    size_t run = plain_run(text.data, text.len);
    if (run != 0) {
        memcpy(out->data + out->len, text.data, run);
        out->len += run;
    }
    return (run < text.len &&
            dm_json_write_string_inside(out, dm_span_of(text.data + run, text.len - run)) != 0) ||
                   dm_bytes_append_char(out, '"') != 0
               ? -1
               : 0;
}

int dm_json_write_double(dm_bytes *out, double value) {
    if (!isfinite(value)) {
        return dm_bytes_append_text(out, "null");
    }
    char text[40];
    locale_t before = uselocale(dm_json_c_locale()); /* of this thread alone */
    /* What was written with up to 15 digits comes back in 15, and 17 are enough for every double;
     * only the subnormal ones can do with fewer. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod_l(text, NULL, dm_json_c_locale()) == value) {
            break;
        }
    }
    uselocale(before);
    return dm_bytes_append_text(out, text);
}

int dm_json_write_int64(dm_bytes *out, int64_t value) {
    return dm_bytes_append_format(out, "%lld", (long long)value);
}
