#include "http1/reader.h"

#include "base/text.h"
#include "http1/chars.h"

const dm_http1_limits dm_http1_default_limits = {
    .line = 16 * 1024,
    .head = 64 * 1024,
    .body = UINT64_C(64) * 1024 * 1024,
    .decoded = UINT64_C(64) * 1024 * 1024,
};

enum {
    STATUS_LINE,
    FIELD_LINE,
    BODY_LENGTH,
    BODY_CLOSE,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_LF,
    TRAILER_LINE,
    DONE,
    FAILED,
};

/* Not more than this is reserved on the word of a Content-Length alone. */
#define TRUSTED_LENGTH ((uint64_t)1024 * 1024)

static const char version_prefix[] = "HTTP/1.";
enum { VERSION_PREFIX_LEN = sizeof version_prefix - 1 };

void dm_http1_reader_init(dm_http1_reader *reader, const dm_http1_limits *limits) {
    memset(reader, 0, offsetof(dm_http1_reader, fields));
    reader->limits = limits != NULL ? *limits : dm_http1_default_limits;
    reader->keep_alive_ms = -1;
}

/* Forgets what the lines of a head said. */
static void forget_head(dm_http1_reader *reader) {
    reader->status = 0;
    reader->minor = 0;
    reader->keep_alive_ms = -1;
    reader->field_count = 0;
    reader->head.len = 0;
    reader->line_start = 0;
    reader->content_length = 0;
    reader->bad_coding_len = 0;
    reader->coding = DM_CODING_IDENTITY;
    reader->has_length = 0;
    reader->chunked = 0;
    reader->says_close = 0;
    reader->says_keep_alive = 0;
    reader->state = STATUS_LINE;
}

void dm_http1_reader_reset(dm_http1_reader *reader, dm_bytes *body, int is_head_request) {
    forget_head(reader);
    reader->complete = 0;
    reader->reusable = 0;
    reader->any_byte = 0;
    reader->head_complete = 0;
    reader->coded_bytes = 0;
    reader->head_used = 0;
    reader->trailer_count = 0;
    reader->is_head_request = is_head_request != 0;
    dm_http1_error_clear(&reader->error);
    dm_bytes_clear(body);
    reader->body = body;
}

/* Moves to FAILED after error was set. */
static int failed(dm_http1_reader *reader) {
    reader->state = FAILED;
    if (reader->body->data != NULL) {
        reader->body->data[reader->body->len] = '\0';
    }
    return -1;
}

#define FAIL(reader, ...) (dm_http1_error_set(&(reader)->error, __VA_ARGS__), failed(reader))

static int no_memory(dm_http1_reader *reader) {
    return FAIL(reader, DM_HTTP1_NO_MEMORY, "no memory for a reply");
}

/* Fails with words about some bytes of the peer, which are shown escaped and cut. */
static int fail_about(dm_http1_reader *reader, dm_http1_problem problem, const char *words,
                      dm_span bytes) {
    dm_http1_error *error = &reader->error;
    dm_http1_error_set(error, problem, "%s: \"", words);
    (void)(dm_text_append_safe(&error->message, bytes, 80) == 0 &&
           dm_bytes_append_char(&error->message, '"') == 0);
    return failed(reader);
}

/* The message is whole. */
static int finish(dm_http1_reader *reader, int by_close) {
    /* A length of zero is an empty body in any coding; a close says nothing about the length. */
    if (reader->coding != DM_CODING_IDENTITY && (by_close || reader->coded_bytes != 0) &&
        dm_http1_decoder_end(&reader->decoder, &reader->error) != 0) {
        return failed(reader);
    }
    if (dm_bytes_reserve(reader->body, DM_HTTP1_PADDING) != 0) {
        return no_memory(reader);
    }
    memset(reader->body->data + reader->body->len, 0, DM_HTTP1_PADDING);
    /* RFC 9112, 9.3; and 6.1: both framings at once, or chunks in HTTP/1.0, end the connection. */
    int persistent = !reader->says_close && (reader->minor == 1 || reader->says_keep_alive);
    int doubtful = reader->chunked && (reader->has_length || reader->minor == 0);
    reader->reusable = persistent && !doubtful && !by_close;
    reader->complete = 1;
    reader->state = DONE;
    return 0;
}

