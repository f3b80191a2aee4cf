#include "batch/pack.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/text.h"
#include "deemster_experimental.h"
#include "questions/builder.h"
#include "questions/check.h"
#include "questions/compile.h"
#include "questions/kind.h"
#include "json/value.h"
#include "json/write.h"

#define FIXED_STATE "\"Each question brings the record that it is about.\""
#define BIND_BEFORE "Answer for `rows["
#define BIND_AFTER  "]` alone, as if the other rows were not there."

/* Bytes around a row's own in a packed question, at most: key, names, sentence, brackets. */
enum { AROUND_QUESTION = 160 };

static int append(dm_bytes *out, dm_span span) {
    return dm_bytes_append(out, span.data, span.len);
}

/* ---- the set, cut up ---- */

static int is_named(const dm_json_index *index, uint32_t key, const char *name) {
    return dm_json_string_equal(index->text, &index->nodes[key], dm_span_of(name, strlen(name)));
}

/* A set is sent as type, instructions, criteria, then the caller's own fields. */
static void cut_question(dm_packer *packer, uint32_t object, dm_pack_question *out) {
    const dm_json_index *index = &packer->index;
    *out = (dm_pack_question){.instructions = DM_JSON_NONE, .criteria = DM_JSON_NONE};
    const char *tail = NULL;
    for (uint32_t key = dm_json_first(object); key < dm_json_end(index, object);
         key = dm_json_next_member(index, key)) {
        dm_span value = dm_json_raw_value(index, key + 1);
        if (is_named(index, key, dm_field_names[0])) {
            out->type = value;
        } else if (is_named(index, key, dm_field_names[1])) {
            out->instructions = key + 1;
        } else if (is_named(index, key, dm_field_names[2])) {
            out->criteria = key + 1;
        } else {
            continue;
        }
        tail = value.data + value.len;
    }
    dm_span whole = dm_json_raw_value(index, object);
    out->tail = dm_span_of(tail, (size_t)(whole.data + whole.len - 1 - tail));
    out->bytes = whole.len;
    out->has_paths = memchr(whole.data, '`', whole.len) != NULL;
    if (whole.len > packer->longest) {
        packer->longest = whole.len;
    }
}

int dm_packer_init(dm_packer *packer, const deem_question_set *set, int32_t shape) {
    *packer = (dm_packer){.set = set, .shape = shape};
    dm_json_index_init(&packer->index, DM_JSON_BY_DEFAULT);
    dm_json_index_init(&packer->row_index, DM_JSON_BY_DEFAULT);
    packer->questions = dm_alloc_zero(set->question_count * sizeof *packer->questions);
    if (packer->questions == NULL || append(&packer->text, set->json) != 0 ||
        dm_bytes_reserve(&packer->text, DM_JSON_PADDING) != 0 ||
        dm_json_index_run(&packer->index, packer->text.data, packer->text.len, NULL, NULL) !=
            DM_JSON_OK) {
        dm_packer_free(packer);
        return -1;
    }
    uint32_t at = 0;
    for (uint32_t key = dm_json_first(0); key < dm_json_end(&packer->index, 0);
         key = dm_json_next_member(&packer->index, key)) {
        cut_question(packer, key + 1, &packer->questions[at++]);
    }
    return 0;
}

void dm_packer_free(dm_packer *packer) {
    dm_bytes_free(&packer->text);
    dm_json_index_free(&packer->index);
    dm_json_index_free(&packer->row_index);
    dm_free(packer->questions);
    dm_plan_unref(packer->plan);
    for (uint32_t i = 0; i < packer->warning_count; i++) {
        dm_bytes_free(&packer->warnings[i]);
    }
    *packer = (dm_packer){0};
}

dm_pack_load dm_packer_load(const dm_packer *packer, size_t row_bytes) {
    size_t questions = packer->set->question_count;
    size_t around = packer->set->json.len + questions * AROUND_QUESTION;
    if (packer->shape == DEEM_PACK_STATE) {
        return (dm_pack_load){row_bytes + around, row_bytes, packer->longest + AROUND_QUESTION};
    }
    return (dm_pack_load){questions * row_bytes + around, 0, row_bytes + packer->longest};
}

/* ---- paths in back-ticks ---- */

