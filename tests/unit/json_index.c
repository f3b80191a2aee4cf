/* The JSON index: what is refused, why and where; what the tape says; and that both indexers say
 * the same of generated documents and mutilated ones. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/json_random.h"
#include "base/alloc.h"
#include "json/index.h"
#include "json/state.h"
#ifndef DM_JSON_SCAN_ONLY
#include "json/simdjson_index.h"
#endif

static const dm_json_indexer indexers[] = {
#ifndef DM_JSON_SCAN_ONLY
    DM_JSON_BY_SIMDJSON,
#endif
    DM_JSON_BY_SCAN};

enum { INDEXERS = sizeof indexers / sizeof indexers[0] };

/* A copy with padding behind it, filled so that reading it as content would show. */
static char *padded(const char *text, size_t len) {
    char *copy = malloc(len + DM_JSON_PADDING);
    cr_assert_not_null(copy);
    memcpy(copy, text, len);
    memset(copy + len, '7', DM_JSON_PADDING);
    return copy;
}

typedef struct verdict {
    const char *text;
    size_t len;
    dm_json_reason reason;
    size_t offset;
} verdict;

#define DOC(text, reason, offset)                                                                  \
    { "" text, sizeof(text) - 1, reason, offset }
#define GOOD(text)                                                                                 \
    { "" text, sizeof(text) - 1, DM_JSON_OK, 0 }

