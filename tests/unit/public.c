/* The public functions that the other tests have no need for: settings and what they refuse, raw
 * calls, and the parts of a response beside its answers. */
#include <criterion/criterion.h>
#include <poll.h>

#include "deemster_experimental.h"

#define TEXT(literal) literal, sizeof(literal) - 1

static deem_client *new_client(deem_config *config) {
    deem_client *client = NULL;
    cr_assert_eq(deem_config_set_environment(config, 0), DEEM_OK);
    cr_assert_eq(deem_config_set_auth(config, DEEM_AUTH_NONE), DEEM_OK);
    cr_assert_eq(deem_config_set_base_url(config, TEXT("http://127.0.0.1:9/pre/")), DEEM_OK);
    cr_assert_eq(deem_client_new(config, &client), DEEM_OK);
    return client;
}

static deem_question_set *new_set(void) {
    deem_question_set_builder *builder;
    deem_question_set *set;
    cr_assert_eq(deem_question_set_builder_new(&builder), DEEM_OK);
    cr_assert_eq(
        deem_question_set_builder_json(
            builder,
            TEXT("{\"s\":{\"type\":\"score\",\"instructions\":\"?\",\"criteria\":[\"a\",\"b\"]}}")),
        DEEM_OK);
    cr_assert_eq(deem_question_set_new(builder, &set), DEEM_OK);
    deem_question_set_builder_free(builder);
    return set;
}

Test(public, settings_and_what_they_refuse) {
    deem_config *config;
    const int32_t good[] = {503, 300, 599};
    const int32_t bad[] = {503, 200};
    cr_assert_eq(deem_config_new(&config), DEEM_OK);
    cr_assert_eq(deem_config_set_ca_dir(config, TEXT("/some/folder")), DEEM_OK);
    cr_assert_eq(deem_config_set_ca_file(config, "", 0), DEEM_E_CONFIG_CA);
    cr_assert_eq(deem_config_set_evaluate_path(config, TEXT("no/slash")), DEEM_E_CONFIG_URL);
    cr_assert_eq(deem_config_set_evaluate_path(config, TEXT("/v2/decide")), DEEM_OK);
    cr_assert_eq(deem_config_set_idle_ms(config, -1), DEEM_E_CONFIG);
    cr_assert_eq(deem_config_set_idle_ms(config, 5), DEEM_OK);
    cr_assert_eq(deem_config_set_max_reply_bytes(config, 1), DEEM_E_CONFIG);
    cr_assert_eq(deem_config_set_max_reply_bytes(config, 4096), DEEM_OK);
    cr_assert_eq(deem_config_set_model(config, TEXT("a\nb")), DEEM_E_CONFIG);
    cr_assert_eq(deem_config_set_model(config, TEXT("own-model")), DEEM_OK);
    cr_assert_eq(deem_config_set_no_proxy(config, TEXT("*")), DEEM_OK);
    cr_assert_eq(deem_config_set_retry_statuses(config, bad, 2), DEEM_E_CONFIG);
    cr_assert_eq(deem_config_set_retry_statuses(config, good, 3), DEEM_OK);
    cr_assert_eq(deem_config_set_runtime(config, TEXT("test/1")), DEEM_OK);
    cr_assert_eq(deem_config_set_log_level(config, 9), DEEM_E_CONFIG);
    const char *message = NULL;
    cr_assert_eq(deem_config_error(config, &message, NULL), DEEM_OK);
    cr_assert_str_eq(message, "The log level must be a DEEM_LOG_* number.");
    deem_client *client = new_client(config);
    cr_assert_eq(deem_client_ref(client), DEEM_OK);
    cr_assert_eq(deem_client_ref(NULL), DEEM_E_MISUSE);
    deem_client_free(client);

    deem_question_set *set = new_set();
    deem_exchange *exchange;
    const char *url;
    const char *body;
    int32_t action;
    cr_assert_eq(deem_exchange_new(client, &exchange), DEEM_OK);
    cr_assert_eq(deem_exchange_start_text(exchange, set, "x", 1, NULL), DEEM_OK);
    cr_assert_eq(deem_exchange_next(exchange, &action, NULL), DEEM_OK);
    cr_assert_eq(deem_exchange_attempt(exchange, NULL, NULL, &url, NULL, &body, NULL), DEEM_OK);
    cr_assert_str_eq(url, "http://127.0.0.1:9/pre/v2/decide");
    cr_assert_not_null(strstr(body, "\"model\":\"own-model\""));
    deem_exchange_free(exchange);
    deem_question_set_free(set);
    deem_client_free(client);
    deem_config_free(config);
    cr_assert_eq(deem_has(TEXT("engine")), 1);
    cr_assert_eq(deem_has(TEXT("no such thing")), 0);
}

