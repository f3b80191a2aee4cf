/* deem_question_set_builder_*: argument checks over core/questions. */
#include "deemster.h"

#include "out.h"
#include "questions/builder.h"
#include "questions/check.h"
#include "questions/compile.h"
#include "questions/file.h"

int32_t deem_question_set_builder_new(deem_question_set_builder **builder) {
    if (builder == NULL) {
        return DEEM_E_MISUSE;
    }
    *builder = dm_builder_new();
    return *builder == NULL ? DEEM_E_MEMORY : DEEM_OK;
}

void deem_question_set_builder_free(deem_question_set_builder *builder) {
    dm_builder_free(builder);
}

int32_t deem_question_set_builder_add(deem_question_set_builder *builder, int32_t kind,
                                      const char *key, size_t key_len, int32_t form,
                                      const char *instructions, size_t instructions_len) {
    return builder == NULL ? DEEM_E_MISUSE
                           : dm_builder_add(builder, kind, dm_span_of(key, key_len), form,
                                            dm_span_of(instructions, instructions_len));
}

int32_t deem_question_set_builder_criterion(deem_question_set_builder *builder, int32_t side,
                                            int32_t form, const char *text, size_t len) {
    return builder == NULL ? DEEM_E_MISUSE
                           : dm_builder_criterion(builder, side, form, dm_span_of(text, len));
}

int32_t deem_question_set_builder_option(deem_question_set_builder *builder, const char *label,
                                         size_t label_len, int32_t form, const char *description,
                                         size_t description_len) {
    return builder == NULL ? DEEM_E_MISUSE
                           : dm_builder_option(builder, dm_span_of(label, label_len), form,
                                               dm_span_of(description, description_len));
}

int32_t deem_question_set_builder_level(deem_question_set_builder *builder, int32_t form,
                                        const char *level, size_t len) {
    return builder == NULL ? DEEM_E_MISUSE
                           : dm_builder_level(builder, form, dm_span_of(level, len));
}

int32_t deem_question_set_builder_field(deem_question_set_builder *builder, const char *name,
                                        size_t name_len, const char *json, size_t json_len) {
    return builder == NULL
               ? DEEM_E_MISUSE
               : dm_builder_field(builder, dm_span_of(name, name_len), dm_span_of(json, json_len));
}

int32_t deem_question_set_builder_model(deem_question_set_builder *builder, const char *model,
                                        size_t len) {
    return builder == NULL ? DEEM_E_MISUSE : dm_builder_model(builder, dm_span_of(model, len));
}

int32_t deem_question_set_builder_json(deem_question_set_builder *builder, const char *json,
                                       size_t len) {
    return builder == NULL ? DEEM_E_MISUSE : dm_file_read(builder, dm_span_of(json, len), 0);
}

int32_t deem_question_set_builder_json_open(deem_question_set_builder *builder, const char *json,
                                            size_t len) {
    return builder == NULL ? DEEM_E_MISUSE : dm_file_read(builder, dm_span_of(json, len), 1);
}

int32_t deem_question_set_builder_check(deem_question_set_builder *builder, size_t *errors,
                                        size_t *warnings) {
    int32_t status = builder == NULL ? DEEM_E_MISUSE : dm_check(builder);
    /* With findings the counts are what the caller came for, so they stand with E_QUESTIONS too. */
    int counted = status == DEEM_OK || status == DEEM_E_QUESTIONS;
    DM_OUT(errors, counted ? builder->errors : 0);
    DM_OUT(warnings, counted ? builder->warnings : 0);
    return status;
}

int32_t deem_question_set_builder_finding(const deem_question_set_builder *builder, size_t index,
                                          int32_t *severity, const char **rule, const char **path,
                                          size_t *path_len, const char **message,
                                          size_t *message_len, const char **advice,
                                          size_t *advice_len) {
    const dm_finding none = {0};
    int there = builder != NULL && index < builder->finding_count;
    const dm_finding *finding = there ? &builder->findings[index] : &none;
    DM_OUT(severity, there ? dm_rule_severity(finding->rule) : 0);
    DM_OUT(rule, there ? dm_rule_id(finding->rule) : NULL);
    dm_out_text(finding->path, path, path_len);
    dm_out_text(finding->message, message, message_len);
    dm_out_text(finding->advice, advice, advice_len);
    return builder == NULL ? DEEM_E_MISUSE : there ? DEEM_OK : DEEM_E_ABSENT;
}

int32_t deem_question_set_new(deem_question_set_builder *builder, deem_question_set **set) {
    DM_OUT(set, NULL);
    if (builder == NULL || set == NULL) {
        return DEEM_E_MISUSE;
    }
    int32_t status = dm_check(builder);
    return status == DEEM_OK ? dm_compile(builder, set) : status;
}
