/* A JSON document as a flat list of tokens ("tape"): made in one pass, checked as a whole, read
 * without a tree of objects. Two indexers make the same tape to the byte: simdjson On-Demand
 * (simdjson_index.cc) and a pure-C scanner (scan_index.c). */
#ifndef DM_JSON_INDEX_H
#define DM_JSON_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Bytes that must be readable behind every document given to dm_json_index_run; their values do not
 * matter (simdjson reads in whole blocks). */
#define DM_JSON_PADDING 64

/* Depth 1 is a container that holds no container. A larger limit than the hard one is cut to it. */
#define DM_JSON_DEPTH_DEFAULT 128
#define DM_JSON_DEPTH_HARD    1024

#define DM_JSON_NODES_DEFAULT 4000000u

typedef enum dm_json_kind {
    DM_JSON_OBJECT = 1,
    DM_JSON_ARRAY,
    DM_JSON_STRING,
    DM_JSON_NUMBER,
    DM_JSON_TRUE,
    DM_JSON_FALSE,
    DM_JSON_NULL
} dm_json_kind;

/* Flags of a node. */
enum {
    DM_JSON_IS_KEY = 1,   /* a string that is a member's name */
    DM_JSON_ESCAPED = 2,  /* a string that holds at least one backslash escape */
    DM_JSON_LONE = 4,     /* a string with half a surrogate pair (see DM_JSON_BAD_ESCAPE) */
    DM_JSON_FRACTION = 8, /* a number with a decimal point */
    DM_JSON_EXPONENT = 16 /* a number with an exponent */
};

/* One token. start and end are byte offsets in the document: a string's bytes between its quotes, a
 * container from its bracket to just behind the closing one, anything else the text itself. next is
 * the index of the node behind this one's subtree; the root's next is the number of nodes. An
 * object is followed by key, value, key, value ... and a key's next is its value. */
typedef struct dm_json_node {
    uint32_t start;
    uint32_t end;
    uint32_t next;
    uint8_t kind;
    uint8_t flags;
    uint16_t count; /* object: members, array: elements, number: digits behind the point; 65535 = at
                       least that many */
} dm_json_node;

/* Why a document was refused. */
typedef enum dm_json_reason {
    DM_JSON_OK = 0,
    DM_JSON_EMPTY,      /* no bytes */
    DM_JSON_BLANK,      /* white space only */
    DM_JSON_BOM,        /* begins with a UTF-8 byte order mark (RFC 8259 section 8.1) */
    DM_JSON_UTF16,      /* is UTF-16 or UTF-32 */
    DM_JSON_TRUNCATED,  /* good so far, but the input ends where more must come */
    DM_JSON_BAD_UTF8,   /* a byte that is no valid UTF-8 (RFC 3629) */
    DM_JSON_CONTROL,    /* a control byte inside a string */
    DM_JSON_BAD_ESCAPE, /* a backslash with something that is no escape. \ud800 without its other
                           half is grammatical (RFC 8259 section 8.2), so it is not refused: the
                           node gets DM_JSON_LONE and the half reads as U+FFFD */
    DM_JSON_BAD_NUMBER,
    DM_JSON_BAD_LITERAL, /* begins like true, false or null, and is not */
    DM_JSON_UNEXPECTED,  /* a byte that cannot stand here */
    DM_JSON_TRAILING,    /* something other than white space behind the document */
    DM_JSON_TOO_DEEP,
    DM_JSON_TOO_MANY,  /* more nodes than the limit */
    DM_JSON_TOO_LARGE, /* more bytes than offsets can count (4 GiB) */
    DM_JSON_NOT_STATE, /* state check only: a good value, but no string, object or array */
    DM_JSON_NO_MEMORY
} dm_json_reason;

/* What was wrong, and the offset of the byte that cannot be as it is (the length of the input when
 * it is truncated). */
typedef struct dm_json_fault {
    dm_json_reason reason;
    size_t offset;
} dm_json_fault;

