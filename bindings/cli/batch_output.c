#include "batch_output.h"

#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "batch_record.h"
#include "command.h"
#include "text.h"

/* What stands in the cells of a failed row, so that none reads as an answer. */
#define FAILED "#ERROR"

struct text {
    const char *data;
    size_t len;
};

/* One question with its answer. answer->status tells whether the rest may be used. */
struct asked {
    struct text key;
    int32_t kind;
    size_t labels;
    size_t index;
    deem_answer answer;
};

static size_t question_count(const deem_question_set *set) {
    size_t count = 0;
    cli_must(deem_question_set_count(set, &count));
    return count;
}

static struct asked question_at(const deem_question_set *set, size_t index) {
    struct asked asked = {.index = index};
    cli_must(deem_question_set_question(set, index, &asked.kind, &asked.key.data, &asked.key.len,
                                        &asked.labels));
    return asked;
}

static struct text label_of(const deem_question_set *set, size_t question, size_t label) {
    struct text text = {"", 0};
    cli_must(deem_question_set_label(set, question, label, &text.data, &text.len));
    return text;
}

/* The answers of a row in the order of the set (free()). */
static struct asked *all_answers(const deem_question_set *set, const deem_response *response) {
    size_t count = question_count(set), written = 0;
    struct asked *all = calloc(count + 1, sizeof *all);
    deem_answer *answers = calloc(count + 1, sizeof *answers);
    if (all == NULL || answers == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    cli_must(deem_response_answers(response, answers, sizeof *answers, count, &written));
    for (size_t i = 0; i < count; i++) {
        all[i] = question_at(set, i);
        all[i].answer = answers[i];
        if (i >= written)
            all[i].answer = (deem_answer){.kind = all[i].kind, .status = DEEM_REASON_MISSING};
    }
    free(answers);
    return all;
}

static bool is_good(const deem_response *response) {
    return deem_response_code(response) == DEEM_OK;
}

static bool readable(const deem_answer *answer) {
    return answer->status == DEEM_ANSWER_OK || (answer->flags & DEEM_ANSWER_DOUBTFUL) != 0;
}

static bool has_confidence(const deem_answer *answer) {
    return readable(answer) && (answer->flags & DEEM_ANSWER_HAS_CONFIDENCE) != 0;
}

static const double *probabilities_of(const deem_response *response, const deem_answer *answer) {
    const double *all = NULL;
    size_t count = 0;
    if (!readable(answer) || answer->probability_count == 0)
        return NULL;
    cli_must(deem_response_probabilities(response, &all, &count));
    return all + answer->first_probability;
}

bool cli_output_in_band(const struct cli_output *output, const deem_response *response, double low,
                        double high) {
    struct asked *all = all_answers(output->set, response);
    bool inside = false;
    for (size_t i = 0; is_good(response) && i < question_count(output->set); i++) {
        const deem_answer *answer = &all[i].answer;
        const double *own = probabilities_of(response, answer);
        double p = all[i].kind == DEEM_NOUL          ? answer->value
                   : own != NULL && answer->top >= 0 ? own[answer->top]
                                                     : answer->value;
        inside = inside || (readable(answer) && p >= low && p <= high);
    }
    free(all);
    return inside;
}

/* ---- JSON Lines ---- */

static void json_value(struct cli_json *json, const struct cli_output *output,
                       const struct asked *asked) {
    if (asked->kind == DEEM_CHOICE) {
        struct text label = label_of(output->set, asked->index, (size_t)asked->answer.chosen);
        cli_json_text(json, label.data, label.len);
    } else {
        cli_json_number(json, asked->answer.value);
    }
}

/* A reply's JSON on one line: line ends stand between tokens alone, where a blank serves too. */
static void json_one_line(struct cli_json *json, const char *raw, size_t len) {
    const char *end = raw + len;
    cli_json_raw(json, raw, 0);
    while (raw < end) {
        size_t step = 0;
        while (raw + step < end && raw[step] != '\n' && raw[step] != '\r')
            step++;
        fwrite(raw, 1, step, json->stream);
        raw += step;
        if (raw < end)
            fputc(' ', json->stream);
        raw += raw < end;
    }
}

static void json_answers(struct cli_json *json, const struct cli_output *output,
                         const deem_response *response) {
    size_t count = question_count(output->set);
    struct asked *all = all_answers(output->set, response);
    static const char *const parts[] = {"values", "confidences", "answers"};
    for (int part = 0; part < 3; part++) {
        cli_json_name(json, parts[part]);
        cli_json_open(json, '{');
        for (size_t i = 0; i < count; i++) {
            const deem_answer *answer = &all[i].answer;
            struct text raw = {"null", 4};
            if (part == 1 ? !has_confidence(answer) : !readable(answer))
                continue;
            cli_json_key(json, all[i].key.data, all[i].key.len);
            if (part == 0) {
                json_value(json, output, &all[i]);
            } else if (part == 1) {
                cli_json_number(json, answer->confidence);
            } else {
                deem_response_answer_json(response, i, &raw.data, &raw.len);
                json_one_line(json, raw.data, raw.len);
            }
        }
        cli_json_close(json, '}');
    }
    free(all);
}

/* The answers that failed a check, by key. */
static void json_problems(struct cli_json *json, const struct cli_output *output,
                          const deem_response *response) {
    bool any = false;
    for (size_t i = 0; i < question_count(output->set); i++) {
        struct asked asked = question_at(output->set, i);
        struct text path = {"", 0}, message = {"", 0};
        int32_t reason = 0;
        if (deem_response_problem(response, i, &reason, &path.data, &path.len, &message.data,
                                  &message.len) != DEEM_OK ||
            reason == DEEM_ANSWER_OK || message.len == 0)
            continue;
        if (!any) {
            cli_json_name(json, "problems");
            cli_json_open(json, '{');
            any = true;
        }
        cli_json_key(json, asked.key.data, asked.key.len);
        cli_json_open(json, '{');
        cli_json_name(json, "reason");
        cli_json_word(json, deem_reason_name(reason));
        cli_json_name(json, "path");
        cli_json_text(json, path.data, path.len);
        cli_json_name(json, "message");
        cli_json_text(json, message.data, message.len);
        cli_json_close(json, '}');
    }
    if (any)
        cli_json_close(json, '}');
}

static void json_error(struct cli_json *json, const deem_response *response) {
    struct text text = {"", 0};
    int32_t http = 0;
    cli_json_name(json, "error");
    cli_json_open(json, '{');
    cli_json_name(json, "kind");
    cli_json_word(json, deem_status_name(deem_response_code(response)));
    deem_response_message(response, &text.data, &text.len);
    cli_json_name(json, "message");
    cli_json_text(json, text.data, text.len);
    deem_response_path(response, &text.data, &text.len);
    if (text.len > 0) {
        cli_json_name(json, "path");
        cli_json_text(json, text.data, text.len);
    }
    if (deem_response_http_status(response, &http) == DEEM_OK) {
        cli_json_name(json, "http_status");
        cli_json_integer(json, http);
    }
    cli_json_close(json, '}');
}

static void json_text_or_null(struct cli_json *json, const char *name, int32_t status,
                              const struct text *text) {
    cli_json_name(json, name);
    if (status == DEEM_OK)
        cli_json_text(json, text->data, text->len);
    else
        cli_json_null(json);
}

static const char *shape_name(int32_t shape) {
    return shape == DEEM_PACK_STATE ? "state" : "question";
}

static void json_call(struct cli_json *json, const deem_batch_row *record,
                      const deem_response *response) {
    struct text text = {"", 0};
    int32_t attempts = 0;
    int64_t in = -1, out = -1;
    double cost = NAN;
    int32_t status = deem_response_model(response, &text.data, &text.len);
    json_text_or_null(json, "model", status, &text);
    status = deem_response_request_id(response, &text.data, &text.len);
    json_text_or_null(json, "request_id", status, &text);
    deem_response_attempts(response, &attempts);
    cli_json_name(json, "attempts");
    cli_json_integer(json, attempts);
    if (deem_response_usage(response, &in, &out) == DEEM_OK) {
        cli_json_name(json, "usage");
        cli_json_open(json, '{');
        if (in >= 0) {
            cli_json_name(json, "input_tokens");
            cli_json_integer(json, in);
        }
        if (out >= 0) {
            cli_json_name(json, "output_tokens");
            cli_json_integer(json, out);
        }
        cli_json_close(json, '}');
    }
    if (deem_response_cost(response, &cost) == DEEM_OK) {
        cli_json_name(json, "cost");
        cli_json_number(json, cost);
    }
    if ((record->flags & DEEM_ROW_DUPLICATE) != 0) {
        cli_json_name(json, "duplicate");
        cli_json_raw(json, "true", 4);
    }
    if (record->size > 0) {
        cli_json_name(json, "pack");
        cli_json_open(json, '{');
        cli_json_name(json, "id");
        cli_json_integer(json, (int64_t)record->pack + 1);
        cli_json_name(json, "place");
        cli_json_integer(json, record->place + 1);
        cli_json_name(json, "size");
        cli_json_integer(json, record->size);
        cli_json_name(json, "shape");
        cli_json_word(json, shape_name(record->shape));
        cli_json_close(json, '}');
    }
}

static void write_json(const struct cli_output *output, FILE *stream, const struct cli_row *row,
                       const deem_batch_row *record, const deem_response *response) {
    struct cli_json json = {stream, false};
    cli_json_open(&json, '{');
    cli_json_name(&json, "row");
    cli_json_integer(&json, (int64_t)row->number);
    if (row->id_json.data != NULL) {
        cli_json_name(&json, "id");
        cli_json_raw(&json, row->id_json.data, row->id_json.len);
    }
    cli_json_name(&json, "status");
    cli_json_word(&json, is_good(response) ? "ok" : "error");
    if (is_good(response))
        json_answers(&json, output, response);
    else
        json_error(&json, response);
    json_problems(&json, output, response);
    json_call(&json, record, response);
    cli_json_close(&json, '}');
    fputc('\n', stream);
}

/* ---- CSV and TSV ---- */

/* Writes cells: commas or tabs between them, quotes where they are needed. */
struct cells {
    FILE *stream;
    const struct cli_output *output;
    bool any;
};

static void put(struct cells *cells, const char *text, size_t len) {
    bool tabs = cells->output->form == CLI_OUTPUT_TSV;
    bool quoted = false, apostrophe = false;
    if (cells->any)
        fputc(tabs ? '\t' : ',', cells->stream);
    cells->any = true;
    for (size_t i = 0; i < len && !quoted; i++)
        quoted = text[i] == '"' || text[i] == '\n' || text[i] == '\r' ||
                 text[i] == (tabs ? '\t' : ',') || (text[i] == ' ' && (i == 0 || i == len - 1));
    /* What a spreadsheet takes for a formula begins with one of these. */
    apostrophe = cells->output->escape_formulas && len > 0 && strchr("=+-@\t\r", text[0]) != NULL &&
                 text[0] != '\0';
    if (!quoted && !apostrophe) {
        fwrite(text, 1, len, cells->stream);
        return;
    }
    char *joined = malloc(len + 1);
    if (joined == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    joined[0] = '\'';
    memcpy(joined + apostrophe, text, len);
    if (quoted)
        csv_fwrite(cells->stream, joined, len + apostrophe);
    else
        fwrite(joined, 1, len + apostrophe, cells->stream);
    free(joined);
}

static void put_word(struct cells *cells, const char *text) {
    put(cells, text, strlen(text));
}

static void put_integer(struct cells *cells, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put_word(cells, text);
}

static void put_number(struct cells *cells, double number) {
    char text[32] = "";
    put_word(cells, isnan(number) ? "" : cli_number(text, sizeof text, number));
}

/* Calls use for the name of each column in order. */
static void each_column(const struct cli_output *output, void (*use)(void *, const char *, size_t),
                        void *context) {
    static const char *const first[] = {"row", "id", "status", "error"};
    static const char *const last[] = {"model", "request_id", "attempts"};
    static const char *const pack[] = {"pack", "place", "size", "shape"};
    for (size_t i = 0; i < 4; i++)
        use(context, first[i], strlen(first[i]));
    for (size_t i = 0; i < question_count(output->set); i++) {
        struct asked asked = question_at(output->set, i);
        use(context, asked.key.data, asked.key.len);
        char *name = NULL;
        size_t len = 0;
        FILE *stream = NULL;
        for (size_t k = 0; asked.kind != DEEM_NOUL && k <= asked.labels; k++) {
            stream = open_memstream(&name, &len);
            if (stream == NULL)
                cli_die(CLI_LOCAL, "out of memory");
            fwrite(asked.key.data, 1, asked.key.len, stream);
            if (k == 0) {
                fputs(".confidence", stream);
            } else if (asked.kind == DEEM_SCORE) {
                fprintf(stream, ".p.%zu", k - 1);
            } else {
                struct text label = label_of(output->set, i, k - 1);
                fputs(".p.", stream);
                fwrite(label.data, 1, label.len, stream);
            }
            fclose(stream);
            use(context, name, len);
            free(name);
            name = NULL;
        }
    }
    for (size_t i = 0; i < 3; i++)
        use(context, last[i], strlen(last[i]));
    for (size_t i = 0; output->packed && i < 4; i++)
        use(context, pack[i], strlen(pack[i]));
}

struct names {
    struct cli_text *items;
    size_t count, room;
};

static void note_name(void *context, const char *name, size_t len) {
    struct names *names = context;
    if (names->count == names->room) {
        names->room = names->room == 0 ? 64 : names->room * 2;
        names->items = realloc(names->items, names->room * sizeof *names->items);
        if (names->items == NULL)
            cli_die(CLI_LOCAL, "out of memory");
    }
    names->items[names->count++] = cli_copy(name, len);
}

static int by_text(const void *a, const void *b) {
    const struct cli_text *one = a, *other = b;
    size_t least = one->len < other->len ? one->len : other->len;
    int order = memcmp(one->data, other->data, least);
    return order != 0 ? order : (one->len > other->len) - (one->len < other->len);
}

void cli_output_check(const struct cli_output *output) {
    struct names names = {NULL, 0, 0};
    if (output->form == CLI_OUTPUT_JSONL)
        return;
    each_column(output, note_name, &names);
    qsort(names.items, names.count, sizeof *names.items, by_text);
    for (size_t i = 1; i < names.count; i++)
        if (by_text(&names.items[i - 1], &names.items[i]) == 0) {
            fputs("deemster: two columns of the output would be called '", stderr);
            cli_show(stderr, names.items[i].data, names.items[i].len, 60);
            fputs("': rename the question, or write JSON Lines (--to jsonl)\n", stderr);
            exit(CLI_USAGE);
        }
    for (size_t i = 0; i < names.count; i++)
        free(names.items[i].data);
    free(names.items);
}

static void put_name(void *context, const char *name, size_t len) {
    put(context, name, len);
}

void cli_output_begin(const struct cli_output *output, FILE *stream) {
    struct cells cells = {stream, output, false};
    if (output->form == CLI_OUTPUT_JSONL)
        return;
    each_column(output, put_name, &cells);
    fputc('\n', stream);
}

static void put_answer(struct cells *cells, const deem_response *response,
                       const struct asked *asked) {
    const deem_answer *answer = &asked->answer;
    bool good = is_good(response) && readable(answer);
    const double *own = good ? probabilities_of(response, answer) : NULL;
    if (!good) {
        put_word(cells, FAILED);
    } else if (asked->kind == DEEM_CHOICE) {
        struct text label = label_of(cells->output->set, asked->index, (size_t)answer->chosen);
        put(cells, label.data, label.len);
    } else {
        put_number(cells, answer->value);
    }
    if (asked->kind == DEEM_NOUL)
        return;
    put_number(cells, good && has_confidence(answer) ? answer->confidence : NAN);
    for (size_t i = 0; i < asked->labels; i++)
        put_number(cells, own != NULL ? own[i] : NAN);
}

static void put_error(struct cells *cells, const deem_response *response) {
    struct text message = {"", 0};
    char *text = NULL;
    if (is_good(response)) {
        put(cells, "", 0);
        return;
    }
    deem_response_message(response, &message.data, &message.len);
    int len = asprintf(&text, "%s: %.*s", deem_status_name(deem_response_code(response)),
                       (int)message.len, message.data);
    if (len < 0)
        cli_die(CLI_LOCAL, "out of memory");
    put(cells, text, (size_t)len);
    free(text);
}

static void write_cells(const struct cli_output *output, FILE *stream, const struct cli_row *row,
                        const deem_batch_row *record, const deem_response *response) {
    struct cells cells = {stream, output, false};
    struct text text = {"", 0};
    int32_t attempts = 0;
    put_integer(&cells, (int64_t)row->number);
    put(&cells, row->id.data != NULL ? row->id.data : "", row->id.len);
    put_word(&cells, is_good(response) ? "ok" : "error");
    put_error(&cells, response);
    struct asked *all = all_answers(output->set, response);
    for (size_t i = 0; i < question_count(output->set); i++)
        put_answer(&cells, response, &all[i]);
    free(all);
    deem_response_model(response, &text.data, &text.len);
    put(&cells, text.data, text.len);
    deem_response_request_id(response, &text.data, &text.len);
    put(&cells, text.data, text.len);
    deem_response_attempts(response, &attempts);
    put_integer(&cells, attempts);
    if (output->packed && record->size > 0) {
        put_integer(&cells, (int64_t)record->pack + 1);
        put_integer(&cells, record->place + 1);
        put_integer(&cells, record->size);
        put_word(&cells, shape_name(record->shape));
    } else if (output->packed) {
        for (int i = 0; i < 4; i++)
            put(&cells, "", 0);
    }
    fputc('\n', stream);
}

enum cli_output_form cli_output_form_of(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot == NULL                    ? CLI_OUTPUT_JSONL
           : strcasecmp(dot, ".csv") == 0 ? CLI_OUTPUT_CSV
           : strcasecmp(dot, ".tsv") == 0 ? CLI_OUTPUT_TSV
                                          : CLI_OUTPUT_JSONL;
}

void cli_output_row(const struct cli_output *output, FILE *stream, const struct cli_row *row,
                    const deem_batch_row *record, const deem_response *response) {
    (output->form == CLI_OUTPUT_JSONL ? write_json : write_cells)(output, stream, row, record,
                                                                  response);
}