static void warn(dm_packer *packer, uint32_t question, dm_span path, const char *why) {
    dm_bytes text = {0};
    int failed = dm_bytes_append_text(&text, "questions") != 0 ||
                 dm_path_append_key(&text, packer->set->questions[question].key) != 0 ||
                 dm_bytes_append_text(&text, ": `") != 0 ||
                 dm_text_append_safe(&text, path, 80) != 0 ||
                 dm_bytes_append_format(&text, "` %s", why) != 0;
    for (uint32_t i = 0; !failed && i < packer->warning_count; i++) {
        failed = dm_span_equal(dm_bytes_span(&text), dm_bytes_span(&packer->warnings[i]));
    }
    if (failed || packer->warning_count == DM_MOST_WARNINGS) {
        dm_bytes_free(&text);
        return;
    }
    packer->warnings[packer->warning_count++] = text;
}

/* The length of a path's first segment, or 0 when the text between back-ticks is no path. */
static size_t first_segment(dm_span path) {
    size_t end = path.len;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.data[i];
        if (c <= ' ' || c == '\\' || c == '"' || c == '(' || c == ')') {
            return 0;
        }
        if ((c == '.' || c == '[') && end == path.len) {
            end = i;
        }
    }
    return end;
}

/* The rows' index holds the row that is being written; its root decides what a path may name. */
static int append_path(dm_packer *packer, uint32_t question, dm_span path, uint32_t row,
                       dm_bytes *out) {
    size_t first = first_segment(path);
    if (first > 0) {
        const dm_json_index *index = &packer->row_index;
        if (index->nodes[0].kind != DM_JSON_OBJECT) {
            warn(packer, question, path, "is left as it stands: the row is no object");
        } else if (dm_json_get(index, 0, dm_span_of(path.data, first)) == DM_JSON_NONE) {
            warn(packer, question, path, "is left as it stands: a row has no field of that name");
        } else if (dm_bytes_append_format(out, "rows[%u].", row) != 0) {
            return -1;
        }
    }
    return append(out, path);
}

/* Appends a JSON string's bytes with every path bound to the row. */
static int append_bound_text(dm_packer *packer, uint32_t question, dm_span text, uint32_t row,
                             dm_bytes *out) {
    const char *at = text.data;
    const char *end = text.data + text.len;
    for (;;) {
        const char *open = memchr(at, '`', (size_t)(end - at));
        const char *close = open != NULL ? memchr(open + 1, '`', (size_t)(end - open - 1)) : NULL;
        if (close == NULL) {
            return dm_bytes_append(out, at, (size_t)(end - at));
        }
        dm_span path = dm_span_of(open + 1, (size_t)(close - open - 1));
        if (dm_bytes_append(out, at, (size_t)(open + 1 - at)) != 0 ||
            append_path(packer, question, path, row, out) != 0 ||
            dm_bytes_append_char(out, '`') != 0) {
            return -1;
        }
        at = close + 1;
    }
}

/* Appends a value of the set with the paths in its texts, but not in its keys, bound to the row. */
static int append_bound(dm_packer *packer, uint32_t question, uint32_t value, uint32_t row,
                        dm_bytes *out) {
    const dm_json_index *index = &packer->index;
    dm_span raw = dm_json_raw_value(index, value);
    if (!packer->questions[question].has_paths) {
        return append(out, raw);
    }
    const char *at = raw.data;
    for (uint32_t node = value; node < index->nodes[value].next; node++) {
        if (index->nodes[node].kind != DM_JSON_STRING ||
            (index->nodes[node].flags & DM_JSON_IS_KEY) != 0) {
            continue;
        }
        dm_span text = dm_json_raw(index, node);
        if (dm_bytes_append(out, at, (size_t)(text.data - at)) != 0 ||
            append_bound_text(packer, question, text, row, out) != 0) {
            return -1;
        }
        at = text.data + text.len;
    }
    return dm_bytes_append(out, at, (size_t)(raw.data + raw.len - at));
}

/* ---- shape `question` ---- */