Test(public, options_of_one_call) {
    deem_config *config;
    deem_options *options;
    const int32_t statuses[] = {418};
    cr_assert_eq(deem_config_new(&config), DEEM_OK);
    deem_client *client = new_client(config);
    deem_question_set *set = new_set();
    cr_assert_eq(deem_options_new(&options), DEEM_OK);
    cr_assert_eq(deem_options_set_attempt_ms(options, 700), DEEM_OK);
    cr_assert_eq(deem_options_set_deadline_ms(options, 100000), DEEM_OK);
    cr_assert_eq(deem_options_set_deadline_ms(options, -1), DEEM_E_CONFIG);
    cr_assert_eq(deem_options_set_backoff(options, 40, 40, 0), DEEM_OK);
    cr_assert_eq(deem_options_set_check(options, DEEM_CHECK_LENIENT), DEEM_OK);
    cr_assert_eq(deem_options_set_max_retries(options, 1), DEEM_OK);
    cr_assert_eq(deem_options_set_retry_after_cap_ms(options, 10), DEEM_OK);
    cr_assert_eq(deem_options_set_retry_flags(options, DEEM_RETRY_OBEY_SERVER), DEEM_OK);
    cr_assert_eq(deem_options_set_retry_statuses(options, statuses, 1), DEEM_OK);
    cr_assert_eq(deem_options_add_header(options, TEXT("X-Own"), TEXT("1")), DEEM_OK);
    cr_assert_eq(deem_options_add_header(options, TEXT("bad name"), TEXT("1")), DEEM_E_CONFIG);

    deem_exchange *exchange;
    deem_response *response = NULL;
    int32_t action;
    int64_t ms;
    cr_assert_eq(deem_exchange_new(client, &exchange), DEEM_OK);
    cr_assert_eq(deem_exchange_start_text(exchange, set, "x", 1, options), DEEM_OK);
    cr_assert_eq(deem_exchange_next(exchange, &action, &ms), DEEM_OK);
    cr_assert_leq(ms, 700);
    const char *name;
    size_t name_len;
    int own = 0;
    for (size_t i = 0;
         deem_exchange_attempt_header(exchange, i, &name, &name_len, NULL, NULL) == DEEM_OK; i++) {
        own += name_len == 5 && strncmp(name, "X-Own", 5) == 0;
    }
    cr_assert_eq(own, 1);
    deem_exchange_reply_header(exchange, TEXT("Retry-After"), TEXT("5"));
    cr_assert_eq(deem_exchange_reply(exchange, 418, "{}", 2), DEEM_OK);
    cr_assert_eq(deem_exchange_next(exchange, &action, &ms), DEEM_OK);
    cr_assert_eq(action, DEEM_EXCHANGE_WAIT); /* 418 is retried, and 5 s are beyond the cap */
    cr_assert_leq(ms, 40);
    deem_exchange_cancel(exchange);
    cr_assert_eq(deem_exchange_take(exchange, &response), DEEM_OK);
    deem_response_free(response);
    deem_exchange_free(exchange);
    cr_assert_eq(deem_options_reset(options), DEEM_OK);
    deem_options_free(options);
    deem_question_set_free(set);
    deem_client_free(client);
    deem_config_free(config);
}

