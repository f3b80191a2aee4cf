/* deem_question_set_*: argument checks over core/questions. */
#include "deemster.h"

#include "out.h"
#include "questions/plan.h"

static const dm_span nothing = {NULL, 0};

int32_t deem_question_set_ref(deem_question_set *set) {
    if (set == NULL) {
        return DEEM_E_MISUSE;
    }
    dm_plan_ref(set);
    return DEEM_OK;
}

void deem_question_set_free(deem_question_set *set) {
    dm_plan_unref(set);
}

int32_t deem_question_set_count(const deem_question_set *set, size_t *count) {
    DM_OUT(count, set == NULL ? 0 : set->question_count);
    return set == NULL ? DEEM_E_MISUSE : DEEM_OK;
}

int32_t deem_question_set_question(const deem_question_set *set, size_t index, int32_t *kind,
                                   const char **key, size_t *key_len, size_t *labels) {
    const dm_plan_question none = {0};
    int there = set != NULL && index < set->question_count;
    const dm_plan_question *question = there ? &set->questions[index] : &none;
    DM_OUT(kind, question->kind);
    dm_out_text(question->key, key, key_len);
    DM_OUT(labels, question->label_count);
    return set == NULL ? DEEM_E_MISUSE : there ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_question_set_find(const deem_question_set *set, const char *key, size_t key_len,
                               int32_t *index) {
    int misuse = set == NULL || (key == NULL && key_len != 0);
    int32_t found = misuse ? -1 : dm_plan_find(set, dm_span_of(key, key_len), UINT32_MAX);
    DM_OUT(index, found);
    return misuse ? DEEM_E_MISUSE : found < 0 ? DEEM_E_ABSENT : DEEM_OK;
}

int32_t deem_question_set_label(const deem_question_set *set, size_t question, size_t label,
                                const char **text, size_t *len) {
    int there = set != NULL && question < set->question_count &&
                label < set->questions[question].label_count;
    dm_out_text(there ? set->labels[set->questions[question].first_label + label].text : nothing,
                text, len);
    return set == NULL ? DEEM_E_MISUSE : there ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_question_set_json(const deem_question_set *set, const char **json, size_t *len) {
    dm_out_text(set == NULL ? nothing : set->json, json, len);
    return set == NULL ? DEEM_E_MISUSE : DEEM_OK;
}

int32_t deem_question_set_model(const deem_question_set *set, const char **model, size_t *len) {
    int there = set != NULL && set->model.len != 0;
    dm_out_text(there ? set->model : nothing, model, len);
    return set == NULL ? DEEM_E_MISUSE : there ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_question_set_identity(const deem_question_set *set, const char **hex, size_t *len) {
    /* The set is immutable to its readers; its identity is filled in behind them, once. */
    dm_span identity =
        set == NULL ? nothing : dm_span_of(dm_plan_identity((deem_question_set *)set), 64);
    dm_out_text(identity, hex, len);
    return set == NULL ? DEEM_E_MISUSE : DEEM_OK;
}
