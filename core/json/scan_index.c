#include "json/scan_index.h"

#include <string.h>

#include "json/lex.h"
#include "json/state.h"

/* One pass over a document. With an index it builds the tape; without one it only checks, and keeps
 * the kinds of the open containers as bits. Always inlined, so that each use is its own code. */
typedef struct scan {
    const dm_lex_byte *begin;
    const dm_lex_byte *end;
    dm_json_index *index;
    dm_json_node *nodes;
    uint32_t count;
    uint32_t room; /* nodes that fit without a look at the limit or the memory */
    uint32_t max_nodes;
    uint32_t max_depth;
    uint32_t depth;
    uint32_t open; /* index only: node of the innermost open container */
    dm_lex_fault fault;
    uint64_t is_object[DM_JSON_DEPTH_HARD / 64]; /* check only: bit per depth */
} scan;

/* Makes room for one node. 0, or -1 with the fault set. */
static __attribute__((noinline)) int widen(scan *s, const dm_lex_byte *at) {
    if (s->count >= s->max_nodes) {
        dm_lex_fail(&s->fault, DM_JSON_TOO_MANY, at);
        return -1;
    }
    if (s->count >= s->index->cap && dm_json_index_grow(s->index) != 0) {
        dm_lex_fail(&s->fault, DM_JSON_NO_MEMORY, at);
        return -1;
    }
    s->nodes = s->index->nodes;
    s->room = s->index->cap < s->max_nodes ? s->index->cap : s->max_nodes;
    return 0;
}

/* Adds the node of a token that ends at `end`; its text begins at `start`, the token itself at
 * `at` (which differ by a string's quote). 0 or -1 as widen. */
static inline int push(scan *s, const dm_lex_byte *at, const dm_lex_byte *start,
                       const dm_lex_byte *end, dm_json_kind kind, uint8_t flags, uint16_t count) {
    if (s->count >= s->room && widen(s, at) != 0) {
        return -1;
    }
    dm_json_node node = {(uint32_t)(start - s->begin),
                         (uint32_t)(end - s->begin),
                         s->count + 1,
                         (uint8_t)kind,
                         flags,
                         count};
    s->nodes[s->count++] = node;
    return 0;
}

static inline int scan_string(scan *s, const dm_lex_byte **p, uint8_t flags) {
    const dm_lex_byte *start = *p + 1;
    const dm_lex_byte *quote = dm_lex_string(start, s->end, &flags, &s->fault);
    if (quote == NULL) {
        return -1;
    }
    if (s->index != NULL && push(s, *p, start, quote, DM_JSON_STRING, flags, 0) != 0) {
        return -1;
    }
    *p = quote + 1;
    return 0;
}

static inline int scan_number(scan *s, const dm_lex_byte **p) {
    uint8_t flags = 0;
    uint16_t decimals = 0;
    const dm_lex_byte *behind = dm_lex_number(*p, s->end, &flags, &decimals, &s->fault);
    if (behind == NULL) {
        return -1;
    }
    if (s->index != NULL && push(s, *p, *p, behind, DM_JSON_NUMBER, flags, decimals) != 0) {
        return -1;
    }
    *p = behind;
    return 0;
}

static inline int scan_literal(scan *s, const dm_lex_byte **p, dm_json_kind kind, const char *word,
                               size_t len) {
    const dm_lex_byte *behind = dm_lex_literal(*p, s->end, word, len, &s->fault);
    if (behind == NULL) {
        return -1;
    }
    if (s->index != NULL && push(s, *p, *p, behind, kind, 0, 0) != 0) {
        return -1;
    }
    *p = behind;
    return 0;
}

/* Opens the container at p. While it is open, its node's next holds the one around it. */
static inline int open_container(scan *s, const dm_lex_byte *p, int object) {
    if (s->depth >= s->max_depth) {
        dm_lex_fail(&s->fault, DM_JSON_TOO_DEEP, p);
        return -1;
    }
    if (s->index != NULL) {
        if (push(s, p, p, p, object ? DM_JSON_OBJECT : DM_JSON_ARRAY, 0, 0) != 0) {
            return -1;
        }
        s->nodes[s->count - 1].next = s->open;
        s->open = s->count - 1;
    } else {
        uint64_t bit = UINT64_C(1) << (s->depth % 64);
        uint64_t *word = &s->is_object[s->depth / 64];
        *word = object ? *word | bit : *word & ~bit;
    }
    s->depth++;
    return 0;
}

static inline void close_container(scan *s, const dm_lex_byte *behind) {
    if (s->index != NULL) {
        dm_json_node *node = &s->nodes[s->open];
        s->open = node->next;
        node->end = (uint32_t)(behind - s->begin);
        node->next = s->count;
    }
    s->depth--;
}

