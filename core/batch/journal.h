/* The journal of a batch: an append-only file with one record for each request that brought good
 * rows, written before the rows are handed out. A record is found again by row position, and holds
 * only if the row is the same. Killed at any moment, the file has whole records and at most one
 * torn one at its end, which is cut off when it is opened again. One thread at a time. */
#ifndef DM_BATCH_JOURNAL_H
#define DM_BATCH_JOURNAL_H

#include "base/error.h"
#include "batch/row.h"

/* What the journal's answers depend on beside the rows. */
typedef struct dm_journal_key {
    const char *identity; /* of the question set */
    dm_span model;
    int32_t shape;
    int64_t pack_rows;
    int32_t shuffle;
    uint64_t seed;
} dm_journal_key;

typedef struct dm_journal {
    int fd;            /* -1: none */
    uint64_t *offsets; /* by row position: where its record starts, + 1; 0: none */
    size_t room;
    uint64_t end;
    dm_bytes record;    /* the record that was read last */
    uint64_t record_at; /* its offset + 1 */
    dm_bytes scratch;
} dm_journal;

/* Opens or makes the file and takes its lock. Without `resume` a file that holds records is
 * refused. DEEM_OK, DEEM_E_CONFIG with error filled (locked by another run, of another set, model
 * or shape, no journal, cannot be opened), or DEEM_E_MEMORY. */
int32_t dm_journal_open(dm_journal *journal, dm_span path, int resume, const dm_journal_key *key,
                        dm_error *error);

/* Writes the record of one request: its good rows among `rows`. 0, or -1 (no memory, the disk is
 * full). */
int dm_journal_append(dm_journal *journal, dm_row *const *rows, uint32_t count);

/* Reads what the journal knows about the row (position, digest) into its response (set given) and
 * place. 1 found, 0 not, -1 no memory. */
int dm_journal_restore(dm_journal *journal, dm_row *row, deem_question_set *set, int32_t check,
                       dm_json_index *index);

/* Gives up the lock and the memory. */
void dm_journal_close(dm_journal *journal);

#endif
