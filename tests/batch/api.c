/* The batch through its public functions, over a mock: order, equal rows, rows that cannot be
 * asked, both ways of packing, a journal that is gone on with, stop and cancel. Usage: api URL
 * FOLDER */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deemster_experimental.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("FAILED line %d: %s\n", __LINE__, #condition);                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { ROWS = 60 };

static deem_client *client;
static deem_question_set *set;

static void make(const char *url) {
    static const char questions[] =
        "{\"urgent\":{\"type\":\"noul\",\"instructions\":\"Is it "
        "urgent?\"},\"team\":{\"type\":\"choice\","
        "\"instructions\":\"Who should see "
        "`body`?\",\"criteria\":{\"billing\":\"Money\",\"tech\":null}}}";
    deem_question_set_builder *builder;
    deem_config *config;
    CHECK(deem_question_set_builder_new(&builder) == DEEM_OK);
    CHECK(deem_question_set_builder_json(builder, questions, sizeof questions - 1) == DEEM_OK);
    CHECK(deem_question_set_new(builder, &set) == DEEM_OK);
    deem_question_set_builder_free(builder);
    CHECK(deem_config_new(&config) == DEEM_OK);
    deem_config_set_api_key(config, "key", 3);
    deem_config_set_base_url(config, url, strlen(url));
    CHECK(deem_client_new(config, &client) == DEEM_OK);
    deem_config_free(config);
}

/* What came of a run. */
typedef struct outcome {
    double noul[ROWS];
    int32_t code[ROWS];
    uint32_t flags[ROWS];
    int32_t size[ROWS];
    deem_batch_stats stats;
} outcome;

static void take(deem_batch *batch, outcome *out, uint64_t *expected, deem_response **response) {
    deem_batch_row row;
    while (deem_batch_next(batch, &row, sizeof row, response) == DEEM_OK) {
        CHECK(row.position == *expected); /* in the order of the push */
        CHECK(row.tag == 1000 + row.position);
        out->code[row.position] = deem_response_code(*response);
        out->flags[row.position] = row.flags;
        out->size[row.position] = row.size;
        int32_t status = deem_response_noul(*response, 0, &out->noul[row.position]);
        CHECK((status == DEEM_OK) == (out->code[row.position] == DEEM_OK));
        CHECK(status == DEEM_OK || isnan(out->noul[row.position]));
        (*expected)++;
    }
}

/* Runs ROWS rows: row 7 is row 3 again, row 11 cannot be asked, row 13 is no state. */
static void run(deem_batch_settings *settings, int as_json, outcome *out) {
    deem_batch *batch;
    deem_response *response = NULL;
    uint64_t expected = 0;
    size_t pushed = 0;
    int32_t fd;
    memset(out, 0, sizeof *out);
    CHECK(deem_batch_new(client, set, settings, &batch) == DEEM_OK);
    CHECK(deem_batch_fd(batch, &fd) == DEEM_OK);
    while (expected < ROWS) {
        size_t room = 0;
        CHECK(deem_batch_room(batch, &room) == DEEM_OK);
        for (; room > 0 && pushed < ROWS; room--, pushed++) {
            char text[64];
            size_t number = pushed == 7 ? 3 : pushed;
            int len =
                snprintf(text, sizeof text, as_json ? "{\"body\":\"row %zu\"}" : "row %zu", number);
            int32_t status;
            if (pushed == 11) {
                status = deem_batch_push_error(batch, "This row is blank.", 18, 1000 + pushed);
            } else if (pushed == 13) {
                status = deem_batch_push_json(batch, "null", 4, NULL, 0, 1000 + pushed);
            } else if (as_json) {
                status = deem_batch_push_json(batch, text, (size_t)len, NULL, 0, 1000 + pushed);
            } else {
                status = deem_batch_push_text(batch, text, (size_t)len, NULL, 0, 1000 + pushed);
            }
            CHECK(status == DEEM_OK);
            if (pushed + 1 == ROWS) {
                CHECK(deem_batch_finish(batch) == DEEM_OK);
            }
        }
        take(batch, out, &expected, &response);
        if (expected < ROWS) {
            struct pollfd wait = {fd, POLLIN, 0};
            CHECK(poll(&wait, 1, 20000) == 1);
            CHECK(deem_batch_step(batch) == DEEM_OK);
        }
    }
    CHECK(deem_batch_stats_read(batch, &out->stats, sizeof out->stats) == DEEM_OK);
    CHECK(out->stats.pushed == ROWS && out->stats.done == ROWS);
    deem_response_free(response);
    deem_batch_free(batch);
}

static deem_batch_settings *new_settings(void) {
    deem_batch_settings *settings;
    CHECK(deem_batch_settings_new(&settings) == DEEM_OK);
    CHECK(deem_batch_settings_set_requests(settings, 0, 60000) == DEEM_OK);
    CHECK(deem_batch_settings_set_tokens(settings, 0, 1000) == DEEM_OK);
    return settings;
}

static void check_rows(const outcome *out) {
    for (int i = 0; i < ROWS; i++) {
        CHECK(out->code[i] == (i == 11 || i == 13 ? DEEM_E_STATE : DEEM_OK));
    }
    CHECK(out->noul[7] == out->noul[3]);
    CHECK((out->flags[7] & DEEM_ROW_DUPLICATE) != 0);
    CHECK(out->stats.failed == 2 && out->stats.duplicates == 1);
}

static void plain(void) {
    outcome out;
    deem_batch_settings *settings = new_settings();
    CHECK(deem_batch_settings_set_window(settings, 16, 65536) == DEEM_OK);
    CHECK(deem_batch_settings_set_concurrency(settings, 8) == DEEM_OK);
    CHECK(deem_batch_settings_set_dedupe(settings, 100) == DEEM_OK);
    CHECK(deem_batch_settings_set_ordered(settings, 1) == DEEM_OK);
    run(settings, 0, &out);
    check_rows(&out);
    CHECK(out.stats.requests == ROWS - 3);
    CHECK(out.stats.input_tokens > 0 && out.stats.stopped == DEEM_OK);
    deem_batch_settings_free(settings);
}

static void packed(int32_t shape) {
    outcome out;
    deem_batch_settings *settings = new_settings();
    CHECK(deem_batch_settings_set_pack(settings, shape, 8) == DEEM_OK);
    CHECK(deem_batch_settings_set_pack_limits(settings, 1000, 1 << 20, 60000, 30000) == DEEM_OK);
    CHECK(deem_batch_settings_set_pack_shuffle(settings, 42) == DEEM_OK);
    run(settings, 1, &out);
    check_rows(&out);
    CHECK(out.stats.requests == 8); /* 57 rows, 8 to a pack */
    CHECK(out.size[0] == 8 && out.size[ROWS - 1] >= 1);
    deem_batch_settings_free(settings);
}

static void journalled(const char *folder) {
    outcome first;
    outcome second;
    char path[512];
    int len = snprintf(path, sizeof path, "%s/journal", folder);
    deem_batch_settings *settings = new_settings();
    CHECK(deem_batch_settings_set_journal(settings, path, (size_t)len, 0) == DEEM_OK);
    run(settings, 0, &first);
    deem_batch *batch;
    CHECK(deem_batch_new(client, set, settings, &batch) == DEEM_E_CONFIG); /* it holds answers */
    const char *message = NULL;
    CHECK(deem_batch_settings_error(settings, &message, NULL) == DEEM_OK && message[0] != '\0');
    CHECK(deem_batch_settings_set_journal(settings, path, (size_t)len, 1) == DEEM_OK);
    run(settings, 0, &second);
    CHECK(second.stats.requests == 0 && second.stats.restored > 0);
    for (int i = 0; i < ROWS; i++) {
        CHECK(first.code[i] == second.code[i]);
        CHECK(first.noul[i] == second.noul[i] || (isnan(first.noul[i]) && isnan(second.noul[i])));
    }
    deem_batch_settings_free(settings);
}

/* Pushes rows and ends the batch early: every row still comes out once. */
static void ended(int32_t (*end)(deem_batch *batch)) {
    deem_batch_settings *settings = new_settings();
    deem_batch *batch;
    deem_response *response = NULL;
    deem_batch_row row;
    deem_options *options;
    int32_t fd;
    int taken = 0;
    CHECK(deem_options_new(&options) == DEEM_OK);
    CHECK(deem_batch_settings_set_options(settings, options) == DEEM_OK);
    CHECK(deem_batch_settings_set_requests(settings, 1, 86400000) == DEEM_OK);
    CHECK(deem_batch_new(client, set, settings, &batch) == DEEM_OK);
    for (uint64_t i = 0; i < 20; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "%d", (int)i);
        CHECK(deem_batch_push_text(batch, text, (size_t)len, NULL, 0, i) == DEEM_OK);
    }
    CHECK(deem_batch_step(batch) == DEEM_OK);
    CHECK(end(batch) == DEEM_OK);
    CHECK(deem_batch_fd(batch, &fd) == DEEM_OK);
    while (taken < 20) {
        struct pollfd wait = {fd, POLLIN, 0};
        while (deem_batch_next(batch, &row, sizeof row, &response) == DEEM_OK) {
            taken++;
            CHECK(deem_response_code(response) == DEEM_OK ||
                  deem_response_code(response) == DEEM_E_CANCELLED);
        }
        if (taken < 20) {
            CHECK(poll(&wait, 1, 20000) == 1);
            CHECK(deem_batch_step(batch) == DEEM_OK);
        }
    }
    deem_batch_stats stats;
    CHECK(deem_batch_stats_read(batch, &stats, sizeof stats) == DEEM_OK);
    CHECK(stats.stopped == DEEM_E_CANCELLED && stats.unsent >= 19 && stats.requests <= 1);
    deem_response_free(response);
    deem_options_free(options);
    deem_batch_free(batch);
    deem_batch_settings_free(settings);
}