static int digit_of(char byte) {
    return byte >= '0' && byte <= '9' ? byte - '0' : -1;
}

/* HTTP-version SP 3DIGIT [ SP [ reason-phrase ] ] (RFC 9112, 4; the reason may be left out). */
static int parse_status_line(dm_http1_reader *reader, dm_span line) {
    const char *at = line.data + VERSION_PREFIX_LEN;
    int minor = line.len > VERSION_PREFIX_LEN ? digit_of(at[0]) : -1;
    if (line.len < VERSION_PREFIX_LEN + 5 || (minor != 0 && minor != 1) || at[1] != ' ' ||
        digit_of(at[2]) < 1 || digit_of(at[3]) < 0 || digit_of(at[4]) < 0 ||
        (line.len > VERSION_PREFIX_LEN + 5 && at[5] != ' ') ||
        dm_http1_value_end(line) != line.len) {
        return fail_about(reader, DM_HTTP1_FRAMING, "the status line of the reply is malformed",
                          line);
    }
    reader->minor = minor;
    reader->status = digit_of(at[2]) * 100 + digit_of(at[3]) * 10 + digit_of(at[4]);
    reader->state = FIELD_LINE;
    return 0;
}

/* Cuts the next element off a comma-separated list, trimmed; 0 when the list is used up. */
static int next_element(dm_span *list, dm_span *element) {
    if (list->data == NULL) {
        return 0;
    }
    size_t len = 0;
    while (len < list->len && list->data[len] != ',') {
        len++;
    }
    *element = dm_http1_trim(dm_span_of(list->data, len));
    *list = len == list->len ? dm_span_of(NULL, 0)
                             : dm_span_of(list->data + len + 1, list->len - len - 1);
    return 1;
}

/* RFC 9112, 6.3 (4, 5): digits alone; the same number again is harmless, another one is not. */
static int note_content_length(dm_http1_reader *reader, dm_span value) {
    dm_span list = value;
    dm_span element;
    while (next_element(&list, &element)) {
        uint64_t number = 0;
        int good = element.len != 0;
        for (size_t i = 0; good && i < element.len; i++) {
            int digit = digit_of(element.data[i]);
            good = digit >= 0 && number <= (INT64_MAX - (uint64_t)digit) / 10;
            number = number * 10 + (uint64_t)digit;
        }
        if (!good) {
            return fail_about(reader, DM_HTTP1_FRAMING, "the reply has a bad Content-Length",
                              value);
        }
        if (reader->has_length && number != reader->content_length) {
            return FAIL(reader, DM_HTTP1_FRAMING,
                        "the reply has two different Content-Length values, %llu and %llu",
                        (unsigned long long)reader->content_length, (unsigned long long)number);
        }
        reader->has_length = 1;
        reader->content_length = number;
    }
    return 0;
}

/* Nothing but one "chunked" was asked for or can be read (no TE header is sent). */
static int note_transfer_encoding(dm_http1_reader *reader, dm_span value) {
    dm_span list = value;
    dm_span element;
    int refused = 0;
    while (next_element(&list, &element)) {
        /* Empty list elements count for nothing (RFC 9110, 5.6.1.2). */
        if (element.len != 0) {
            refused |= reader->chunked || !dm_http1_is(element, DM_LITERAL("chunked"));
            reader->chunked = 1;
        }
    }
    if (refused || !reader->chunked) {
        return fail_about(reader, DM_HTTP1_FRAMING,
                          "the reply has a Transfer-Encoding that was not offered", value);
    }
    return 0;
}

