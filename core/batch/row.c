#include "batch/row.h"

#include "base/alloc.h"
#include "base/sha256.h"
#include "deemster.h"

dm_row *dm_row_new(void) {
    return dm_alloc_zero(sizeof(dm_row));
}

void dm_row_free(dm_row *row) {
    if (row != NULL) {
        dm_bytes_free(&row->state);
        dm_response_free(row->response);
        dm_free(row);
    }
}

int dm_row_digest(dm_row *row, dm_span group) {
    dm_bytes all = {0};
    char hex[65];
    if (dm_bytes_reserve(&all, row->state.len + group.len + 24) != 0 ||
        dm_bytes_append_format(&all, "%d %zu ", row->is_json, group.len) != 0 ||
        dm_bytes_append(&all, group.data, group.len) != 0 ||
        dm_bytes_append(&all, row->state.data, row->state.len) != 0) {
        dm_bytes_free(&all);
        return -1;
    }
    dm_sha256_hex(dm_bytes_span(&all), hex);
    dm_bytes_free(&all);
    memcpy(row->digest, hex, sizeof row->digest - 1);
    return 0;
}

int dm_response_reread(deem_response *response, int32_t check, dm_json_index *index) {
    if (dm_bytes_reserve(&response->body, DM_JSON_PADDING) != 0) {
        return -1;
    }
    dm_reply_clear(&response->reply);
    dm_error_clear(&response->error);
    response->has_answers = 1;
    int32_t code =
        dm_reply_read_answers(&response->reply, index, response->set,
                              response->body.data != NULL ? response->body.data : "",
                              response->body.len, check, dm_span_of(NULL, 0), &response->error);
    return code == DEEM_E_MEMORY ? -1 : 0;
}

static int copy_bytes(dm_bytes *to, const dm_bytes *from) {
    dm_bytes_clear(to);
    return dm_bytes_append(to, from->data, from->len);
}

static int copy_fields(deem_response *to, const deem_response *from) {
    if (to->field_cap < from->field_count) {
        dm_http1_place *fields = dm_realloc(to->fields, from->field_count * sizeof *fields);
        if (fields == NULL) {
            return -1;
        }
        to->fields = fields;
        to->field_cap = from->field_count;
    }
    if (from->field_count > 0) {
        memcpy(to->fields, from->fields, from->field_count * sizeof *to->fields);
    }
    to->field_count = from->field_count;
    return copy_bytes(&to->head, &from->head);
}

int dm_response_copy(deem_response *to, const deem_response *from, int32_t check,
                     dm_json_index *index) {
    dm_response_begin(to, from->set);
    if (copy_bytes(&to->body, &from->body) != 0 || copy_fields(to, from) != 0 ||
        copy_bytes(&to->method, &from->method) != 0 || copy_bytes(&to->url, &from->url) != 0) {
        return -1;
    }
    int64_t input = from->reply.input_tokens;
    int64_t output = from->reply.output_tokens;
    double cost = from->reply.cost;
    if (from->http_status >= 200 && from->http_status < 300) {
        if (dm_response_reread(to, check, index) != 0) {
            return -1;
        }
        to->reply.input_tokens = input;
        to->reply.output_tokens = output;
        to->reply.cost = cost;
    } else if (from->has_answers) {
        to->has_answers = 1;
        if (dm_answers_begin(&to->reply.answers, to->set) != 0) {
            return -1;
        }
    }
    to->error.code = from->error.code;
    to->error.reason = from->error.reason;
    if (copy_bytes(&to->error.path, &from->error.path) != 0 ||
        copy_bytes(&to->error.message, &from->error.message) != 0) {
        return -1;
    }
    to->body_cut = from->body_cut;
    to->http_status = from->http_status;
    to->retry_after_ms = from->retry_after_ms;
    to->attempts = from->attempts;
    to->reused = from->reused;
    to->sent = from->sent;
    to->received = from->received;
    memcpy(to->timing_us, from->timing_us, sizeof to->timing_us);
    return 0;
}
