#include "protocol/part.h"

#include <math.h>

#include "json/write.h"

static int write_answer(dm_bytes *body, const dm_reply *whole, const dm_plan_question *question,
                        uint32_t index, int *any) {
    dm_range place = whole->answers.notes[index].json;
    int times = place.len == 0                                                  ? 0
                : whole->answers.records[index].status == DEEM_REASON_DUPLICATE ? 2
                                                                                : 1;
    for (int i = 0; i < times; i++) {
        if ((*any && dm_bytes_append_char(body, ',') != 0) ||
            dm_json_write_string(body, question->key) != 0 ||
            dm_bytes_append_char(body, ':') != 0 ||
            dm_bytes_append(body, whole->text + place.start, place.len) != 0) {
            return -1;
        }
        *any = 1;
    }
    return 0;
}

static int write_usage(dm_bytes *body, const dm_reply *whole) {
    int failed = dm_bytes_append_text(body, ",\"usage\":{") != 0;
    int any = 0;
    if (whole->input_tokens >= 0) {
        failed = failed || dm_bytes_append_text(body, "\"input_tokens\":") != 0 ||
                 dm_json_write_int64(body, whole->input_tokens) != 0;
        any = 1;
    }
    if (whole->output_tokens >= 0) {
        failed = failed || dm_bytes_append_text(body, any ? "," : "") != 0 ||
                 dm_bytes_append_text(body, "\"output_tokens\":") != 0 ||
                 dm_json_write_int64(body, whole->output_tokens) != 0;
        any = 1;
    }
    if (!isnan(whole->cost)) {
        failed = failed || dm_bytes_append_text(body, any ? "," : "") != 0 ||
                 dm_bytes_append_text(body, "\"cost\":") != 0 ||
                 dm_json_write_double(body, whole->cost) != 0;
    }
    return failed || dm_bytes_append_char(body, '}') != 0 ? -1 : 0;
}

int dm_part_write(dm_bytes *body, const dm_reply *whole, const deem_question_set *set,
                  uint32_t first, int with_usage) {
    dm_bytes_clear(body);
    int any = 0;
    int failed = dm_bytes_append_text(body, "{\"answers\":{") != 0;
    for (uint32_t i = 0; !failed && i < set->question_count; i++) {
        failed = write_answer(body, whole, &set->questions[i], first + i, &any);
    }
    failed = failed || dm_bytes_append_char(body, '}') != 0;
    if (!failed && whole->model.data != NULL) {
        failed = dm_bytes_append_text(body, ",\"model\":") != 0 ||
                 dm_json_write_string(body, whole->model) != 0;
    }
    if (!failed && with_usage) {
        failed = write_usage(body, whole);
    }
    return failed || dm_bytes_append_char(body, '}') != 0 ? -1 : 0;
}