typedef struct dm_json_limits {
    uint32_t max_depth; /* containers inside each other */
    uint32_t max_nodes; /* keys and values together */
} dm_json_limits;

typedef enum dm_json_indexer {
    DM_JSON_BY_DEFAULT = 0, /* simdjson when it is built in */
    DM_JSON_BY_SIMDJSON,
    DM_JSON_BY_SCAN
} dm_json_indexer;

/* A document's tape, and what is kept from one document to the next (so that a steady state
 * allocates nothing). All zero is a valid empty one. Not thread-safe: one per worker. The text is
 * borrowed and must outlive every read of the nodes. */
typedef struct dm_json_index {
    const char *text;
    size_t len;
    dm_json_node *nodes; /* owned; nodes[0] is the root */
    uint32_t count;
    uint32_t cap;
    void *parser; /* simdjson's, owned; NULL until first needed */
    dm_json_indexer indexer;
} dm_json_index;

/* Makes an empty index that will use the given indexer. Allocates nothing. */
void dm_json_index_init(dm_json_index *index, dm_json_indexer indexer);

/* Gives all memory back; the index is empty and usable again. */
void dm_json_index_free(dm_json_index *index);

/* Indexes and checks the whole document: UTF-8, escapes, control bytes, numbers of any size,
 * literals, depth, and that nothing but white space follows. text: len bytes, with DM_JSON_PADDING
 * more readable behind them, borrowed. limits NULL: the defaults. Duplicate keys are left to the
 * reader. Returns DM_JSON_OK, or the reason, which *fault (may be NULL) then also holds with its
 * offset; the index then has no nodes. Memory grown for a large document is given back at the next
 * small one. */
dm_json_reason dm_json_index_run(dm_json_index *index, const char *text, size_t len,
                                 const dm_json_limits *limits, dm_json_fault *fault);

/* A few words on a reason, for an error message ("data after the document"); never NULL. */
const char *dm_json_reason_text(dm_json_reason reason);

#define DM_JSON_NONE UINT32_MAX

/* How often a key was found. */
typedef struct dm_json_found {
    uint32_t value; /* node of the first member's value, or DM_JSON_NONE */
    uint32_t again; /* node of the second member's key, or DM_JSON_NONE: a duplicate */
} dm_json_found;

/* Looks for a key (unescaped bytes, compared exactly) in the object node `object`. */
dm_json_found dm_json_find(const dm_json_index *index, uint32_t object, dm_span key);

/* The value of the first member with that key, or DM_JSON_NONE; also DM_JSON_NONE when the node is
 * no object. */
uint32_t dm_json_get(const dm_json_index *index, uint32_t object, dm_span key);

/* Walks the members of an object node: key and value are node indices.
 *   for (uint32_t key = dm_json_first(object); key < dm_json_end(index, object);
 *        key = dm_json_next_member(index, key)) ... value is key + 1 */
static inline uint32_t dm_json_first(uint32_t container) {
    return container + 1;
}

static inline uint32_t dm_json_end(const dm_json_index *index, uint32_t container) {
    return index->nodes[container].next;
}

static inline uint32_t dm_json_next_member(const dm_json_index *index, uint32_t key) {
    return index->nodes[key + 1].next;
}

/* The source text of a node (of a string: without its quotes, still escaped). Borrowed. */
static inline dm_span dm_json_raw(const dm_json_index *index, uint32_t node) {
    const dm_json_node *n = &index->nodes[node];
    return dm_span_of(index->text + n->start, n->end - n->start);
}

/* The source text of a value as JSON: as dm_json_raw, but a string keeps its quotes. Borrowed. */
static inline dm_span dm_json_raw_value(const dm_json_index *index, uint32_t node) {
    const dm_json_node *n = &index->nodes[node];
    uint32_t quote = n->kind == DM_JSON_STRING;
    return dm_span_of(index->text + n->start - quote, n->end - n->start + 2 * (size_t)quote);
}

/* For the indexers: room for at least one more node. 0, or -1 when there is no memory. */
int dm_json_index_grow(dm_json_index *index);

#endif
