#include <criterion/criterion.h>
#include <stdio.h>

#include "base/alloc.h"
#include "http1/writer.h"

#define F(name, value)                                                                             \
    {                                                                                              \
        {name, sizeof(name) - 1}, {                                                                \
            value, sizeof(value) - 1                                                               \
        }                                                                                          \
    }

static const dm_http1_field fixed[] = {
    F("Authorization", "Bearer key"),
    F("Content-Type", "application/json"),
    F("X-Empty", ""),
};
static const dm_http1_field extra[] = {F("X-TypeSafe-Retry-Count", "1"), F("X", "a\tb \xC3\xA9")};

Test(http1_writer, requests_byte_for_byte) {
    static const struct {
        const char *method;
        const char *target;
        const char *host;
        int with_body;
        size_t extra;
        const char *body;
        const char *bytes;
    } rows[] = {
        {"POST", "/v1/systemone", "127.0.0.1:80", 1, 0, "{}",
         "POST /v1/systemone HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAuthorization: Bearer key\r\n"
         "Content-Type: application/json\r\nX-Empty: \r\nContent-Length: 2\r\n\r\n{}"},
        {"POST", "/v1/systemone", "h", 1, 2, "0123456789",
         "POST /v1/systemone HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer key\r\n"
         "Content-Type: application/json\r\nX-Empty: \r\nContent-Length: 10\r\n"
         "X-TypeSafe-Retry-Count: 1\r\nX: a\tb \xC3\xA9\r\n\r\n0123456789"},
        {"POST", "/p", "h", 1, 0, "",
         "POST /p HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer key\r\n"
         "Content-Type: application/json\r\nX-Empty: \r\nContent-Length: 0\r\n\r\n"},
        {"GET", "/v1/models?a=b", "[::1]:8080", 0, 1, "",
         "GET /v1/models?a=b HTTP/1.1\r\nHost: [::1]:8080\r\nAuthorization: Bearer key\r\n"
         "X-Empty: \r\nX-TypeSafe-Retry-Count: 1\r\n\r\n"},
        {"POST", "http://h:81/v1/x", "h:81", 1, 0, "x",
         "POST http://h:81/v1/x HTTP/1.1\r\nHost: h:81\r\nAuthorization: Bearer key\r\n"
         "Content-Type: application/json\r\nX-Empty: \r\nContent-Length: 1\r\n\r\nx"},
    };
    dm_http1_head head = {0};
    dm_http1_error error = {0};
    dm_bytes out = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dm_http1_request request = {
            dm_span_of(rows[i].method, strlen(rows[i].method)),
            dm_span_of(rows[i].target, strlen(rows[i].target)),
            dm_span_of(rows[i].host, strlen(rows[i].host)),
            fixed,
            3,
            rows[i].with_body,
        };
        cr_assert_eq(dm_http1_head_make(&head, &request, &error), 0, "row %zu", i);
        for (int again = 0; again < 2; again++) {
            dm_span body = dm_span_of(rows[i].body, strlen(rows[i].body));
            cr_assert_eq(dm_http1_head_write(&head, extra, rows[i].extra, body, &out, &error), 0);
            cr_assert_str_eq(out.data, rows[i].bytes, "row %zu", i);
            cr_assert_eq(out.len, strlen(rows[i].bytes));
        }
    }
    dm_http1_head_free(&head);
    dm_http1_error_free(&error);
    dm_bytes_free(&out);
}

