#include <math.h>

#include "base/path.h"
#include "base/text.h"
#include "protocol/reply_parts.h"
#include "json/write.h"

enum { EXCERPT = 60 };

/* The members of an answer object that System One knows; DM_JSON_NONE: absent. */
typedef struct answer_fields {
    uint32_t type;
    uint32_t noul;
    uint32_t choice;
    uint32_t score;
    uint32_t confidence;
    uint32_t probabilities;
    uint32_t legend;
    uint32_t twice; /* the key node of a known field that came again */
} answer_fields;

/* One reading, handed down. */
typedef struct answer_reader {
    dm_reply *reply;
    const dm_json_index *index;
    uint32_t question;
    const dm_plan_question *asked;
} answer_reader;

/* Refuses the answer for a reason; the path's tail and the sentence are built by the caller. */
static int refuse(const answer_reader *reader, int32_t reason, const char *tail,
                  const char *sentence) {
    dm_answers_refuse(&reader->reply->answers, reader->question, reason);
    return dm_reply_note(reader->reply, reader->question, dm_span_of(tail, strlen(tail)),
                         dm_span_of(sentence, strlen(sentence)));
}

/* As refuse, with `tail.key` in the path. */
static int refuse_at_key(const answer_reader *reader, int32_t reason, const char *tail,
                         uint32_t key, const char *sentence) {
    dm_bytes path = {0};
    dm_bytes name = {0};
    /* A key appended to an empty path would stand there without its dot. */
    int failed =
        dm_json_string_append(reader->index->text, &reader->index->nodes[key], &name) != 0 ||
        dm_bytes_append_char(&path, '.') != 0 || dm_bytes_append_text(&path, tail) != 0 ||
        dm_path_append_key(&path, dm_bytes_span(&name)) != 0;
    if (!failed) {
        dm_answers_refuse(&reader->reply->answers, reader->question, reason);
        failed =
            dm_reply_note(reader->reply, reader->question, dm_span_of(path.data + 1, path.len - 1),
                          dm_span_of(sentence, strlen(sentence))) != 0;
    }
    dm_bytes_free(&path);
    dm_bytes_free(&name);
    return failed ? -1 : 0;
}

/* As refuse, with an excerpt of what stood there instead. */
static int refuse_with_excerpt(const answer_reader *reader, int32_t reason, const char *tail,
                               const char *sentence, uint32_t node) {
    dm_bytes text = {0};
    int failed = dm_bytes_append_text(&text, sentence) != 0 ||
                 dm_text_append_safe(&text, dm_json_raw_value(reader->index, node), EXCERPT) != 0 ||
                 dm_bytes_append_char(&text, '.') != 0;
    if (!failed) {
        failed = refuse(reader, reason, tail, text.data) != 0;
    }
    dm_bytes_free(&text);
    return failed ? -1 : 0;
}

static void find_fields(const dm_json_index *index, uint32_t node, answer_fields *found) {
    *found = (answer_fields){DM_JSON_NONE, DM_JSON_NONE, DM_JSON_NONE, DM_JSON_NONE,
                             DM_JSON_NONE, DM_JSON_NONE, DM_JSON_NONE, DM_JSON_NONE};
    for (uint32_t key = dm_json_first(node); key < dm_json_end(index, node);
         key = dm_json_next_member(index, key)) {
        uint32_t *slot = NULL;
        if (dm_reply_is(index, key, DM_LITERAL("type"))) {
            slot = &found->type;
        } else if (dm_reply_is(index, key, DM_LITERAL("noul"))) {
            slot = &found->noul;
        } else if (dm_reply_is(index, key, DM_LITERAL("choice"))) {
            slot = &found->choice;
        } else if (dm_reply_is(index, key, DM_LITERAL("score"))) {
            slot = &found->score;
        } else if (dm_reply_is(index, key, DM_LITERAL("confidence"))) {
            slot = &found->confidence;
        } else if (dm_reply_is(index, key, DM_LITERAL("probabilities"))) {
            slot = &found->probabilities;
        } else if (dm_reply_is(index, key, DM_LITERAL("legend"))) {
            slot = &found->legend;
        }
        if (slot != NULL) {
            if (*slot != DM_JSON_NONE && found->twice == DM_JSON_NONE) {
                found->twice = key;
            }
            *slot = key + 1;
        }
    }
}

static const char *kind_name(int32_t kind) {
    return kind == DEEM_NOUL ? "noul" : kind == DEEM_CHOICE ? "choice" : "score";
}

