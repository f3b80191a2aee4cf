/* deem_response_*: what a call came to. */
#include "engine/response.h"

#include <math.h>

#include "deemster.h"
#include "out.h"

static const dm_span NOTHING;

static dm_span or_empty(dm_span span) {
    return span.data != NULL ? span : dm_span_of("", 0);
}

/* Gives a text out that may be absent. */
static int32_t out_optional(dm_span span, const char **text, size_t *len) {
    dm_out_text(span, text, len);
    return span.data != NULL ? DEEM_OK : DEEM_E_ABSENT;
}

static dm_span json_at(const deem_response *response, dm_range place) {
    return place.len == 0 ? NOTHING : dm_span_of(response->reply.text + place.start, place.len);
}

void deem_response_free(deem_response *response) {
    dm_response_free(response);
}

int32_t deem_response_code(const deem_response *response) {
    return response == NULL ? DEEM_E_MISUSE : response->error.code;
}

int32_t deem_response_message(const deem_response *response, const char **message, size_t *len) {
    if (response == NULL) {
        dm_out_text(NOTHING, message, len);
        return DEEM_E_MISUSE;
    }
    dm_out_error_text(&response->error, message, len);
    return DEEM_OK;
}

int32_t deem_response_reason(const deem_response *response) {
    return response == NULL ? DEEM_ANSWER_OK : response->error.reason;
}

int32_t deem_response_path(const deem_response *response, const char **path, size_t *len) {
    if (response == NULL) {
        dm_out_text(NOTHING, path, len);
        return DEEM_E_MISUSE;
    }
    dm_out_text(or_empty(dm_bytes_span(&response->error.path)), path, len);
    return DEEM_OK;
}

