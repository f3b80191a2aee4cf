/* A batch: rows in, rows with answers out, in between one limiter, packs, retries and a journal.
 * batch.c has the rows and their order, form.c makes requests of rows, send.c sends them and reads
 * what comes back. The public deem_batch is this. One thread at a time. */
#ifndef DM_BATCH_BATCH_H
#define DM_BATCH_BATCH_H

#include "batch/adaptive.h"
#include "batch/dedupe.h"
#include "batch/journal.h"
#include "batch/limiter.h"
#include "batch/pack.h"
#include "batch/row.h"
#include "batch/settings.h"
#include "deemster_experimental.h"
#include "engine/client.h"
#include "engine/reactor.h"
#include "engine/task.h"

/* A row's place in a pack that is being filled. */
typedef struct dm_pack_entry {
    dm_row *row; /* NULL: done already (out of the journal), it only keeps its place */
    uint64_t position;
    dm_pack_load load;
} dm_pack_entry;

/* A pack that is being filled, one for each group of rows. */
typedef struct dm_open_pack {
    uint32_t group; /* hash of the group's name: groups with one hash are told apart by name */
    dm_bytes name;
    dm_pack_entry *entries;
    uint32_t count;
    uint32_t room;
    uint64_t first_position;
    uint64_t first_byte; /* of all rows pushed */
} dm_open_pack;

enum { DM_OPEN_PACKS = 64 };

/* One request of one or more rows; it keeps what it sends for its retries. */
typedef struct dm_batch_request {
    struct dm_batch_request *next;
    dm_row **rows;
    uint32_t count;
    uint64_t order; /* requests are sent by it; a retry keeps its place */
    int packed;
    dm_bytes state; /* packed ones only, like the next two */
    dm_bytes questions;
    deem_question_set *plan;
    int64_t estimate; /* tokens */
    int64_t counted;  /* tokens that the limiter took for it */
    int64_t sent_at;
    int64_t spent_ns; /* of the deadline, before this attempt */
    int64_t due;      /* a retry is not sent before */
    int32_t retries;  /* used up */
    int32_t refusals; /* 429 and 529, which are news about the pace and use up no retry */
    int32_t asked;    /* attempts made */
    uint64_t call;    /* id while it is in flight */
} dm_batch_request;

typedef struct dm_request_list {
    dm_batch_request *first;
    dm_batch_request *last;
} dm_request_list;

struct deem_batch {
    deem_client *client;    /* one reference */
    deem_question_set *set; /* one reference */
    deem_batch_settings settings;
    dm_limits limits; /* of the client and the options together */
    dm_reactor reactor;
    int rung; /* the descriptor was made readable since the last step */
    dm_completions completions;
    dm_json_index index;
    dm_limiter limiter;
    dm_adaptive adaptive;
    dm_dedupe dedupe;
    dm_journal journal;
    dm_packer packer;
    int32_t hits_all; /* replies in a row that say what every request would be told */
    /* rows */
    dm_row *first, *last;                   /* not handed out, by position */
    dm_row *first_finished, *last_finished; /* unordered: as they finished */
    deem_response *spare;                   /* one that serves the next row */
    uint64_t bytes_pushed;
    int64_t bytes_held;
    uint64_t held; /* rows not handed out */
    int finished;  /* no more rows come */
    /* requests */
    dm_open_pack open[DM_OPEN_PACKS];
    uint32_t open_count;
    uint64_t next_order;
    dm_request_list ready;   /* by order */
    dm_request_list waiting; /* retries that are not due yet */
    dm_request_list flying;
    int64_t tokens_flying; /* estimated */
    uint64_t random;
    dm_bytes scratch;
    dm_error stop; /* code DEEM_OK: goes on */
    deem_batch_stats stats;
};

/* batch.c */

/* Makes a batch. DEEM_OK, DEEM_E_CONFIG (settings->error says why), DEEM_E_CONNECTION,
 * DEEM_E_UNSUPPORTED or DEEM_E_MEMORY. */
int32_t dm_batch_new(deem_client *client, deem_question_set *set, deem_batch_settings *settings,
                     deem_batch **batch);
void dm_batch_free(deem_batch *batch);

size_t dm_batch_room(const deem_batch *batch);

/* Adds a row. error data NULL: none. DEEM_OK, DEEM_E_MEMORY, DEEM_E_MISUSE (no room). */
int32_t dm_batch_push(deem_batch *batch, dm_span state, int is_json, dm_span group, uint64_t tag,
                      dm_span error);

/* Takes the next finished row. DEEM_OK, DEEM_E_ABSENT or DEEM_E_MEMORY. */
int32_t dm_batch_next(deem_batch *batch, deem_batch_row *row, deem_response **response);

/* Says that no more rows come: packs that were being filled are sent. 0 or -1 (no memory). */
int dm_batch_finish(deem_batch *batch);

/* Notes that nothing more is sent, and ends all rows that were not. The first reason stays. 0 or -1
 * (no memory). */
int dm_batch_stop(deem_batch *batch, int32_t code, const char *sentence);

/* The row has its response: counts it, hands it to equal rows, makes it ready to be taken. 0 or -1
 * (no memory). */
int dm_batch_row_done(deem_batch *batch, dm_row *row);

/* Ends a row with an error of our own. 0 or -1 (no memory). */
int dm_batch_row_fail(deem_batch *batch, dm_row *row, int32_t code, dm_span message);

/* form.c */

/* Puts a row into the pack of its group, or into a request of its own. row->response set: done
 * already, only its place counts. 0 or -1 (no memory). */
int dm_form_add(deem_batch *batch, dm_row *row, dm_span group);

/* Closes every pack. 0 or -1 (no memory). */
int dm_form_close_all(deem_batch *batch);

/* Makes a request of these rows (count 1 or more; the list is copied), to be sent in its order. 0
 * or -1 (no memory). */
int dm_form_request(deem_batch *batch, dm_row *const *rows, uint32_t count, uint64_t order,
                    int packed);

/* Puts a request among the ready ones, by order. */
void dm_form_ready(deem_batch *batch, dm_batch_request *request);

void dm_form_free_request(dm_batch_request *request);

/* Gives the memory of the open packs back. */
void dm_form_free(deem_batch *batch);

/* send.c */

/* Does what is due. DEEM_OK, DEEM_E_MEMORY, DEEM_E_CONFIG (journal), DEEM_E_MISUSE. */
int32_t dm_batch_step(deem_batch *batch);

/* Takes the first of a list out, or NULL. */
dm_batch_request *dm_requests_pop(dm_request_list *list);
void dm_requests_push(dm_request_list *list, dm_batch_request *request);

#endif
