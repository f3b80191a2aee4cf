/* Reads the bytes of one reply from standard input, as a connection that is then closed, and prints
 * what the reader made of them as one JSON object. Arguments: HEAD when that was the request; ONE
 * to feed byte by byte. */
#include <stdio.h>

#include "http1/reader.h"

static void print_hex(const char *key, dm_span bytes) {
    printf(",\"%s\":\"", key);
    for (size_t i = 0; i < bytes.len; i++) {
        printf("%02x", (unsigned)(unsigned char)bytes.data[i]);
    }
    putchar('"');
}

int main(int argc, char **argv) {
    static const char *const problems[] = {"none",     "framing", "truncated", "too_large",
                                           "encoding", "invalid", "no_memory"};
    int head = argc > 1 && strcmp(argv[1], "HEAD") == 0;
    int single = argc > 1 && strcmp(argv[argc - 1], "ONE") == 0;
    dm_http1_reader reader;
    dm_bytes body = {0};
    char bytes[65536];
    size_t len;
    dm_http1_reader_init(&reader, NULL);
    dm_http1_reader_reset(&reader, &body, head);
    while ((len = fread(bytes, 1, single ? 1 : sizeof bytes, stdin)) != 0) {
        size_t consumed;
        (void)dm_http1_reader_feed(&reader, bytes, len, &consumed);
    }
    int complete = reader.complete || dm_http1_reader_eof(&reader) == DM_HTTP1_COMPLETE;
    printf("{\"ok\":%s,\"problem\":\"%s\",\"status\":%d,\"reusable\":%s",
           complete ? "true" : "false", problems[reader.error.problem], reader.status,
           reader.reusable ? "true" : "false");
    print_hex("message", dm_bytes_span(&reader.error.message));
    print_hex("body", dm_bytes_span(&body));
    printf("}\n");
    dm_http1_reader_free(&reader);
    dm_bytes_free(&body);
    return 0;
}