int32_t deem_response_http_status(const deem_response *response, int32_t *status) {
    DM_OUT(status, response == NULL ? 0 : response->http_status);
    if (response == NULL) {
        return DEEM_E_MISUSE;
    }
    return response->http_status != 0 ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_response_request_id(const deem_response *response, const char **id, size_t *len) {
    if (response == NULL) {
        dm_out_text(NOTHING, id, len);
        return DEEM_E_MISUSE;
    }
    return out_optional(dm_response_request_id(response), id, len);
}

int32_t deem_response_retry_after_ms(const deem_response *response, int64_t *milliseconds) {
    int there = response != NULL && response->retry_after_ms >= 0;
    DM_OUT(milliseconds, there ? response->retry_after_ms : 0);
    return response == NULL ? DEEM_E_MISUSE : there ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_response_attempts(const deem_response *response, int32_t *attempts) {
    DM_OUT(attempts, response == NULL ? 0 : response->attempts);
    return response == NULL ? DEEM_E_MISUSE : DEEM_OK;
}

int32_t deem_response_model(const deem_response *response, const char **model, size_t *len) {
    if (response == NULL) {
        dm_out_text(NOTHING, model, len);
        return DEEM_E_MISUSE;
    }
    return out_optional(response->reply.model, model, len);
}

int32_t deem_response_usage(const deem_response *response, int64_t *input, int64_t *output) {
    DM_OUT(input, response == NULL ? -1 : response->reply.input_tokens);
    DM_OUT(output, response == NULL ? -1 : response->reply.output_tokens);
    if (response == NULL) {
        return DEEM_E_MISUSE;
    }
    int there = response->reply.input_tokens >= 0 || response->reply.output_tokens >= 0;
    return there ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_response_cost(const deem_response *response, double *cost) {
    DM_OUT(cost, response == NULL ? NAN : response->reply.cost);
    if (response == NULL) {
        return DEEM_E_MISUSE;
    }
    return isnan(response->reply.cost) ? DEEM_E_ABSENT : DEEM_OK;
}

int32_t deem_response_timing(const deem_response *response, int32_t which, int64_t *microseconds) {
    DM_OUT(microseconds, 0);
    if (response == NULL) {
        return DEEM_E_MISUSE;
    }
    if (which < 0 || which >= DM_TIMINGS || response->timing_us[which] < 0) {
        return DEEM_E_ABSENT;
    }
    DM_OUT(microseconds, response->timing_us[which]);
    return DEEM_OK;
}

int32_t deem_response_traffic(const deem_response *response, int64_t *sent, int64_t *received,
                              int32_t *reused) {
    DM_OUT(sent, response == NULL ? 0 : response->sent);
    DM_OUT(received, response == NULL ? 0 : response->received);
    DM_OUT(reused, response == NULL ? 0 : response->reused);
    return response == NULL ? DEEM_E_MISUSE : DEEM_OK;
}

int32_t deem_response_endpoint(const deem_response *response, const char **method,
                               size_t *method_len, const char **url, size_t *url_len) {
    if (response == NULL) {
        dm_out_text(NOTHING, method, method_len);
        dm_out_text(NOTHING, url, url_len);
        return DEEM_E_MISUSE;
    }
    dm_out_text(or_empty(dm_bytes_span(&response->method)), method, method_len);
    dm_out_text(or_empty(dm_bytes_span(&response->url)), url, url_len);
    return DEEM_OK;
}

int32_t deem_response_body(const deem_response *response, const char **body, size_t *len,
                           int32_t *cut) {
    int there = response != NULL && response->http_status != 0;
    dm_out_text(there ? or_empty(dm_bytes_span(&response->body)) : NOTHING, body, len);
    DM_OUT(cut, there ? response->body_cut : 0);
    return response == NULL ? DEEM_E_MISUSE : there ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_response_header(const deem_response *response, const char *name, size_t name_len,
                             const char **value, size_t *value_len) {
    if (response == NULL || name == NULL) {
        dm_out_text(NOTHING, value, value_len);
        return DEEM_E_MISUSE;
    }
    return out_optional(dm_response_header(response, dm_span_of(name, name_len)), value, value_len);
}

int32_t deem_response_header_at(const deem_response *response, size_t index, const char **name,
                                size_t *name_len, const char **value, size_t *value_len) {
    if (response == NULL || index >= response->field_count) {
        dm_out_text(NOTHING, name, name_len);
        dm_out_text(NOTHING, value, value_len);
        return response == NULL ? DEEM_E_MISUSE : DEEM_E_ABSENT;
    }
    const dm_http1_place *field = &response->fields[index];
    const char *text = response->head.data;
    dm_out_text(dm_span_of(text + field->name, field->name_len), name, name_len);
    dm_out_text(dm_span_of(text + field->value, field->value_len), value, value_len);
    return DEEM_OK;
}

int32_t deem_response_field(const deem_response *response, const char *name, size_t name_len,
                            const char **json, size_t *len) {
    dm_out_text(NOTHING, json, len);
    if (response == NULL || name == NULL) {
        return DEEM_E_MISUSE;
    }
    const dm_members *fields = &response->reply.fields;
    for (uint32_t i = 0; i < fields->count; i++) {
        if (dm_span_equal(fields->items[i].name, dm_span_of(name, name_len))) {
            return out_optional(json_at(response, fields->items[i].json), json, len);
        }
    }
    return DEEM_E_ABSENT;
}

int32_t deem_response_listed_model(const deem_response *response, size_t index, const char **name,
                                   size_t *name_len, const char **description,
                                   size_t *description_len, const char **release_date,
                                   size_t *release_date_len) {
    static const dm_listed_model none;
    int there =
        response != NULL && response->error.code == DEEM_OK && index < response->reply.model_count;
    const dm_listed_model *model = there ? &response->reply.models[index] : &none;
    dm_out_text(model->name, name, name_len);
    dm_out_text(model->description, description, description_len);
    dm_out_text(model->release_date, release_date, release_date_len);
    return response == NULL ? DEEM_E_MISUSE : there ? DEEM_OK : DEEM_E_ABSENT;
}
