/* The simdjson indexer: a C face on the one C++ file. */
#ifndef DM_JSON_SIMDJSON_INDEX_H
#define DM_JSON_SIMDJSON_INDEX_H

#include "json/index.h"

typedef enum dm_json_simdjson_result {
    DM_JSON_SIMDJSON_OK = 0,
    DM_JSON_SIMDJSON_REFUSED, /* why is for dm_json_scan to say */
    DM_JSON_SIMDJSON_NO_MEMORY
} dm_json_simdjson_result;

/* Indexes index->text (index->len bytes and DM_JSON_PADDING readable ones, preamble already looked
 * at), making index->parser when there is none. limits->max_depth is at most DM_JSON_DEPTH_HARD.
 * When it is not OK the index has no nodes. */
dm_json_simdjson_result dm_json_simdjson(dm_json_index *index, const dm_json_limits *limits);

/* The bytes of document the parser has memory for; 0 for NULL. */
size_t dm_json_simdjson_capacity(const void *parser);

/* Gives a parser back; NULL is allowed. */
void dm_json_simdjson_free(void *parser);

#endif