Test(public, the_parts_of_a_response) {
    static const char body[] =
        "{\"model\":\"m\",\"answers\":{\"s\":{\"type\":\"score\",\"score\":1,\"confidence\":1,"
        "\"legend\":{\"0\":"
        "[1],\"1\":\"b\"},\"probabilities\":{\"0\":0,\"1\":1}}},\"x\":{\"y\": 2}}";
    deem_config *config;
    cr_assert_eq(deem_config_new(&config), DEEM_OK);
    deem_client *client = new_client(config);
    deem_question_set *set = new_set();
    deem_exchange *exchange;
    deem_response *response = NULL;
    int32_t action;
    cr_assert_eq(deem_exchange_new(client, &exchange), DEEM_OK);
    cr_assert_eq(deem_exchange_start_json(exchange, set, TEXT("[1]"), NULL), DEEM_OK);
    deem_exchange_next(exchange, &action, NULL);
    deem_exchange_reply_header(exchange, TEXT("Server-Timing"), TEXT("total;dur=3"));
    cr_assert_eq(deem_exchange_reply(exchange, 200, body, sizeof body - 1), DEEM_OK);
    cr_assert_eq(deem_exchange_take(exchange, &response), DEEM_OK);
    cr_assert_eq(deem_response_code(response), DEEM_OK);
    const char *text;
    const char *value;
    size_t len;
    size_t value_len;
    cr_assert_eq(deem_response_header(response, TEXT("server-timing"), &text, &len), DEEM_OK);
    cr_assert_str_eq(text, "total;dur=3");
    cr_assert_eq(deem_response_header_at(response, 0, &text, &len, &value, &value_len), DEEM_OK);
    cr_assert_str_eq(text, "Server-Timing");
    cr_assert_eq(deem_response_header_at(response, 1, &text, &len, &value, &value_len),
                 DEEM_E_ABSENT);
    cr_assert_null(text);
    cr_assert_eq(deem_response_field(response, TEXT("x"), &text, &len), DEEM_OK);
    cr_assert(len == 8 && strncmp(text, "{\"y\": 2}", 8) == 0);
    cr_assert_eq(deem_response_field(response, TEXT("z"), &text, &len), DEEM_E_ABSENT);
    cr_assert_eq(deem_response_legend(response, 0, 0, &text, &len), DEEM_OK);
    cr_assert(len == 3 && strncmp(text, "[1]", 3) == 0);
    cr_assert_eq(deem_response_legend(response, 0, 2, &text, &len), DEEM_E_ABSENT);
    cr_assert_eq(deem_response_endpoint(response, &text, NULL, &value, NULL), DEEM_OK);
    cr_assert_str_eq(text, "POST");
    cr_assert_str_eq(value, "http://127.0.0.1:9/pre/v1/systemone");

    cr_assert_eq(
        deem_exchange_start_request(exchange, TEXT("GET"), TEXT("/v1/models"), NULL, 0, NULL),
        DEEM_OK);
    deem_exchange_next(exchange, &action, NULL);
    cr_assert_eq(deem_exchange_reply(exchange, 200, TEXT("{\"data\":[{\"id\":\"m1\"}]}")), DEEM_OK);
    cr_assert_eq(deem_exchange_take(exchange, &response), DEEM_OK);
    cr_assert_eq(
        deem_response_listed_model(response, 0, &text, &len, &value, &value_len, NULL, NULL),
        DEEM_OK);
    cr_assert_str_eq(text, "m1");
    cr_assert_null(value);
    deem_exchange_free(exchange);
    deem_response_free(response);
    deem_question_set_free(set);
    deem_client_free(client);
    deem_config_free(config);
}

Test(public, raw_calls_and_submitted_ones) {
    deem_config *config;
    cr_assert_eq(deem_config_new(&config), DEEM_OK);
    cr_assert_eq(deem_config_set_max_retries(config, 0), DEEM_OK);
    deem_client *client = new_client(config); /* nobody listens on port 9 */
    deem_question_set *set = new_set();
    deem_response *response = NULL;
    cr_assert_eq(deem_request(client, TEXT("GET"), TEXT("/health"), NULL, 0, NULL, &response),
                 DEEM_E_REFUSED);
    cr_assert_eq(deem_request(client, TEXT("BREW"), TEXT("/health"), NULL, 0, NULL, &response),
                 DEEM_E_CONFIG);
    cr_assert_eq(deem_request(client, TEXT("GET"), TEXT("/../x"), NULL, 0, NULL, &response),
                 DEEM_E_CONFIG_URL);
    uint64_t ids[2];
    int32_t fd;
    cr_assert_eq(deem_submit_json(client, set, TEXT("{\"a\":1}"), NULL, &ids[0]), DEEM_OK);
    cr_assert_eq(deem_submit_request(client, TEXT("POST"), TEXT("/x"), TEXT("{}"), NULL, &ids[1]),
                 DEEM_OK);
    cr_assert_eq(deem_client_fd(client, &fd), DEEM_OK);
    for (int done = 0; done < 2;) {
        struct pollfd wait = {fd, POLLIN, 0};
        cr_assert_eq(poll(&wait, 1, 10000), 1);
        cr_assert_eq(deem_client_step(client), DEEM_OK);
        for (;;) {
            uint64_t id;
            cr_assert_eq(deem_client_next(client, &id, &response), DEEM_OK);
            if (id == 0) {
                break;
            }
            cr_assert(id == ids[0] || id == ids[1]);
            cr_assert_eq(deem_response_code(response), DEEM_E_REFUSED);
            done++;
        }
    }
    deem_response_free(response);
    deem_question_set_free(set);
    deem_client_free(client);
    deem_config_free(config);
}
