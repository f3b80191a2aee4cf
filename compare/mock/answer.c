#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of question that a fault can be worked into. */
static unsigned fitting(enum mock_fault_kind kind) {
    switch (kind) {
    case MOCK_FAULT_BOOLEAN:
        return MOCK_NOUL;
    case MOCK_FAULT_WRONG_CHOICE:
    case MOCK_FAULT_UNLISTED_CHOICE:
        return MOCK_CHOICE;
    case MOCK_FAULT_BAD_SCORE:
    case MOCK_FAULT_BAD_LEVEL_KEY:
    case MOCK_FAULT_NO_LEGEND:
        return MOCK_SCORE;
    case MOCK_FAULT_MISSING_OPTION:
    case MOCK_FAULT_EXTRA_OPTION:
    case MOCK_FAULT_BAD_SUM:
    case MOCK_FAULT_NO_CONFIDENCE:
    case MOCK_FAULT_NO_PROBABILITIES:
        return MOCK_CHOICE | MOCK_SCORE;
    default:
        return MOCK_NOUL | MOCK_CHOICE | MOCK_SCORE;
    }
}

/* These need two options to say something wrong about. */
static bool fits(const struct mock_fault *fault, const struct mock_question *question) {
    if (!(fitting(fault->kind) & question->type))
        return false;
    bool two = fault->kind == MOCK_FAULT_WRONG_CHOICE || fault->kind == MOCK_FAULT_BAD_SCORE ||
               fault->kind == MOCK_FAULT_MISSING_OPTION;
    return !two || question->option_count > 1;
}

static uint64_t next_random(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return mock_mix(*state);
}

static double unit(uint64_t hash) {
    return (double)(hash >> 11) / 9007199254740992.0; /* 2^53 */
}

