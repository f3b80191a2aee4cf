/* One call as a machine without I/O: it says what to do next (send an attempt, wait, stop) and is
 * told what came of it. Attempts, waits, deadline and checks are decided here and nowhere else;
 * blocking calls, the engine and hosted exchanges all drive it. */
#ifndef DM_ENGINE_CALL_H
#define DM_ENGINE_CALL_H

#include <stdint.h>

#include "engine/client.h"
#include "engine/response.h"
#include "json/index.h"

typedef enum dm_call_kind { DM_CALL_EVALUATE = 0, DM_CALL_MODELS, DM_CALL_RAW } dm_call_kind;

/* What is asked; everything is borrowed while the call is being started. */
typedef struct dm_ask {
    dm_call_kind kind;
    deem_question_set *set; /* evaluations */
    dm_span state;
    int state_is_json;
    dm_span method; /* raw calls and model lists */
    dm_span path;
    dm_span body;                /* data NULL: none */
    const deem_options *options; /* may be NULL */
    int32_t retry;               /* how often the caller has asked the same before (a batch) */
    struct dm_completions *to;   /* where a submitted call completes; NULL: dm_engine_next */
} dm_ask;

typedef enum dm_action {
    DM_ACTION_SEND = 1, /* an attempt is due: dm_call_attempt, then tell what came of it */
    DM_ACTION_WAIT,     /* nothing to do before call->wait_until */
    DM_ACTION_DONE      /* response->error.code says what it came to */
} dm_action;

/* All zero is a valid idle one; reused it keeps its memory. One thread at a time. */
typedef struct dm_call {
    deem_client *client;     /* borrowed: the driver holds a reference */
    deem_response *response; /* borrowed: filled in */
    dm_call_kind kind;
    dm_limits limits;
    dm_json_index *index; /* borrowed: the driver's, since a parser is large and one serves any
                             number of calls */
    dm_bytes body;
    int with_body;
    dm_bytes target;           /* origin-form; empty: the client's route for evaluations */
    dm_bytes full_url;         /* see dm_call_url */
    dm_http1_head own_head;    /* used when options bring headers, and for raw calls */
    const dm_http1_head *head; /* the client's prepared one, or own_head */
    dm_http1_field *fields; /* all headers, for hosted and curl transports; made when asked for */
    uint32_t field_count;
    uint32_t field_cap;
    dm_pairs call_headers; /* copies, since options may go */
    char retry_count[12];
    dm_bytes wire; /* head and body of the attempt */
    uint64_t random;
    int64_t started;
    int64_t deadline_at;
    int64_t wait_until;
    int64_t wait_began;
    int64_t attempt_until; /* of the attempt under way */
    int64_t attempt_began;
    int32_t retries; /* made so far */
    int fresh;       /* the next attempt needs a connection of its own */
    int resent;      /* the free resend was used since the last reply */
    int under_way;   /* an attempt is */
    int waiting;
    int done;
} dm_call;

/* A model list is read as one also when it is asked for by method and path. */
dm_call_kind dm_call_kind_of(dm_span method, dm_span path);

/* Starts a call: begins the response, checks what is asked, writes the body. DEEM_OK also when the
 * call is already done (a refused state); DEEM_E_MEMORY. */
int32_t dm_call_start(dm_call *call, deem_client *client, const dm_ask *ask,
                      deem_response *response);

/* What is to be done now. Ends the call when its deadline has passed. */
dm_action dm_call_next(dm_call *call, int64_t now);

/* The attempt begins: counts it and sets attempt_until. */
void dm_call_attempt(dm_call *call, int64_t now);

/* The attempt was not made after all (no slot, a dead idle connection): takes the count back. */
void dm_call_attempt_undo(dm_call *call);

/* Head and body of the attempt in one run of bytes, valid until the next attempt. data NULL: no
 * memory. */
dm_span dm_call_wire(dm_call *call);

/* The whole URL, query included. data NULL: no memory. Valid until the call's next start. */
dm_span dm_call_url(dm_call *call);

/* All headers of the attempt but the framing ones. 0 or -1 (no memory). */
int dm_call_fields(dm_call *call);

/* A reply came whole: response->http_status, head, fields and body have been filled. Returns
 * DEEM_OK or DEEM_E_MEMORY. */
int32_t dm_call_reply(dm_call *call, int64_t now);

/* The attempt failed without a whole reply. sent: the request may have been received whole. final:
 * never worth a retry. stale: a reused connection died without a reply byte. */
void dm_call_fail(dm_call *call, int32_t code, const char *message, int sent, int final, int stale,
                  int64_t now);

/* The attempt took longer than its limit, or than the call's deadline. */
void dm_call_fail_timeout(dm_call *call, int sent, int64_t now);

/* Ends the call with a code and a sentence (cancelled, closed, forked, interrupted at exit). */
void dm_call_end(dm_call *call, int32_t code, const char *sentence, int64_t now);

/* The wait in nanoseconds before retry number `retries` (from 0): doubling, capped, less a share (0
 * to 1) of the jitter (wire contract section 4.3). */
int64_t dm_backoff_ns(const dm_limits *limits, int32_t retries, double share);

/* Gives all memory back. */
void dm_call_free(dm_call *call);

#endif