static const verdict verdicts[] = {
    GOOD("{}"),
    GOOD("[]"),
    GOOD(" \t\r\n [ ] \n"),
    GOOD("\"\""),
    GOOD("0"),
    GOOD("-0"),
    GOOD("-0.0e-0"),
    GOOD("1E+2"),
    GOOD("12"),
    GOOD("true"),
    GOOD(" false "),
    GOOD("null\n"),
    GOOD("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uFfFf\""),
    GOOD("\"\\ud83d\\ude00 \\ud800 \\udc00 \\ud800\\ud800\\udc00\""),
    GOOD("\"\xC2\x80 \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF\""),
    GOOD("\"\x7F\""),
    GOOD("{\"\":\"\",\"a\":[{},[],[[]],{\"b\":null}],\"a\":1}"),
    GOOD("{ \"a\" : [ 1 , 2 ] , \"b\" : { \"c\" : \"d\" } }"),
    GOOD("{\"n\":92233720368547758423}"),
    GOOD("[18446744073709551615,18446744073709551616,99999999999999999999,999999999999999999999]"),
    GOOD("[1e999,-1e999,1e-999,1e99999999999999999999]"),
    GOOD("[\"a\\\\\",\"\\\\\\\"]\",\"[\"]"),

    DOC("", DM_JSON_EMPTY, 0),
    DOC(" \n\t\r ", DM_JSON_BLANK, 5),
    DOC("\xEF\xBB\xBF{}", DM_JSON_BOM, 0),
    DOC("\xEF\xBB\xBF", DM_JSON_BOM, 0),
    DOC("\xFF\xFE{\0}\0", DM_JSON_UTF16, 0),
    DOC("\xFE\xFF\0{\0}", DM_JSON_UTF16, 0),
    DOC("{\0}\0", DM_JSON_UTF16, 0),
    DOC("\0{\0}", DM_JSON_UTF16, 0),
    DOC("{\0\0\0}\0\0\0", DM_JSON_UTF16, 0),
    DOC("\0\0\0{\0\0\0}", DM_JSON_UTF16, 0),

    DOC("{", DM_JSON_TRUNCATED, 1),
    DOC("{ ", DM_JSON_TRUNCATED, 2),
    DOC("{\"a", DM_JSON_TRUNCATED, 3),
    DOC("{\"a\"", DM_JSON_TRUNCATED, 4),
    DOC("{\"a\" ", DM_JSON_TRUNCATED, 5),
    DOC("{\"a\":", DM_JSON_TRUNCATED, 5),
    DOC("{\"a\":1", DM_JSON_TRUNCATED, 6),
    DOC("{\"a\":1,", DM_JSON_TRUNCATED, 7),
    DOC("{\"a\":1.", DM_JSON_TRUNCATED, 7),
    DOC("{\"a\":{\"b\":[1,{}", DM_JSON_TRUNCATED, 15),
    DOC("[", DM_JSON_TRUNCATED, 1),
    DOC("[1", DM_JSON_TRUNCATED, 2),
    DOC("[1 ", DM_JSON_TRUNCATED, 3),
    DOC("[1,", DM_JSON_TRUNCATED, 3),
    DOC("[-", DM_JSON_TRUNCATED, 2),
    DOC("[1e", DM_JSON_TRUNCATED, 3),
    DOC("[1e+", DM_JSON_TRUNCATED, 4),
    DOC("[tru", DM_JSON_TRUNCATED, 4),
    DOC("n", DM_JSON_TRUNCATED, 1),
    DOC("-", DM_JSON_TRUNCATED, 1),
    DOC("\"", DM_JSON_TRUNCATED, 1),
    DOC("\"abc\\", DM_JSON_TRUNCATED, 5),
    DOC("\"abc\\\"", DM_JSON_TRUNCATED, 6),
    DOC("\"abc\\u12", DM_JSON_TRUNCATED, 8),
    DOC("\"\\ud83d\\u", DM_JSON_TRUNCATED, 9),
    DOC("\"\xC3", DM_JSON_TRUNCATED, 2),
    DOC("\"\xED", DM_JSON_TRUNCATED, 2),
    DOC("\"\xE2\x82", DM_JSON_TRUNCATED, 3),
    DOC("\"\xF0\x9F\x98", DM_JSON_TRUNCATED, 4),
    DOC("\"\xF4", DM_JSON_TRUNCATED, 2),
    DOC("\"0123456789abcdef0123456789abcdef", DM_JSON_TRUNCATED, 33),

    DOC("\"\x80\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xC0\xAF\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xC1\xBF\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xE0\x9F\xBF\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xED\xA0\x80\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xF0\x8F\xBF\xBF\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xF4\x90\x80\x80\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xF5\x80\x80\x80\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"je\xFF\xFEv\"", DM_JSON_BAD_UTF8, 3),
    DOC("\"\xE2\x82\"", DM_JSON_BAD_UTF8, 1),
    DOC("\"\xE2\xFF", DM_JSON_BAD_UTF8, 1),
    DOC("\"0123456789abcdef\xC3\xA9\xFF\"", DM_JSON_BAD_UTF8, 19),
    DOC("[1,\xFF]", DM_JSON_BAD_UTF8, 3),
    DOC("{\"a\":1}\xFF", DM_JSON_BAD_UTF8, 7),

    DOC("\"a\nb\"", DM_JSON_CONTROL, 2),
    DOC("\"a\0b\"", DM_JSON_CONTROL, 2),
    DOC("\"0123456789abcdefgh\x1F\"", DM_JSON_CONTROL, 19),
    DOC("{\"a\tb\":1}", DM_JSON_CONTROL, 3),

    DOC("\"\\x41\"", DM_JSON_BAD_ESCAPE, 2),
    DOC("\"\\\0\"", DM_JSON_BAD_ESCAPE, 2),
    DOC("\"\\u12G4\"", DM_JSON_BAD_ESCAPE, 5),
    DOC("\"\\u12\"", DM_JSON_BAD_ESCAPE, 5),
    DOC("\"\\ud83d\\uZ000\"", DM_JSON_BAD_ESCAPE, 9),
    DOC("\"\\'\"", DM_JSON_BAD_ESCAPE, 2),
    DOC("\"\\U0041\"", DM_JSON_BAD_ESCAPE, 2),
    DOC("{\"\\q\":1}", DM_JSON_BAD_ESCAPE, 3),

    DOC("01", DM_JSON_BAD_NUMBER, 1),
    DOC("[-01]", DM_JSON_BAD_NUMBER, 3),
    DOC("1.e1", DM_JSON_BAD_NUMBER, 2),
    DOC("[1.]", DM_JSON_BAD_NUMBER, 3),
    DOC("[1e]", DM_JSON_BAD_NUMBER, 3),
    DOC("[1e+]", DM_JSON_BAD_NUMBER, 4),
    DOC("[1e5.5]", DM_JSON_BAD_NUMBER, 4),
    DOC("[--1]", DM_JSON_BAD_NUMBER, 2),
    DOC("[-a]", DM_JSON_BAD_NUMBER, 2),
    DOC("[-Infinity]", DM_JSON_BAD_NUMBER, 2),
    DOC("[0x10]", DM_JSON_BAD_NUMBER, 2),
    DOC("[1,5\xC2\xA0]", DM_JSON_BAD_NUMBER, 4),
    DOC("1\0 1", DM_JSON_BAD_NUMBER, 1),
    DOC("[1\0 1]", DM_JSON_BAD_NUMBER, 2),
    DOC("1\0001", DM_JSON_BAD_NUMBER, 1),

    DOC("trux", DM_JSON_BAD_LITERAL, 3),
    DOC("[nul]", DM_JSON_BAD_LITERAL, 4),
    DOC("[nulll]", DM_JSON_BAD_LITERAL, 5),
    DOC("[truefalse]", DM_JSON_BAD_LITERAL, 5),
    DOC("[True]", DM_JSON_UNEXPECTED, 1),
    DOC("[NaN]", DM_JSON_UNEXPECTED, 1),
    DOC("[fAlse]", DM_JSON_BAD_LITERAL, 2),
    DOC("true\0", DM_JSON_BAD_LITERAL, 4),

    DOC("<!doctype html>", DM_JSON_UNEXPECTED, 0),
    DOC("'a'", DM_JSON_UNEXPECTED, 0),
    DOC("\xC2\xA0{}", DM_JSON_UNEXPECTED, 0),
    DOC("}", DM_JSON_UNEXPECTED, 0),
    DOC("[1,]", DM_JSON_UNEXPECTED, 3),
    DOC("[,1]", DM_JSON_UNEXPECTED, 1),
    DOC("[1 2]", DM_JSON_UNEXPECTED, 3),
    DOC("[1:2]", DM_JSON_UNEXPECTED, 2),
    DOC("[1\"a\"]", DM_JSON_UNEXPECTED, 2),
    DOC("[true\"a\"]", DM_JSON_UNEXPECTED, 5),
    DOC("[\"a\"\"b\"]", DM_JSON_UNEXPECTED, 4),
    DOC("[\"a\"b]", DM_JSON_UNEXPECTED, 4),
    DOC("[\"a\"1]", DM_JSON_UNEXPECTED, 4),
    DOC("[1}", DM_JSON_UNEXPECTED, 2),
    DOC("{\"a\":1]", DM_JSON_UNEXPECTED, 6),
    DOC("{\"a\":1,}", DM_JSON_UNEXPECTED, 7),
    DOC("{,}", DM_JSON_UNEXPECTED, 1),
    DOC("{a:1}", DM_JSON_UNEXPECTED, 1),
    DOC("{1:1}", DM_JSON_UNEXPECTED, 1),
    DOC("{\"a\"}", DM_JSON_UNEXPECTED, 4),
    DOC("{\"a\",1}", DM_JSON_UNEXPECTED, 4),
    DOC("{\"a\"::1}", DM_JSON_UNEXPECTED, 5),
    DOC("{\"a\":}", DM_JSON_UNEXPECTED, 5),
    DOC("{\"a\":\"b\":1}", DM_JSON_UNEXPECTED, 8),
    DOC("{\"a\":1:1}", DM_JSON_UNEXPECTED, 6),
    DOC("{\"a\":1 \"b\":2}", DM_JSON_UNEXPECTED, 7),
    DOC("{\"a\" \"b\"}", DM_JSON_UNEXPECTED, 5),
    DOC("{\"a\":1,\"b\"}", DM_JSON_UNEXPECTED, 10),
    DOC("{{}:1}", DM_JSON_UNEXPECTED, 1),
    DOC("[\\n]", DM_JSON_UNEXPECTED, 1),
    DOC("{\"a\":\\\"b\"}", DM_JSON_UNEXPECTED, 5),
    DOC("[1,\x0B"
        "2]",
        DM_JSON_UNEXPECTED, 3),
    DOC("[1,\0 2]", DM_JSON_UNEXPECTED, 3),
    DOC("[1] // note", DM_JSON_TRAILING, 4),
    DOC("{}{}", DM_JSON_TRAILING, 2),
    DOC("{} []", DM_JSON_TRAILING, 3),
    DOC("{\"model\":\"m\"}xyz", DM_JSON_TRAILING, 13),
    DOC("[]]", DM_JSON_TRAILING, 2),
    DOC("1 2", DM_JSON_TRAILING, 2),
    DOC("\"a\" \"b\"", DM_JSON_TRAILING, 4),
    DOC("\"a\"b", DM_JSON_TRAILING, 3),
    DOC("null null", DM_JSON_TRAILING, 5),
    DOC("{}\0", DM_JSON_TRAILING, 2),
    DOC("[],", DM_JSON_TRAILING, 2),
};

