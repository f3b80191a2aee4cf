/* Checking JSON without indexing it: one pass, no memory, no padding needed. */
#ifndef DM_JSON_STATE_H
#define DM_JSON_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "json/index.h"

/* Checks that the bytes are exactly one JSON document, by the same rules and with the same reasons
 * and offsets as dm_json_index_run. max_depth: containers inside each other, at most
 * DM_JSON_DEPTH_HARD. fault may be NULL. Any thread. */
dm_json_reason dm_json_check_value(const char *text, size_t len, uint32_t max_depth,
                                   dm_json_fault *fault);

/* As dm_json_check_value, and the document is one that the API takes as a state: a string, an
 * object or an array; null, numbers and booleans are DM_JSON_NOT_STATE at their offset (wire
 * contract section 9, traps 2 and 8). */
dm_json_reason dm_json_state_check(const char *text, size_t len, uint32_t max_depth,
                                   dm_json_fault *fault);

#endif
