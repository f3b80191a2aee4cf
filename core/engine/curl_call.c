#include "engine/curl_call.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "deemster.h"
#include "transport/curl_easy.h"

/* The headers as "Name: value" lines in one buffer, and pointers to them. */
static int make_lines(dm_call *call, dm_bytes *text, const char ***lines) {
    if (dm_call_fields(call) != 0) {
        return -1;
    }
    const char **list = dm_alloc((call->field_count + 1) * sizeof *list);
    if (list == NULL) {
        return -1;
    }
    *lines = list;
    for (uint32_t i = 0; i < call->field_count; i++) {
        dm_http1_field field = call->fields[i];
        if (dm_bytes_append(text, field.name.data, field.name.len) != 0 ||
            dm_bytes_append_text(text, ": ") != 0 ||
            dm_bytes_append(text, field.value.data, field.value.len) != 0 ||
            dm_bytes_append_char(text, '\0') != 0) {
            return -1;
        }
    }
    const char *line = text->data;
    for (uint32_t i = 0; i < call->field_count; i++) {
        list[i] = line;
        line += strlen(line) + 1;
    }
    return 0;
}

static int take_headers(deem_response *response, const dm_bytes *headers) {
    const char *at = headers->data;
    const char *end = at + headers->len;
    while (at != NULL && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        const char *colon = memchr(at, ':', (size_t)(line_end - at));
        if (colon != NULL) {
            const char *value = colon + 1;
            const char *stop = line_end;
            while (value < stop && (*value == ' ' || *value == '\t')) {
                value++;
            }
            while (stop > value && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t')) {
                stop--;
            }
            if (dm_response_add_header(response, dm_span_of(at, (size_t)(colon - at)),
                                       dm_span_of(value, (size_t)(stop - value))) != 0) {
                return -1;
            }
        }
        at = line_end + 1;
    }
    return 0;
}

static void tell(dm_call *call, dm_io io, dm_curl_reply *reply, const dm_error *error) {
    deem_response *response = call->response;
    int64_t now = dm_clock_now();
    response->timing_us[DEEM_TIMING_DNS] = reply->times.dns_us;
    response->timing_us[DEEM_TIMING_CONNECT] = reply->times.connect_us;
    response->timing_us[DEEM_TIMING_TLS] = reply->times.tls_us;
    response->reused = reply->reused;
    response->sent += reply->sent_bytes;
    response->received += (int64_t)(reply->headers.len + reply->body.len);
    if (io == DM_IO_OK) {
        response->http_status = (int)reply->status;
        dm_bytes body = response->body;
        response->body = reply->body;
        reply->body = body;
        if (take_headers(response, &reply->headers) != 0 ||
            dm_call_reply(call, now) == DEEM_E_MEMORY) {
            dm_call_end(call, DEEM_E_MEMORY, "There was no memory for the reply.", now);
        }
        return;
    }
    int sent = reply->sent_bytes > 0;
    if (reply->failure == DM_FAIL_TIMEOUT) {
        dm_call_fail_timeout(call, sent, now);
        return;
    }
    int32_t code = error->code != 0 ? error->code : DEEM_E_CONNECTION;
    dm_call_fail(call, code,
                 error->message.data != NULL ? error->message.data : "The connection failed.", sent,
                 dm_failure_is_final(reply->failure), 0, now);
}

void dm_curl_call_run(dm_call *call, int cancel_fd) {
    dm_call_attempt(call, dm_clock_now());
    dm_bytes text = {0};
    const char **lines = NULL;
    dm_curl_reply reply = {0};
    dm_error error = {0};
    deem_client *client = call->client;
    int failed = make_lines(call, &text, &lines) != 0;
    dm_span url = dm_call_url(call);
    failed = failed || url.data == NULL;
    if (failed) {
        dm_call_end(call, DEEM_E_MEMORY, "There was no memory for the request.", dm_clock_now());
    } else {
        dm_curl_request request = {
            .method = call->response->method.data,
            .url = url.data,
            .headers = lines,
            .header_count = call->field_count,
            .body = dm_bytes_span(&call->body),
            .body_most = (size_t)client->max_reply_bytes,
            .deadline_ns = call->attempt_until,
            .cancel_fd = cancel_fd,
            .http2 = 1,
            .any_proxy_auth = 1,
            .accept_gzip = 1, /* libcurl decodes no coding otherwise */
        };
        dm_io io = dm_curl_perform(client->transport, &request, &reply, &error);
        tell(call, io, &reply, &error);
    }
    dm_curl_reply_free(&reply);
    dm_error_free(&error);
    dm_free(lines);
    dm_bytes_free(&text);
}