static int refuse_kind(const answer_reader *reader, uint32_t type) {
    dm_span said = dm_json_raw(reader->index, type);
    dm_bytes text = {0};
    int failed = dm_bytes_append_format(&text, "A %s was asked, but the answer is of type ",
                                        kind_name(reader->asked->kind)) != 0 ||
                 dm_text_append_safe(&text, dm_json_raw_value(reader->index, type), EXCERPT) != 0;
    const char *hint = ".";
    if (dm_span_equal(said, DM_LITERAL("boolean")) ||
        dm_span_equal(said, DM_LITERAL("predicate"))) {
        hint = ": that is another API's spelling of a yes/no answer; this route should say noul.";
    } else if (dm_span_equal(said, DM_LITERAL("refusal"))) {
        hint = ": the model refused to answer.";
    }
    if (!failed) {
        failed = dm_bytes_append_text(&text, hint) != 0 ||
                 refuse(reader, DEEM_REASON_WRONG_KIND, ".type", text.data) != 0;
    }
    dm_bytes_free(&text);
    return failed ? -1 : 0;
}

/* An optional field: null is as good as absent. */
static int given(const dm_json_index *index, uint32_t value) {
    return value != DM_JSON_NONE && index->nodes[value].kind != DM_JSON_NULL;
}

/* A required number. 1 when it was read, 0 when it was refused, -1 without memory. */
static int read_number(const answer_reader *reader, uint32_t value, const char *tail, double *out) {
    if (value == DM_JSON_NONE) {
        return refuse(reader, DEEM_REASON_SHAPE, tail, "This field is missing.") != 0 ? -1 : 0;
    }
    const dm_json_node *node = &reader->index->nodes[value];
    if (node->kind != DM_JSON_NUMBER) {
        return refuse_with_excerpt(reader, DEEM_REASON_TYPE, tail, "A number must stand here, not ",
                                   value) != 0
                   ? -1
                   : 0;
    }
    dm_json_number(reader->index->text, node, out); /* out of range reads as an infinity */
    return 1;
}