/* Only noted here: a reply without a body may name any coding. */
static void note_content_encoding(dm_http1_reader *reader, dm_span value) {
    dm_span element;
    while (next_element(&value, &element)) {
        uint8_t coding = DM_CODING_IDENTITY;
        if (dm_http1_is(element, DM_LITERAL("gzip")) ||
            dm_http1_is(element, DM_LITERAL("x-gzip"))) {
            coding = DM_CODING_GZIP;
        } else if (dm_http1_is(element, DM_LITERAL("deflate"))) {
            coding = DM_CODING_DEFLATE;
        } else if (element.len == 0 || dm_http1_is(element, DM_LITERAL("identity"))) {
            continue;
        }
        if (coding != DM_CODING_IDENTITY && reader->coding == DM_CODING_IDENTITY) {
            reader->coding = coding;
        } else if (reader->bad_coding_len == 0) {
            reader->bad_coding = (uint32_t)(element.data - reader->head.data);
            reader->bad_coding_len = (uint32_t)element.len;
        }
    }
}

static void note_connection(dm_http1_reader *reader, dm_span value) {
    dm_span element;
    while (next_element(&value, &element)) {
        if (dm_http1_is(element, DM_LITERAL("close"))) {
            reader->says_close = 1;
        } else if (dm_http1_is(element, DM_LITERAL("keep-alive"))) {
            reader->says_keep_alive = 1;
        }
    }
}

/* Keep-Alive: timeout=5, max=100 (RFC 2068, 19.7.1; seconds). */
static void note_keep_alive(dm_http1_reader *reader, dm_span value) {
    dm_span element;
    while (next_element(&value, &element)) {
        const dm_span key = DM_LITERAL("timeout=");
        if (element.len <= key.len || !dm_http1_is(dm_span_of(element.data, key.len), key)) {
            continue;
        }
        int64_t seconds = 0;
        for (size_t i = key.len; i < element.len; i++) {
            int digit = digit_of(element.data[i]);
            if (digit < 0) {
                return;
            }
            seconds = seconds > INT32_MAX ? seconds : seconds * 10 + digit;
        }
        reader->keep_alive_ms = seconds * 1000;
        return;
    }
}

/* Notes the fields that framing needs; the length of the name sorts out nearly all others. */
static int note_field(dm_http1_reader *reader, dm_span name, dm_span value) {
    switch (name.len) {
    case 10:
        if (dm_http1_is(name, DM_LITERAL("connection"))) {
            note_connection(reader, value);
        } else if (dm_http1_is(name, DM_LITERAL("keep-alive"))) {
            note_keep_alive(reader, value);
        }
        return 0;
    case 14:
        return dm_http1_is(name, DM_LITERAL("content-length")) ? note_content_length(reader, value)
                                                               : 0;
    case 16:
        if (dm_http1_is(name, DM_LITERAL("content-encoding"))) {
            note_content_encoding(reader, value);
        }
        return 0;
    case 17:
        return dm_http1_is(name, DM_LITERAL("transfer-encoding"))
                   ? note_transfer_encoding(reader, value)
                   : 0;
    default:
        return 0;
    }
}

/* field-name ":" OWS field-value OWS (RFC 9112, 5); no space before the colon and no folded lines
 * (5.1, 5.2). */
static int parse_field(dm_http1_reader *reader, dm_span line, dm_span *name, dm_span *value) {
    size_t colon = dm_http1_token_end(line);
    if (colon == 0 || colon == line.len || line.data[colon] != ':') {
        if (line.data[0] == ' ' || line.data[0] == '\t') {
            return FAIL(reader, DM_HTTP1_FRAMING, "the reply has a folded header line (obsolete)");
        }
        return fail_about(reader, DM_HTTP1_FRAMING, "the reply has a malformed header line",
                          dm_span_of(line.data, colon < line.len ? colon + 1 : colon));
    }
    *name = dm_span_of(line.data, colon);
    *value = dm_span_of(line.data + colon + 1, line.len - colon - 1);
    if (dm_http1_value_end(*value) != value->len) {
        return fail_about(reader, DM_HTTP1_FRAMING,
                          "the reply has a control byte in the value of the header", *name);
    }
    *value = dm_http1_trim(*value);
    return 0;
}