Test(http1_writer, content_length_is_the_number_of_body_bytes) {
    static const size_t sizes[] = {9, 10, 99, 100, 4095, 65536, 1000000};
    static char body[1000000];
    dm_http1_request request = {DM_LITERAL("POST"), DM_LITERAL("/"), DM_LITERAL("h"), NULL, 0, 1};
    dm_http1_head head = {0};
    dm_http1_error error = {0};
    dm_bytes out = {0};
    memset(body, 'b', sizeof body);
    cr_assert_eq(dm_http1_head_make(&head, &request, &error), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char start[80];
        int len = snprintf(start, sizeof start,
                           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", sizes[i]);
        cr_assert_eq(dm_http1_head_write(&head, NULL, 0, dm_span_of(body, sizes[i]), &out, &error),
                     0);
        cr_assert_eq(out.len, (size_t)len + sizes[i]);
        cr_assert_eq(memcmp(out.data, start, (size_t)len), 0);
        cr_assert_eq(memcmp(out.data + len, body, sizes[i]), 0);
    }
    dm_http1_head_free(&head);
    dm_bytes_free(&out);
}

/* Every byte value, in a name and in a value, against the grammar of RFC 9110 (5.5, 5.6.2). */
Test(http1_writer, each_byte_in_names_and_values) {
    dm_http1_error error = {0};
    for (int byte = 0; byte < 256; byte++) {
        char text[] = "abcdefgh?ijklmnopq";
        text[8] = (char)byte;
        int in_name = byte != 0 && byte < 128 &&
                      strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "!#$%&'*+-.^_`|~",
                             byte) != NULL;
        int in_value = byte == '\t' || (byte >= 0x20 && byte != 0x7F);
        for (size_t from = 0; from < 9; from++) {
            dm_span piece = dm_span_of(text + from, sizeof text - 1 - from);
            dm_http1_field name = {piece, DM_LITERAL("v")};
            dm_http1_field value = {DM_LITERAL("n"), piece};
            cr_assert_eq(dm_http1_field_check(&name, &error), in_name ? 0 : -1, "0x%02X", byte);
            cr_assert_eq(dm_http1_field_check(&value, &error), in_value ? 0 : -1, "0x%02X", byte);
        }
    }
    dm_http1_error_free(&error);
}

Test(http1_writer, bad_fields_are_refused_without_showing_values) {
    static const struct {
        dm_http1_field field;
        const char *message;
    } rows[] = {
        {F("", "secret"), "a header name is empty"},
        {F("X-A", "secret\r\nEvil: 1"),
         "the value of the header X-A holds the control byte 0x0D at offset 6"},
        {F("X-A", "secret\nEvil"),
         "the value of the header X-A holds the control byte 0x0A at offset 6"},
        {F("X-A", "secret\0"),
         "the value of the header X-A holds the control byte 0x00 at offset 6"},
        {F("Authorization: secret", "v"),
         "the header name that starts with \"Authorization\" holds the byte 0x3A at offset 13; a "
         "name may hold letters, digits and !#$%&'*+-.^_`|~"},
        {F("a b", "v"), "the header name that starts with \"a\" holds the byte 0x20 at offset 1; a "
                        "name may hold letters, digits and !#$%&'*+-.^_`|~"},
        {F("Expect", "100-continue"),
         "the header Expect is set by the library and cannot be given"},
        {F("content-LENGTH", "1"),
         "the header content-LENGTH is set by the library and cannot be given"},
        {F("Transfer-Encoding", "x"),
         "the header Transfer-Encoding is set by the library and cannot be given"},
        {F("host", "x"), "the header host is set by the library and cannot be given"},
        {F("Connection", "x"), "the header Connection is set by the library and cannot be given"},
        {F("Keep-Alive", "x"), "the header Keep-Alive is set by the library and cannot be given"},
        {F("TE", "x"), "the header TE is set by the library and cannot be given"},
        {F("Trailer", "x"), "the header Trailer is set by the library and cannot be given"},
        {F("Upgrade", "x"), "the header Upgrade is set by the library and cannot be given"},
        {F("Proxy-Connection", "x"),
         "the header Proxy-Connection is set by the library and cannot be given"},
    };
    dm_http1_request request = {DM_LITERAL("POST"), DM_LITERAL("/"), DM_LITERAL("h"), NULL, 0, 1};
    dm_http1_head good = {0};
    dm_http1_head bad = {0};
    dm_http1_error error = {0};
    dm_bytes out = {0};
    cr_assert_eq(dm_http1_head_make(&good, &request, &error), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(dm_http1_field_check(&rows[i].field, &error), -1, "row %zu", i);
        cr_assert_eq(error.problem, DM_HTTP1_INVALID);
        cr_assert_str_eq(error.message.data, rows[i].message);
        dm_http1_error_clear(&error);
        cr_assert_eq(dm_http1_head_write(&good, &rows[i].field, 1, DM_LITERAL("b"), &out, &error),
                     -1);
        cr_assert_str_eq(error.message.data, rows[i].message);
        cr_assert_eq(out.len, 0);
        request.fields = &rows[i].field;
        request.field_count = 1;
        cr_assert_eq(dm_http1_head_make(&bad, &request, &error), -1);
        cr_assert_str_eq(error.message.data, rows[i].message);
        cr_assert_eq(bad.bytes.len, 0);
    }
    dm_http1_head_free(&good);
    dm_http1_error_free(&error);
    dm_bytes_free(&out);
}

