/* The part of deem_response_* that is about answers. */
#include <math.h>

#include "deemster.h"
#include "engine/response.h"
#include "out.h"

static const dm_span NOTHING;

enum { SMALLEST_RECORD = 64 };

/* The record of a question of that kind (0: any), or NULL with *status saying why. A record whose
 * answer may be handed out leaves *status DEEM_OK. */
static const deem_answer *record_of(const deem_response *response, size_t question, int32_t kind,
                                    int32_t *status) {
    if (response == NULL) {
        *status = DEEM_E_MISUSE;
        return NULL;
    }
    if (!response->has_answers || question >= response->set->question_count) {
        *status = DEEM_E_ABSENT;
        return NULL;
    }
    const deem_answer *record = &response->reply.answers.records[question];
    if (kind != 0 && record->kind != kind) {
        *status = DEEM_E_ABSENT;
        return NULL;
    }
    int readable = record->status == DEEM_ANSWER_OK || (record->flags & DEEM_ANSWER_DOUBTFUL) != 0;
    *status = readable ? DEEM_OK : DEEM_E_NO_ANSWER;
    return record;
}

deem_question_set *deem_response_question_set(const deem_response *response) {
    return response == NULL ? NULL : response->set;
}

int32_t deem_response_answers(const deem_response *response, void *answers, size_t record_size,
                              size_t count, size_t *written) {
    DM_OUT(written, 0);
    if (response == NULL || record_size < SMALLEST_RECORD || record_size % 8 != 0 ||
        (answers == NULL && count != 0)) {
        return DEEM_E_MISUSE;
    }
    size_t have = response->has_answers ? response->set->question_count : 0;
    size_t give = have < count ? have : count;
    const deem_answer *records = response->reply.answers.records;
    size_t copied = record_size < sizeof(deem_answer) ? record_size : sizeof(deem_answer);
    char *out = answers;
    for (size_t i = 0; i < give; i++, out += record_size) {
        memcpy(out, &records[i], copied);
        memset(out + copied, 0, record_size - copied);
    }
    DM_OUT(written, give);
    return DEEM_OK;
}

int32_t deem_response_probabilities(const deem_response *response, const double **probabilities,
                                    size_t *count) {
    int there = response != NULL && response->has_answers;
    DM_OUT(probabilities, there ? response->reply.answers.probabilities : NULL);
    DM_OUT(count, there ? response->set->label_count : 0);
    return response == NULL ? DEEM_E_MISUSE : DEEM_OK;
}

int32_t deem_response_noul(const deem_response *response, size_t question, double *probability) {
    int32_t status;
    const deem_answer *record = record_of(response, question, DEEM_NOUL, &status);
    DM_OUT(probability, status == DEEM_OK ? record->value : NAN);
    return status;
}

int32_t deem_response_choice(const deem_response *response, size_t question, int32_t *option,
                             const char **label, size_t *label_len, double *confidence) {
    int32_t status;
    const deem_answer *record = record_of(response, question, DEEM_CHOICE, &status);
    int good = status == DEEM_OK;
    DM_OUT(option, good ? record->chosen : -1);
    DM_OUT(confidence, good ? record->confidence : NAN);
    dm_span text = NOTHING;
    if (good) {
        const dm_plan_question *asked = &response->set->questions[question];
        text = response->set->labels[asked->first_label + (uint32_t)record->chosen].text;
    }
    dm_out_text(text, label, label_len);
    return status;
}

int32_t deem_response_score(const deem_response *response, size_t question, double *position,
                            int32_t *level, double *confidence) {
    int32_t status;
    const deem_answer *record = record_of(response, question, DEEM_SCORE, &status);
    int good = status == DEEM_OK;
    DM_OUT(position, good ? record->value : NAN);
    DM_OUT(level, good ? record->chosen : -1);
    DM_OUT(confidence, good ? record->confidence : NAN);
    return status;
}

int32_t deem_response_problem(const deem_response *response, size_t question, int32_t *reason,
                              const char **path, size_t *path_len, const char **message,
                              size_t *message_len) {
    int32_t status;
    const deem_answer *record = record_of(response, question, 0, &status);
    static const dm_answer_note none;
    const dm_answer_note *note = record == NULL ? &none : &response->reply.answers.notes[question];
    DM_OUT(reason, record == NULL ? DEEM_REASON_MISSING : record->status);
    dm_out_text(record != NULL && note->path.data == NULL ? dm_span_of("", 0) : note->path, path,
                path_len);
    dm_out_text(record != NULL && note->message.data == NULL ? dm_span_of("", 0) : note->message,
                message, message_len);
    return record == NULL ? status : DEEM_OK;
}

int32_t deem_response_answer_json(const deem_response *response, size_t question, const char **json,
                                  size_t *len) {
    int32_t status;
    const deem_answer *record = record_of(response, question, 0, &status);
    dm_range place = {0};
    if (record != NULL) {
        place = response->reply.answers.notes[question].json;
        status = place.len != 0 ? DEEM_OK : DEEM_E_ABSENT;
    }
    dm_out_text(place.len != 0 ? dm_span_of(response->reply.text + place.start, place.len)
                               : NOTHING,
                json, len);
    return status;
}

int32_t deem_response_legend(const deem_response *response, size_t question, size_t level,
                             const char **json, size_t *len) {
    int32_t status;
    const deem_answer *record = record_of(response, question, DEEM_SCORE, &status);
    dm_range place = {0};
    if (record != NULL) {
        const dm_plan_question *asked = &response->set->questions[question];
        if (level < asked->label_count) {
            place = response->reply.answers.legend[asked->first_label + level];
        }
        status = place.len != 0 ? DEEM_OK : DEEM_E_ABSENT;
    }
    dm_out_text(place.len != 0 ? dm_span_of(response->reply.text + place.start, place.len)
                               : NOTHING,
                json, len);
    return status;
}

int32_t deem_response_extra_answer(const deem_response *response, size_t index, const char **key,
                                   size_t *key_len, const char **json, size_t *json_len) {
    if (response == NULL || index >= response->reply.extras.count) {
        dm_out_text(NOTHING, key, key_len);
        dm_out_text(NOTHING, json, json_len);
        return response == NULL ? DEEM_E_MISUSE : DEEM_E_ABSENT;
    }
    const dm_member *extra = &response->reply.extras.items[index];
    dm_out_text(extra->name, key, key_len);
    dm_out_text(dm_span_of(response->reply.text + extra->json.start, extra->json.len), json,
                json_len);
    return DEEM_OK;
}
