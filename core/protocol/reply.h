/* Reads a System One reply: the one place that knows how answers are spelled (wire contract
 * sections 3 and 5). */
#ifndef DM_PROTOCOL_REPLY_H
#define DM_PROTOCOL_REPLY_H

#include "answers/answers.h"
#include "base/arena.h"
#include "base/error.h"
#include "json/index.h"

/* A member of an object of the reply. The name borrows from the body or lies in the arena. */
typedef struct dm_member {
    dm_span name;
    dm_range json;
} dm_member;

typedef struct dm_members {
    dm_member *items;
    uint32_t count;
    uint32_t cap;
} dm_members;

/* A model of a model list; data NULL: absent. */
typedef struct dm_listed_model {
    dm_span name;
    dm_span description;
    dm_span release_date;
} dm_listed_model;

/* What a reply's body says. Borrows the body's text. All zero is a valid empty one. */
typedef struct dm_reply {
    dm_answers answers;
    dm_arena arena;
    const char *text;      /* the body without a byte order mark; places count from here */
    dm_span model;         /* data NULL: absent */
    dm_span id;            /* the body's own id; data NULL: absent */
    int64_t input_tokens;  /* -1: absent */
    int64_t output_tokens; /* -1: absent */
    double cost;           /* NaN: absent */
    dm_members fields;     /* of the top level */
    dm_members extras;     /* answers that nobody asked for */
    dm_listed_model *models;
    uint32_t model_count;
    uint32_t model_cap;
} dm_reply;

/* Forgets the last reply and keeps the memory. */
void dm_reply_clear(dm_reply *reply);

/* Reads the body of a 2xx reply to an evaluation. text has DM_JSON_PADDING readable bytes behind
 * len and must outlive the reply's use. check is DEEM_CHECK_*; content_type only helps the message.
 * A leading UTF-8 byte order mark is skipped. Returns DEEM_OK, DEEM_E_MEMORY or
 * DEEM_E_INVALID_REPLY with error filled (reason, path, message); what could be read stands in
 * reply either way. */
int32_t dm_reply_read_answers(dm_reply *reply, dm_json_index *index, const deem_question_set *set,
                              const char *text, size_t len, int32_t check, dm_span content_type,
                              dm_error *error);

/* Reads the body of a 2xx reply to a model list, in either shape. As dm_reply_read_answers. */
int32_t dm_reply_read_models(dm_reply *reply, dm_json_index *index, const char *text, size_t len,
                             dm_span content_type, dm_error *error);

/* Notes the top level's fields and usage of any JSON body, and its id; anything else is no error.
 * Returns DEEM_OK or DEEM_E_MEMORY. */
int32_t dm_reply_read_any(dm_reply *reply, dm_json_index *index, const char *text, size_t len);

/* Gives the memory back. */
void dm_reply_free(dm_reply *reply);

#endif
