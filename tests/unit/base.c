#include <criterion/criterion.h>

#include "base/sha256.h"
#include "base/text.h"

Test(base, safe_text_escapes_controls_and_cuts) {
    static const struct {
        const char *in;
        size_t len;
        size_t most;
        const char *out;
    } rows[] = {
        {"plain", 5, 100, "plain"},
        {"\x1b]0;x\x07"
         "a",
         7, 100, "\\x1B]0;x\\x07a"},
        {"\xC2\x9B", 2, 100, "\\x9B"},
        {"\xFF\xC3\xA9", 3, 100, "\\xFF\xC3\xA9"},
        {"a\0b", 3, 100, "a\\x00b"},
        {"abcdef", 6, 3, "abc\xE2\x80\xA6 (6 bytes)"},
        {"\xC3\xA9\xC3\xA9", 4, 2, "\xC3\xA9\xE2\x80\xA6 (4 bytes)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dm_bytes out = {0};
        cr_assert_eq(dm_text_append_safe(&out, dm_span_of(rows[i].in, rows[i].len), rows[i].most),
                     0);
        cr_assert_str_eq(out.data, rows[i].out);
        dm_bytes_free(&out);
    }
}

Test(base, utf8_offset_of_the_first_bad_byte) {
    static const struct {
        const char *in;
        size_t len;
        size_t valid;
    } rows[] = {
        {"", 0, 0},
        {"abcdefghij", 10, 10},
        {"abcdefgh\xF0\x9F\x98\x80", 12, 12},
        {"\xED\xA0\x80", 3, 0},
        {"ab\xC0\xAF", 4, 2},
        {"abc\xE0\x80\x80", 6, 3},
        {"\xF4\x90\x80\x80", 4, 0},
        {"12345678\xE2\x82", 10, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(dm_text_utf8_valid(dm_span_of(rows[i].in, rows[i].len)), rows[i].valid,
                     "row %zu", i);
    }
}

Test(base, sha256_of_known_texts) {
    char hex[65];
    dm_sha256_hex(DM_LITERAL("abc"), hex);
    cr_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    dm_sha256_hex(DM_LITERAL(""), hex);
    cr_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
