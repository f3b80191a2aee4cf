#include "engine/log.h"

#include <stdio.h>

#include "base/text.h"

int dm_log_level_of(dm_span name) {
    static const char *const names[] = {"off", "error", "warn", "info", "debug"};
    for (int i = 0; i < 5; i++) {
        if (dm_text_equal_nocase(name, dm_span_of(names[i], strlen(names[i])))) {
            return i;
        }
    }
    return -1;
}

static int wants(const dm_call *call, int level) {
    return call->client->log_level >= level;
}

static void print(dm_bytes *line) {
    if (line->data != NULL) {
        fprintf(stderr, "%s\n", line->data);
    }
    dm_bytes_free(line);
}

static int begins(dm_span text, const char *word) {
    size_t len = strlen(word);
    return text.len >= len &&
           dm_text_equal_nocase(dm_span_of(text.data, len), dm_span_of(word, len));
}

static int holds(dm_span text, const char *word) {
    for (size_t i = 0; i < text.len; i++) {
        if (begins(dm_span_of(text.data + i, text.len - i), word)) {
            return 1;
        }
    }
    return 0;
}

static int is_secret(dm_span name) {
    return holds(name, "authorization") || holds(name, "cookie") || holds(name, "token") ||
           holds(name, "secret") || holds(name, "api-key");
}

/* A server may echo the key in any header. */
static int holds_key(const dm_call *call, dm_span value) {
    const dm_bytes *key = &call->client->api_key;
    return key->len != 0 && value.len != 0 &&
           memmem(value.data, value.len, key->data, key->len) != NULL;
}

void dm_log_reply(const dm_call *call, int64_t now) {
    if (!wants(call, DM_LOG_INFO)) {
        return;
    }
    deem_response *response = call->response;
    dm_bytes line = {0};
    dm_bytes_append_format(&line, "deemster: %s %s -> %d in %lld ms, attempt %d",
                           response->method.data, response->url.data, response->http_status,
                           (long long)((now - call->attempt_began) / 1000000), response->attempts);
    dm_span id = dm_response_request_id(response);
    if (id.len != 0) {
        dm_bytes_append_text(&line, ", request id ");
        dm_text_append_safe(&line, id, 100);
    }
    for (uint32_t i = 0; wants(call, DM_LOG_DEBUG) && i < response->field_count; i++) {
        const dm_http1_place *field = &response->fields[i];
        dm_span name = dm_span_of(response->head.data + field->name, field->name_len);
        dm_span value = dm_span_of(response->head.data + field->value, field->value_len);
        dm_bytes_append_text(&line, "\ndeemster:   ");
        dm_text_append_safe(&line, name, 100);
        dm_bytes_append_text(&line, ": ");
        dm_text_append_safe(
            &line, is_secret(name) || holds_key(call, value) ? DM_LITERAL("***") : value, 200);
    }
    print(&line);
}

void dm_log_failure(const dm_call *call, int64_t now) {
    if (!wants(call, DM_LOG_INFO)) {
        return;
    }
    deem_response *response = call->response;
    dm_bytes line = {0};
    dm_bytes_append_format(
        &line, "deemster: %s %s failed after %lld ms, attempt %d: ", response->method.data,
        response->url.data, (long long)((now - call->attempt_began) / 1000000), response->attempts);
    dm_text_append_safe(&line, dm_bytes_span(&response->error.message), 400);
    print(&line);
}

void dm_log_retry(const dm_call *call, int64_t wait_ns) {
    if (wants(call, DM_LOG_INFO)) {
        fprintf(stderr, "deemster: retry %d in %lld ms\n", call->retries,
                (long long)(wait_ns / 1000000));
    }
}