Test(http1_writer, bad_request_lines_are_refused) {
    static const struct {
        const char *method;
        const char *target;
        const char *host;
        const char *message;
    } rows[] = {
        {"", "/", "h", "the request method is no HTTP token"},
        {"PO ST", "/", "h", "the request method is no HTTP token"},
        {"GET", "", "h", "the request target starts neither with / nor with http://"},
        {"GET", "v1", "h", "the request target starts neither with / nor with http://"},
        {"GET", "http://", "h", "the request target starts neither with / nor with http://"},
        {"GET", "/a b", "h",
         "the request target holds the byte 0x20 at offset 2; it must be percent-encoded"},
        {"GET", "/a\r\nX: y", "h",
         "the request target holds the byte 0x0D at offset 2; it must be percent-encoded"},
        {"GET", "/\xC3\xA9", "h",
         "the request target holds the byte 0xC3 at offset 1; it must be percent-encoded"},
        {"GET", "/a#b", "h", "the request target has a fragment (#)"},
        {"GET", "/", "", "the host is empty or holds a byte that is no visible ASCII"},
        {"GET", "/", "h\r\nX: y", "the host is empty or holds a byte that is no visible ASCII"},
    };
    dm_http1_head head = {0};
    dm_http1_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dm_http1_request request = {
            dm_span_of(rows[i].method, strlen(rows[i].method)),
            dm_span_of(rows[i].target, strlen(rows[i].target)),
            dm_span_of(rows[i].host, strlen(rows[i].host)),
            NULL,
            0,
            0,
        };
        cr_assert_eq(dm_http1_head_make(&head, &request, &error), -1, "row %zu", i);
        cr_assert_eq(error.problem, DM_HTTP1_INVALID);
        cr_assert_str_eq(error.message.data, rows[i].message);
    }
    dm_http1_error_free(&error);
}

static size_t allocations;
static int allowed;

static int count(size_t size, void *user) {
    (void)size;
    (void)user;
    allocations++;
    return allowed;
}

Test(http1_writer, a_body_for_a_bodiless_head_is_refused_and_memory_is_reported) {
    dm_http1_request request = {DM_LITERAL("GET"), DM_LITERAL("/"), DM_LITERAL("h"), NULL, 0, 0};
    dm_http1_head head = {0};
    dm_http1_error error = {0};
    dm_bytes out = {0};
    dm_alloc_set_gate(count, NULL);
    cr_assert_eq(dm_http1_head_make(&head, &request, &error), -1);
    cr_assert_eq(error.problem, DM_HTTP1_NO_MEMORY);
    allowed = 1;
    cr_assert_eq(dm_http1_head_make(&head, &request, &error), 0);
    allowed = 0;
    cr_assert_eq(dm_http1_head_write(&head, NULL, 0, DM_LITERAL(""), &out, &error), -1);
    cr_assert_eq(error.problem, DM_HTTP1_NO_MEMORY);
    allowed = 1;
    cr_assert_eq(dm_http1_head_write(&head, NULL, 0, DM_LITERAL("x"), &out, &error), -1);
    cr_assert_eq(error.problem, DM_HTTP1_INVALID);
    cr_assert_eq(dm_http1_head_write(&head, NULL, 0, DM_LITERAL(""), &out, &error), 0);
    allocations = 0;
    cr_assert_eq(dm_http1_head_write(&head, extra, 2, DM_LITERAL(""), &out, &error), 0);
    cr_assert_eq(dm_http1_head_write(&head, extra, 2, DM_LITERAL(""), &out, &error), 0);
    cr_assert_leq(allocations, 1);
    allocations = 0;
    cr_assert_eq(dm_http1_head_write(&head, extra, 2, DM_LITERAL(""), &out, &error), 0);
    cr_assert_eq(allocations, 0);
    dm_alloc_set_gate(NULL, NULL);
    dm_http1_head_free(&head);
    dm_http1_error_free(&error);
    dm_bytes_free(&out);
}