static int add_field(dm_http1_reader *reader, dm_span line) {
    dm_span name = {0};
    dm_span value = {0};
    if (parse_field(reader, line, &name, &value) != 0) {
        return -1;
    }
    if (reader->field_count == DM_HTTP1_MAX_FIELDS) {
        return FAIL(reader, DM_HTTP1_TOO_LARGE, "the reply has more than %d header fields",
                    DM_HTTP1_MAX_FIELDS);
    }
    uint32_t start = (uint32_t)(line.data - reader->head.data);
    reader->fields[reader->field_count++] = (dm_http1_place){
        .name = start,
        .name_len = (uint32_t)name.len,
        .value = start + (uint32_t)(value.data - line.data),
        .value_len = (uint32_t)value.len,
    };
    return reader->status < 200 ? 0 : note_field(reader, name, value);
}

static int begin_decoding(dm_http1_reader *reader) {
    if (reader->bad_coding_len != 0) {
        return fail_about(
            reader, DM_HTTP1_ENCODING,
            reader->coding != DM_CODING_IDENTITY
                ? "the reply is coded more than once; the coding that is too much is"
                : "the reply has a content coding that is not supported (gzip, "
                  "deflate and identity are)",
            dm_span_of(reader->head.data + reader->bad_coding, reader->bad_coding_len));
    }
    if (reader->coding != DM_CODING_IDENTITY &&
        dm_http1_decoder_begin(&reader->decoder, reader->coding, &reader->error) != 0) {
        return failed(reader);
    }
    return 0;
}

/* The empty line after the fields: decides how the body ends (RFC 9112, 6.3). */
static int end_head(dm_http1_reader *reader) {
    if (reader->status == 101) {
        return FAIL(reader, DM_HTTP1_FRAMING,
                    "the server switched protocols (101), which was not asked for");
    }
    if (reader->status < 200) {
        forget_head(reader);
        return 0;
    }
    reader->head_complete = 1;
    if (reader->is_head_request || reader->status == 204 || reader->status == 304 ||
        (!reader->chunked && reader->has_length && reader->content_length == 0)) {
        /* Which framing the fields claim is of no meaning without a body. */
        reader->coding = DM_CODING_IDENTITY;
        reader->chunked = 0;
        return finish(reader, 0);
    }
    if (begin_decoding(reader) != 0) {
        return -1;
    }
    if (reader->chunked) {
        reader->remaining = 0;
        reader->digits = 0;
        reader->state = CHUNK_SIZE;
        return 0;
    }
    if (!reader->has_length) {
        reader->state = BODY_CLOSE;
        return 0;
    }
    if (reader->content_length > reader->limits.body) {
        return FAIL(reader, DM_HTTP1_TOO_LARGE,
                    "the reply is %llu bytes long (Content-Length); the limit is %llu",
                    (unsigned long long)reader->content_length,
                    (unsigned long long)reader->limits.body);
    }
    uint64_t room =
        reader->content_length < TRUSTED_LENGTH ? reader->content_length : TRUSTED_LENGTH;
    if (reader->coding == DM_CODING_IDENTITY &&
        dm_bytes_reserve(reader->body, (size_t)room + DM_HTTP1_PADDING) != 0) {
        return no_memory(reader);
    }
    reader->remaining = reader->content_length;
    reader->state = BODY_LENGTH;
    return 0;
}

/* A trailer is checked as a header field is, then forgotten (RFC 9110, 6.5.1: it must not be merged
 * into the head unasked). */
static int drop_trailer(dm_http1_reader *reader, dm_span line) {
    dm_span name = {0};
    dm_span value = {0};
    if (parse_field(reader, line, &name, &value) != 0) {
        return -1;
    }
    if (++reader->trailer_count > DM_HTTP1_MAX_FIELDS) {
        return FAIL(reader, DM_HTTP1_TOO_LARGE, "the reply has more than %d trailer fields",
                    DM_HTTP1_MAX_FIELDS);
    }
    return 0;
}