static inline int in_object(const scan *s) {
    if (s->index != NULL) {
        return s->nodes[s->open].kind == DM_JSON_OBJECT;
    }
    return (int)(s->is_object[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1);
}

static inline void count_child(scan *s) {
    if (s->index != NULL) {
        uint16_t *count = &s->nodes[s->open].count;
        *count = (uint16_t)(*count + (*count != UINT16_MAX));
    }
}

/* The document; 0, or -1 with the fault set. */
static inline __attribute__((always_inline)) int walk(scan *s) {
    const dm_lex_byte *p = dm_lex_skip_space(s->begin, s->end);
    const dm_lex_byte *const end = s->end;
    if (p == end) {
        dm_lex_fail(&s->fault, DM_JSON_BLANK, end);
        return -1;
    }

value:
    switch (*p) {
    case '{':
        if (open_container(s, p, 1) != 0) {
            return -1;
        }
        p = dm_lex_skip_space(p + 1, end);
        if (p < end && *p == '}') {
            close_container(s, ++p);
            break;
        }
        goto key;
    case '[':
        if (open_container(s, p, 0) != 0) {
            return -1;
        }
        p = dm_lex_skip_space(p + 1, end);
        if (p == end) {
            dm_lex_fail(&s->fault, DM_JSON_TRUNCATED, end);
            return -1;
        }
        if (*p == ']') {
            close_container(s, ++p);
            break;
        }
        count_child(s);
        goto value;
    case '"':
        if (scan_string(s, &p, 0) != 0) {
            return -1;
        }
        break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        if (scan_number(s, &p) != 0) {
            return -1;
        }
        break;
    case 't':
        if (scan_literal(s, &p, DM_JSON_TRUE, "true", 4) != 0) {
            return -1;
        }
        break;
    case 'f':
        if (scan_literal(s, &p, DM_JSON_FALSE, "false", 5) != 0) {
            return -1;
        }
        break;
    case 'n':
        if (scan_literal(s, &p, DM_JSON_NULL, "null", 4) != 0) {
            return -1;
        }
        break;
    default:
        dm_lex_misfit(&s->fault, DM_JSON_UNEXPECTED, p, end);
        return -1;
    }

after_value:
    p = dm_lex_skip_space(p, end);
    if (s->depth == 0) {
        if (p != end) {
            dm_lex_misfit(&s->fault, DM_JSON_TRAILING, p, end);
            return -1;
        }
        return 0;
    }
    if (in_object(s)) {
        if (p < end && *p == ',') {
            p = dm_lex_skip_space(p + 1, end);
            goto key;
        }
        if (p == end || *p != '}') {
            dm_lex_misfit(&s->fault, DM_JSON_UNEXPECTED, p, end);
            return -1;
        }
    } else {
        if (p < end && *p == ',') {
            p = dm_lex_skip_space(p + 1, end);
            if (p == end) {
                dm_lex_fail(&s->fault, DM_JSON_TRUNCATED, end);
                return -1;
            }
            count_child(s);
            goto value;
        }
        if (p == end || *p != ']') {
            dm_lex_misfit(&s->fault, DM_JSON_UNEXPECTED, p, end);
            return -1;
        }
    }
    close_container(s, ++p);
    goto after_value;

key:
    if (p == end || *p != '"') {
        dm_lex_misfit(&s->fault, DM_JSON_UNEXPECTED, p, end);
        return -1;
    }
    count_child(s);
    if (scan_string(s, &p, DM_JSON_IS_KEY) != 0) {
        return -1;
    }
    p = dm_lex_skip_space(p, end);
    if (p == end || *p != ':') {
        dm_lex_misfit(&s->fault, DM_JSON_UNEXPECTED, p, end);
        return -1;
    }
    p = dm_lex_skip_space(p + 1, end);
    if (p == end) {
        dm_lex_fail(&s->fault, DM_JSON_TRUNCATED, end);
        return -1;
    }
    goto value;
}

static dm_json_reason report(const scan *s, dm_json_fault *fault) {
    fault->reason = s->fault.reason;
    fault->offset = (size_t)(s->fault.at - s->begin);
    return fault->reason;
}

dm_json_reason dm_json_scan(dm_json_index *index, const dm_json_limits *limits,
                            dm_json_fault *fault) {
    scan s = {0};
    s.begin = (const dm_lex_byte *)index->text;
    s.end = s.begin + index->len;
    s.index = index;
    s.nodes = index->nodes;
    s.count = 0;
    s.room = index->cap < limits->max_nodes ? index->cap : limits->max_nodes;
    s.max_nodes = limits->max_nodes;
    s.max_depth = limits->max_depth;
    s.depth = 0;
    s.open = DM_JSON_NONE;
    if (walk(&s) != 0) {
        index->count = 0;
        return report(&s, fault);
    }
    index->count = s.count;
    return DM_JSON_OK;
}

dm_json_reason dm_json_check_value(const char *text, size_t len, uint32_t max_depth,
                                   dm_json_fault *fault) {
    dm_json_fault unused = {DM_JSON_OK, 0};
    fault = fault != NULL ? fault : &unused;
    fault->offset = 0;
    fault->reason = dm_lex_preamble((const dm_lex_byte *)text, len);
    if (fault->reason != DM_JSON_OK) {
        return fault->reason;
    }
    scan s = {0};
    s.begin = (const dm_lex_byte *)text;
    s.end = s.begin + len;
    s.index = NULL;
    s.max_depth = max_depth < DM_JSON_DEPTH_HARD ? max_depth : DM_JSON_DEPTH_HARD;
    s.depth = 0;
    return walk(&s) == 0 ? DM_JSON_OK : report(&s, fault);
}

dm_json_reason dm_json_state_check(const char *text, size_t len, uint32_t max_depth,
                                   dm_json_fault *fault) {
    dm_json_fault unused = {DM_JSON_OK, 0};
    fault = fault != NULL ? fault : &unused;
    if (dm_json_check_value(text, len, max_depth, fault) != DM_JSON_OK) {
        return fault->reason;
    }
    const dm_lex_byte *begin = (const dm_lex_byte *)text;
    const dm_lex_byte *root = dm_lex_skip_space(begin, begin + len);
    if (*root != '"' && *root != '{' && *root != '[') {
        fault->reason = DM_JSON_NOT_STATE;
        fault->offset = (size_t)(root - begin);
    }
    return fault->reason;
}
