/* A System One request, read and judged as the service judges it (wire contract 2 and 4.1). */
#ifndef MOCK_REQUEST_H
#define MOCK_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "json.h"

enum mock_type { MOCK_NOUL = 1, MOCK_CHOICE = 2, MOCK_SCORE = 4 };

struct mock_question {
    size_t node;
    enum mock_type type;
    size_t *options; /* the nodes of the labels or levels, in request order */
    size_t option_count;
};

struct mock_request {
    struct mock_json json;
    const char *model; /* the versioned name that answers */
    size_t model_length;
    size_t state;
    struct mock_question *questions;
    size_t question_count;
};

struct mock_rules {
    size_t token_limit;        /* state and all questions; half of it for state and the longest */
    const char *const *models; /* further accepted model names, answered as they are */
    size_t model_count;
    bool unknown_type_422; /* unknown question type: pydantic's 422 in place of 400 */
};

/* Reads a body. Returns 200 with *request filled, or the status to answer with its JSON body in
 * *error (500 has plain text). Checks in the order JSON, shape, counts, model, tokens. The body
 * must outlive the request; mock_request_free is due in every case. */
int mock_request_read(struct mock_request *request, const char *body, size_t length,
                      const char *content_type, const struct mock_rules *rules,
                      struct mock_buffer *error);
void mock_request_free(struct mock_request *request);

/* Writes {"detail":{"error_type":…,"message":…}}; message may be NULL. */
void mock_detail(struct mock_buffer *body, const char *error_type, const char *message);

/* Writes {"detail":"…"}. */
void mock_detail_text(struct mock_buffer *body, const char *text, size_t length);

/* Appends what a yajl_gen holds and frees it. */
void mock_take(struct mock_buffer *body, yajl_gen out);

#endif
