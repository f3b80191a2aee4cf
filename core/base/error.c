#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

void dm_error_clear(dm_error *error) {
    error->code = 0;
    error->reason = 0;
    dm_bytes_clear(&error->path);
    dm_bytes_clear(&error->message);
}

void dm_error_free(dm_error *error) {
    dm_bytes_free(&error->path);
    dm_bytes_free(&error->message);
    error->code = 0;
    error->reason = 0;
}

int32_t dm_error_set(dm_error *error, int32_t code, int32_t reason, const char *format, ...) {
    dm_error_clear(error);
    error->code = code;
    error->reason = reason;
    char text[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len > 0) {
        size_t kept = (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
        dm_bytes_append(&error->message, text, kept);
    }
    return code;
}
