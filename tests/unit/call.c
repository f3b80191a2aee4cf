/* The call machine by a fake clock, through hosted exchanges: attempts, waits, deadline. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "deemster_experimental.h"

#define START_MS  INT64_C(1000000)
#define WALL_MS   INT64_C(1796000000000) /* 2026-11-30 */
#define GOOD_BODY "{\"answers\":{\"q\":{\"type\":\"noul\",\"noul\":0.9}}}"

static int64_t elapsed_ms;

static void pass_ms(int64_t ms) {
    elapsed_ms += ms;
    dm_clock_set_fake((START_MS + elapsed_ms) * DM_NS_PER_MS, WALL_MS + elapsed_ms);
}

static deem_question_set *noul_set(void) {
    deem_question_set_builder *builder;
    deem_question_set *set;
    cr_assert_eq(deem_question_set_builder_new(&builder), DEEM_OK);
    cr_assert_eq(
        deem_question_set_builder_add(builder, DEEM_NOUL, "q", 1, DEEM_FORM_TEXT, "Is it?", 6),
        DEEM_OK);
    cr_assert_eq(deem_question_set_new(builder, &set), DEEM_OK);
    deem_question_set_builder_free(builder);
    return set;
}

/* What a case sets. 0 keeps the default, -1 means 0. */
typedef struct settings {
    int64_t deadline_ms;
    int64_t attempt_ms;
    int32_t retries;
    int64_t initial_ms;
    int64_t most_ms;
    int32_t flags;
    int64_t cap_ms;
} settings;

static deem_client *client_with(const settings *s) {
    deem_config *config;
    deem_client *client;
    deem_config_new(&config);
    deem_config_set_environment(config, 0);
    deem_config_set_api_key(config, "k", 1);
    deem_config_set_base_url(config, "http://127.0.0.1:9", 18);
    deem_config_set_backoff(config, s->initial_ms ? s->initial_ms : 500,
                            s->most_ms ? s->most_ms : 5000, 0);
    if (s->deadline_ms != 0) {
        deem_config_set_deadline_ms(config, s->deadline_ms < 0 ? 0 : s->deadline_ms);
    }
    if (s->attempt_ms != 0) {
        deem_config_set_attempt_ms(config, s->attempt_ms < 0 ? 0 : s->attempt_ms);
    }
    if (s->retries != 0) {
        deem_config_set_max_retries(config, s->retries < 0 ? 0 : s->retries);
    }
    if (s->flags != 0) {
        deem_config_set_retry_flags(config, s->flags < 0 ? 0 : s->flags);
    }
    deem_config_set_retry_after_cap_ms(config, s->cap_ms);
    cr_assert_eq(deem_client_new(config, &client), DEEM_OK);
    deem_config_free(config);
    return client;
}

/* What comes of one attempt: a status (with a header), or a failure (code, sent). */
typedef struct outcome {
    int32_t status;
    const char *header;
    const char *value;
    int32_t code;
    int32_t sent;
    int64_t takes_ms;
} outcome;

typedef struct plan {
    const char *name;
    settings set;
    outcome outcomes[6];
    int64_t waits_ms[5]; /* the waits that must be asked for; ended by -1 */
    int32_t code;
    int32_t attempts;
} plan;

static void host(deem_exchange *exchange, const outcome *what) {
    pass_ms(what->takes_ms);
    if (what->code != 0) {
        cr_assert_eq(deem_exchange_fail(exchange, what->code, what->sent, "broken", 6), DEEM_OK);
        return;
    }
    if (what->header != NULL) {
        deem_exchange_reply_header(exchange, what->header, strlen(what->header), what->value,
                                   strlen(what->value));
    }
    const char *body = what->status == 200 ? GOOD_BODY : "{}";
    cr_assert_eq(deem_exchange_reply(exchange, what->status, body, strlen(body)), DEEM_OK);
}

