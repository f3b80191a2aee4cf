#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *mock_resize(void *block, size_t size) {
    void *grown = realloc(block, size ? size : 1);
    if (!grown) {
        fputs("deemster-mock: out of memory\n", stderr);
        exit(1);
    }
    return grown;
}

char *mock_copy(const char *text, size_t length) {
    char *copy = mock_resize(NULL, length + 1);
    if (length)
        memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

static void reserve(struct mock_buffer *buffer, size_t more) {
    size_t need = buffer->length + more;
    if (need <= buffer->capacity)
        return;
    size_t capacity = buffer->capacity ? buffer->capacity : 512;
    while (capacity < need)
        capacity *= 2;
    buffer->data = mock_resize(buffer->data, capacity);
    buffer->capacity = capacity;
}

void mock_buffer_add(struct mock_buffer *buffer, const void *bytes, size_t length) {
    if (!length)
        return;
    reserve(buffer, length);
    memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
}

void mock_buffer_print(struct mock_buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int needed = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (needed < 0)
        return;
    reserve(buffer, (size_t)needed + 1);
    va_start(arguments, format);
    vsnprintf(buffer->data + buffer->length, (size_t)needed + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)needed;
}

void mock_buffer_insert(struct mock_buffer *buffer, size_t offset, const void *bytes,
                        size_t length) {
    size_t tail = buffer->length - offset;
    reserve(buffer, length);
    memmove(buffer->data + offset + length, buffer->data + offset, tail);
    memcpy(buffer->data + offset, bytes, length);
    buffer->length += length;
}

void mock_buffer_free(struct mock_buffer *buffer) {
    free(buffer->data);
    *buffer = (struct mock_buffer){0};
}
