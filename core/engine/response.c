#include "engine/response.h"

#include "base/alloc.h"
#include "base/text.h"
#include "deemster.h"

deem_response *dm_response_new(void) {
    deem_response *response = dm_alloc_zero(sizeof *response);
    if (response != NULL) {
        dm_response_begin(response, NULL);
    }
    return response;
}

void dm_response_free(deem_response *response) {
    if (response == NULL) {
        return;
    }
    dm_plan_unref(response->set);
    dm_error_free(&response->error);
    dm_reply_free(&response->reply);
    dm_bytes_free(&response->body);
    dm_bytes_free(&response->head);
    dm_free(response->fields);
    dm_bytes_free(&response->method);
    dm_bytes_free(&response->url);
    dm_free(response);
}

void dm_response_begin(deem_response *response, deem_question_set *set) {
    if (set != response->set) {
        if (set != NULL) {
            dm_plan_ref(set);
        }
        dm_plan_unref(response->set);
        response->set = set;
    }
    dm_error_clear(&response->error);
    dm_response_forget_reply(response);
    response->reply.answers.blank = 0; /* a freed set's address may come again */
    response->retry_after_ms = -1;
    response->attempts = 0;
    response->reused = 0;
    response->may_retry = 0;
    response->sent = 0;
    response->received = 0;
    for (int i = 0; i < DM_TIMINGS; i++) {
        response->timing_us[i] = -1;
    }
    dm_bytes_clear(&response->method);
    dm_bytes_clear(&response->url);
}

void dm_response_forget_reply(deem_response *response) {
    dm_reply_clear(&response->reply);
    response->has_answers = 0;
    dm_bytes_clear(&response->body);
    response->body_cut = 0;
    response->http_status = 0;
    dm_bytes_clear(&response->head);
    response->field_count = 0;
}

static dm_span part(const deem_response *response, uint32_t start, uint32_t len) {
    return dm_span_of(response->head.data + start, len);
}

dm_span dm_response_header(const deem_response *response, dm_span name) {
    for (uint32_t i = 0; i < response->field_count; i++) {
        const dm_http1_place *field = &response->fields[i];
        if (field->name_len == name.len &&
            dm_text_equal_nocase(part(response, field->name, field->name_len), name)) {
            return part(response, field->value, field->value_len);
        }
    }
    return dm_span_of(NULL, 0);
}

int dm_response_add_header(deem_response *response, dm_span name, dm_span value) {
    if (response->field_count == response->field_cap) {
        uint32_t cap = response->field_cap == 0 ? 16 : response->field_cap * 2;
        dm_http1_place *fields = dm_realloc(response->fields, cap * sizeof *fields);
        if (fields == NULL) {
            return -1;
        }
        response->fields = fields;
        response->field_cap = cap;
    }
    if (name.len + value.len > UINT32_MAX / 4 || response->head.len > UINT32_MAX / 4) {
        return -1;
    }
    dm_http1_place place = {(uint32_t)response->head.len, (uint32_t)name.len,
                            (uint32_t)(response->head.len + name.len + 1), (uint32_t)value.len};
    if (dm_bytes_append(&response->head, name.data, name.len) != 0 ||
        dm_bytes_append_char(&response->head, '\0') != 0 ||
        dm_bytes_append(&response->head, value.data, value.len) != 0 ||
        dm_bytes_append_char(&response->head, '\0') != 0) {
        return -1;
    }
    response->fields[response->field_count++] = place;
    return 0;
}

dm_span dm_response_request_id(const deem_response *response) {
    static const char *const names[] = {"x-typesafe-request-id", "x-request-id", "request-id",
                                        "cf-ray"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dm_span value = dm_response_header(response, dm_span_of(names[i], strlen(names[i])));
        if (value.len != 0) {
            return value;
        }
    }
    return response->reply.id;
}

void dm_response_swap(deem_response *a, deem_response *b) {
    deem_response kept = *a;
    *a = *b;
    *b = kept;
}

void dm_response_hand_over(deem_response **own, deem_response **given) {
    if (*given != NULL) {
        dm_response_swap(*own, *given);
    } else {
        *given = *own;
        *own = NULL;
    }
}

static void blot(dm_bytes *bytes, dm_span secret) {
    char *from = bytes->data;
    size_t left = bytes->len;
    while (left >= secret.len) {
        char *found = memmem(from, left, secret.data, secret.len);
        if (found == NULL) {
            return;
        }
        memset(found, '*', secret.len);
        left -= (size_t)(found - from) + secret.len;
        from = found + secret.len;
    }
}

void dm_response_mask(deem_response *response, dm_span secret) {
    if (secret.len == 0) {
        return;
    }
    blot(&response->error.message, secret);
    blot(&response->error.path, secret);
    blot(&response->body, secret);
    blot(&response->head, secret);
}