/* One line of a head or trailer, without its line end. */
static int end_line(dm_http1_reader *reader, dm_span line) {
    if (reader->state == FIELD_LINE) {
        return line.len == 0 ? end_head(reader) : add_field(reader, line);
    }
    if (reader->state == STATUS_LINE) {
        return parse_status_line(reader, line);
    }
    return line.len == 0 ? finish(reader, 0) : drop_trailer(reader, line);
}

static int check_start(dm_http1_reader *reader, const char *line, size_t len) {
    if (memcmp(line, version_prefix, len < VERSION_PREFIX_LEN ? len : VERSION_PREFIX_LEN) == 0) {
        return 0;
    }
    return FAIL(reader, DM_HTTP1_FRAMING,
                "the reply does not start with HTTP/1.0 or HTTP/1.1: the server speaks another "
                "protocol, or the last reply was longer than it said");
}

/* A line passed a limit: the one that its bytes, one after the other, would pass first. */
static int line_too_long(dm_http1_reader *reader) {
    if (reader->limits.head - reader->head_used <= reader->limits.line) {
        return FAIL(reader, DM_HTTP1_TOO_LARGE,
                    "the head of the reply is longer than the limit of %u bytes",
                    (unsigned)reader->limits.head);
    }
    return FAIL(reader, DM_HTTP1_TOO_LARGE,
                "a header line of the reply is longer than the limit of %u bytes",
                (unsigned)reader->limits.line);
}

/* Takes lines as long as the head, or the trailer, goes on. The bytes are copied before it is known
 * where it ends, since one large copy is cheaper than many small ones. Whether a line is right is
 * judged when it is whole, and its length and the first bytes of all before, so that the cutting of
 * the bytes makes no difference. */
static int take_lines(dm_http1_reader *reader, const char **at, const char *end) {
    enum { PIECE = 256 };
    const uint8_t state = reader->state == TRAILER_LINE ? TRAILER_LINE : FIELD_LINE;
    dm_bytes *head = &reader->head;
    size_t given = (size_t)(end - *at) < PIECE ? (size_t)(end - *at) : PIECE;
    size_t before = head->len;
    if (dm_bytes_append(head, *at, given) != 0) {
        return no_memory(reader);
    }
    const char *stop = head->data + head->len;
    const char *line = head->data + reader->line_start;
    const char *from = head->data + before;
    do {
        const char *lf = memchr(from, '\n', (size_t)(stop - from));
        size_t len = (size_t)((lf != NULL ? lf + 1 : stop) - line);
        if (reader->state == STATUS_LINE && check_start(reader, line, len) != 0) {
            return -1;
        }
        if (len > reader->limits.line || len > reader->limits.head - reader->head_used) {
            return line_too_long(reader);
        }
        if (lf == NULL) {
            *at += given;
            reader->line_start = (uint32_t)(line - head->data);
            return 0;
        }
        reader->head_used += (uint32_t)len;
        /* A lone LF ends a line too (RFC 9112, 2.2). */
        size_t end_len = len >= 2 && lf[-1] == '\r' ? 2 : 1;
        if (end_line(reader, dm_span_of(line, len - end_len)) != 0) {
            return -1;
        }
        from = line = lf + 1;
    } while (line != stop && reader->state == state);
    reader->line_start = (uint32_t)(line - head->data);
    *at += reader->line_start - before;
    head->len = reader->line_start;
    if (reader->state == STATUS_LINE) {
        head->len = reader->line_start = 0;
    }
    return 0;
}