static int write_record(dm_packer *packer, uint32_t question, const dm_row *row, dm_bytes *out) {
    uint32_t own = packer->questions[question].instructions;
    int failed = dm_bytes_append_text(out, "{\"record\":") != 0 ||
                 append(out, dm_bytes_span(&row->state)) != 0;
    if (!failed && own != DM_JSON_NONE) {
        failed = dm_bytes_append_text(out, ",\"question\":") != 0 ||
                 append(out, dm_json_raw_value(&packer->index, own)) != 0;
    }
    return failed || dm_bytes_append_char(out, '}') != 0 ? -1 : 0;
}

/* ---- shape `state` ---- */

static int write_sentence(uint32_t row, dm_bytes *out) {
    return dm_bytes_append_format(out, BIND_BEFORE "%u" BIND_AFTER, row);
}

/* The sentence, and behind it the question's own instructions in whatever form they have. */
static int write_binding(dm_packer *packer, uint32_t question, uint32_t row, dm_bytes *out) {
    uint32_t own = packer->questions[question].instructions;
    const dm_json_node *node = own == DM_JSON_NONE ? NULL : &packer->index.nodes[own];
    if (node == NULL || node->kind == DM_JSON_NULL) {
        return dm_bytes_append_char(out, '"') != 0 || write_sentence(row, out) != 0 ||
                       dm_bytes_append_char(out, '"') != 0
                   ? -1
                   : 0;
    }
    if (node->kind == DM_JSON_STRING) {
        return dm_bytes_append_char(out, '"') != 0 || write_sentence(row, out) != 0 ||
                       dm_bytes_append_char(out, ' ') != 0 ||
                       append_bound_text(packer, question, dm_json_raw(&packer->index, own), row,
                                         out) != 0 ||
                       dm_bytes_append_char(out, '"') != 0
                   ? -1
                   : 0;
    }
    return dm_bytes_append_text(out, "{\"scope\":\"") != 0 || write_sentence(row, out) != 0 ||
                   dm_bytes_append_text(out, "\",\"question\":") != 0 ||
                   append_bound(packer, question, own, row, out) != 0 ||
                   dm_bytes_append_char(out, '}') != 0
               ? -1
               : 0;
}

static int index_row(dm_packer *packer, dm_row *row) {
    return dm_bytes_reserve(&row->state, DM_JSON_PADDING) != 0 ||
                   dm_json_index_run(&packer->row_index, row->state.data, row->state.len, NULL,
                                     NULL) != DM_JSON_OK
               ? -1
               : 0;
}

/* ---- both ---- */

static int write_question(dm_packer *packer, uint32_t question, const dm_row *row, uint32_t place,
                          dm_bytes *out) {
    const dm_pack_question *own = &packer->questions[question];
    int by_state = packer->shape == DEEM_PACK_STATE;
    int failed = dm_bytes_append_format(out, "\"r%uq%u\":{\"%s\":", place, question,
                                        dm_field_names[0]) != 0 ||
                 append(out, own->type) != 0 ||
                 dm_bytes_append_format(out, ",\"%s\":", dm_field_names[1]) != 0 ||
                 (by_state ? write_binding(packer, question, place, out)
                           : write_record(packer, question, row, out)) != 0;
    if (!failed && own->criteria != DM_JSON_NONE) {
        failed = dm_bytes_append_format(out, ",\"%s\":", dm_field_names[2]) != 0 ||
                 (by_state ? append_bound(packer, question, own->criteria, place, out)
                           : append(out, dm_json_raw_value(&packer->index, own->criteria))) != 0;
    }
    return failed || append(out, own->tail) != 0 || dm_bytes_append_char(out, '}') != 0 ? -1 : 0;
}

int dm_packer_questions(dm_packer *packer, dm_row *const *rows, uint32_t count, dm_bytes *out) {
    dm_bytes_clear(out);
    int failed = dm_bytes_append_char(out, '{') != 0;
    int paths = 0;
    for (uint32_t q = 0; q < packer->set->question_count; q++) {
        paths = paths || packer->questions[q].has_paths;
    }
    for (uint32_t r = 0; !failed && r < count; r++) {
        failed = paths && packer->shape == DEEM_PACK_STATE && index_row(packer, rows[r]) != 0;
        for (uint32_t q = 0; !failed && q < packer->set->question_count; q++) {
            failed = (r + q > 0 && dm_bytes_append_char(out, ',') != 0) ||
                     write_question(packer, q, rows[r], r, out) != 0;
        }
    }
    return failed || dm_bytes_append_char(out, '}') != 0 ? -1 : 0;
}

