/* Makes N warm evaluations of Minos's published workload (two questions, 527 bytes up, 565 bytes
 * down) and nothing else, so that the difference of two runs is what one of them costs. Usage:
 * warm_calls URL blocking|engine N */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deemster.h"

static const char QUESTIONS[] =
    "{\"intent\":{\"type\":\"choice\",\"instructions\":\"What does the traveller "
    "want?\",\"criteria\":{"
    "\"look_up_booking\":\"Wants to see or look up an existing "
    "booking\",\"change_booking\":\"Wants to "
    "change dates, names, seats or luggage on a booking\",\"dispute_charge\":\"Disputes a charge "
    "or asks "
    "for money back\",\"other\":\"Anything else\"}},\"travels_within24_hours\":{\"type\":\"noul\","
    "\"instructions\":\"Does the request mention travelling within the next 24 hours?\"}}";
static const char STATE[] = "Is my booking to Rome still on? I fly tonight.";

static void must(int32_t status) {
    if (status != DEEM_OK) {
        fprintf(stderr, "%s\n", deem_status_name(status));
        exit(1);
    }
}

static void check(const deem_response *response) {
    int32_t option;
    double probability;
    must(deem_response_code(response));
    must(deem_response_choice(response, 0, &option, NULL, NULL, NULL));
    must(deem_response_noul(response, 1, &probability));
    if (option != 0 || probability != 0.86) {
        fprintf(stderr, "another answer\n");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    deem_question_set_builder *builder;
    deem_question_set *set;
    deem_config *config;
    deem_client *client;
    deem_response *response = NULL;
    must(deem_question_set_builder_new(&builder));
    must(deem_question_set_builder_json(builder, QUESTIONS, sizeof QUESTIONS - 1));
    must(deem_question_set_new(builder, &set));
    must(deem_config_new(&config));
    must(deem_config_set_environment(config, 0));
    must(deem_config_set_api_key(config, "key", 3));
    must(deem_config_set_base_url(config, argv[1], strlen(argv[1])));
    must(deem_client_new(config, &client));
    long count = strtol(argv[3], NULL, 10);
    if (strcmp(argv[2], "blocking") == 0) {
        for (long i = 0; i < count; i++) {
            must(deem_evaluate_text(client, set, STATE, sizeof STATE - 1, NULL, &response));
            check(response);
        }
    } else {
        int32_t fd;
        long sent = 0;
        must(deem_client_fd(client, &fd));
        for (long done = 0; done < count;) {
            uint64_t id;
            while (sent < count && sent - done < 16) {
                must(deem_submit_text(client, set, STATE, sizeof STATE - 1, NULL, &id));
                sent++;
            }
            struct pollfd wait = {fd, POLLIN, 0};
            poll(&wait, 1, -1);
            must(deem_client_step(client));
            for (must(deem_client_next(client, &id, &response)); id != 0;
                 must(deem_client_next(client, &id, &response))) {
                check(response);
                done++;
            }
        }
    }
    deem_response_free(response);
    deem_client_free(client);
    deem_config_free(config);
    deem_question_set_free(set);
    deem_question_set_builder_free(builder);
    return 0;
}