static void rehearsed(void) {
    outcome out;
    deem_batch_settings *settings = new_settings();
    CHECK(deem_batch_settings_set_rehearsal(settings, 1) == DEEM_OK);
    CHECK(deem_batch_settings_set_most_tokens(settings, 0) == DEEM_OK);
    run(settings, 0, &out);
    CHECK(out.stats.estimated_tokens > 0 && out.stats.input_tokens <= 0);
    CHECK(out.code[0] == DEEM_E_CANCELLED && (out.flags[0] & DEEM_ROW_UNSENT) != 0);
    deem_batch_settings_free(settings);
}

static void misuse(void) {
    deem_batch *batch = NULL;
    deem_batch_settings *settings = new_settings();
    const char *text = "x";
    size_t len = 1;
    CHECK(deem_batch_settings_set_concurrency(settings, 0) == DEEM_E_CONFIG);
    CHECK(deem_batch_settings_set_pack(settings, 99, 1) == DEEM_E_CONFIG);
    CHECK(deem_batch_settings_new(NULL) == DEEM_E_MISUSE);
    CHECK(deem_batch_new(NULL, set, settings, &batch) == DEEM_E_MISUSE && batch == NULL);
    CHECK(deem_batch_step(NULL) == DEEM_E_MISUSE);
    CHECK(deem_batch_new(client, set, NULL, &batch) == DEEM_OK);
    CHECK(deem_batch_warning(batch, 0, &text, &len) == DEEM_E_ABSENT && text == NULL && len == 0);
    deem_batch_free(batch);
    deem_batch_free(NULL);
    deem_batch_settings_free(settings);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    make(argv[1]);
    plain();
    packed(DEEM_PACK_QUESTION);
    packed(DEEM_PACK_STATE);
    journalled(argv[2]);
    ended(deem_batch_stop);
    ended(deem_batch_cancel);
    rehearsed();
    misuse();
    deem_question_set_free(set);
    deem_client_free(client);
    puts("8 passed, 0 failed");
    return 0;
}
