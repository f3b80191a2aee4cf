/* A growable byte buffer. Running out of memory ends the mock with a message (exit 1), so that no
 * caller has to check. */
#ifndef MOCK_BUFFER_H
#define MOCK_BUFFER_H

#include <stddef.h>

struct mock_buffer {
    char *data; /* not NUL-terminated; NULL while empty */
    size_t length;
    size_t capacity;
};

/* As realloc, but never returns NULL: no memory ends the program. Free with free(). */
void *mock_resize(void *block, size_t size);

/* A copy of length bytes of text with a NUL behind it. The caller frees it. */
char *mock_copy(const char *text, size_t length);

/* Appends length bytes. */
void mock_buffer_add(struct mock_buffer *buffer, const void *bytes, size_t length);

/* Appends text made as by printf. */
void mock_buffer_print(struct mock_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Inserts length bytes at offset (at most buffer->length). */
void mock_buffer_insert(struct mock_buffer *buffer, size_t offset, const void *bytes,
                        size_t length);

/* Frees the bytes and leaves an empty buffer. */
void mock_buffer_free(struct mock_buffer *buffer);

#endif
