/* One row's part of the reply to a request that asked about many rows. */
#ifndef DM_PROTOCOL_PART_H
#define DM_PROTOCOL_PART_H

#include "protocol/reply.h"

/* Writes the body of a reply to `set` alone out of a reply whose set holds its questions again and
 * again: answer first + i is that of question i. The answers keep their bytes, one that came twice
 * comes twice, usage is left out unless asked for. 0 or -1 (no memory). */
int dm_part_write(dm_bytes *body, const dm_reply *whole, const deem_question_set *set,
                  uint32_t first, int with_usage);

#endif
