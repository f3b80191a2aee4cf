/* Reading JSON with YAJL into a flat, pre-order list of nodes.
 *
 * YAJL, since what a System One server needs rules out the tree libraries at hand: keys and labels
 * may hold NUL, numbers must come back with the digits they had, keys keep their order, and a
 * nesting of thousands of levels must not recurse. */
#ifndef MOCK_JSON_H
#define MOCK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yajl/yajl_gen.h>

#define MOCK_NONE SIZE_MAX

enum mock_kind { MOCK_NULL = 1, MOCK_BOOLEAN, MOCK_NUMBER, MOCK_STRING, MOCK_ARRAY, MOCK_OBJECT };

struct mock_node {
    enum mock_kind kind;
    const char *key; /* decoded name, when the parent is an object; else NULL */
    size_t key_length;
    const char *text; /* decoded string, digits of a number, "true" or "false" */
    size_t text_length;
    size_t start, end; /* the bytes of the value in the document */
    size_t next;       /* index of the node after this one and all below it */
    size_t count;      /* children, overridden ones included */
    bool overridden;   /* a later member of the same object has the same name */
};

struct mock_json {
    const char *document;
    struct mock_node *nodes; /* nodes[0] is the root */
    size_t count;
    size_t error_offset;
    bool too_deep;
    char *strings;
};

/* The nesting at which a System One server gives up with status 500 (wire contract 2.2). */
#define MOCK_MAX_DEPTH 1000

/* Parses length bytes. Returns false on a syntax error (error_offset set) or over MOCK_MAX_DEPTH
 * (too_deep set). The document must outlive the result. Free with mock_json_free in every case. */
bool mock_json_parse(struct mock_json *json, const char *document, size_t length);
void mock_json_free(struct mock_json *json);

/* Index of an object's member by name (the last one of that name, as the service does), or
 * MOCK_NONE. */
size_t mock_json_member(const struct mock_json *json, size_t object, const char *name);

/* Marks every member that a later one of the same name overrides (wire contract 2.3). Returns the
 * number of members left. */
size_t mock_json_drop_duplicates(struct mock_json *json, size_t object);

/* True if the node is a string with exactly this text. */
bool mock_json_is(const struct mock_json *json, size_t node, const char *text);

/* A hash of a value by content: two spellings (spaces, escapes) of one value hash alike. */
uint64_t mock_json_hash(const struct mock_json *json, size_t node, uint64_t seed);

/* The finishing step of splitmix64: every bit of value touches every bit of the result. */
uint64_t mock_mix(uint64_t value);

/* A hash of bytes, chained through seed. */
uint64_t mock_hash(const void *bytes, size_t length, uint64_t seed);

/* Writers over yajl_gen: a NUL-terminated string, a string of given length, a key, and JSON text
 * that is written as it stands. */
void mock_put_text(yajl_gen out, const char *text);
void mock_put_string(yajl_gen out, const char *text, size_t length);
void mock_put_raw(yajl_gen out, const char *json, size_t length);
void mock_put_integer(yajl_gen out, long long value);

#endif
