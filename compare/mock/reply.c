#include "reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <zlib.h>

#include "request.h"

static const char html[] = "<!doctype html>\n<html><head><title>%s</title></head>"
                           "<body><h1>%s</h1></body></html>\n";

void mock_reply_header(struct mock_reply *reply, const char *name, const char *value) {
    if (reply->header_count == MOCK_MAX_HEADERS)
        return;
    reply->names[reply->header_count] = mock_copy(name, strlen(name));
    reply->values[reply->header_count++] = mock_copy(value, strlen(value));
}

void mock_reply_free(struct mock_reply *reply) {
    for (size_t i = 0; i < reply->header_count; i++) {
        free(reply->names[i]);
        free(reply->values[i]);
    }
    reply->header_count = 0;
    mock_buffer_free(&reply->body);
}

void mock_reply_json(struct mock_reply *reply, int status, const char *body) {
    reply->status = status;
    reply->content_type = "application/json";
    reply->body.length = 0;
    mock_buffer_add(&reply->body, body, strlen(body));
}

const char *mock_reply_phrase(int status) {
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {{200, "OK"},
                   {201, "Created"},
                   {204, "No Content"},
                   {301, "Moved Permanently"},
                   {302, "Found"},
                   {303, "See Other"},
                   {307, "Temporary Redirect"},
                   {308, "Permanent Redirect"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {402, "Payment Required"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {413, "Content Too Large"},
                   {417, "Expectation Failed"},
                   {422, "Unprocessable Entity"},
                   {425, "Too Early"},
                   {429, "Too Many Requests"},
                   {500, "Internal Server Error"},
                   {501, "Not Implemented"},
                   {502, "Bad Gateway"},
                   {503, "Service Unavailable"},
                   {504, "Gateway Timeout"},
                   {529, "Site is overloaded"}};
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Unknown";
}

/* "date+5", "date850-5", "dateasc+5": now and that many seconds, in one of the three spellings of
 * RFC 9110 section 5.6.7. Anything else stands as it is. */
static void put_header(struct mock_reply *reply, const char *name, const char *value) {
    static const struct {
        const char *word, *format;
    } dates[] = {{"date850", "%A, %d-%b-%y %H:%M:%S GMT"},
                 {"dateasc", "%a %b %e %H:%M:%S %Y"},
                 {"date", "%a, %d %b %Y %H:%M:%S GMT"}};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        size_t length = strlen(dates[i].word);
        if (strncmp(value, dates[i].word, length) != 0 || !strchr("+-", value[length]))
            continue;
        char text[64];
        struct tm parts;
        time_t when = time(NULL) + strtol(value + length, NULL, 10);
        gmtime_r(&when, &parts);
        strftime(text, sizeof text, dates[i].format, &parts);
        mock_reply_header(reply, name, text);
        return;
    }
    mock_reply_header(reply, name, value);
}

/* "retry-after=1,x-should-retry=false"; an entry without "=" is left out. */
static void put_header_list(struct mock_reply *reply, const char *list) {
    char *copy = mock_copy(list, strlen(list)), *rest = copy, *entry;
    while ((entry = strsep(&rest, ","))) {
        char *equals = strchr(entry, '=');
        if (!equals || equals == entry)
            continue;
        *equals = 0;
        put_header(reply, entry, equals + 1);
    }
    free(copy);
}

static void put_page(struct mock_reply *reply, int status, const char *title) {
    reply->status = status;
    reply->content_type = "text/html; charset=utf-8";
    mock_buffer_print(&reply->body, html, title, title);
}

static void put_status(struct mock_reply *reply, int status) {
    reply->status = status;
    reply->content_type = "application/json";
    switch (status) {
    case 401:
        mock_detail(
            &reply->body, "authentication_error",
            "Cannot authenticate with the server. Please check your API key and try again.");
        return;
    case 403:
        mock_detail(&reply->body, "authentication_error",
                    "Must supply an API key! Check your request and try again.");
        return;
    case 422:
        mock_buffer_print(&reply->body, "{\"detail\":[{\"type\":\"missing\",\"loc\":[\"body\","
                                        "\"state\"],\"msg\":\"Field required\",\"input\":{}}]}");
        return;
    case 429:
        mock_detail(&reply->body, "rate_limit_exceeded", "(mock) slow down");
        return;
    case 500:
        reply->content_type = "text/plain; charset=utf-8";
        mock_buffer_print(&reply->body, "Internal Server Error");
        return;
    case 502:
    case 503:
    case 504:
        put_page(reply, status, mock_reply_phrase(status));
        return;
    case 529:
        mock_detail(&reply->body, "overloaded", "(mock) overloaded");
        return;
    default:
        if (status >= 200 && status != 204 && status != 304)
            mock_detail_text(&reply->body, mock_reply_phrase(status),
                             strlen(mock_reply_phrase(status)));
    }
}

static void put_shape(struct mock_reply *reply, const struct mock_fault *fault, const char *name,
                      const char *body) {
    mock_reply_json(reply, (int)fault->number, body);
    reply->foreign = true;
    if (name)
        mock_reply_header(reply, name, "mock-1");
}

static bool read_file(struct mock_buffer *body, const char *path) {
    char block[4096];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    while ((got = fread(block, 1, sizeof block, file)) > 0)
        mock_buffer_add(body, block, got);
    bool good = !ferror(file);
    fclose(file);
    return good;
}

static void put_echo(struct mock_reply *reply, enum mock_fault_kind kind, const char *authorization,
                     const struct mock_buffer *request) {
    struct mock_buffer text = {0};
    reply->content_type = "application/json";
    if (kind == MOCK_FAULT_ECHO_KEY) {
        reply->status = 401;
        mock_buffer_print(&text, "No such key: %s", authorization ? authorization : "(none)");
        mock_buffer_add(&text, "", 1);
        mock_detail(&reply->body, "authentication_error", text.data);
    } else {
        struct mock_json json;
        reply->status = 422;
        mock_buffer_print(&reply->body, "{\"detail\":[{\"type\":\"value_error\",\"loc\":[\"body\"],"
                                        "\"msg\":\"Value error\",\"input\":");
        if (mock_json_parse(&json, request->data, request->length))
            mock_buffer_add(&reply->body, request->data, request->length);
        else
            mock_buffer_print(&reply->body, "null");
        mock_json_free(&json);
        mock_buffer_print(&reply->body, "}]}");
    }
    mock_buffer_free(&text);
}

bool mock_reply_fault(struct mock_reply *reply, const struct mock_fault *fault,
                      const char *authorization, const struct mock_buffer *request) {
    switch (fault->kind) {
    case MOCK_FAULT_STATUS:
        put_status(reply, fault->status);
        if (fault->text)
            put_header_list(reply, fault->text);
        return true;
    case MOCK_FAULT_HTML:
        put_page(reply, 200, "Sign in to this network");
        reply->foreign = true;
        return true;
    case MOCK_FAULT_HTML_502:
        put_page(reply, 502, "502: Bad gateway (cloudflare)");
        reply->foreign = true;
        mock_reply_header(reply, "cf-ray", "mock-1");
        return true;
    case MOCK_FAULT_HTML_403:
        put_page(reply, 403, "Blocked");
        reply->foreign = true;
        return true;
    case MOCK_FAULT_EMPTY:
        mock_reply_json(reply, 200, "");
        return true;
    case MOCK_FAULT_NO_CONTENT:
        reply->status = 204;
        reply->content_type = NULL;
        return true;
    case MOCK_FAULT_REDIRECT:
        mock_reply_json(reply, 307, "");
        mock_reply_header(reply, "Location", fault->text ? fault->text : "/elsewhere");
        return true;
    case MOCK_FAULT_ECHO_KEY:
    case MOCK_FAULT_ECHO_STATE:
        put_echo(reply, fault->kind, authorization, request);
        return true;
    case MOCK_FAULT_OPENAI:
        put_shape(reply, fault, "x-request-id",
                  "{\"error\":{\"message\":\"Decision input exceeds the token limit.\",\"type\":"
                  "\"invalid_request_error\",\"param\":\"input\",\"code\":null}}");
        return true;
    case MOCK_FAULT_OPENROUTER:
        put_shape(reply, fault, NULL,
                  "{\"error\":{\"message\":\"(mock) the provider refused\",\"code\":400,"
                  "\"metadata\":{\"provider_name\":\"x\"}},\"user_id\":\"user_1\"}");
        return true;
    case MOCK_FAULT_OLLAMA:
        put_shape(reply, fault, NULL, "{\"error\":\"(mock) model not found\"}");
        return true;
    case MOCK_FAULT_LLAMACPP:
        put_shape(reply, fault, NULL,
                  "{\"error\":{\"code\":422,\"message\":\"(mock) questions.q.criteria is too "
                  "short\",\"type\":\"unprocessable_entity_error\"}}");
        return true;
    case MOCK_FAULT_OPPER:
        put_shape(reply, fault, NULL,
                  "{\"error\":{\"code\":\"invalid_request\",\"message\":\"(mock) bad body\","
                  "\"details\":{}},\"meta\":{}}");
        return true;
    case MOCK_FAULT_VERCEL:
        put_shape(reply, fault, NULL,
                  "{\"message\":\"(mock) model not available\",\"error_type\":"
                  "\"api_usage_error\"}");
        return true;
    case MOCK_FAULT_CLOUDFLARE:
        put_shape(reply, fault, "cf-ray",
                  "{\"result\":null,\"success\":false,\"errors\":[{\"code\":5006,\"message\":"
                  "\"(mock) bad input\"}],\"messages\":[]}");
        return true;
    case MOCK_FAULT_BODY_ARRAY:
        mock_reply_json(reply, 200, "[]");
        return true;
    case MOCK_FAULT_BODY_NULL:
        mock_reply_json(reply, 200, "null");
        return true;
    case MOCK_FAULT_RAW:
        reply->status = 200;
        if (!read_file(&reply->body, fault->text))
            return false;
        reply->wire = MOCK_FAULT_RAW;
        return true;
    default:
        return false;
    }
}

void mock_reply_pack(struct mock_buffer *body, int window_bits) {
    z_stream stream = {0};
    if (deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        fputs("deemster-mock: zlib does not start\n", stderr);
        exit(1);
    }
    size_t bound = deflateBound(&stream, (uLong)body->length);
    struct mock_buffer packed = {mock_resize(NULL, bound), 0, bound};
    stream.next_in = (Bytef *)body->data;
    stream.avail_in = (uInt)body->length;
    stream.next_out = (Bytef *)packed.data;
    stream.avail_out = (uInt)bound;
    deflate(&stream, Z_FINISH);
    packed.length = bound - stream.avail_out;
    deflateEnd(&stream);
    mock_buffer_free(body);
    *body = packed;
}

static void to_utf16(struct mock_buffer *body) {
    struct mock_buffer wide = {0};
    mock_buffer_add(&wide, "\xff\xfe", 2);
    for (size_t i = 0; i < body->length; i++) {
        char unit[2] = {body->data[i], 0};
        mock_buffer_add(&wide, unit, 2);
    }
    mock_buffer_free(body);
    *body = wide;
}

/* Puts bytes behind the first character of the first string value. */
static bool into_string(struct mock_buffer *body, const char *bytes, size_t length) {
    const char *value = memmem(body->data, body->length, ":\"", 2);
    if (!value)
        return false;
    mock_buffer_insert(body, (size_t)(value - body->data) + 3, bytes, length);
    return true;
}

bool mock_reply_spoil(struct mock_reply *reply, enum mock_fault_kind kind) {
    struct mock_buffer *body = &reply->body;
    if (!body->length)
        return false;
    switch (kind) {
    case MOCK_FAULT_TRUNCATED_JSON:
        body->length /= 2;
        return true;
    case MOCK_FAULT_TWO_DOCUMENTS: {
        char *copy = mock_copy(body->data, body->length);
        mock_buffer_add(body, copy, body->length);
        free(copy);
        return true;
    }
    case MOCK_FAULT_TRAILING_TEXT:
        mock_buffer_add(body, "xyz", 3);
        return true;
    case MOCK_FAULT_TRAILING_SPACE:
        mock_buffer_add(body, " \r\n\t\n", 5);
        return true;
    case MOCK_FAULT_BAD_UTF8:
        return into_string(body, "\xff\xfe", 2);
    case MOCK_FAULT_LONE_SURROGATE:
        return into_string(body, "\\ud800", 6);
    case MOCK_FAULT_BOM:
        mock_buffer_insert(body, 0, "\xef\xbb\xbf", 3);
        return true;
    case MOCK_FAULT_UTF16:
        to_utf16(body);
        return true;
    case MOCK_FAULT_NUL:
        mock_buffer_add(body, "", 1);
        return true;
    case MOCK_FAULT_GZIP:
    case MOCK_FAULT_GZIP_TRUNCATED:
    case MOCK_FAULT_GZIP_HALF:
    case MOCK_FAULT_GZIP_TRAILING:
        mock_reply_pack(body, 31);
        if (kind == MOCK_FAULT_GZIP_TRUNCATED)
            body->length -= 8;
        else if (kind == MOCK_FAULT_GZIP_HALF)
            body->length /= 2;
        else if (kind == MOCK_FAULT_GZIP_TRAILING)
            mock_buffer_add(body, "xyz", 3);
        mock_reply_header(reply, "Content-Encoding", "gzip");
        return true;
    case MOCK_FAULT_DEFLATE:
        mock_reply_pack(body, 15);
        mock_reply_header(reply, "Content-Encoding", "deflate");
        return true;
    case MOCK_FAULT_ZSTD_LABEL:
        mock_reply_header(reply, "Content-Encoding", "zstd");
        return true;
    case MOCK_FAULT_NO_CONTENT_TYPE:
        reply->content_type = NULL;
        return true;
    default:
        return false;
    }
}
