#include "json.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "buffer.h"

struct reader {
    struct mock_json *json;
    yajl_handle parser;
    size_t capacity;
    size_t previous_end; /* where the last token ended */
    char *strings_end;
    const char *key;
    size_t key_length;
    size_t open[MOCK_MAX_DEPTH];
    size_t depth;
};

static const char *keep(struct reader *reader, const void *text, size_t length) {
    char *copy = reader->strings_end;
    memcpy(copy, text, length);
    reader->strings_end += length;
    return copy;
}

/* The token that YAJL just read starts behind the blanks and separators after the last one. */
static size_t token_start(struct reader *reader, size_t end) {
    size_t start = reader->previous_end;
    const char *document = reader->json->document;
    while (start < end && memchr(" \t\r\n,:", document[start], 6))
        start++;
    reader->previous_end = end;
    return start;
}

static size_t add(struct reader *reader, enum mock_kind kind, const void *text, size_t length) {
    struct mock_json *json = reader->json;
    if (json->count == reader->capacity) {
        reader->capacity = reader->capacity ? reader->capacity * 2 : 64;
        json->nodes = mock_resize(json->nodes, reader->capacity * sizeof *json->nodes);
    }
    size_t end = yajl_get_bytes_consumed(reader->parser);
    size_t index = json->count++;
    json->nodes[index] = (struct mock_node){.kind = kind,
                                            .key = reader->key,
                                            .key_length = reader->key_length,
                                            .start = token_start(reader, end),
                                            .end = end,
                                            .next = index + 1};
    if (text) {
        json->nodes[index].text = keep(reader, text, length);
        json->nodes[index].text_length = length;
    }
    reader->key = NULL;
    reader->key_length = 0;
    if (reader->depth)
        json->nodes[reader->open[reader->depth - 1]].count++;
    return index;
}

static int on_null(void *context) {
    add(context, MOCK_NULL, NULL, 0);
    return 1;
}

static int on_boolean(void *context, int value) {
    add(context, MOCK_BOOLEAN, value ? "true" : "false", value ? 4 : 5);
    return 1;
}

static int on_number(void *context, const char *text, size_t length) {
    add(context, MOCK_NUMBER, text, length);
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t length) {
    add(context, MOCK_STRING, text, length);
    return 1;
}

static int on_key(void *context, const unsigned char *text, size_t length) {
    struct reader *reader = context;
    reader->key = keep(reader, text, length);
    reader->key_length = length;
    reader->previous_end = yajl_get_bytes_consumed(reader->parser);
    return 1;
}

static int open_container(struct reader *reader, enum mock_kind kind) {
    if (reader->depth == MOCK_MAX_DEPTH) {
        reader->json->too_deep = true;
        return 0;
    }
    size_t index = add(reader, kind, NULL, 0);
    reader->open[reader->depth++] = index;
    return 1;
}

static int close_container(void *context) {
    struct reader *reader = context;
    struct mock_node *node = &reader->json->nodes[reader->open[--reader->depth]];
    node->end = reader->previous_end = yajl_get_bytes_consumed(reader->parser);
    node->next = reader->json->count;
    return 1;
}

static int on_object(void *context) {
    return open_container(context, MOCK_OBJECT);
}

static int on_array(void *context) {
    return open_container(context, MOCK_ARRAY);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_key,
    .yajl_end_map = close_container,
    .yajl_start_array = on_array,
    .yajl_end_array = close_container,
};

