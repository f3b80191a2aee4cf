#include "base/bytes.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"

int dm_bytes_grow(dm_bytes *bytes, size_t more) {
    if (more >= SIZE_MAX / 2 - bytes->len) {
        return -1;
    }
    size_t need = bytes->len + more + 1;
    size_t cap = bytes->cap < 64 ? 64 : bytes->cap;
    while (cap < need) {
        cap += cap / 2;
    }
    char *data = dm_realloc(bytes->data, cap);
    if (data == NULL) {
        return -1;
    }
    bytes->data = data;
    bytes->cap = cap;
    return 0;
}

int dm_bytes_append_text(dm_bytes *bytes, const char *text) {
    return dm_bytes_append(bytes, text, strlen(text));
}

int dm_bytes_append_format(dm_bytes *bytes, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (need < 0 || dm_bytes_reserve(bytes, (size_t)need) != 0) {
        return -1;
    }
    va_start(args, format);
    vsnprintf(bytes->data + bytes->len, (size_t)need + 1, format, args);
    va_end(args);
    bytes->len += (size_t)need;
    return 0;
}

void dm_bytes_free(dm_bytes *bytes) {
    dm_free(bytes->data);
    *bytes = (dm_bytes){0};
}