/* The index a key of probabilities or legend stands for, or -1. */
static int32_t label_of_key(const answer_reader *reader, uint32_t key, uint32_t expected) {
    const dm_json_index *index = reader->index;
    const dm_json_node *node = &index->nodes[key];
    dm_span raw = dm_json_raw(index, key);
    if (reader->asked->kind == DEEM_SCORE) {
        uint32_t level;
        if ((node->flags & DM_JSON_ESCAPED) != 0 || dm_json_parse_index(raw, &level) != 0 ||
            level >= reader->asked->label_count) {
            return -1;
        }
        return (int32_t)level;
    }
    const deem_question_set *set = reader->reply->answers.set;
    if ((node->flags & DM_JSON_ESCAPED) == 0) {
        return dm_plan_find_label(set, reader->asked, raw, expected);
    }
    for (uint32_t i = 0; i < reader->asked->label_count; i++) {
        if (dm_json_string_equal(index->text, node,
                                 set->labels[reader->asked->first_label + i].text)) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* 1 when all were read, 0 when the answer was refused, -1 without memory. */
static int read_probabilities(const answer_reader *reader, uint32_t value, dm_claim *claim) {
    static const char TAIL[] = ".probabilities";
    const dm_json_index *index = reader->index;
    if (index->nodes[value].kind != DM_JSON_OBJECT) {
        return refuse_with_excerpt(reader, DEEM_REASON_TYPE, TAIL,
                                   "An object of numbers must stand here, not ", value) != 0
                   ? -1
                   : 0;
    }
    double *p = reader->reply->answers.probabilities + reader->asked->first_label;
    uint32_t expected = 0;
    for (uint32_t key = dm_json_first(value); key < dm_json_end(index, value);
         key = dm_json_next_member(index, key)) {
        int32_t label = label_of_key(reader, key, expected);
        const dm_json_node *number = &index->nodes[key + 1];
        int failed = 0;
        if (label < 0 && reader->asked->kind == DEEM_SCORE) {
            failed = refuse_at_key(reader, DEEM_REASON_LEVEL, TAIL, key,
                                   "This is not the index of a level that was sent.");
        } else if (label < 0) {
            failed =
                refuse_at_key(reader, DEEM_REASON_LABEL, TAIL, key, "This label was not offered.");
        } else if (number->kind != DM_JSON_NUMBER) {
            failed =
                refuse_at_key(reader, DEEM_REASON_TYPE, TAIL, key, "A number must stand here.");
        } else if (!isnan(p[label])) {
            failed = refuse_at_key(reader, DEEM_REASON_DUPLICATE, TAIL, key,
                                   "This label has two probabilities.");
        } else {
            dm_json_number(index->text, number, &p[label]);
            uint32_t decimals = dm_json_decimals(index->text, number);
            claim->decimals = decimals > claim->decimals ? decimals : claim->decimals;
            claim->given++;
            expected = (uint32_t)label + 1;
            continue;
        }
        return failed != 0 ? -1 : 0;
    }
    claim->has_probabilities = 1;
    return 1;
}

static int read_legend(const answer_reader *reader, uint32_t value, dm_claim *claim) {
    const dm_json_index *index = reader->index;
    if (index->nodes[value].kind != DM_JSON_OBJECT) {
        return refuse_with_excerpt(reader, DEEM_REASON_LEGEND, ".legend",
                                   "An object of levels must stand here, not ", value) != 0
                   ? -1
                   : 0;
    }
    dm_range *legend = reader->reply->answers.legend + reader->asked->first_label;
    uint32_t count = 0;
    for (uint32_t key = dm_json_first(value); key < dm_json_end(index, value);
         key = dm_json_next_member(index, key)) {
        int32_t level = label_of_key(reader, key, 0);
        if (level < 0) {
            return refuse_at_key(reader, DEEM_REASON_LEVEL, ".legend", key,
                                 "This is not the index of a level that was sent.") != 0
                       ? -1
                       : 0;
        }
        if (legend[level].len != 0) {
            return refuse_at_key(reader, DEEM_REASON_DUPLICATE, ".legend", key,
                                 "This level has two legend entries.") != 0
                       ? -1
                       : 0;
        }
        legend[level] = dm_reply_place(index, key + 1);
        count++;
    }
    if (count != reader->asked->label_count) {
        dm_bytes text = {0};
        int failed = dm_bytes_append_format(&text, "The legend has %u of %u levels.", count,
                                            reader->asked->label_count) != 0 ||
                     refuse(reader, DEEM_REASON_LEGEND, ".legend", text.data) != 0;
        dm_bytes_free(&text);
        return failed ? -1 : 0;
    }
    claim->has_legend = 1;
    return 1;
}

static int append_number(dm_bytes *text, double number) {
    if (isinf(number)) {
        return dm_bytes_append_text(text, "too large for a number");
    }
    return dm_json_write_double(text, number);
}

/* Puts a verdict into words. */
static int explain(const answer_reader *reader, dm_verdict verdict) {
    static const char *const value_tail[] = {"", ".noul", ".choice", ".score"};
    const deem_question_set *set = reader->reply->answers.set;
    dm_bytes tail = {0};
    dm_bytes text = {0};
    int failed = 0;
    switch (verdict.part) {
    case DM_PART_VALUE:
        failed = dm_bytes_append_text(&tail, value_tail[reader->asked->kind]);
        break;
    case DM_PART_CONFIDENCE:
        failed = dm_bytes_append_text(&tail, ".confidence");
        break;
    case DM_PART_PROBABILITIES:
    case DM_PART_PROBABILITY:
        failed = dm_bytes_append_text(&tail, ".probabilities");
        break;
    case DM_PART_WHOLE:
        break;
    }
    if (!failed && verdict.part == DM_PART_PROBABILITY) {
        if (reader->asked->kind == DEEM_CHOICE) {
            failed = dm_path_append_key(
                &tail, set->labels[reader->asked->first_label + verdict.label].text);
        } else {
            failed = dm_bytes_append_format(&tail, ".%u", verdict.label);
        }
    }
    const char *between = "";
    const char *after = ".";
    int numbers = 1;
    switch (verdict.reason) {
    case DEEM_REASON_RANGE:
        failed = failed || dm_bytes_append_text(&text, "The number is ") != 0;
        between = "; it must lie between 0 and ";
        break;
    case DEEM_REASON_PROBABILITY_MISSING:
        failed = failed ||
                 dm_bytes_append_text(&text, "This one was offered and has no probability") != 0;
        numbers = 0;
        break;
    case DEEM_REASON_SUM:
        failed = failed || dm_bytes_append_text(&text, "The probabilities sum to ") != 0;
        between = "; the sum may differ from 1 by ";
        break;
    case DEEM_REASON_NOT_TOP:
        failed = failed || dm_bytes_append_text(&text, "The named option has probability ") != 0;
        between = ", but another one has ";
        break;
    default:
        failed = failed || dm_bytes_append_text(&text, "The score is ") != 0;
        between = ", but the mean of its own distribution is ";
        break;
    }
    if (numbers) {
        failed = failed || append_number(&text, verdict.seen) != 0 ||
                 dm_bytes_append_text(&text, between) != 0 ||
                 append_number(&text, verdict.limit) != 0;
    }
    failed = failed || dm_bytes_append_text(&text, after) != 0 ||
             dm_reply_note(reader->reply, reader->question, dm_bytes_span(&tail),
                           dm_bytes_span(&text)) != 0;
    dm_bytes_free(&tail);
    dm_bytes_free(&text);
    return failed ? -1 : 0;
}

/* The named option. 1, 0 or -1 as read_number. */
static int read_choice(const answer_reader *reader, uint32_t value, dm_claim *claim) {
    const dm_json_index *index = reader->index;
    if (value == DM_JSON_NONE) {
        return refuse(reader, DEEM_REASON_SHAPE, ".choice", "This field is missing.") != 0 ? -1 : 0;
    }
    if (index->nodes[value].kind != DM_JSON_STRING) {
        return refuse_with_excerpt(reader, DEEM_REASON_TYPE, ".choice",
                                   "A label must stand here, not ", value) != 0
                   ? -1
                   : 0;
    }
    claim->chosen = label_of_key(reader, value, 0);
    if (claim->chosen < 0) {
        return refuse_with_excerpt(reader, DEEM_REASON_LABEL, ".choice",
                                   "This label was not offered: ", value) != 0
                   ? -1
                   : 0;
    }
    return 1;
}

int dm_reply_read_answer(dm_reply *reply, const dm_json_index *index, uint32_t question,
                         uint32_t node) {
    const answer_reader reader = {reply, index, question, &reply->answers.set->questions[question]};
    if (index->nodes[node].kind != DM_JSON_OBJECT) {
        return refuse_with_excerpt(&reader, DEEM_REASON_SHAPE, "",
                                   "An answer object must stand here, not ", node);
    }
    answer_fields fields;
    find_fields(index, node, &fields);
    if (fields.type == DM_JSON_NONE) {
        return refuse_with_excerpt(&reader, DEEM_REASON_SHAPE, "",
                                   "This is no answer, since it has no `type`: ", node);
    }
    const char *name = kind_name(reader.asked->kind);
    if (index->nodes[fields.type].kind != DM_JSON_STRING ||
        !dm_json_string_equal(index->text, &index->nodes[fields.type],
                              dm_span_of(name, strlen(name)))) {
        return refuse_kind(&reader, fields.type);
    }
    if (fields.twice != DM_JSON_NONE) {
        return refuse_at_key(&reader, DEEM_REASON_DUPLICATE, "", fields.twice,
                             "This field stands twice in the answer.");
    }

    dm_claim claim = {.value = NAN, .confidence = NAN, .chosen = -1};
    int step = 1;
    if (reader.asked->kind == DEEM_NOUL) {
        step = read_number(&reader, fields.noul, ".noul", &claim.value);
        if (step == 1) {
            dm_verdict verdict = dm_answers_judge(&reply->answers, question, &claim);
            return verdict.reason == DEEM_ANSWER_OK ? 0 : explain(&reader, verdict);
        }
        return step;
    }
    if (reader.asked->kind == DEEM_CHOICE) {
        step = read_choice(&reader, fields.choice, &claim);
    } else {
        step = read_number(&reader, fields.score, ".score", &claim.value);
        if (step == 1) {
            claim.value_decimals = dm_json_decimals(index->text, &index->nodes[fields.score]);
        }
    }
    if (step == 1 && given(index, fields.confidence)) {
        step = read_number(&reader, fields.confidence, ".confidence", &claim.confidence);
    }
    if (step == 1 && given(index, fields.probabilities)) {
        step = read_probabilities(&reader, fields.probabilities, &claim);
    }
    if (step == 1 && reader.asked->kind == DEEM_SCORE && given(index, fields.legend)) {
        step = read_legend(&reader, fields.legend, &claim);
    }
    if (step != 1) {
        return step;
    }
    dm_verdict verdict = dm_answers_judge(&reply->answers, question, &claim);
    return verdict.reason == DEEM_ANSWER_OK ? 0 : explain(&reader, verdict);
}