static void run(const plan *p) {
    elapsed_ms = 0;
    pass_ms(0);
    deem_client *client = client_with(&p->set);
    deem_question_set *set = noul_set();
    deem_exchange *exchange;
    deem_response *response = NULL;
    cr_assert_eq(deem_exchange_new(client, &exchange), DEEM_OK);
    cr_assert_eq(deem_exchange_start_text(exchange, set, "x", 1, NULL), DEEM_OK);
    int32_t action;
    int64_t ms;
    size_t sends = 0;
    size_t waits = 0;
    while (deem_exchange_next(exchange, &action, &ms) == DEEM_OK && action != DEEM_EXCHANGE_DONE) {
        if (action == DEEM_EXCHANGE_WAIT) {
            cr_assert_eq(ms, p->waits_ms[waits], "%s: wait %zu is %ld", p->name, waits, (long)ms);
            waits++;
            pass_ms(ms);
        } else {
            host(exchange, &p->outcomes[sends++]);
        }
    }
    cr_assert_eq(p->waits_ms[waits], -1, "%s: %zu waits", p->name, waits);
    cr_assert_eq(deem_exchange_take(exchange, &response), DEEM_OK);
    int32_t attempts;
    deem_response_attempts(response, &attempts);
    cr_assert_str_eq(deem_status_name(deem_response_code(response)), deem_status_name(p->code),
                     "%s", p->name);
    cr_assert_eq(attempts, p->attempts, "%s: %d attempts", p->name, attempts);
    cr_assert_eq(sends, (size_t)p->attempts);
    deem_response_free(response);
    deem_exchange_free(exchange);
    deem_question_set_free(set);
    deem_client_free(client);
    dm_clock_set_fake(-1, 0);
}

static const settings DEFAULTS;

Test(call, attempts_and_waits) {
    const plan plans[] = {
        {"good at once", DEFAULTS, {{200, 0, 0, 0, 0, 0}}, {-1}, DEEM_OK, 1},
        {"waits double",
         {.retries = 4},
         {{500, 0, 0, 0, 0, 0},
          {503, 0, 0, 0, 0, 0},
          {529, 0, 0, 0, 0, 0},
          {429, 0, 0, 0, 0, 0},
          {200, 0, 0, 0, 0, 0}},
         {500, 1000, 2000, 4000, -1},
         DEEM_OK,
         5},
        {"waits are capped",
         {.retries = 3, .most_ms = 700},
         {{500, 0, 0, 0, 0, 0}, {500, 0, 0, 0, 0, 0}, {500, 0, 0, 0, 0, 0}, {200, 0, 0, 0, 0, 0}},
         {500, 700, 700, -1},
         DEEM_OK,
         4},
        {"retries end",
         DEFAULTS,
         {{500, 0, 0, 0, 0, 0}, {500, 0, 0, 0, 0, 0}, {500, 0, 0, 0, 0, 0}},
         {500, 1000, -1},
         DEEM_E_HTTP_SERVER,
         3},
        {"no retries wanted", {.retries = -1}, {{500, 0, 0, 0, 0, 0}}, {-1}, DEEM_E_HTTP_SERVER, 1},
        {"422 is final", DEFAULTS, {{422, 0, 0, 0, 0, 0}}, {-1}, DEEM_E_HTTP_UNPROCESSABLE, 1},
        {"the server's seconds",
         DEFAULTS,
         {{429, "Retry-After", "3", 0, 0, 0}, {200, 0, 0, 0, 0, 0}},
         {3000, -1},
         DEEM_OK,
         2},
        {"the server's date",
         DEFAULTS,
         {{503, "retry-after", "Mon, 30 Nov 2026 00:53:25 GMT", 0, 0, 0}, {200, 0, 0, 0, 0, 0}},
         {5000, -1},
         DEEM_OK,
         2},
        {"the server's milliseconds",
         DEFAULTS,
         {{429, "retry-after-ms", "250.5", 0, 0, 0}, {200, 0, 0, 0, 0, 0}},
         {251, -1},
         DEEM_OK,
         2},
        {"a hint beyond the cap is absent",
         {.cap_ms = 2000},
         {{429, "Retry-After", "3", 0, 0, 0}, {200, 0, 0, 0, 0, 0}},
         {500, -1},
         DEEM_OK,
         2},
        {"a hint beyond the deadline fails at once",
         DEFAULTS,
         {{429, "Retry-After", "60", 0, 0, 0}},
         {-1},
         DEEM_E_HTTP_RATE_LIMIT,
         1},
        {"a hint that is not obeyed",
         {.flags = DEEM_RETRY_CONNECTION},
         {{429, "Retry-After", "3", 0, 0, 0}, {200, 0, 0, 0, 0, 0}},
         {500, -1},
         DEEM_OK,
         2},
        {"connection errors are retried",
         DEFAULTS,
         {{0, 0, 0, DEEM_E_REFUSED, 0, 0}, {0, 0, 0, DEEM_E_TRUNCATED, 1, 0}, {200, 0, 0, 0, 0, 0}},
         {500, 1000, -1},
         DEEM_OK,
         3},
        {"connection errors need not be",
         {.flags = DEEM_RETRY_TIMEOUT},
         {{0, 0, 0, DEEM_E_REFUSED, 0, 0}},
         {-1},
         DEEM_E_REFUSED,
         1},
        {"timeouts need not be",
         {.flags = DEEM_RETRY_CONNECTION},
         {{0, 0, 0, DEEM_E_TIMEOUT, 1, 10}},
         {-1},
         DEEM_E_TIMEOUT,
         1},
        {"only what was not sent",
         {.flags = DEEM_RETRY_CONNECTION | DEEM_RETRY_TIMEOUT | DEEM_RETRY_ONLY_UNSENT},
         {{0, 0, 0, DEEM_E_REFUSED, 0, 0}, {0, 0, 0, DEEM_E_TRUNCATED, 1, 0}},
         {500, -1},
         DEEM_E_TRUNCATED,
         2},
        {"the deadline ends a server that is always down",
         {.deadline_ms = 5000, .retries = 100},
         {{503, 0, 0, 0, 0, 100},
          {503, 0, 0, 0, 0, 100},
          {503, 0, 0, 0, 0, 100},
          {503, 0, 0, 0, 0, 100}},
         {500, 1000, 2000, -1},
         DEEM_E_DEADLINE,
         4},
        {"a timeout at the deadline is the deadline's",
         {.deadline_ms = 1000},
         {{0, 0, 0, DEEM_E_TIMEOUT, 1, 1000}},
         {-1},
         DEEM_E_DEADLINE,
         1},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        run(&plans[i]);
    }
}

