/* The pure-C indexer. */
#ifndef DM_JSON_SCAN_INDEX_H
#define DM_JSON_SCAN_INDEX_H

#include "json/index.h"

/* Indexes index->text (index->len bytes, preamble already looked at). limits->max_depth is at most
 * DM_JSON_DEPTH_HARD. Returns DM_JSON_OK, or the reason with *fault set and no nodes. */
dm_json_reason dm_json_scan(dm_json_index *index, const dm_json_limits *limits,
                            dm_json_fault *fault);

#endif
