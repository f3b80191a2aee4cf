#include "http1/error.h"

#include <stdarg.h>
#include <stdio.h>

void dm_http1_error_clear(dm_http1_error *error) {
    error->problem = DM_HTTP1_NONE;
    dm_bytes_clear(&error->message);
}

void dm_http1_error_free(dm_http1_error *error) {
    dm_bytes_free(&error->message);
    error->problem = DM_HTTP1_NONE;
}

int dm_http1_error_set(dm_http1_error *error, dm_http1_problem problem, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dm_http1_error_clear(error);
    error->problem = problem;
    (void)dm_bytes_append_text(&error->message, text);
    return -1;
}
