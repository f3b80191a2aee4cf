#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

enum { TEXT_COLUMNS = 60, KEY_COLUMNS = 40 };

struct text {
    const char *data;
    size_t len;
};

static int32_t question_count(const deem_response *response) {
    size_t count = 0;
    deem_question_set_count(deem_response_question_set(response), &count);
    return (int32_t)count;
}

static struct text question_key(const deem_response *response, int32_t question) {
    struct text key = {"", 0};
    deem_question_set_question(deem_response_question_set(response), (size_t)question, NULL,
                               &key.data, &key.len, NULL);
    return key;
}

static struct text label_of(const deem_response *response, int32_t question, int32_t label) {
    struct text text = {"", 0};
    deem_question_set_label(deem_response_question_set(response), (size_t)question, (size_t)label,
                            &text.data, &text.len);
    return text;
}

static deem_answer *all_answers(const deem_response *response) {
    size_t count = (size_t)question_count(response), written = 0;
    deem_answer *answers = calloc(count + 1, sizeof *answers);
    if (answers == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    cli_must(deem_response_answers(response, answers, sizeof *answers, count, &written));
    return answers;
}

/* Whether the answer's numbers may be shown: it is good, or doubtful in a lenient call. */
static bool readable(const deem_answer *answer) {
    return answer->status == DEEM_ANSWER_OK || (answer->flags & DEEM_ANSWER_DOUBTFUL) != 0;
}

static bool shown(const struct cli_report *report, int32_t question) {
    return report->only < 0 || report->only == question;
}

static struct text problem_of(const deem_response *response, int32_t question, struct text *path) {
    struct text message = {"", 0};
    *path = message;
    deem_response_problem(response, (size_t)question, NULL, &path->data, &path->len, &message.data,
                          &message.len);
    return message;
}

void cli_report_error(const deem_response *response) {
    struct text message = {"", 0}, id = {"", 0};
    if (deem_response_code(response) == DEEM_OK)
        return;
    deem_response_message(response, &message.data, &message.len);
    fputs("deemster: ", stderr);
    cli_show(stderr, message.data, message.len, CLI_WHOLE);
    if (deem_response_request_id(response, &id.data, &id.len) == DEEM_OK) {
        fputs(" [request ", stderr);
        cli_show(stderr, id.data, id.len, KEY_COLUMNS);
        fputc(']', stderr);
    }
    fputc('\n', stderr);
}

/* The answer in words: "yes: 0.93"; "billing (0.8), then account (0.15)"; "1.7: Today". */
static void show_answer(FILE *stream, const deem_response *response, const deem_answer *answer,
                        const double *probabilities) {
    struct text text = {"", 0};
    if (answer->kind == DEEM_NOUL) {
        fprintf(stream, "yes: %.4g", answer->value);
    } else if (answer->kind == DEEM_CHOICE) {
        const double *own = probabilities + answer->first_probability;
        int32_t next = -1;
        for (int32_t i = 0; i < (int32_t)answer->probability_count; i++)
            if (i != answer->chosen && own[i] > 0 && (next < 0 || own[i] > own[next]))
                next = i;
        text = label_of(response, answer->question, answer->chosen);
        cli_show(stream, text.data, text.len, TEXT_COLUMNS);
        if (!isnan(answer->value))
            fprintf(stream, " (%.4g)", answer->value);
        if (next >= 0) {
            text = label_of(response, answer->question, next);
            fputs(", then ", stream);
            cli_show(stream, text.data, text.len, TEXT_COLUMNS);
            fprintf(stream, " (%.4g)", own[next]);
        }
    } else {
        text = label_of(response, answer->question, answer->chosen);
        fprintf(stream, "%.4g: ", answer->value);
        cli_show(stream, text.data, text.len, TEXT_COLUMNS);
    }
}

enum { COLUMNS = 3 };

struct cell {
    char *text;
    size_t len, width;
};

/* Characters, taken as one column each. */
static size_t width_of(const char *text, size_t len) {
    size_t width = 0;
    for (size_t i = 0; i < len; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static FILE *start_cell(struct cell *cell) {
    FILE *stream = open_memstream(&cell->text, &cell->len);
    if (stream == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    return stream;
}

static void end_cell(FILE *stream, struct cell *cell, size_t *widest) {
    if (fclose(stream) != 0)
        cli_die(CLI_LOCAL, "out of memory");
    cell->width = width_of(cell->text, cell->len);
    if (cell->width > *widest)
        *widest = cell->width;
}

static void fill_row(struct cell *row, size_t *widest, const deem_response *response,
                     const deem_answer *answer, const double *probabilities) {
    struct text key = question_key(response, answer->question), path;
    FILE *stream = start_cell(&row[0]);
    cli_show(stream, key.data, key.len, KEY_COLUMNS);
    end_cell(stream, &row[0], &widest[0]);

    stream = start_cell(&row[1]);
    if (readable(answer))
        show_answer(stream, response, answer, probabilities);
    else
        fputs("no answer", stream);
    end_cell(stream, &row[1], &widest[1]);

    stream = start_cell(&row[2]);
    if (answer->status != DEEM_ANSWER_OK) {
        struct text message = problem_of(response, answer->question, &path);
        cli_show(stream, message.data, message.len, CLI_WHOLE);
    } else if ((answer->flags & DEEM_ANSWER_HAS_CONFIDENCE) != 0) {
        fprintf(stream, "%.4g", answer->confidence);
    } else {
        fputc('-', stream);
    }
    end_cell(stream, &row[2], &widest[2]);
}

static void show_footer(const struct cli_report *report, const deem_response *response) {
    struct text model = {"", 0}, id = {"", 0};
    int64_t in = -1, out = -1, total = 0;
    int32_t attempts = 0;
    fputc('\n', stdout);
    if (report->decision != NULL)
        printf("decision: %s\n", report->decision);
    if (deem_response_model(response, &model.data, &model.len) == DEEM_OK) {
        cli_show(stdout, model.data, model.len, KEY_COLUMNS);
        fputs(", ", stdout);
    }
    deem_response_usage(response, &in, &out);
    if (in >= 0)
        printf("%lld tokens in, ", (long long)in);
    if (out >= 0)
        printf("%lld tokens out, ", (long long)out);
    if (deem_response_request_id(response, &id.data, &id.len) == DEEM_OK) {
        fputs("request ", stdout);
        cli_show(stdout, id.data, id.len, KEY_COLUMNS);
        fputs(", ", stdout);
    }
    deem_response_attempts(response, &attempts);
    deem_response_timing(response, DEEM_TIMING_TOTAL, &total);
    printf("%d attempt%s, %lld ms\n", attempts, attempts == 1 ? "" : "s",
           (long long)((total + 500) / 1000));
}

static void show_table(const struct cli_report *report, const deem_response *response,
                       const deem_answer *answers) {
    static const char *const titles[COLUMNS] = {"QUESTION", "ANSWER", "CONFIDENCE"};
    int32_t count = question_count(response);
    size_t widest[COLUMNS], probability_count = 0;
    const double *probabilities = NULL;
    struct cell *cells = calloc((size_t)count * COLUMNS + 1, sizeof *cells);
    if (cells == NULL)
        cli_die(CLI_LOCAL, "out of memory");
    for (int c = 0; c < COLUMNS; c++)
        widest[c] = strlen(titles[c]);
    deem_response_probabilities(response, &probabilities, &probability_count);
    for (int32_t q = 0; q < count; q++)
        if (shown(report, q))
            fill_row(&cells[(size_t)q * COLUMNS], widest, response, &answers[q], probabilities);

    printf("%-*s  %-*s  %s\n", (int)widest[0], titles[0], (int)widest[1], titles[1], titles[2]);
    for (int32_t q = 0; q < count; q++) {
        struct cell *row = &cells[(size_t)q * COLUMNS];
        if (shown(report, q))
            printf("%s%*s  %s%*s  %s\n", row[0].text, (int)(widest[0] - row[0].width), "",
                   row[1].text, (int)(widest[1] - row[1].width), "", row[2].text);
        for (int c = 0; c < COLUMNS; c++)
            free(row[c].text);
    }
    free(cells);
    show_footer(report, response);
}

/* One line a question: "KEY<tab>VALUE", or the value alone when one question is shown. A single
 * label that goes into a file or pipe is written byte for byte. */
static void show_values(const struct cli_report *report, const deem_response *response,
                        const deem_answer *answers) {
    int32_t count = question_count(response);
    bool single = report->only >= 0 || count == 1;
    bool exact = single && isatty(STDOUT_FILENO) == 0;
    char number[32];
    for (int32_t q = 0; q < count; q++) {
        struct text key = question_key(response, q), path;
        if (!shown(report, q))
            continue;
        if (answers[q].status != DEEM_ANSWER_OK) {
            struct text message = problem_of(response, q, &path);
            fputs("deemster: ", stderr);
            cli_show(stderr, path.data, path.len, CLI_WHOLE);
            fputs(": ", stderr);
            cli_show(stderr, message.data, message.len, CLI_WHOLE);
            fputc('\n', stderr);
        }
        if (!readable(&answers[q]))
            continue;
        if (!single) {
            cli_show(stdout, key.data, key.len, CLI_WHOLE);
            fputc('\t', stdout);
        }
        if (answers[q].kind == DEEM_CHOICE) {
            struct text label = label_of(response, q, answers[q].chosen);
            if (exact)
                fwrite(label.data, 1, label.len, stdout);
            else
                cli_show(stdout, label.data, label.len, CLI_WHOLE);
        } else {
            fputs(cli_number(number, sizeof number, answers[q].value), stdout);
        }
        fputc('\n', stdout);
    }
}

static void json_text_or_null(struct cli_json *json, const char *name, int32_t status,
                              struct text text) {
    cli_json_name(json, name);
    if (status == DEEM_OK)
        cli_json_text(json, text.data, text.len);
    else
        cli_json_null(json);
}

static void json_count_or_null(struct cli_json *json, const char *name, int64_t number,
                               bool known) {
    cli_json_name(json, name);
    if (known)
        cli_json_integer(json, number);
    else
        cli_json_null(json);
}

static const char *reason_or_null(int32_t reason) {
    return reason == DEEM_ANSWER_OK ? NULL : deem_reason_name(reason);
}

void cli_report_call(struct cli_json *json, const deem_response *response) {
    struct text text = {"", 0};
    int32_t http = 0, attempts = 0;
    int64_t wait = 0, total = 0;
    cli_json_name(json, "code");
    cli_json_word(json, deem_status_name(deem_response_code(response)));
    deem_response_message(response, &text.data, &text.len);
    cli_json_name(json, "message");
    cli_json_text(json, text.data, text.len);
    cli_json_name(json, "reason");
    cli_json_word(json, reason_or_null(deem_response_reason(response)));
    deem_response_path(response, &text.data, &text.len);
    cli_json_name(json, "path");
    cli_json_text(json, text.data, text.len);
    int32_t status = deem_response_http_status(response, &http);
    json_count_or_null(json, "http_status", http, status == DEEM_OK);
    status = deem_response_retry_after_ms(response, &wait);
    json_count_or_null(json, "retry_after_ms", wait, status == DEEM_OK);
    status = deem_response_request_id(response, &text.data, &text.len);
    json_text_or_null(json, "request_id", status, text);
    deem_response_attempts(response, &attempts);
    cli_json_name(json, "attempts");
    cli_json_integer(json, attempts);
    deem_response_timing(response, DEEM_TIMING_TOTAL, &total);
    cli_json_name(json, "total_ms");
    cli_json_number(json, (double)total / 1000);
}

static void json_value(struct cli_json *json, const deem_response *response,
                       const deem_answer *answer) {
    if (answer->kind == DEEM_CHOICE) {
        struct text label = label_of(response, answer->question, answer->chosen);
        cli_json_text(json, label.data, label.len);
    } else {
        cli_json_number(json, answer->value);
    }
}

static void json_problem(struct cli_json *json, const deem_response *response,
                         const deem_answer *answer) {
    struct text path, message = problem_of(response, answer->question, &path);
    cli_json_open(json, '{');
    cli_json_name(json, "reason");
    cli_json_word(json, deem_reason_name(answer->status));
    cli_json_name(json, "path");
    cli_json_text(json, path.data, path.len);
    cli_json_name(json, "message");
    cli_json_text(json, message.data, message.len);
    cli_json_close(json, '}');
}

static void json_answer(struct cli_json *json, const deem_response *response,
                        const deem_answer *answer) {
    struct text raw = {"null", 4};
    deem_response_answer_json(response, (size_t)answer->question, &raw.data, &raw.len);
    cli_json_raw(json, raw.data, raw.len);
}

static bool has_problem(const deem_answer *answer) {
    return answer->status != DEEM_ANSWER_OK;
}

static bool has_level(const deem_answer *answer) {
    return readable(answer) && answer->kind == DEEM_SCORE;
}

static bool has_confidence(const deem_answer *answer) {
    return readable(answer) && (answer->flags & DEEM_ANSWER_HAS_CONFIDENCE) != 0;
}

static void json_confidence(struct cli_json *json, const deem_response *response,
                            const deem_answer *answer) {
    (void)response;
    cli_json_number(json, answer->confidence);
}

static void json_level(struct cli_json *json, const deem_response *response,
                       const deem_answer *answer) {
    (void)response;
    cli_json_integer(json, answer->chosen);
}

/* An object with a member for each shown question that is wanted. */
static void json_questions(struct cli_json *json, const char *name, const struct cli_report *report,
                           const deem_response *response, const deem_answer *answers,
                           bool (*wanted)(const deem_answer *),
                           void (*write)(struct cli_json *, const deem_response *,
                                         const deem_answer *)) {
    cli_json_name(json, name);
    cli_json_open(json, '{');
    for (int32_t q = 0; q < question_count(response); q++) {
        struct text key = question_key(response, q);
        if (!shown(report, q) || !wanted(&answers[q]))
            continue;
        cli_json_key(json, key.data, key.len);
        write(json, response, &answers[q]);
    }
    cli_json_close(json, '}');
}

/* Answers that nobody asked for, as they came. */
static void json_extra(struct cli_json *json, const deem_response *response) {
    struct text key, raw;
    cli_json_name(json, "extra_answers");
    cli_json_open(json, '{');
    for (size_t i = 0; deem_response_extra_answer(response, i, &key.data, &key.len, &raw.data,
                                                  &raw.len) == DEEM_OK;
         i++) {
        cli_json_key(json, key.data, key.len);
        cli_json_raw(json, raw.data, raw.len);
    }
    cli_json_close(json, '}');
}

static void show_json(const struct cli_report *report, const deem_response *response,
                      const deem_answer *answers) {
    struct cli_json json = {stdout, false};
    struct text text = {"", 0};
    int64_t in = -1, out = -1;
    double cost = NAN;
    cli_json_open(&json, '{');
    cli_report_call(&json, response);
    int32_t status = deem_response_model(response, &text.data, &text.len);
    json_text_or_null(&json, "model", status, text);
    deem_response_usage(response, &in, &out);
    cli_json_name(&json, "usage");
    cli_json_open(&json, '{');
    json_count_or_null(&json, "input_tokens", in, in >= 0);
    json_count_or_null(&json, "output_tokens", out, out >= 0);
    cli_json_close(&json, '}');
    deem_response_cost(response, &cost);
    cli_json_name(&json, "cost");
    cli_json_number(&json, cost);
    if (report->decision != NULL) {
        cli_json_name(&json, "decision");
        cli_json_word(&json, report->decision);
    }
    json_questions(&json, "values", report, response, answers, readable, json_value);
    json_questions(&json, "confidences", report, response, answers, has_confidence,
                   json_confidence);
    json_questions(&json, "levels", report, response, answers, has_level, json_level);
    json_questions(&json, "answers", report, response, answers, readable, json_answer);
    json_questions(&json, "problems", report, response, answers, has_problem, json_problem);
    json_extra(&json, response);
    cli_json_close(&json, '}');
    fputc('\n', stdout);
}

void cli_report(const struct cli_report *report, const deem_response *response) {
    deem_answer *answers = all_answers(response);
    cli_report_error(response);
    if (report->form == CLI_JSON)
        show_json(report, response, answers);
    else if (deem_response_code(response) == DEEM_OK && report->form == CLI_TABLE)
        show_table(report, response, answers);
    else if (deem_response_code(response) == DEEM_OK && report->form == CLI_VALUE)
        show_values(report, response, answers);
    free(answers);
}
