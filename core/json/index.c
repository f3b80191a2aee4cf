#include "json/index.h"

#include "base/alloc.h"
#include "json/lex.h"
#include "json/scan_index.h"
#include "json/value.h"
#ifndef DM_JSON_SCAN_ONLY
#include "json/simdjson_index.h"
#endif

/* What is kept after a large document: enough for any ordinary one. */
enum { FIRST_NODES = 256, KEEP_NODES = 16384, KEEP_BYTES = 64 * 1024 };

void dm_json_index_init(dm_json_index *index, dm_json_indexer indexer) {
    *index = (dm_json_index){.indexer = indexer};
}

static void free_parser(dm_json_index *index) {
#ifndef DM_JSON_SCAN_ONLY
    dm_json_simdjson_free(index->parser);
#endif
    index->parser = NULL;
}

void dm_json_index_free(dm_json_index *index) {
    free_parser(index);
    dm_free(index->nodes);
    dm_json_index_init(index, index->indexer);
}

int dm_json_index_grow(dm_json_index *index) {
    uint32_t cap = index->cap == 0 ? FIRST_NODES : index->cap * 2;
    if (cap < index->cap) {
        return -1;
    }
    dm_json_node *nodes = dm_realloc(index->nodes, cap * sizeof *nodes);
    if (nodes == NULL) {
        return -1;
    }
    index->nodes = nodes;
    index->cap = cap;
    return 0;
}

/* Gives back what only a large document needs, before a small one is read. */
static void shrink(dm_json_index *index, size_t len) {
    if (len > KEEP_BYTES) {
        return;
    }
    if (index->cap > KEEP_NODES) {
        dm_free(index->nodes);
        index->nodes = NULL;
        index->cap = 0;
    }
#ifndef DM_JSON_SCAN_ONLY
    if (dm_json_simdjson_capacity(index->parser) > KEEP_BYTES) {
        free_parser(index);
    }
#endif
}

static dm_json_reason run(dm_json_index *index, const dm_json_limits *limits,
                          dm_json_fault *fault) {
#ifndef DM_JSON_SCAN_ONLY
    if (index->indexer != DM_JSON_BY_SCAN) {
        switch (dm_json_simdjson(index, limits)) {
        case DM_JSON_SIMDJSON_OK:
            return DM_JSON_OK;
        case DM_JSON_SIMDJSON_NO_MEMORY:
            fault->reason = DM_JSON_NO_MEMORY;
            return fault->reason;
        case DM_JSON_SIMDJSON_REFUSED:
            /* simdjson does not say where or exactly why; the scanner does. That the two agree on
             * what is refused is what the differential test and fuzzing assert. */
            break;
        }
    }
#endif
    return dm_json_scan(index, limits, fault);
}

dm_json_reason dm_json_index_run(dm_json_index *index, const char *text, size_t len,
                                 const dm_json_limits *limits, dm_json_fault *fault) {
    dm_json_limits bounds = {DM_JSON_DEPTH_DEFAULT, DM_JSON_NODES_DEFAULT};
    dm_json_fault found = {DM_JSON_OK, 0};
    if (limits != NULL) {
        bounds = *limits;
        bounds.max_depth =
            bounds.max_depth < DM_JSON_DEPTH_HARD ? bounds.max_depth : DM_JSON_DEPTH_HARD;
    }
    index->text = text;
    index->len = len;
    index->count = 0;
    found.reason = len > UINT32_MAX - DM_JSON_PADDING
                       ? DM_JSON_TOO_LARGE
                       : dm_lex_preamble((const dm_lex_byte *)text, len);
    if (found.reason == DM_JSON_OK) {
        shrink(index, len);
        run(index, &bounds, &found);
    }
    if (fault != NULL) {
        *fault = found;
    }
    return found.reason;
}

const char *dm_json_reason_text(dm_json_reason reason) {
    switch (reason) {
    case DM_JSON_OK:
        return "valid JSON";
    case DM_JSON_EMPTY:
        return "no content";
    case DM_JSON_BLANK:
        return "nothing but white space";
    case DM_JSON_BOM:
        return "byte order mark before the document";
    case DM_JSON_UTF16:
        return "UTF-16 or UTF-32, not UTF-8";
    case DM_JSON_TRUNCATED:
        return "document ends early";
    case DM_JSON_BAD_UTF8:
        return "not valid UTF-8";
    case DM_JSON_CONTROL:
        return "control byte inside a string";
    case DM_JSON_BAD_ESCAPE:
        return "unknown escape in a string";
    case DM_JSON_BAD_NUMBER:
        return "malformed number";
    case DM_JSON_BAD_LITERAL:
        return "unknown word (only true, false and null are known)";
    case DM_JSON_UNEXPECTED:
        return "unexpected byte";
    case DM_JSON_TRAILING:
        return "data after the document";
    case DM_JSON_TOO_DEEP:
        return "nested too deeply";
    case DM_JSON_TOO_MANY:
        return "too many values";
    case DM_JSON_TOO_LARGE:
        return "too large";
    case DM_JSON_NOT_STATE:
        return "neither a string, an object nor an array";
    case DM_JSON_NO_MEMORY:
        return "out of memory";
    }
    return "invalid JSON";
}

dm_json_found dm_json_find(const dm_json_index *index, uint32_t object, dm_span key) {
    dm_json_found found = {DM_JSON_NONE, DM_JSON_NONE};
    uint32_t end = dm_json_end(index, object);
    for (uint32_t at = dm_json_first(object); at < end; at = dm_json_next_member(index, at)) {
        if (!dm_json_string_equal(index->text, &index->nodes[at], key)) {
            continue;
        }
        if (found.value != DM_JSON_NONE) {
            found.again = at;
            break;
        }
        found.value = at + 1;
    }
    return found;
}

uint32_t dm_json_get(const dm_json_index *index, uint32_t object, dm_span key) {
    if (index->nodes[object].kind != DM_JSON_OBJECT) {
        return DM_JSON_NONE;
    }
    uint32_t end = dm_json_end(index, object);
    for (uint32_t at = dm_json_first(object); at < end; at = dm_json_next_member(index, at)) {
        if (dm_json_string_equal(index->text, &index->nodes[at], key)) {
            return at + 1;
        }
    }
    return DM_JSON_NONE;
}