/* Fills order with 0 … count-1, shuffled by Fisher and Yates unless seed is 0. */
static void shuffle(size_t *order, size_t count, uint64_t seed, uint64_t salt) {
    uint64_t state = mock_hash(&seed, sizeof seed, salt);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; seed && i > 1; i--) {
        size_t j = (size_t)(next_random(&state) % i);
        size_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* A number as the service shows it: two decimals, or one when the second is 0. */
static void put_rounded(yajl_gen out, double value) {
    char digits[40];
    int length = snprintf(digits, sizeof digits, "%.2f", value);
    if (length > 2 && digits[length - 1] == '0')
        length--;
    mock_put_raw(out, digits, (size_t)length);
}

struct spread {
    double *p; /* unrounded */
    size_t count;
    size_t mode; /* index of the largest */
};

static void spread_make(struct spread *spread, const struct mock_request *request,
                        const struct mock_question *question, uint64_t question_hash,
                        bool whole_numbers) {
    double sum = 0;
    size_t count = question->option_count;
    double steepness = 2 + 8 * unit(mock_hash("steep", 5, question_hash));
    spread->p = mock_resize(NULL, count * sizeof *spread->p);
    spread->count = count;
    spread->mode = 0;
    for (size_t i = 0; i < count; i++) {
        const struct mock_node *option = &request->json.nodes[question->options[i]];
        uint64_t hash = question_hash;
        if (question->type == MOCK_CHOICE)
            hash = mock_hash(option->key, option->key_length, hash);
        else
            hash = mock_hash(&i, sizeof i, hash);
        hash = mock_json_hash(&request->json, question->options[i], hash);
        spread->p[i] = exp(steepness * unit(hash));
        sum += spread->p[i];
        if (spread->p[i] > spread->p[spread->mode])
            spread->mode = i;
    }
    for (size_t i = 0; i < count; i++)
        spread->p[i] = whole_numbers ? (i == spread->mode ? 1 : 0) : spread->p[i] / sum;
}

/* Both formulas: wire contract 3, from the official adapter. */
static double choice_confidence(const struct spread *spread) {
    double n = (double)spread->count;
    return spread->count == 1 ? 1 : (spread->p[spread->mode] - 1 / n) / (1 - 1 / n);
}

static double score_confidence(const struct spread *spread) {
    double n = (double)spread->count, distance = 0, away = 0;
    for (size_t i = 0; i < spread->count; i++) {
        distance += fabs((double)i - (n - 1) / 2) / n;
        away += spread->p[i] * fabs((double)i - (double)spread->mode);
    }
    if (spread->count == 1)
        return 1;
    return fmax(0, 1 - away / distance);
}

struct writer {
    const struct mock_request *request;
    yajl_gen out;
    uint64_t seed;
    bool integers;
};

static void put_number(struct writer *writer, double value) {
    if (writer->integers)
        mock_put_integer(writer->out, (long long)(value + 0.5));
    else
        put_rounded(writer->out, value);
}

/* The number that a fault may replace; high is a value above its range. */
static void put_main_number(struct writer *writer, enum mock_fault_kind kind, double value,
                            double high) {
    switch (kind) {
    case MOCK_FAULT_OUT_OF_RANGE:
        put_rounded(writer->out, high);
        break;
    case MOCK_FAULT_NEGATIVE:
        put_rounded(writer->out, -0.1);
        break;
    case MOCK_FAULT_NULL_NUMBER:
        yajl_gen_null(writer->out);
        break;
    case MOCK_FAULT_STRING_NUMBER:
        mock_put_text(writer->out, "0.9");
        break;
    case MOCK_FAULT_HUGE_NUMBER:
        mock_put_raw(writer->out, "1e999", 5);
        break;
    case MOCK_FAULT_NAN_NUMBER:
        mock_put_raw(writer->out, "NaN", 3);
        break;
    default:
        put_number(writer, value);
    }
}

static void put_option_key(struct writer *writer, const struct mock_question *question,
                           size_t option) {
    if (question->type == MOCK_CHOICE) {
        const struct mock_node *node = &writer->request->json.nodes[question->options[option]];
        mock_put_string(writer->out, node->key, node->key_length);
    } else {
        char digits[24];
        snprintf(digits, sizeof digits, "%zu", option);
        mock_put_text(writer->out, digits);
    }
}

static void put_probabilities(struct writer *writer, const struct mock_question *question,
                              const struct spread *spread, uint64_t hash,
                              enum mock_fault_kind kind) {
    size_t *order = mock_resize(NULL, spread->count * sizeof *order);
    size_t left_out =
        kind == MOCK_FAULT_MISSING_OPTION ? (spread->mode + 1) % spread->count : MOCK_NONE;
    shuffle(order, spread->count, writer->seed, hash);
    mock_put_text(writer->out, "probabilities");
    yajl_gen_map_open(writer->out);
    for (size_t i = 0; i < spread->count; i++) {
        size_t option = order[i];
        if (option == left_out)
            continue;
        if (kind == MOCK_FAULT_BAD_LEVEL_KEY && option == 0)
            mock_put_text(writer->out, "00");
        else
            put_option_key(writer, question, option);
        double p = kind == MOCK_FAULT_BAD_SUM ? spread->p[option] / 2 : spread->p[option];
        bool is_main = question->type == MOCK_CHOICE && option == spread->mode;
        put_main_number(writer, is_main ? kind : MOCK_FAULT_KINDS, p, 1.3);
    }
    if (kind == MOCK_FAULT_EXTRA_OPTION) {
        mock_put_text(writer->out, question->type == MOCK_CHOICE ? "never offered" : "99");
        put_number(writer, 0);
    }
    yajl_gen_map_close(writer->out);
    free(order);
}

static void put_legend(struct writer *writer, const struct mock_question *question) {
    mock_put_text(writer->out, "legend");
    yajl_gen_map_open(writer->out);
    for (size_t i = 0; i < question->option_count; i++) {
        const struct mock_node *level = &writer->request->json.nodes[question->options[i]];
        put_option_key(writer, question, i);
        mock_put_raw(writer->out, writer->request->json.document + level->start,
                     level->end - level->start);
    }
    yajl_gen_map_close(writer->out);
}

static void put_choice(struct writer *writer, const struct mock_question *question,
                       const struct spread *spread, uint64_t hash, enum mock_fault_kind kind) {
    size_t named = spread->mode;
    for (size_t i = 0; kind == MOCK_FAULT_WRONG_CHOICE && i < spread->count; i++)
        if (spread->p[i] < spread->p[named])
            named = i;
    mock_put_text(writer->out, "choice");
    if (kind == MOCK_FAULT_UNLISTED_CHOICE)
        mock_put_text(writer->out, "never offered");
    else
        put_option_key(writer, question, named);
    if (kind != MOCK_FAULT_NO_CONFIDENCE) {
        mock_put_text(writer->out, "confidence");
        put_number(writer, choice_confidence(spread));
    }
    if (kind != MOCK_FAULT_NO_PROBABILITIES)
        put_probabilities(writer, question, spread, hash, kind);
}

static void put_score(struct writer *writer, const struct mock_question *question,
                      const struct spread *spread, uint64_t hash, enum mock_fault_kind kind) {
    double top = (double)(spread->count - 1), mean = 0;
    for (size_t i = 0; i < spread->count; i++)
        mean += (double)i * spread->p[i];
    if (kind == MOCK_FAULT_BAD_SCORE)
        mean = mean > top / 2 ? mean - 0.3 : mean + 0.3;
    mock_put_text(writer->out, "score");
    put_main_number(writer, kind, mean, top + 0.2);
    if (kind != MOCK_FAULT_NO_CONFIDENCE) {
        mock_put_text(writer->out, "confidence");
        put_number(writer, score_confidence(spread));
    }
    if (kind != MOCK_FAULT_NO_LEGEND)
        put_legend(writer, question);
    if (kind != MOCK_FAULT_NO_PROBABILITIES)
        put_probabilities(writer, question, spread, hash, kind);
}

static void put_literal(yajl_gen out, const char *json) {
    mock_put_raw(out, json, strlen(json));
}

static void put_unknown_field(yajl_gen out, const struct mock_fault *fault) {
    struct mock_buffer value = {0};
    bool deep = fault->kind == MOCK_FAULT_DEEP;
    size_t count = (size_t)fault->number, total = deep ? 2 * count : count + 2;
    char *bytes = mock_resize(NULL, total);
    memset(bytes, deep ? '[' : 'x', total);
    if (deep) {
        memset(bytes + count, ']', count);
    } else {
        bytes[0] = bytes[total - 1] = '"';
    }
    mock_buffer_add(&value, bytes, total);
    free(bytes);
    mock_put_text(out, "x");
    mock_put_raw(out, value.length ? value.data : "0", value.length ? value.length : 1);
    mock_buffer_free(&value);
}

/* The fields of one answer behind its type. */
static void put_fields(struct writer *writer, const struct mock_question *question, uint64_t hash,
                       enum mock_fault_kind kind) {
    if (question->type == MOCK_NOUL) {
        double yes = unit(mock_hash("noul", 4, hash));
        mock_put_text(writer->out, "noul");
        put_main_number(writer, kind, yes, 1.2);
        if (kind == MOCK_FAULT_EXTRA_FIELDS) { /* as vLLM: wire contract 8.8 */
            mock_put_text(writer->out, "probabilities");
            put_literal(writer->out, "{\"yes\":0.5,\"no\":0.5}");
            mock_put_text(writer->out, "confidence");
            put_literal(writer->out, "0.9");
            mock_put_text(writer->out, "diagnostics");
            put_literal(writer->out, "{\"label_mass\":0.98,\"argmax_is_label\":true}");
        }
        return;
    }
    struct spread spread;
    spread_make(&spread, writer->request, question, hash, writer->integers);
    if (question->type == MOCK_CHOICE)
        put_choice(writer, question, &spread, hash, kind);
    else
        put_score(writer, question, &spread, hash, kind);
    free(spread.p);
}

static void put_answer(struct writer *writer, const struct mock_question *question, uint64_t state,
                       const struct mock_fault *fault) {
    static const char *const names[] = {
        [MOCK_NOUL] = "noul", [MOCK_CHOICE] = "choice", [MOCK_SCORE] = "score"};
    const struct mock_node *node = &writer->request->json.nodes[question->node];
    enum mock_fault_kind kind = fault ? fault->kind : MOCK_FAULT_KINDS;
    yajl_gen out = writer->out;
    /* The id is not part of it: renaming a question does not change its answer. */
    uint64_t hash = mock_json_hash(&writer->request->json, question->node, state);
    if (kind == MOCK_FAULT_DUPLICATE_KEYS)
        put_answer(writer, question, ~state, NULL);
    mock_put_string(out, node->key, node->key_length);
    switch (kind) {
    case MOCK_FAULT_UNKNOWN_TYPE:
        put_literal(out, "{\"type\":\"box\",\"box\":{\"top\":0.12,\"bottom\":0.4,\"left\":0.2,"
                         "\"right\":0.65},\"confidence\":0.9}");
        return;
    case MOCK_FAULT_REFUSAL:
        put_literal(out, "{\"type\":\"refusal\"}");
        return;
    case MOCK_FAULT_BOOLEAN:
        put_literal(out, "{\"type\":\"boolean\",\"probability\":0.9}");
        return;
    case MOCK_FAULT_WRONG_KIND:
        put_literal(out, question->type == MOCK_NOUL
                             ? "{\"type\":\"choice\",\"choice\":\"a\",\"confidence\":1.0,"
                               "\"probabilities\":{\"a\":1.0}}"
                             : "{\"type\":\"noul\",\"noul\":0.9}");
        return;
    default:
        break;
    }
    yajl_gen_map_open(out);
    if (kind == MOCK_FAULT_WRAPPED) {
        mock_put_text(out, "result");
        yajl_gen_map_open(out);
    }
    if (kind != MOCK_FAULT_NO_TYPE) {
        mock_put_text(out, "type");
        mock_put_text(out, names[question->type]);
    }
    put_fields(writer, question, hash, kind);
    if (kind == MOCK_FAULT_DEEP || kind == MOCK_FAULT_BIG)
        put_unknown_field(out, fault);
    if (kind == MOCK_FAULT_WRAPPED)
        yajl_gen_map_close(out);
    yajl_gen_map_close(out);
}

static void put_answers(struct writer *writer, const struct mock_fault *fault, size_t target) {
    const struct mock_request *request = writer->request;
    uint64_t state = mock_json_hash(&request->json, request->state, 0);
    size_t *order = mock_resize(NULL, request->question_count * sizeof *order);
    shuffle(order, request->question_count, writer->seed, state);
    yajl_gen_map_open(writer->out);
    for (size_t i = 0; i < request->question_count; i++) {
        bool hit = fault && order[i] == target;
        if (hit && fault->kind == MOCK_FAULT_MISSING_ANSWER)
            continue;
        put_answer(writer, &request->questions[order[i]], state, hit ? fault : NULL);
    }
    if (fault && fault->kind == MOCK_FAULT_EXTRA_ANSWER) {
        mock_put_text(writer->out, fault->text ? fault->text : "__proto__");
        put_literal(writer->out, "{\"type\":\"noul\",\"noul\":0.1}");
    }
    yajl_gen_map_close(writer->out);
    free(order);
}

static void put_usage(yajl_gen out, size_t questions, enum mock_fault_kind kind) {
    char usage[160];
    size_t input = 280 + 35 * questions, output = 20 * questions;
    if (kind == MOCK_FAULT_NO_USAGE)
        return;
    mock_put_text(out, "usage");
    if (kind == MOCK_FAULT_NULL_USAGE) {
        yajl_gen_null(out);
        return;
    }
    if (kind == MOCK_FAULT_FLOAT_USAGE)
        snprintf(usage, sizeof usage, "{\"input_tokens\":12.0,\"output_tokens\":1.5}");
    else if (kind == MOCK_FAULT_BIG_USAGE)
        snprintf(usage, sizeof usage,
                 "{\"input_tokens\":9223372036854775808,\"output_tokens\":%zu}", output);
    else if (kind == MOCK_FAULT_OTHER_USAGE)
        snprintf(usage, sizeof usage, "{\"prompt_tokens\":%zu,\"completion_tokens\":%zu}", input,
                 output);
    else
        snprintf(usage, sizeof usage, "{\"input_tokens\":%zu,\"output_tokens\":%zu%s}", input,
                 output, kind == MOCK_FAULT_EXTRA_FIELDS ? ",\"cost\":0.0000134" : "");
    put_literal(out, usage);
}

bool mock_answer(const struct mock_request *request, uint64_t seed, const struct mock_fault *fault,
                 struct mock_buffer *body) {
    struct writer writer = {.request = request, .out = yajl_gen_alloc(NULL), .seed = seed};
    yajl_gen out = writer.out;
    size_t target = 0;
    while (fault && target < request->question_count && !fits(fault, &request->questions[target]))
        target++;
    bool worked = target < request->question_count;
    if (!worked)
        fault = NULL;
    enum mock_fault_kind kind = fault ? fault->kind : MOCK_FAULT_KINDS;
    writer.integers = kind == MOCK_FAULT_INTEGERS;

    yajl_gen_map_open(out);
    if (kind == MOCK_FAULT_EXTRA_FIELDS) {
        mock_put_text(out, "id");
        mock_put_text(out, "gen-1");
        mock_put_text(out, "provider");
        mock_put_text(out, "TypeSafe");
    }
    if (kind != MOCK_FAULT_NO_MODEL) {
        mock_put_text(out, "model");
        if (kind == MOCK_FAULT_MODEL)
            mock_put_text(out, fault->text);
        else
            mock_put_string(out, request->model, request->model_length);
    }
    if (kind != MOCK_FAULT_NO_ANSWERS) {
        mock_put_text(out, "answers");
        if (kind == MOCK_FAULT_EMPTY_ANSWERS)
            put_literal(out, "{}");
        else if (kind == MOCK_FAULT_ANSWERS_ARRAY)
            put_literal(out, "[]");
        else if (kind == MOCK_FAULT_ANSWERS_NULL)
            yajl_gen_null(out);
        else
            put_answers(&writer, fault, target);
    }
    put_usage(out, request->question_count, kind);
    yajl_gen_map_close(out);
    if (kind == MOCK_FAULT_ENVELOPE)
        mock_buffer_print(body, "{\"result\":");
    mock_take(body, out);
    if (kind == MOCK_FAULT_ENVELOPE)
        mock_buffer_print(body, ",\"success\":true,\"errors\":[],\"messages\":[]}");
    return worked;
}
