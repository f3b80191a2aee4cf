/* What went wrong, where, and in which words: filled by the part that noticed, carried outwards. */
#ifndef DM_BASE_ERROR_H
#define DM_BASE_ERROR_H

#include <stdint.h>

#include "base/bytes.h"

/* code and reason are the public DEEM_E_* and DEEM_REASON_* numbers (deemster.h). path is a JSON
 * path such as answers.q.noul, empty when there is none. All zero means "no error". Owns its texts.
 */
typedef struct dm_error {
    int32_t code;
    int32_t reason;
    dm_bytes path;
    dm_bytes message;
} dm_error;

/* Forgets the error and keeps the memory. */
void dm_error_clear(dm_error *error);

/* Gives the memory back. */
void dm_error_free(dm_error *error);

/* Sets code, reason and message (printf form, no floating point), clears the path, returns code.
 * When there is no memory for the message the code still stands, with an empty message. */
int32_t dm_error_set(dm_error *error, int32_t code, int32_t reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
