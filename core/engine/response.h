/* What a call came to; the public deem_response is this. */
#ifndef DM_ENGINE_RESPONSE_H
#define DM_ENGINE_RESPONSE_H

#include "base/error.h"
#include "http1/reader.h"
#include "protocol/reply.h"
#include "questions/plan.h"

enum { DM_TIMINGS = 7 };

typedef struct deem_response {
    dm_error error;         /* code DEEM_OK: good */
    deem_question_set *set; /* one reference, or NULL */
    dm_reply reply;
    int has_answers; /* reply.answers belongs to set */
    dm_bytes body;   /* of the last reply */
    int body_cut;
    int http_status; /* 0: no reply */
    dm_bytes head;   /* the header texts of the last reply */
    dm_http1_place *fields;
    uint32_t field_count;
    uint32_t field_cap;
    int64_t retry_after_ms; /* -1: absent */
    int32_t attempts;
    int32_t reused;
    int may_retry; /* the last attempt failed in a way that a further one may mend */
    int64_t timing_us[DM_TIMINGS]; /* by DEEM_TIMING_*; -1: not known */
    int64_t sent;
    int64_t received;
    dm_bytes method;
    dm_bytes url;
} deem_response;

/* A new, blank response, or NULL without memory. */
deem_response *dm_response_new(void);

/* Gives everything back; NULL is allowed. */
void dm_response_free(deem_response *response);

/* Makes it blank again for a call with this set (NULL: none; one more reference is taken). Memory
 * is kept. */
void dm_response_begin(deem_response *response, deem_question_set *set);

/* Forgets the last attempt's reply: body, headers, status, answers. */
void dm_response_forget_reply(deem_response *response);

/* A header of the last reply by name, case ignored; data NULL: absent. */
dm_span dm_response_header(const deem_response *response, dm_span name);

/* Adds a header to the last reply. 0 or -1 (no memory). */
int dm_response_add_header(deem_response *response, dm_span name, dm_span value);

/* The request id in all its spellings (wire contract section 9, trap 33); data NULL: absent. */
dm_span dm_response_request_id(const deem_response *response);

/* Exchanges everything between two responses. */
void dm_response_swap(deem_response *a, deem_response *b);

/* Gives *own out: into *given when there is one (own then keeps its memory for the next call), else
 * as the new *given. */
void dm_response_hand_over(deem_response **own, deem_response **given);

/* Blots out a secret wherever message, path, body and headers hold it, byte by byte. */
void dm_response_mask(deem_response *response, dm_span secret);

#endif
