/* What our two C contestants share: the client and the compiled set, and reading a response. */
#ifndef COMPARE_DEEMSTER_SHARED_H
#define COMPARE_DEEMSTER_SHARED_H

#include <deemster.h>
#include <math.h>
#include <string.h>

#include "../common/protocol.h"

static struct setup own_setup;
static deem_client *client;
static deem_question_set *set;
static int32_t choice_index, noul_index;

static bool own_open(const struct setup *setup, char *error, size_t room) {
    deem_config *config = NULL;
    deem_question_set_builder *builder = NULL;
    const char *message = "";
    size_t length = 0;
    own_setup = *setup;
    deem_config_new(&config);
    deem_config_set_api_key(config, setup->key.data, setup->key.length);
    deem_config_set_base_url(config, setup->url.data, setup->url.length);
    deem_config_set_model(config, setup->model.data, setup->model.length);
    if (setup->retries >= 0)
        deem_config_set_max_retries(config, setup->retries);
    if (setup->ca.length)
        deem_config_set_ca_file(config, setup->ca.data, setup->ca.length);
    if (setup->in_flight > 256)
        deem_config_set_max_connections(config, setup->in_flight);
    int32_t code = deem_client_new(config, &client);
    if (code != DEEM_OK) {
        deem_config_error(config, &message, &length);
        snprintf(error, room, "%s: %.*s", deem_status_name(code), (int)length, message);
    }
    deem_config_free(config);
    if (code != DEEM_OK)
        return false;
    deem_question_set_builder_new(&builder);
    deem_question_set_builder_json(builder, setup->questions.data, setup->questions.length);
    code = deem_question_set_new(builder, &set);
    deem_question_set_builder_free(builder);
    if (code == DEEM_OK && setup->choice_key.length)
        deem_question_set_find(set, setup->choice_key.data, setup->choice_key.length,
                               &choice_index);
    if (code == DEEM_OK)
        deem_question_set_find(set, setup->noul_key.data, setup->noul_key.length, &noul_index);
    snprintf(error, room, "%s", deem_status_name(code));
    return code == DEEM_OK;
}

static void own_close(void) {
    deem_client_free(client);
    deem_question_set_free(set);
    client = NULL;
    set = NULL;
}

static void own_read(const deem_response *response, struct outcome *outcome) {
    int32_t code = deem_response_code(response), option;
    const char *text = "", *path = "";
    size_t length = 0, path_length = 0;
    if (code != DEEM_OK) {
        deem_response_message(response, &text, &length);
        deem_response_path(response, &path, &path_length);
        int32_t reason = deem_response_reason(response);
        snprintf(outcome->error, sizeof outcome->error, "%s %s %.*s: %.*s", deem_status_name(code),
                 reason ? deem_reason_name(reason) : "", (int)path_length, path, (int)length, text);
        return;
    }
    deem_response_noul(response, (size_t)noul_index, &outcome->noul);
    if (!own_setup.choice_key.length)
        return;
    double confidence;
    deem_response_choice(response, (size_t)choice_index, &option, &text, &length, &confidence);
    if (length < sizeof outcome->choice) {
        memcpy(outcome->choice, text, length);
        outcome->choice[length] = 0;
    }
}

static void own_answer(FILE *out) {
    deem_response *response = NULL;
    deem_answer answer;
    const char *text = "";
    size_t length = 0, count = 0, written = 0;
    const double *probabilities = NULL;
    double noul = -1, confidence = -1;
    int32_t option = -1;
    deem_evaluate_text(client, set, own_setup.state.data, own_setup.state.length, NULL, &response);
    deem_response_model(response, &text, &length);
    fputs("{\"model\":", out);
    write_json_text(out, text, length);
    deem_response_noul(response, (size_t)noul_index, &noul);
    fprintf(out, ",\"noul\":%.17g", noul);
    if (own_setup.choice_key.length) {
        deem_response_choice(response, (size_t)choice_index, &option, &text, &length, &confidence);
        fputs(",\"choice\":", out);
        write_json_text(out, text, length);
        fprintf(out, ",\"confidence\":%.17g,\"probabilities\":{", confidence);
        deem_answer all[256];
        deem_response_answers(response, all, sizeof answer, 256, &written);
        deem_response_probabilities(response, &probabilities, &count);
        answer = all[choice_index];
        for (uint32_t i = 0; i < answer.probability_count; i++) {
            deem_question_set_label(set, (size_t)choice_index, i, &text, &length);
            fputs(i ? "," : "", out);
            write_json_text(out, text, length);
            fprintf(out, ":%.17g", probabilities[answer.first_probability + i]);
        }
        fputs("}", out);
    }
    fputs("}", out);
    deem_response_free(response);
}

#endif
