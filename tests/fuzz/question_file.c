/* Any bytes as a question-set document: no crash; findings are safe to print; a set is made exactly
 * when there is no error; and what a set sends reads back as the same set. The first byte's lowest
 * bit says whether unknown fields are kept. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "deemster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
    if (!holds) {
        abort();
    }
}

static void must_be_safe(const char *text, size_t len) {
    must(text != NULL && text[len] == '\0');
    must(dm_text_utf8_valid(dm_span_of(text, len)) == len);
    for (size_t i = 0; i < len; i++) {
        must((unsigned char)text[i] >= 0x20 && text[i] != 0x7F);
    }
}

static void look_at_findings(const deem_question_set_builder *builder, size_t count) {
    for (size_t i = 0; i <= count; i++) {
        int32_t severity;
        const char *rule;
        const char *text[3];
        size_t len[3];
        int32_t status = deem_question_set_builder_finding(
            builder, i, &severity, &rule, &text[0], &len[0], &text[1], &len[1], &text[2], &len[2]);
        must(status == (i < count ? DEEM_OK : DEEM_E_ABSENT));
        for (int t = 0; i < count && t < 3; t++) {
            must_be_safe(text[t], len[t]);
        }
    }
}

static void look_at_labels(const deem_question_set *set) {
    size_t questions;
    must(deem_question_set_count(set, &questions) == DEEM_OK && questions > 0);
    for (size_t q = 0; q < questions; q++) {
        int32_t kind;
        int32_t found;
        const char *text;
        size_t len;
        size_t labels;
        must(deem_question_set_question(set, q, &kind, &text, &len, &labels) == DEEM_OK);
        must(deem_question_set_find(set, text, len, &found) == DEEM_OK && (size_t)found == q);
        must((kind == DEEM_NOUL) == (labels == 0));
        for (size_t l = 0; l < labels; l++) {
            must(deem_question_set_label(set, q, l, &text, &len) == DEEM_OK && text[len] == '\0');
        }
    }
}

static void must_read_back(const deem_question_set *set) {
    deem_question_set_builder *builder;
    deem_question_set *again;
    const char *json;
    const char *json_again;
    size_t len;
    size_t len_again;
    must(deem_question_set_json(set, &json, &len) == DEEM_OK);
    must(deem_question_set_builder_new(&builder) == DEEM_OK);
    must(deem_question_set_builder_json_open(builder, json, len) == DEEM_OK);
    must(deem_question_set_new(builder, &again) == DEEM_OK);
    must(deem_question_set_json(again, &json_again, &len_again) == DEEM_OK);
    must(len == len_again && memcmp(json, json_again, len) == 0);
    deem_question_set_free(again);
    deem_question_set_builder_free(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    deem_question_set_builder *builder;
    deem_question_set *set;
    size_t errors;
    size_t warnings;
    if (size == 0) {
        return 0;
    }
    const char *document = (const char *)data + 1;
    must(deem_question_set_builder_new(&builder) == DEEM_OK);
    must(((data[0] & 1) != 0
              ? deem_question_set_builder_json_open(builder, document, size - 1)
              : deem_question_set_builder_json(builder, document, size - 1)) == DEEM_OK);
    int32_t status = deem_question_set_new(builder, &set);
    must(deem_question_set_builder_check(builder, &errors, &warnings) == status);
    must(status == (errors == 0 ? DEEM_OK : DEEM_E_QUESTIONS));
    must((set != NULL) == (status == DEEM_OK));
    look_at_findings(builder, errors + warnings);
    deem_question_set_builder_free(builder);
    if (set != NULL) {
        look_at_labels(set);
        must_read_back(set);
        deem_question_set_free(set);
    }
    return 0;
}