Test(call, the_attempt_limit_is_clipped_to_the_deadline) {
    const settings limits[] = {
        {.deadline_ms = 700}, {.attempt_ms = 300}, {.deadline_ms = -1, .attempt_ms = -1}};
    const int64_t allowed[] = {700, 300, -1};
    for (size_t i = 0; i < 3; i++) {
        elapsed_ms = 0;
        pass_ms(0);
        deem_client *client = client_with(&limits[i]);
        deem_question_set *set = noul_set();
        deem_exchange *exchange;
        int32_t action;
        int64_t ms;
        deem_exchange_new(client, &exchange);
        deem_exchange_start_text(exchange, set, "x", 1, NULL);
        cr_assert_eq(deem_exchange_next(exchange, &action, &ms), DEEM_OK);
        cr_assert_eq(action, DEEM_EXCHANGE_SEND);
        cr_assert_eq(ms, allowed[i]);
        deem_exchange_free(exchange);
        deem_question_set_free(set);
        deem_client_free(client);
    }
    dm_clock_set_fake(-1, 0);
}

Test(call, jitter_takes_off_at_most_its_share) {
    elapsed_ms = 0;
    pass_ms(0);
    deem_config *config;
    deem_client *client;
    deem_config_new(&config);
    deem_config_set_environment(config, 0);
    deem_config_set_auth(config, DEEM_AUTH_NONE);
    deem_config_set_base_url(config, "http://127.0.0.1:9", 18);
    cr_assert_eq(deem_client_new(config, &client), DEEM_OK);
    deem_question_set *set = noul_set();
    deem_exchange *exchange;
    deem_exchange_new(client, &exchange);
    int64_t least = INT64_MAX;
    int64_t most = 0;
    for (int i = 0; i < 200; i++) {
        int32_t action;
        int64_t ms;
        pass_ms(1);
        deem_exchange_start_text(exchange, set, "x", 1, NULL);
        deem_exchange_next(exchange, &action, &ms);
        deem_exchange_reply(exchange, 500, "{}", 2);
        deem_exchange_next(exchange, &action, &ms);
        cr_assert_eq(action, DEEM_EXCHANGE_WAIT);
        least = ms < least ? ms : least;
        most = ms > most ? ms : most;
    }
    cr_assert(least >= 375 && least < 400, "least %ld", (long)least);
    cr_assert(most <= 500 && most > 475, "most %ld", (long)most);
    deem_exchange_free(exchange);
    deem_question_set_free(set);
    deem_client_free(client);
    deem_config_free(config);
    dm_clock_set_fake(-1, 0);
}

