/* What a C block of the documentation without a main may count on: a builder, a set of three
 * questions, settings from the environment, a client, options, and a response to fill.
 * run_blocks.py puts the block between prepare() and finish(). */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <deemster.h>
#include <deemster_experimental.h>

static deem_question_set_builder *builder;
static deem_question_set *set;
static deem_config *config;
static deem_client *client;
static deem_options *options;
static deem_response *response;
static const char text[] = "Production has been down since 9:00, call me now.";
static const size_t text_len = sizeof text - 1;

static void must(int32_t status) {
    if (status != DEEM_OK) {
        printf("%s\n", deem_status_name(status));
        exit(1);
    }
}

static void prepare(void) {
    static const char questions[] =
        "{\"urgent\": {\"type\": \"noul\", \"instructions\": \"Is it urgent?\"},"
        "\"team\": {\"type\": \"choice\", \"criteria\": {\"billing\": null, \"account\": null}},"
        "\"impact\": {\"type\": \"score\", \"criteria\": [\"low\", \"middle\", \"high\"]}}";
    must(deem_question_set_builder_new(&builder));
    must(deem_question_set_builder_json(builder, questions, sizeof questions - 1));
    must(deem_question_set_new(builder, &set));
    must(deem_config_new(&config));
    must(deem_client_new(config, &client));
    must(deem_options_new(&options));
    assert(text_len > 0 && response == NULL);
}

static void finish(void) {
    deem_response_free(response);
    deem_options_free(options);
    deem_client_free(client);
    deem_config_free(config);
    deem_question_set_free(set);
    deem_question_set_builder_free(builder);
}