int dm_packer_state(const dm_packer *packer, dm_row *const *rows, uint32_t count, dm_bytes *out) {
    dm_bytes_clear(out);
    if (packer->shape == DEEM_PACK_QUESTION) {
        return dm_bytes_append_text(out, FIXED_STATE);
    }
    int failed = dm_bytes_append_text(out, "{\"rows\":[") != 0;
    for (uint32_t r = 0; !failed && r < count; r++) {
        failed = (r > 0 && dm_bytes_append_char(out, ',') != 0) ||
                 append(out, dm_bytes_span(&rows[r]->state)) != 0;
    }
    return failed || dm_bytes_append_text(out, "]}") != 0 ? -1 : 0;
}

/* ---- reading the reply ---- */

static int add_labels(const dm_packer *packer, deem_question_set_builder *builder,
                      const dm_plan_question *question) {
    for (uint32_t i = 0; i < question->label_count; i++) {
        dm_span label = packer->set->labels[question->first_label + i].text;
        char level[16]; /* a level is answered by its number: its text does not matter here */
        int len = snprintf(level, sizeof level, "level %u", i);
        int32_t code =
            question->kind == DEEM_CHOICE
                ? dm_builder_option(builder, label, DEEM_FORM_NULL, dm_span_of(NULL, 0))
                : dm_builder_level(builder, DEEM_FORM_TEXT, dm_span_of(level, (size_t)len));
        if (code != DEEM_OK) {
            return -1;
        }
    }
    return 0;
}

static int add_row(const dm_packer *packer, deem_question_set_builder *builder, uint32_t row) {
    for (uint32_t q = 0; q < packer->set->question_count; q++) {
        const dm_plan_question *question = &packer->set->questions[q];
        char key[32];
        int len = snprintf(key, sizeof key, "r%uq%u", row, q);
        if (dm_builder_add(builder, question->kind, dm_span_of(key, (size_t)len), DEEM_FORM_TEXT,
                           DM_LITERAL("x")) != DEEM_OK ||
            add_labels(packer, builder, question) != 0) {
            return -1;
        }
    }
    return 0;
}

deem_question_set *dm_packer_plan(dm_packer *packer, uint32_t count) {
    if (packer->plan == NULL || packer->plan_rows != count) {
        deem_question_set_builder *builder = dm_builder_new();
        deem_question_set *plan = NULL;
        int failed = builder == NULL;
        for (uint32_t r = 0; !failed && r < count; r++) {
            failed = add_row(packer, builder, r);
        }
        failed = failed || dm_check(builder) != DEEM_OK || dm_compile(builder, &plan) != DEEM_OK;
        dm_builder_free(builder);
        if (failed) {
            return NULL;
        }
        dm_plan_unref(packer->plan);
        packer->plan = plan;
        packer->plan_rows = count;
    }
    dm_plan_ref(packer->plan);
    return packer->plan;
}

/* Reads digits; *at moves behind them. -1 when there are none. */
static int64_t read_number(const char **at, const char *end) {
    int64_t number = -1;
    for (; *at < end && **at >= '0' && **at <= '9' && number < 1000000; (*at)++) {
        number = (number < 0 ? 0 : number * 10) + (**at - '0');
    }
    return number;
}

static int skip(const char **at, const char *end, const char *text) {
    size_t len = strlen(text);
    if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0) {
        return 0;
    }
    *at += len;
    return 1;
}

int64_t dm_packer_row_of_path(const dm_packer *packer, dm_span path, int32_t *question,
                              dm_span *rest) {
    *question = -1;
    *rest = path;
    if (path.len == 0) {
        return -1;
    }
    const char *at = path.data;
    const char *end = path.data + path.len;
    if (skip(&at, end, "state.rows[")) {
        return read_number(&at, end);
    }
    if (!skip(&at, end, "questions.r")) {
        return -1;
    }
    int64_t row = read_number(&at, end);
    int64_t q = skip(&at, end, "q") ? read_number(&at, end) : -1;
    if (row < 0 || q < 0 || q >= packer->set->question_count) {
        return -1;
    }
    *question = (int32_t)q;
    *rest = dm_span_of(at, (size_t)(end - at));
    return row;
}
