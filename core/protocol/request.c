#include "protocol/request.h"

#include "base/text.h"
#include "deemster.h"
#include "json/state.h"
#include "json/write.h"

/* Servers answer 500 to about a thousand levels, which would be retried (wire contract section 9,
 * trap 8). */
enum { DEEPEST_STATE = 128 };

int32_t dm_request_check_state(dm_span state, int is_json, dm_error *error) {
    if (!is_json) {
        size_t valid = dm_text_utf8_valid(state);
        if (valid != state.len) {
            return dm_error_set(error, DEEM_E_STATE, 0,
                                "The state is not UTF-8 at byte %zu: encode it as UTF-8.", valid);
        }
        return DEEM_OK;
    }
    dm_json_fault fault;
    if (dm_json_state_check(state.data, state.len, DEEPEST_STATE, &fault) == DM_JSON_OK) {
        return DEEM_OK;
    }
    return dm_error_set(
        error, DEEM_E_STATE, 0,
        "The state is refused: %s at byte %zu; a state is one JSON string, object or "
        "array in UTF-8, at most %d levels deep.",
        dm_json_reason_text(fault.reason), fault.offset, DEEPEST_STATE);
}

/* The caller's own value for a name, or data NULL. */
static dm_span own(const dm_evaluation *evaluation, dm_span name) {
    for (uint32_t i = 0; i < evaluation->field_count; i++) {
        if (dm_span_equal(evaluation->fields[i].name, name)) {
            return evaluation->fields[i].value;
        }
    }
    return dm_span_of(NULL, 0);
}

static int is_known(dm_span name) {
    return dm_span_equal(name, DM_LITERAL("state")) || dm_span_equal(name, DM_LITERAL("model")) ||
           dm_span_equal(name, DM_LITERAL("questions"));
}

static int append(dm_bytes *body, dm_span text) {
    return dm_bytes_append(body, text.data, text.len);
}

static int write_all(const dm_evaluation *evaluation, dm_bytes *body) {
    dm_span state = own(evaluation, DM_LITERAL("state"));
    dm_span model = own(evaluation, DM_LITERAL("model"));
    dm_span questions = own(evaluation, DM_LITERAL("questions"));
    int failed = append(body, DM_LITERAL("{\"state\":")) != 0;
    if (state.data != NULL) {
        failed = failed || dm_bytes_append(body, state.data, state.len) != 0;
    } else if (evaluation->state_is_json) {
        failed =
            failed || dm_bytes_append(body, evaluation->state.data, evaluation->state.len) != 0;
    } else {
        failed = failed || dm_json_write_string(body, evaluation->state) != 0;
    }
    failed = failed || append(body, DM_LITERAL(",\"model\":")) != 0;
    if (model.data != NULL) {
        failed = failed || dm_bytes_append(body, model.data, model.len) != 0;
    } else {
        failed = failed || dm_json_write_string(body, evaluation->model) != 0;
    }
    if (questions.data == NULL) {
        questions = evaluation->set->json;
    }
    failed = failed || append(body, DM_LITERAL(",\"questions\":")) != 0 ||
             dm_bytes_append(body, questions.data, questions.len) != 0;
    for (uint32_t i = 0; !failed && i < evaluation->field_count; i++) {
        dm_http1_field field = evaluation->fields[i];
        failed =
            !is_known(field.name) &&
            (dm_bytes_append_char(body, ',') != 0 || dm_json_write_string(body, field.name) != 0 ||
             dm_bytes_append_char(body, ':') != 0 ||
             dm_bytes_append(body, field.value.data, field.value.len) != 0);
    }
    return failed || dm_bytes_append_char(body, '}') != 0 ? -1 : 0;
}

int32_t dm_request_write(const dm_evaluation *evaluation, dm_bytes *body, dm_error *error) {
    dm_bytes_clear(body);
    if (own(evaluation, DM_LITERAL("state")).data == NULL) {
        int32_t code = dm_request_check_state(evaluation->state, evaluation->state_is_json, error);
        if (code != DEEM_OK) {
            return code;
        }
    }
    size_t room = evaluation->state.len + evaluation->set->json.len + evaluation->model.len + 64;
    if (dm_bytes_reserve(body, room) != 0 || write_all(evaluation, body) != 0) {
        return DEEM_E_MEMORY;
    }
    return DEEM_OK;
}
