/* Shared by the files that read a reply. */
#ifndef DM_PROTOCOL_REPLY_PARTS_H
#define DM_PROTOCOL_REPLY_PARTS_H

#include "protocol/reply.h"
#include "json/value.h"

/* Whether the key node is this name. */
static inline int dm_reply_is(const dm_json_index *index, uint32_t key, dm_span name) {
    const dm_json_node *node = &index->nodes[key];
    if ((node->flags & DM_JSON_ESCAPED) != 0) {
        return dm_json_string_equal(index->text, node, name);
    }
    return node->end - node->start == name.len &&
           memcmp(index->text + node->start, name.data, name.len) == 0;
}

/* Where a value stands in the body. */
static inline dm_range dm_reply_place(const dm_json_index *index, uint32_t node) {
    dm_span raw = dm_json_raw_value(index, node);
    return (dm_range){(uint32_t)(raw.data - index->text), (uint32_t)raw.len};
}

/* Adds a member to a list. 0 or -1 (no memory). */
int dm_members_add(dm_members *members, dm_span name, dm_range json);

/* Indexes the body and requires an object. Returns DEEM_OK, DEEM_E_MEMORY or DEEM_E_INVALID_REPLY
 * with error filled. */
int32_t dm_reply_open(dm_reply *reply, dm_json_index *index, const char *text, size_t len,
                      dm_span content_type, dm_error *error);

/* Reads one answer of an asked question: fills its record, its note and its legend. 0 or -1 (no
 * memory). */
int dm_reply_read_answer(dm_reply *reply, const dm_json_index *index, uint32_t question,
                         uint32_t node);

/* Notes a problem of a question: path `answers.KEY` + tail (may be empty), and a sentence. 0 or -1
 * (no memory). */
int dm_reply_note(dm_reply *reply, uint32_t question, dm_span tail, dm_span sentence);

#endif
