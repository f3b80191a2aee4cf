/* A client of the time of 0.1. Never edited: it must build against the header beside it and run
 * with every later library of this major number. Usage: client URL */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deemster.h"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s\n", __LINE__, #condition);                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char state[] = "Production has been down since 9:00, call me now.";

static deem_question_set *build(void) {
    deem_question_set_builder *builder;
    deem_question_set *set;
    MUST(deem_question_set_builder_new(&builder) == DEEM_OK);
    MUST(deem_question_set_builder_add(builder, DEEM_NOUL, "urgent", 6, DEEM_FORM_TEXT, "Is it?",
                                       6) == DEEM_OK);
    MUST(deem_question_set_builder_add(builder, DEEM_CHOICE, "team", 4, DEEM_FORM_TEXT, "Who?",
                                       4) == DEEM_OK);
    MUST(deem_question_set_builder_option(builder, "billing", 7, DEEM_FORM_TEXT, "Money", 5) ==
         DEEM_OK);
    MUST(deem_question_set_builder_option(builder, "", 0, DEEM_FORM_NULL, NULL, 0) == DEEM_OK);
    MUST(deem_question_set_builder_add(builder, DEEM_SCORE, "impact", 6, DEEM_FORM_ABSENT, NULL,
                                       0) == DEEM_OK);
    MUST(deem_question_set_builder_level(builder, DEEM_FORM_TEXT, "low", 3) == DEEM_OK);
    MUST(deem_question_set_builder_level(builder, DEEM_FORM_JSON, "{\"what\":\"high\"}", 15) ==
         DEEM_OK);
    size_t errors = 9;
    MUST(deem_question_set_builder_check(builder, &errors, NULL) == DEEM_OK && errors == 0);
    MUST(deem_question_set_new(builder, &set) == DEEM_OK);
    deem_question_set_builder_free(builder);
    size_t count = 0;
    MUST(deem_question_set_count(set, &count) == DEEM_OK && count == 3);
    return set;
}

static void read(const deem_response *response) {
    struct { /* a caller that knows the record as it was */
        deem_answer answer;
        uint64_t guard;
    } records[3];
    memset(records, 0x5A, sizeof records);
    size_t written = 0;
    MUST(deem_response_answers(response, records, sizeof records[0], 3, &written) == DEEM_OK);
    MUST(written == 3);
    for (int i = 0; i < 3; i++) {
        MUST(records[i].answer.question == i && records[i].answer.status == DEEM_ANSWER_OK);
        MUST(records[i].guard == 0);
    }
    MUST(records[0].answer.kind == DEEM_NOUL && isnan(records[0].answer.confidence));
    MUST(records[1].answer.chosen >= 0 && records[1].answer.chosen < 2);
    MUST(records[2].answer.probability_count == 2);
    const double *probabilities;
    size_t count = 0;
    MUST(deem_response_probabilities(response, &probabilities, &count) == DEEM_OK && count == 4);
    const char *text;
    size_t len;
    MUST(deem_response_model(response, &text, &len) == DEEM_OK && len > 0);
    MUST(deem_response_request_id(response, &text, &len) == DEEM_OK &&
         strncmp(text, "req_", 4) == 0);
    int64_t in = 0;
    int64_t out = 0;
    MUST(deem_response_usage(response, &in, &out) == DEEM_OK && in > 0 && out > 0);
    MUST(deem_response_legend(response, 2, 1, &text, &len) == DEEM_OK && text[0] == '{');
}

int main(int argc, char **argv) {
    uint32_t major;
    uint32_t minor;
    uint32_t oldest;
    MUST(argc == 2);
    MUST(deem_abi_version(&major, &minor, &oldest) == DEEM_OK);
    MUST(major == DEEM_ABI_MAJOR && oldest <= DEEM_ABI_MINOR && minor >= DEEM_ABI_MINOR);
    deem_question_set *set = build();
    deem_config *config;
    deem_client *client;
    deem_response *response = NULL;
    MUST(deem_config_new(&config) == DEEM_OK);
    MUST(deem_config_set_api_key(config, "bad key", 7) == DEEM_E_CONFIG_KEY);
    MUST(deem_config_set_api_key(config, "key", 3) == DEEM_OK);
    MUST(deem_config_set_base_url(config, argv[1], strlen(argv[1])) == DEEM_OK);
    MUST(deem_client_new(config, &client) == DEEM_OK);
    MUST(deem_evaluate_text(client, set, state, sizeof state - 1, NULL, &response) == DEEM_OK);
    read(response);
    MUST(deem_evaluate_json(client, set, "null", 4, NULL, &response) == DEEM_E_STATE);
    double probability = 0;
    MUST(deem_response_noul(response, 0, &probability) == DEEM_E_NO_ANSWER && isnan(probability));

    int32_t fd;
    uint64_t id;
    uint64_t done = 0;
    MUST(deem_client_fd(client, &fd) == DEEM_OK);
    MUST(deem_submit_text(client, set, state, sizeof state - 1, NULL, &id) == DEEM_OK);
    while (done == 0) {
        struct pollfd wait = {fd, POLLIN, 0};
        MUST(poll(&wait, 1, 10000) == 1);
        MUST(deem_client_step(client) == DEEM_OK);
        MUST(deem_client_next(client, &done, &response) == DEEM_OK);
    }
    MUST(done == id && deem_response_code(response) == DEEM_OK);
    read(response);
    deem_response_free(response);
    deem_client_free(client);
    deem_config_free(config);
    deem_question_set_free(set);
    return 0;
}
