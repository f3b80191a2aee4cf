/* The answers: a distribution computed from the request, written as the service writes it. */
#ifndef MOCK_ANSWER_H
#define MOCK_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "faults.h"
#include "request.h"

/* Appends the reply body to a valid request. seed shuffles key orders (0 keeps the request's).
 * fault, if not NULL, is of group ANSWER and is worked in. Returns false if the fault does not fit
 * any question of this request (a plain good reply is then written). */
bool mock_answer(const struct mock_request *request, uint64_t seed, const struct mock_fault *fault,
                 struct mock_buffer *body);

#endif