bool mock_json_parse(struct mock_json *json, const char *document, size_t length) {
    struct reader reader = {.json = json};
    *json = (struct mock_json){.document = document};
    /* Decoded text is never longer than its JSON; a boolean fits in its own letters. */
    json->strings = mock_resize(NULL, length + 8);
    reader.strings_end = json->strings;
    reader.parser = yajl_alloc(&callbacks, NULL, &reader);
    if (!reader.parser)
        return false;
    yajl_status status = yajl_parse(reader.parser, (const unsigned char *)document, length);
    json->error_offset = yajl_get_bytes_consumed(reader.parser);
    if (status == yajl_status_ok)
        status = yajl_complete_parse(reader.parser);
    yajl_free(reader.parser);
    if (status != yajl_status_ok || !json->count)
        return false;
    struct mock_node *root = &json->nodes[0];
    if (root->kind == MOCK_NUMBER) {
        /* Only the end of the input ends this token, so YAJL had no offset for it. */
        for (root->start = 0; memchr(" \t\r\n", document[root->start], 4); root->start++)
            ;
        root->end = root->start + root->text_length;
    }
    /* YAJL lets the beginning of a string behind the document pass. */
    for (json->error_offset = root->end; json->error_offset < length; json->error_offset++)
        if (!memchr(" \t\r\n", document[json->error_offset], 4))
            return false;
    return true;
}

void mock_json_free(struct mock_json *json) {
    free(json->nodes);
    free(json->strings);
    *json = (struct mock_json){0};
}

size_t mock_json_member(const struct mock_json *json, size_t object, const char *name) {
    size_t found = MOCK_NONE;
    size_t length = strlen(name);
    for (size_t i = object + 1; i < json->nodes[object].next; i = json->nodes[i].next)
        if (json->nodes[i].key_length == length && !memcmp(json->nodes[i].key, name, length))
            found = i;
    return found;
}

static int compare_keys(const void *left, const void *right) {
    const struct mock_node *a = left, *b = right;
    if (a->key_length != b->key_length)
        return a->key_length < b->key_length ? -1 : 1;
    return memcmp(a->key, b->key, a->key_length);
}

static void leave_node(void *node) {
    (void)node; /* the nodes belong to the document */
}

size_t mock_json_drop_duplicates(struct mock_json *json, size_t object) {
    void *seen = NULL;
    size_t left = 0;
    for (size_t i = object + 1; i < json->nodes[object].next; i = json->nodes[i].next) {
        struct mock_node *node = &json->nodes[i];
        struct mock_node **found = tsearch(node, &seen, compare_keys);
        if (found && *found != node) {
            (*found)->overridden = true;
            *found = node;
        } else {
            left++;
        }
    }
    tdestroy(seen, leave_node);
    return left;
}

bool mock_json_is(const struct mock_json *json, size_t node, const char *text) {
    return node != MOCK_NONE && json->nodes[node].kind == MOCK_STRING &&
           json->nodes[node].text_length == strlen(text) &&
           !memcmp(json->nodes[node].text, text, json->nodes[node].text_length);
}

uint64_t mock_mix(uint64_t value) {
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* FNV-1a, mixed once more so that close inputs give far results. */
uint64_t mock_hash(const void *bytes, size_t length, uint64_t seed) {
    const unsigned char *at = bytes;
    uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return mock_mix(hash ^ length);
}

uint64_t mock_json_hash(const struct mock_json *json, size_t node, uint64_t seed) {
    uint64_t hash = seed;
    for (size_t i = node; i < json->nodes[node].next; i++) {
        const struct mock_node *at = &json->nodes[i];
        hash = mock_mix(hash ^ ((uint64_t)at->kind << 56 | at->count));
        if (i != node && at->key)
            hash = mock_hash(at->key, at->key_length, hash);
        if (at->text)
            hash = mock_hash(at->text, at->text_length, hash);
    }
    return hash;
}

void mock_put_text(yajl_gen out, const char *text) {
    mock_put_string(out, text, strlen(text));
}

void mock_put_string(yajl_gen out, const char *text, size_t length) {
    yajl_gen_string(out, (const unsigned char *)(text ? text : ""), length);
}

void mock_put_raw(yajl_gen out, const char *json, size_t length) {
    /* YAJL writes a number's digits unread, which is what writing a value unread needs. */
    yajl_gen_number(out, json, length);
}

void mock_put_integer(yajl_gen out, long long value) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", value);
    mock_put_raw(out, digits, (size_t)length);
}