Test(json_index, verdicts) {
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        const verdict *v = &verdicts[i];
        char *text = padded(v->text, v->len);
        for (int by = 0; by < INDEXERS; by++) {
            dm_json_index index;
            dm_json_fault fault;
            dm_json_index_init(&index, indexers[by]);
            dm_json_reason reason = dm_json_index_run(&index, text, v->len, NULL, &fault);
            cr_expect(reason == v->reason && fault.reason == v->reason && fault.offset == v->offset,
                      "row %zu by %d: %s: reason %d (%s) at %zu, expected %d at %zu", i,
                      indexers[by], v->text, reason, dm_json_reason_text(reason), fault.offset,
                      v->reason, v->offset);
            cr_expect((index.count != 0) == (v->reason == DM_JSON_OK), "row %zu: %" PRIu32, i,
                      index.count);
            dm_json_index_free(&index);
        }
        dm_json_fault fault = {DM_JSON_OK, 0};
        cr_expect(dm_json_check_value(text, v->len, DM_JSON_DEPTH_DEFAULT, &fault) == v->reason &&
                      fault.offset == v->offset,
                  "row %zu checked only: %s: %d at %zu", i, v->text, fault.reason, fault.offset);
        free(text);
    }
}

/* The tape as text: kind, flags, bytes and next of each node, then the children. */
static void show(const dm_json_index *index, dm_bytes *out) {
    static const char kinds[] = " OASNtfn";
    for (uint32_t i = 0; i < index->count; i++) {
        const dm_json_node *n = &index->nodes[i];
        dm_bytes_append_format(out, "%c%u[%u,%u)>%u", kinds[n->kind], n->flags, n->start, n->end,
                               n->next);
        if (n->count != 0) {
            dm_bytes_append_format(out, "#%u", n->count);
        }
        dm_bytes_append_char(out, ' ');
    }
}