Test(call, the_same_body_and_only_the_count_changes) {
    elapsed_ms = 0;
    pass_ms(0);
    const settings none = {0};
    deem_client *client = client_with(&none);
    deem_question_set *set = noul_set();
    deem_exchange *exchange;
    deem_exchange_new(client, &exchange);
    deem_exchange_start_json(exchange, set, "{\"a\": 1.50}", 11, NULL);
    const char *counts[] = {NULL, "1", "2"};
    for (int i = 0; i < 3; i++) {
        int32_t action;
        int64_t ms;
        deem_exchange_next(exchange, &action, &ms);
        if (action == DEEM_EXCHANGE_WAIT) {
            pass_ms(ms);
            deem_exchange_next(exchange, &action, &ms);
        }
        cr_assert_eq(action, DEEM_EXCHANGE_SEND);
        const char *method;
        const char *url;
        const char *body;
        size_t len;
        cr_assert_eq(deem_exchange_attempt(exchange, &method, NULL, &url, NULL, &body, &len),
                     DEEM_OK);
        cr_assert_str_eq(method, "POST");
        cr_assert_str_eq(url, "http://127.0.0.1:9/v1/systemone");
        cr_assert_str_eq(
            body,
            "{\"state\":{\"a\": 1.50},\"model\":\"jev-latest\",\"questions\":{\"q\":{\"type\":"
            "\"noul\",\"instructions\":\"Is it?\"}}}");
        cr_assert_eq(strlen(body), len);
        const char *count = NULL;
        const char *name;
        const char *value;
        size_t name_len;
        size_t value_len;
        for (size_t h = 0; deem_exchange_attempt_header(exchange, h, &name, &name_len, &value,
                                                        &value_len) == DEEM_OK;
             h++) {
            if (strncmp(name, "X-TypeSafe-Retry-Count", name_len) == 0) {
                count = value;
            }
        }
        if (counts[i] == NULL) {
            cr_assert_null(count);
        } else {
            cr_assert_str_eq(count, counts[i]);
        }
        deem_exchange_reply(exchange, 503, "", 0);
    }
    deem_exchange_free(exchange);
    deem_question_set_free(set);
    deem_client_free(client);
    dm_clock_set_fake(-1, 0);
}

Test(call, a_cancelled_call_is_over) {
    const settings none = {0};
    deem_client *client = client_with(&none);
    deem_question_set *set = noul_set();
    deem_exchange *exchange;
    deem_response *response = NULL;
    int32_t action;
    deem_exchange_new(client, &exchange);
    cr_assert_eq(deem_exchange_next(exchange, &action, NULL), DEEM_E_MISUSE);
    deem_exchange_start_text(exchange, set, "x", 1, NULL);
    deem_exchange_next(exchange, &action, NULL);
    cr_assert_eq(deem_exchange_take(exchange, &response), DEEM_E_MISUSE);
    cr_assert_eq(deem_exchange_cancel(exchange), DEEM_OK);
    deem_exchange_next(exchange, &action, NULL);
    cr_assert_eq(action, DEEM_EXCHANGE_DONE);
    cr_assert_eq(deem_exchange_reply(exchange, 200, GOOD_BODY, sizeof GOOD_BODY - 1),
                 DEEM_E_MISUSE);
    cr_assert_eq(deem_exchange_take(exchange, &response), DEEM_OK);
    cr_assert_eq(deem_response_code(response), DEEM_E_CANCELLED);
    double probability = 0;
    cr_assert_eq(deem_response_noul(response, 0, &probability), DEEM_E_NO_ANSWER);
    cr_assert(probability != probability);
    deem_response_free(response);
    deem_exchange_free(exchange);
    deem_question_set_free(set);
    deem_client_free(client);
}

Test(call, refused_states) {
    static const struct {
        const char *state;
        size_t len;
        int is_json;
    } rows[] = {
        {"null", 4, 1},           {"1", 1, 1},        {"true", 4, 1}, {"{} {}", 5, 1},
        {"\xEF\xBB\xBF{}", 5, 1}, {"\"\xFF\"", 3, 1}, {"", 0, 1},     {"{\"a\":", 5, 1},
        {"ab\xC0\xAF", 4, 0},
    };
    const settings none = {0};
    deem_client *client = client_with(&none);
    deem_question_set *set = noul_set();
    deem_exchange *exchange;
    deem_exchange_new(client, &exchange);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        deem_response *response = NULL;
        int32_t action;
        int32_t attempts = -1;
        if (rows[i].is_json) {
            deem_exchange_start_json(exchange, set, rows[i].state, rows[i].len, NULL);
        } else {
            deem_exchange_start_text(exchange, set, rows[i].state, rows[i].len, NULL);
        }
        deem_exchange_next(exchange, &action, NULL);
        cr_assert_eq(action, DEEM_EXCHANGE_DONE, "row %zu", i);
        deem_exchange_take(exchange, &response);
        cr_assert_eq(deem_response_code(response), DEEM_E_STATE, "row %zu", i);
        deem_response_attempts(response, &attempts);
        cr_assert_eq(attempts, 0);
        const char *message;
        deem_response_message(response, &message, NULL);
        cr_assert_not_null(strstr(message, " at byte "));
        deem_response_free(response);
    }
    deem_exchange_free(exchange);
    deem_question_set_free(set);
    deem_client_free(client);
}