/* Takes up to `most` of the given bytes into the body. */
static int take_body(dm_http1_reader *reader, const char **at, const char *end, uint64_t most) {
    size_t take = (size_t)(end - *at);
    take = take < most ? take : (size_t)most;
    const char *data = *at;
    *at += take;
    reader->coded_bytes += take;
    if (reader->coding != DM_CODING_IDENTITY) {
        return dm_http1_decoder_feed(&reader->decoder, data, take, reader->body,
                                     reader->limits.decoded, DM_HTTP1_PADDING, &reader->error) == 0
                   ? 0
                   : failed(reader);
    }
    dm_bytes *body = reader->body;
    if (dm_bytes_reserve(body, take + DM_HTTP1_PADDING) != 0) {
        return no_memory(reader);
    }
    memcpy(body->data + body->len, data, take);
    body->len += take;
    return 0;
}

static int take_counted(dm_http1_reader *reader, const char **at, const char *end) {
    const char *before = *at;
    if (take_body(reader, at, end, reader->remaining) != 0) {
        return -1;
    }
    reader->remaining -= (uint64_t)(*at - before);
    if (reader->remaining != 0) {
        return 0;
    }
    if (reader->state == BODY_LENGTH) {
        return finish(reader, 0);
    }
    reader->state = CHUNK_DATA_CR;
    return 0;
}

static int take_until_close(dm_http1_reader *reader, const char **at, const char *end) {
    uint64_t room = reader->limits.body - reader->coded_bytes;
    if (take_body(reader, at, end, room) != 0) {
        return -1;
    }
    return *at == end ? 0
                      : FAIL(reader, DM_HTTP1_TOO_LARGE,
                             "the reply is longer than the limit of %llu bytes",
                             (unsigned long long)reader->limits.body);
}

static int bad_chunk(dm_http1_reader *reader, const char *what) {
    return FAIL(reader, DM_HTTP1_FRAMING, "the chunked reply is malformed after %llu bytes: %s",
                (unsigned long long)reader->coded_bytes, what);
}

static int hex_of(char byte) {
    int letter = byte | 0x20;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : digit_of(byte);
}

/* The LF after a chunk size. */
static int begin_chunk(dm_http1_reader *reader) {
    if (reader->remaining > reader->limits.body - reader->coded_bytes) {
        return FAIL(reader, DM_HTTP1_TOO_LARGE,
                    "a chunk of %llu bytes makes the reply longer than the limit of %llu",
                    (unsigned long long)reader->remaining, (unsigned long long)reader->limits.body);
    }
    reader->state = reader->remaining == 0 ? TRAILER_LINE : CHUNK_DATA;
    return 0;
}

/* One byte between the data of chunks: chunk-size [ chunk-ext ] CRLF, and the CRLF behind the data
 * (RFC 9112, 7.1). Extensions are skipped and counted as head; spaces behind the size are let
 * through, since some servers pad it. */
static int take_chunk_byte(dm_http1_reader *reader, char byte) {
    switch (reader->state) {
    case CHUNK_SIZE: {
        int digit = hex_of(byte);
        if (digit >= 0) {
            if (++reader->digits > 16) {
                return bad_chunk(reader, "a chunk size has more than 16 digits");
            }
            reader->remaining = reader->remaining * 16 + (uint64_t)digit;
            return 0;
        }
        if (reader->digits == 0) {
            return bad_chunk(reader, "a chunk size has no digit");
        }
        if (byte != '\r' && byte != ';' && byte != ' ' && byte != '\t') {
            return bad_chunk(reader, "a chunk size holds a byte that is no hexadecimal digit");
        }
        reader->state = byte == '\r' ? CHUNK_SIZE_LF : CHUNK_EXTENSION;
        return 0;
    }
    case CHUNK_EXTENSION:
        if (byte == '\r') {
            reader->state = CHUNK_SIZE_LF;
            return 0;
        }
        if (dm_http1_value_end(dm_span_of(&byte, 1)) == 0) {
            return bad_chunk(reader, "a chunk extension holds a control byte");
        }
        if (reader->head_used == reader->limits.head) {
            return FAIL(reader, DM_HTTP1_TOO_LARGE,
                        "head and chunk extensions of the reply are longer than the limit of %u "
                        "bytes",
                        (unsigned)reader->limits.head);
        }
        reader->head_used++;
        return 0;
    case CHUNK_SIZE_LF:
        return byte == '\n' ? begin_chunk(reader)
                            : bad_chunk(reader, "a chunk size does not end in CRLF");
    case CHUNK_DATA_CR:
        reader->state = CHUNK_DATA_LF;
        return byte == '\r' ? 0 : bad_chunk(reader, "a chunk is longer than its size");
    default:
        reader->remaining = 0;
        reader->digits = 0;
        reader->state = CHUNK_SIZE;
        return byte == '\n' ? 0 : bad_chunk(reader, "a chunk does not end in CRLF");
    }
}