Test(json_index, tapes) {
    static const struct {
        const char *text;
        const char *tape;
    } rows[] = {
        {"{}", "O0[0,2)>1 "},
        {" [ ] ", "A0[1,4)>1 "},
        {"\"a\\n\"", "S2[1,4)>1 "},
        {"\"\\ud800\"", "S6[1,7)>1 "},
        {"\"\\ud83d\\ude00\"", "S2[1,13)>1 "},
        {" -1.50e3 ", "N24[1,8)>1#2 "},
        {"{\"a\":[1,true],\"b\" : {\"\":null} }",
         "O0[0,31)>9#2 S1[2,3)>2 A0[5,13)>5#2 N0[6,7)>4 t0[8,12)>5 S1[15,16)>6 O0[20,29)>9#1 "
         "S1[22,22)>8 n0[24,28)>9 "},
        {"[[],[[]],false,0.80]",
         "A0[0,20)>6#4 A0[1,3)>2 A0[4,8)>4#1 A0[5,7)>4 f0[9,14)>5 N8[15,19)>6#2 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len = strlen(rows[i].text);
        char *text = padded(rows[i].text, len);
        for (int by = 0; by < INDEXERS; by++) {
            dm_json_index index;
            dm_bytes tape = {0};
            dm_json_index_init(&index, indexers[by]);
            cr_assert_eq(dm_json_index_run(&index, text, len, NULL, NULL), DM_JSON_OK);
            show(&index, &tape);
            cr_expect_str_eq(tape.data, rows[i].tape, "%s by %d: %s", rows[i].text, indexers[by],
                             tape.data);
            dm_bytes_free(&tape);
            dm_json_index_free(&index);
        }
        free(text);
    }
}

/* `depth` arrays inside each other, closed or not. */
static char *nested(size_t depth, int closed, size_t *len) {
    *len = closed ? 2 * depth : depth;
    char *text = malloc(*len + DM_JSON_PADDING);
    cr_assert_not_null(text);
    memset(text, '[', depth);
    memset(text + depth, ']', *len - depth + DM_JSON_PADDING);
    return text;
}

Test(json_index, limits) {
    static const struct {
        size_t depth;
        int closed;
        dm_json_limits limits;
        dm_json_reason reason;
        size_t offset;
    } rows[] = {
        {1, 1, {1, 10}, DM_JSON_OK, 0},
        {1, 1, {0, 10}, DM_JSON_TOO_DEEP, 0},
        {5, 1, {5, 10}, DM_JSON_OK, 0},
        {6, 1, {5, 10}, DM_JSON_TOO_DEEP, 5},
        {10, 1, {100, 10}, DM_JSON_OK, 0},
        {11, 1, {100, 10}, DM_JSON_TOO_MANY, 10},
        {1, 1, {100, 0}, DM_JSON_TOO_MANY, 0},
        {1024, 1, {5000, 5000}, DM_JSON_OK, 0},
        {1025, 1, {5000, 5000}, DM_JSON_TOO_DEEP, 1024},
        {20000, 1, {128, 100000}, DM_JSON_TOO_DEEP, 128},
        {20000, 0, {UINT32_MAX, UINT32_MAX}, DM_JSON_TOO_DEEP, 1024},
        {100, 0, {128, 1000}, DM_JSON_TRUNCATED, 100},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len;
        char *text = nested(rows[i].depth, rows[i].closed, &len);
        for (int by = 0; by < INDEXERS; by++) {
            dm_json_index index;
            dm_json_fault fault;
            dm_json_index_init(&index, indexers[by]);
            dm_json_index_run(&index, text, len, &rows[i].limits, &fault);
            cr_expect(fault.reason == rows[i].reason && fault.offset == rows[i].offset,
                      "row %zu by %d: %d at %zu", i, indexers[by], fault.reason, fault.offset);
            dm_json_index_free(&index);
        }
        free(text);
    }
}

Test(json_index, finding_members) {
    static const char source[] = "{\"a\":1,\"b\":2,\"\\u0061\":3,\"\":[4],\"n\\u0000l\":5}";
    char *text = padded(source, sizeof source - 1);
    dm_json_index index;
    dm_json_index_init(&index, DM_JSON_BY_DEFAULT);
    cr_assert_eq(dm_json_index_run(&index, text, sizeof source - 1, NULL, NULL), DM_JSON_OK);

    dm_json_found found = dm_json_find(&index, 0, DM_LITERAL("a"));
    cr_expect_eq(found.value, 2);
    cr_expect_eq(found.again, 5, "the escaped spelling is the same key");
    found = dm_json_find(&index, 0, DM_LITERAL("b"));
    cr_expect_eq(found.value, 4);
    cr_expect_eq(found.again, DM_JSON_NONE);
    cr_expect_eq(dm_json_get(&index, 0, DM_LITERAL("")), 8);
    cr_expect_eq(dm_json_get(&index, 0, DM_LITERAL("n\0l")), 11);
    cr_expect_eq(dm_json_get(&index, 0, DM_LITERAL("c")), DM_JSON_NONE);
    cr_expect_eq(dm_json_get(&index, 8, DM_LITERAL("a")), DM_JSON_NONE, "an array has no members");
    cr_expect(dm_span_equal(dm_json_raw_value(&index, 8), DM_LITERAL("[4]")));
    cr_expect(dm_span_equal(dm_json_raw_value(&index, 5), DM_LITERAL("\"\\u0061\"")));
    cr_expect(dm_span_equal(dm_json_raw(&index, 5), DM_LITERAL("\\u0061")));

    uint32_t members = 0;
    for (uint32_t key = dm_json_first(0); key < dm_json_end(&index, 0);
         key = dm_json_next_member(&index, key)) {
        cr_expect_eq(index.nodes[key].flags & DM_JSON_IS_KEY, DM_JSON_IS_KEY);
        members++;
    }
    cr_expect_eq(members, 5);
    cr_expect_eq(index.nodes[0].count, 5);
    dm_json_index_free(&index);
    free(text);
}

/* Allocations: none in a steady state, each failing one is reported, and a large document's memory
 * is given back. */
static int gate_countdown;
static size_t gate_calls;

static int gate(size_t size, void *user) {
    (void)size;
    (void)user;
    gate_calls++;
    return gate_countdown < 0 || gate_countdown-- > 0;
}

Test(json_index, memory) {
    enum { MANY = 100000 };
    char *large = malloc(2 * MANY + 1 + DM_JSON_PADDING);
    cr_assert_not_null(large);
    for (size_t i = 0; i < MANY; i++) {
        memcpy(large + 2 * i, i == 0 ? "[1" : ",1", 2);
    }
    large[(size_t)2 * MANY] = ']';
    char *small = padded("[1,2,3]", 7);
    for (int by = 0; by < INDEXERS; by++) {
        dm_json_index index;
        dm_json_fault fault;
        dm_json_index_init(&index, indexers[by]);
        dm_alloc_set_gate(gate, NULL);

        gate_countdown = 3;
        cr_expect_eq(dm_json_index_run(&index, large, 2 * MANY + 1, NULL, &fault),
                     DM_JSON_NO_MEMORY);
        cr_expect_eq(fault.reason, DM_JSON_NO_MEMORY);
        cr_expect_eq(index.count, 0);

        gate_countdown = -1;
        cr_expect_eq(dm_json_index_run(&index, large, 2 * MANY + 1, NULL, NULL), DM_JSON_OK);
        cr_expect_eq(index.count, MANY + 1);
        cr_expect_eq(index.nodes[0].count, UINT16_MAX, "saturated");
        gate_calls = 0;
        cr_expect_eq(dm_json_index_run(&index, large, 2 * MANY + 1, NULL, NULL), DM_JSON_OK);
        cr_expect_eq(gate_calls, 0, "a large document after a large one allocates nothing");

        cr_expect_eq(dm_json_index_run(&index, small, 7, NULL, NULL), DM_JSON_OK);
        cr_expect_leq(index.cap, 1024, "a large document's memory is given back");
#ifndef DM_JSON_SCAN_ONLY
        cr_expect_leq(dm_json_simdjson_capacity(index.parser), (size_t)64 * 1024);
#endif
        gate_calls = 0;
        for (int i = 0; i < 100; i++) {
            cr_expect_eq(dm_json_index_run(&index, small, 7, NULL, NULL), DM_JSON_OK);
        }
        cr_expect_eq(gate_calls, 0, "a steady state allocates nothing");
        dm_alloc_set_gate(NULL, NULL);
        dm_json_index_free(&index);
    }
    free(large);
    free(small);
}

#ifndef DM_JSON_SCAN_ONLY
/* Both indexers over the same document: the same tape to the byte and the same verdict; and
 * simdjson alone, before the scanner is asked for the reason, agrees on whether it is one. */
static void compare(dm_json_index *fast, dm_json_index *scan, const char *text, size_t len,
                    size_t *good) {
    dm_json_limits limits = {32, 300};
    dm_json_fault a, b;
    dm_json_index_run(scan, text, len, &limits, &b);
    dm_json_index_run(fast, text, len, &limits, &a);
    cr_assert(a.reason == b.reason && a.offset == b.offset, "%d at %zu, scanner %d at %zu: %.*s",
              a.reason, a.offset, b.reason, b.offset, (int)len, text);
    cr_assert_eq(fast->count, scan->count);
    cr_assert(fast->count == 0 ||
                  memcmp(fast->nodes, scan->nodes, fast->count * sizeof *fast->nodes) == 0,
              "tapes differ: %.*s", (int)len, text);
    if (b.reason != DM_JSON_EMPTY && b.reason != DM_JSON_BOM && b.reason != DM_JSON_UTF16) {
        cr_assert_eq(dm_json_simdjson(fast, &limits) == DM_JSON_SIMDJSON_OK, b.reason == DM_JSON_OK,
                     "simdjson alone: %.*s", (int)len, text);
    }
    dm_json_fault c = {DM_JSON_OK, 0};
    dm_json_check_value(text, len, limits.max_depth, &c);
    cr_assert(b.reason == DM_JSON_TOO_MANY || (c.reason == b.reason && c.offset == b.offset),
              "checker %d at %zu, scanner %d at %zu: %.*s", c.reason, c.offset, b.reason, b.offset,
              (int)len, text);
    *good += b.reason == DM_JSON_OK;
}

Test(json_index, differential) {
    enum { DOCUMENTS = 4000, MUTANTS = 8 };
    dm_json_index fast, scan;
    dm_json_index_init(&fast, DM_JSON_BY_SIMDJSON);
    dm_json_index_init(&scan, DM_JSON_BY_SCAN);
    json_random random = {20261130};
    dm_bytes text = {0};
    size_t whole = 0, mutated = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        json_random_document(&random, &text);
        cr_assert_eq(dm_bytes_reserve(&text, DM_JSON_PADDING), 0);
        compare(&fast, &scan, text.data, text.len, &whole);
        for (int m = 0; m < MUTANTS; m++) {
            char *mutant = padded(text.data, text.len);
            size_t len = json_random_mutate(&random, mutant, text.len);
            compare(&fast, &scan, mutant, len, &mutated);
            free(mutant);
        }
    }
    /* The generator's documents are good unless over the node limit; of the mutants some are. */
    cr_expect_gt(whole, DOCUMENTS * 9 / 10);
    cr_expect_gt(mutated, DOCUMENTS * MUTANTS / 20);
    cr_expect_lt(mutated, DOCUMENTS * MUTANTS / 2);
    dm_bytes_free(&text);
    dm_json_index_free(&fast);
    dm_json_index_free(&scan);
}
#endif
