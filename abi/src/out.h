/* Filling the out-parameters of the public functions. */
#ifndef DM_ABI_OUT_H
#define DM_ABI_OUT_H

#include "base/bytes.h"
#include "base/error.h"

/* Sets *out, unless the caller does not want it. */
#define DM_OUT(out, value)                                                                         \
    do {                                                                                           \
        if ((out) != NULL) {                                                                       \
            *(out) = (value);                                                                      \
        }                                                                                          \
    } while (0)

/* Gives a text out; the empty span {NULL, 0} is "nothing". */
static inline void dm_out_text(dm_span span, const char **text, size_t *len) {
    DM_OUT(text, span.data);
    DM_OUT(len, span.len);
}

/* Gives an error's message out; "" when there is none. */
static inline void dm_out_error_text(const dm_error *error, const char **text, size_t *len) {
    dm_span message = dm_bytes_span(&error->message);
    dm_out_text(message.data != NULL ? message : dm_span_of("", 0), text, len);
}

#endif