static int result(const dm_http1_reader *reader) {
    return reader->state == DONE     ? DM_HTTP1_COMPLETE
           : reader->state == FAILED ? DM_HTTP1_FAILED
                                     : DM_HTTP1_MORE;
}

int dm_http1_reader_feed(dm_http1_reader *reader, const char *data, size_t len, size_t *consumed) {
    *consumed = 0;
    if (len == 0) {
        return result(reader);
    }
    const char *at = data;
    const char *end = data + len;
    reader->any_byte = 1;
    while (at != end && reader->state < DONE) {
        switch (reader->state) {
        case STATUS_LINE:
        case FIELD_LINE:
        case TRAILER_LINE:
            (void)take_lines(reader, &at, end);
            break;
        case BODY_LENGTH:
        case CHUNK_DATA:
            (void)take_counted(reader, &at, end);
            break;
        case BODY_CLOSE:
            (void)take_until_close(reader, &at, end);
            break;
        default:
            (void)take_chunk_byte(reader, *at++);
            break;
        }
    }
    *consumed = (size_t)(at - data);
    if (at != end) {
        reader->reusable = 0;
    }
    return result(reader);
}

int dm_http1_reader_eof(dm_http1_reader *reader) {
    switch (reader->state) {
    case DONE:
        reader->reusable = 0;
        break;
    case FAILED:
        break;
    case STATUS_LINE:
    case FIELD_LINE:
        (void)(reader->any_byte
                   ? FAIL(reader, DM_HTTP1_TRUNCATED,
                          "the connection was closed in the head of the reply, after %u bytes",
                          (unsigned)(reader->head_used + reader->head.len - reader->line_start))
                   : FAIL(reader, DM_HTTP1_TRUNCATED,
                          "the connection was closed before any byte of a reply"));
        break;
    case BODY_LENGTH:
        (void)FAIL(
            reader, DM_HTTP1_TRUNCATED, "Content-Length %llu but %llu bytes came before the close",
            (unsigned long long)reader->content_length, (unsigned long long)reader->coded_bytes);
        break;
    case BODY_CLOSE:
        (void)finish(reader, 1);
        break;
    default:
        (void)FAIL(reader, DM_HTTP1_TRUNCATED,
                   "the connection was closed before the last chunk of the reply, after %llu bytes",
                   (unsigned long long)reader->coded_bytes);
        break;
    }
    return result(reader);
}

dm_span dm_http1_reader_name(const dm_http1_reader *reader, size_t i) {
    const dm_http1_place *place = &reader->fields[i];
    return dm_span_of(reader->head.data + place->name, place->name_len);
}

dm_span dm_http1_reader_value(const dm_http1_reader *reader, size_t i) {
    const dm_http1_place *place = &reader->fields[i];
    return dm_span_of(reader->head.data + place->value, place->value_len);
}

dm_span dm_http1_reader_find(const dm_http1_reader *reader, dm_span name) {
    for (size_t i = 0; i < reader->field_count; i++) {
        if (reader->fields[i].name_len == name.len &&
            dm_text_equal_nocase(dm_http1_reader_name(reader, i), name)) {
            return dm_http1_reader_value(reader, i);
        }
    }
    return dm_span_of(NULL, 0);
}

void dm_http1_reader_free(dm_http1_reader *reader) {
    dm_http1_error_free(&reader->error);
    dm_bytes_free(&reader->head);
    dm_http1_decoder_free(&reader->decoder);
}
