#include "http1/writer.h"

#include "http1/chars.h"

static int no_memory(dm_http1_error *error) {
    return dm_http1_error_set(error, DM_HTTP1_NO_MEMORY, "no memory for a request");
}

/* The fields that decide where a message ends or who gets it: only the writer itself writes them.
 */
static int is_owned(dm_span name) {
    static const char *const owned[] = {
        "connection", "content-length",    "expect",           "host",    "keep-alive", "te",
        "trailer",    "transfer-encoding", "proxy-connection", "upgrade",
    };
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (dm_http1_is(name, dm_span_of(owned[i], strlen(owned[i])))) {
            return 1;
        }
    }
    return 0;
}

int dm_http1_field_check(const dm_http1_field *field, dm_http1_error *error) {
    dm_span name = field->name;
    size_t good = dm_http1_token_end(name);
    /* Only the good start of a name is shown: behind it may stand a whole header line. */
    int shown = good < 64 ? (int)good : 64;
    if (name.len == 0) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID, "a header name is empty");
    }
    if (good != name.len) {
        return dm_http1_error_set(
            error, DM_HTTP1_INVALID,
            "the header name that starts with \"%.*s\" holds the byte 0x%02X at offset %zu; a name "
            "may hold letters, digits and !#$%%&'*+-.^_`|~",
            shown, name.data, (unsigned)(unsigned char)name.data[good], good);
    }
    if (is_owned(name)) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                  "the header %.*s is set by the library and cannot be given",
                                  shown, name.data);
    }
    size_t clean = dm_http1_value_end(field->value);
    if (clean != field->value.len) {
        return dm_http1_error_set(
            error, DM_HTTP1_INVALID,
            "the value of the header %.*s holds the control byte 0x%02X at offset %zu", shown,
            name.data, (unsigned)(unsigned char)field->value.data[clean], clean);
    }
    return 0;
}

static char *put(char *at, dm_span text) {
    if (text.len != 0) {
        memcpy(at, text.data, text.len);
    }
    return at + text.len;
}

static int skipped(dm_span name, int with_body) {
    return !with_body && dm_http1_is(name, DM_LITERAL("content-type"));
}

/* Checks the fields and adds up their room on the wire. */
static int measure(const dm_http1_field *fields, size_t count, int with_body, size_t *room,
                   dm_http1_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (dm_http1_field_check(&fields[i], error) != 0) {
            return -1;
        }
        if (!skipped(fields[i].name, with_body)) {
            *room += fields[i].name.len + fields[i].value.len + 4;
        }
    }
    return 0;
}

static char *put_fields(char *at, const dm_http1_field *fields, size_t count, int with_body) {
    for (size_t i = 0; i < count; i++) {
        if (!skipped(fields[i].name, with_body)) {
            at = put(at, fields[i].name);
            at = put(at, DM_LITERAL(": "));
            at = put(at, fields[i].value);
            at = put(at, DM_LITERAL("\r\n"));
        }
    }
    return at;
}

/* The offset of the first byte that is no visible ASCII. */
static size_t visible_end(dm_span text) {
    size_t at = 0;
    while (at < text.len && text.data[at] > 0x20 && text.data[at] < 0x7F) {
        at++;
    }
    return at;
}

static int check_line(const dm_http1_request *request, dm_http1_error *error) {
    if (request->method.len == 0 || dm_http1_token_end(request->method) != request->method.len) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID, "the request method is no HTTP token");
    }
    dm_span target = request->target;
    size_t good = visible_end(target);
    if (good != target.len) {
        return dm_http1_error_set(
            error, DM_HTTP1_INVALID,
            "the request target holds the byte 0x%02X at offset %zu; it must be percent-encoded",
            (unsigned)(unsigned char)target.data[good], good);
    }
    int absolute = (target.len > 7 && memcmp(target.data, "http://", 7) == 0) ||
                   (target.len > 8 && memcmp(target.data, "https://", 8) == 0);
    if (target.len == 0 || (target.data[0] != '/' && !absolute)) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                  "the request target starts neither with / nor with http://");
    }
    if (memchr(target.data, '#', target.len) != NULL) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID, "the request target has a fragment (#)");
    }
    if (request->host.len == 0 || visible_end(request->host) != request->host.len) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                  "the host is empty or holds a byte that is no visible ASCII");
    }
    return 0;
}

int dm_http1_head_make(dm_http1_head *head, const dm_http1_request *request,
                       dm_http1_error *error) {
    dm_http1_head_free(head);
    size_t room = request->method.len + request->target.len + request->host.len +
                  sizeof "  HTTP/1.1\r\nHost: \r\n";
    if (check_line(request, error) != 0 ||
        measure(request->fields, request->field_count, request->with_body, &room, error) != 0) {
        return -1;
    }
    if (dm_bytes_reserve(&head->bytes, room) != 0) {
        return no_memory(error);
    }
    char *at = head->bytes.data;
    at = put(at, request->method);
    at = put(at, DM_LITERAL(" "));
    at = put(at, request->target);
    at = put(at, DM_LITERAL(" HTTP/1.1\r\nHost: "));
    at = put(at, request->host);
    at = put(at, DM_LITERAL("\r\n"));
    at = put_fields(at, request->fields, request->field_count, request->with_body);
    *at = '\0';
    head->bytes.len = (size_t)(at - head->bytes.data);
    head->with_body = request->with_body;
    return 0;
}

static char *put_number(char *at, size_t number) {
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count != 0) {
        *at++ = digits[--count];
    }
    return at;
}

int dm_http1_head_write(const dm_http1_head *head, const dm_http1_field *extra, size_t extra_count,
                        dm_span body, dm_bytes *out, dm_http1_error *error) {
    dm_bytes_clear(out);
    size_t room = head->bytes.len + sizeof "Content-Length: 18446744073709551615\r\n\r\n";
    if (measure(extra, extra_count, head->with_body, &room, error) != 0) {
        return -1;
    }
    if (!head->with_body && body.len != 0) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                  "a request prepared without a body was given %zu bytes",
                                  body.len);
    }
    if (body.len > SIZE_MAX / 4 || dm_bytes_reserve(out, room + body.len) != 0) {
        return no_memory(error);
    }
    char *at = put(out->data, dm_bytes_span(&head->bytes));
    if (head->with_body) {
        at = put(at, DM_LITERAL("Content-Length: "));
        at = put_number(at, body.len);
        at = put(at, DM_LITERAL("\r\n"));
    }
    at = put_fields(at, extra, extra_count, head->with_body);
    at = put(at, DM_LITERAL("\r\n"));
    at = put(at, body);
    *at = '\0';
    out->len = (size_t)(at - out->data);
    return 0;
}

void dm_http1_head_free(dm_http1_head *head) {
    if (head->bytes.data != NULL) {
        explicit_bzero(head->bytes.data, head->bytes.cap);
    }
    dm_bytes_free(&head->bytes);
    head->with_body = 0;
}
