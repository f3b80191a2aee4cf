/* The reply reader: whatever the bytes are and however they are cut, the outcome is the same. The
 * first byte says how: bit 0 a HEAD request, bit 1 tight limits, the others choose the cuts. */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "http1/reader.h"

static const dm_http1_limits tight = {40, 200, 60, 100};

/* Not so large that a fuzzer spends its time in memset and memcpy. */
static const dm_http1_limits usual = {16 * 1024, 64 * 1024, UINT64_C(1024) * 1024,
                                      UINT64_C(256) * 1024};

typedef struct half {
    dm_http1_reader reader;
    dm_bytes body;
} half;

static half sides[2];

static void run(half *side, uint8_t how, const char *data, size_t size, size_t most, int result) {
    uint32_t random = how;
    for (size_t at = 0; at < size && result != DM_HTTP1_FAILED;) {
        random = random * 1664525u + 1013904223u;
        size_t piece = most == 0 ? size : 1 + (random >> 16) % most;
        piece = piece < size - at ? piece : size - at;
        /* A copy of its own, so that reading beyond the piece is noticed. */
        char one = data[at];
        char *copy = piece == 1 ? &one : dm_alloc(piece);
        memcpy(copy, data + at, piece);
        size_t consumed;
        result = dm_http1_reader_feed(&side->reader, copy, piece, &consumed);
        if (piece != 1) {
            dm_free(copy);
        }
        if (consumed > piece || (result == DM_HTTP1_MORE && consumed != piece)) {
            abort();
        }
        at += piece;
    }
    if (result == DM_HTTP1_MORE) {
        (void)dm_http1_reader_eof(&side->reader);
    }
}

static void start(half *side, uint8_t how) {
    dm_http1_reader *reader = &side->reader;
    if (reader->limits.line == 0) {
        dm_http1_reader_init(reader, &usual);
    }
    reader->limits = (how & 2) != 0 ? tight : usual;
    dm_http1_reader_reset(reader, &side->body, how & 1);
}

static void check(int fact) {
    if (!fact) {
        abort();
    }
}

static void compare(const half *a, const half *b) {
    const dm_http1_reader *x = &a->reader;
    const dm_http1_reader *y = &b->reader;
    check(x->complete == y->complete && x->status == y->status && x->minor == y->minor);
    check(x->reusable == y->reusable && x->keep_alive_ms == y->keep_alive_ms);
    check(x->any_byte == y->any_byte && x->head_complete == y->head_complete);
    check(x->error.problem == y->error.problem);
    /* Of a piece in which decoding fails, all is counted. */
    check(!x->complete || x->coded_bytes == y->coded_bytes);
    check(dm_span_equal(dm_bytes_span(&x->error.message), dm_bytes_span(&y->error.message)));
    check(dm_span_equal(dm_bytes_span(&a->body), dm_bytes_span(&b->body)));
    check(x->field_count == y->field_count);
    for (size_t i = 0; i < x->field_count; i++) {
        dm_span name = dm_http1_reader_name(x, i);
        check(dm_span_equal(name, dm_http1_reader_name(y, i)));
        check(dm_span_equal(dm_http1_reader_value(x, i), dm_http1_reader_value(y, i)));
        check(dm_http1_reader_find(x, name).data != NULL);
    }
}

static void check_outcome(const half *side) {
    static const char zeros[DM_HTTP1_PADDING];
    const dm_http1_reader *reader = &side->reader;
    check(reader->complete == (reader->error.problem == DM_HTTP1_NONE));
    check(!reader->reusable || reader->complete);
    check(side->body.len <= (reader->limits.body > reader->limits.decoded
                                 ? reader->limits.body
                                 : reader->limits.decoded));
    if (reader->complete) {
        check(memcmp(side->body.data + side->body.len, zeros, sizeof zeros) == 0);
    } else {
        check(reader->error.message.len != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t cuts[] = {1, 3, 20, 100};
    if (size == 0) {
        return 0;
    }
    uint8_t how = data[0];
    const char *bytes = (const char *)data + 1;
    start(&sides[0], how);
    run(&sides[0], how, bytes, size - 1, 0, DM_HTTP1_MORE);
    check_outcome(&sides[0]);
    start(&sides[1], how);
    run(&sides[1], how, bytes, size - 1, cuts[how >> 2 & 3], DM_HTTP1_MORE);
    compare(&sides[0], &sides[1]);
    return 0;
}
