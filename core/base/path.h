/* JSON paths for people: answers.q.noul, questions["a.b"].criteria, criteria[2]. */
#ifndef DM_BASE_PATH_H
#define DM_BASE_PATH_H

#include "base/bytes.h"

/* Appends a member's key: `.key` when it is made of letters, digits, _ and - alone (without the dot
 * at the start of a path), else `["key"]` with quotes, backslashes and unsafe bytes escaped and
 * long keys cut, so that the path is safe to print. 0 or -1 (no memory). */
int dm_path_append_key(dm_bytes *path, dm_span key);

/* Appends an element's index: `[2]`. 0 or -1 (no memory). */
int dm_path_append_index(dm_bytes *path, size_t index);

#endif
