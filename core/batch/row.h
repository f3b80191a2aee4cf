/* One row of a batch and what it came to. */
#ifndef DM_BATCH_ROW_H
#define DM_BATCH_ROW_H

#include "engine/response.h"

/* Where a row stood among the rows of one request. */
typedef struct dm_pack_place {
    uint64_t pack; /* the position of the pack's first row, and so the same in every run */
    int32_t place; /* from 0 */
    int32_t size;  /* 0: the row was not packed */
    int32_t shape; /* DEEM_PACK_* */
} dm_pack_place;

typedef struct dm_row {
    uint64_t position; /* among the rows pushed, from 0 */
    uint64_t tag;      /* the caller's own */
    dm_bytes state;    /* given back once the row is done */
    int is_json;
    uint64_t bytes_before; /* of all rows pushed before it */
    char digest[33];       /* half of the SHA-256 of the state and the group it belongs to */
    dm_pack_place place;
    int32_t attempts; /* of the requests that it was part of */
    uint32_t flags;   /* DEEM_ROW_* */
    int done;         /* response stands */
    int delivered;    /* the caller has it: only the table of equal rows keeps it */
    int known;        /* in the table of equal rows */
    deem_response *response;
    struct dm_row *followers;      /* equal rows that take this one's answer, linked by next */
    struct dm_row *next;           /* among the followers of a row */
    struct dm_row *after, *before; /* among the rows that have not been handed out, by position */
    struct dm_row *next_finished;
} dm_row;

/* A blank row, or NULL without memory. */
dm_row *dm_row_new(void);

/* Gives a row back with its response; NULL is allowed. */
void dm_row_free(dm_row *row);

/* Writes the digest. 0 or -1 (no memory). */
int dm_row_digest(dm_row *row, dm_span group);

/* Copies a response by copying its bytes and reading them again. set: that of `from`. 0 or -1 (no
 * memory). */
int dm_response_copy(deem_response *to, const deem_response *from, int32_t check,
                     dm_json_index *index);

/* Reads the body that stands in the response as a good reply to its set. 0 or -1 (no memory). */
int dm_response_reread(deem_response *response, int32_t check, dm_json_index *index);

#endif
