/* The table of equal rows: the last so many different rows, by digest. What it keeps depends on the
 * order of the rows alone, never on when replies come, so that a run that is taken up again finds
 * the same rows equal. One thread at a time. */
#ifndef DM_BATCH_DEDUPE_H
#define DM_BATCH_DEDUPE_H

#include <stdint.h>

#include "batch/row.h"

typedef struct dm_dedupe {
    dm_row **slots; /* open addressing; NULL: free */
    uint32_t mask;
    dm_row **order; /* a ring of the rows kept, oldest first */
    uint32_t room;
    uint32_t first;
    uint32_t count;
} dm_dedupe;

/* Room for so many rows; 0 rows: nothing is ever found. 0 or -1 (no memory). */
int dm_dedupe_init(dm_dedupe *dedupe, uint32_t rows);

/* The row with this digest, or NULL. */
dm_row *dm_dedupe_find(const dm_dedupe *dedupe, const char *digest);

/* Keeps a row that was not found, and sets row->known. Returns the row that had to go for it (known
 * is cleared), or NULL. */
dm_row *dm_dedupe_add(dm_dedupe *dedupe, dm_row *row);

/* Takes out any one row, or returns NULL when there is none. */
dm_row *dm_dedupe_pop(dm_dedupe *dedupe);

/* Gives the memory back; the rows are the caller's. */
void dm_dedupe_free(dm_dedupe *dedupe);

#endif
