#include "connection.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "input.h"
#include "interrupt.h"
#include "text.h"

enum {
    OPTION_ATTEMPT = 0x300,
    OPTION_AUTH,
    OPTION_BASE_URL,
    OPTION_CA_FILE,
    OPTION_DEADLINE,
    OPTION_HEADER,
    OPTION_KEY_FILE,
    OPTION_LENIENT,
    OPTION_PROXY,
    OPTION_RETRIES
};

static const struct argp_option options[] = {
    {"model", 'm', "NAME", 0,
     "Model (default: the question set's, TYPESAFE_DEFAULT_MODEL, jev-latest)", 3},
    {"base-url", OPTION_BASE_URL, "URL", 0,
     "Server (default: TYPESAFE_BASE_URL, https://api.typesafe.ai)", 3},
    {"api-key-file", OPTION_KEY_FILE, "FILE", 0,
     "File with the key (default: the key in TYPESAFE_API_KEY)", 3},
    {"auth", OPTION_AUTH, "bearer|api-key|none", 0, "How the key is sent (default bearer)", 3},
    {"deadline", OPTION_DEADLINE, "TIME", 0,
     "Limit for everything, e.g. 30, 1.5s, 800ms; 0: none (default 30s)", 3},
    {"attempt", OPTION_ATTEMPT, "TIME", 0, "Limit for each attempt; 0: none (default 10s)", 3},
    {"retries", OPTION_RETRIES, "N", 0, "How often a failed attempt is tried again (default 2)", 3},
    {"header", OPTION_HEADER, "NAME:VALUE", 0, "Add a header; repeatable", 3},
    {"lenient", OPTION_LENIENT, NULL, 0, "Show the good answers of a reply that fails a check", 3},
    {"proxy", OPTION_PROXY, "URL", 0, "HTTP proxy; empty: none (default: the environment's)", 3},
    {"ca-file", OPTION_CA_FILE, "FILE", 0, "Trust these CA certificates (PEM)", 3},
    {"verbose", 'v', NULL, 0, "A line on standard error for each attempt and retry", 3},
    {0}};

int64_t cli_read_time(const char *text) {
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}};
    char *end;
    double number = strtod(text, &end);
    if (end == text || strspn(text, "0123456789.") != (size_t)(end - text))
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double ms = number * units[i].ms;
        if (strcmp(end, units[i].name) == 0)
            return ms > 1e12 ? -1 : (int64_t)ms + ((double)(int64_t)ms < ms); /* rounded up */
    }
    return -1;
}

static int32_t set_time(struct argp_state *state, const char *option, const char *text,
                        deem_config *config, int32_t (*set)(deem_config *, int64_t)) {
    int64_t ms = cli_read_time(text);
    if (ms < 0)
        argp_error(state, "%s needs a time such as 30, 1.5s or 800ms, not '%s'", option, text);
    return set(config, ms);
}

static int32_t set_retries(struct argp_state *state, const char *text, deem_config *config) {
    char *end;
    errno = 0;
    long retries = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || retries < 0 || retries > 100)
        argp_error(state, "--retries needs a whole number from 0 to 100, not '%s'", text);
    return deem_config_set_max_retries(config, (int32_t)retries);
}

static int32_t add_header(struct argp_state *state, const char *text, deem_config *config) {
    const char *colon = strchr(text, ':');
    if (colon == NULL) {
        argp_error(state, "--header needs NAME:VALUE");
        return DEEM_E_CONFIG;
    }
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    return deem_config_add_header(config, text, (size_t)(colon - text), value, strlen(value));
}

static int32_t set_auth(struct argp_state *state, const char *text, deem_config *config) {
    int32_t auth = strcmp(text, "bearer") == 0    ? DEEM_AUTH_BEARER
                   : strcmp(text, "api-key") == 0 ? DEEM_AUTH_API_KEY
                   : strcmp(text, "none") == 0    ? DEEM_AUTH_NONE
                                                  : 0;
    if (auth == 0)
        argp_error(state, "--auth is bearer, api-key or none, not '%s'", text);
    return deem_config_set_auth(config, auth);
}

static int32_t set_key(const char *path, deem_config *config) {
    struct cli_input key = cli_read(path);
    int32_t status = deem_config_set_api_key(config, key.data, key.len);
    explicit_bzero(key.data, key.len);
    free(key.data);
    return status;
}

/* Exits with the config's own sentence when a status is not DEEM_OK. */
static void obey(const struct cli_connection *connection, int32_t status) {
    const char *message = "";
    size_t len = 0;
    if (status == DEEM_OK)
        return;
    deem_config_error(connection->config, &message, &len);
    if (len == 0)
        cli_must(status);
    cli_die(cli_exit_code(status, 0), "%s", message);
}

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct cli_connection *connection = state->input;
    deem_config *config = connection->config;
    const char *message = "";
    size_t len = 0;
    int32_t status;
    switch (key) {
    case 'm':
        status = deem_options_set_model(connection->options, text, strlen(text));
        if (status != DEEM_OK) {
            deem_options_error(connection->options, &message, &len);
            argp_error(state, "--model: %s", message);
        }
        break;
    case OPTION_BASE_URL:
        status = deem_config_set_base_url(config, text, strlen(text));
        break;
    case OPTION_KEY_FILE:
        status = set_key(text, config);
        break;
    case OPTION_AUTH:
        status = set_auth(state, text, config);
        break;
    case OPTION_DEADLINE:
        status = set_time(state, "--deadline", text, config, deem_config_set_deadline_ms);
        break;
    case OPTION_ATTEMPT:
        status = set_time(state, "--attempt", text, config, deem_config_set_attempt_ms);
        break;
    case OPTION_RETRIES:
        status = set_retries(state, text, config);
        break;
    case OPTION_HEADER:
        status = add_header(state, text, config);
        break;
    case OPTION_LENIENT:
        status = deem_config_set_check(config, DEEM_CHECK_LENIENT);
        break;
    case OPTION_PROXY:
        status = deem_config_set_proxy(config, text, strlen(text));
        break;
    case OPTION_CA_FILE:
        status = deem_config_set_ca_file(config, text, strlen(text));
        break;
    case 'v':
        status = deem_config_set_log_level(config, DEEM_LOG_INFO);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    obey(connection, status);
    return 0;
}

const struct argp cli_connection_parser = {.options = options, .parser = read_argument};

void cli_connection_start(struct cli_connection *connection) {
    static const char suffix[] = "deemster-cli";
    *connection = (struct cli_connection){NULL, NULL, NULL};
    cli_must(deem_config_new(&connection->config));
    cli_must(deem_options_new(&connection->options));
    cli_must(deem_config_set_user_agent_suffix(connection->config, suffix, sizeof suffix - 1));
}

void cli_connection_end(struct cli_connection *connection) {
    deem_client_free(connection->client);
    deem_options_free(connection->options);
    deem_config_free(connection->config);
}

void cli_connection_open(struct cli_connection *connection) {
    obey(connection, deem_client_new(connection->config, &connection->client));
}

int32_t cli_connection_call(struct cli_connection *connection,
                            int32_t (*call)(struct cli_connection *, void *, deem_response **),
                            void *argument, deem_response **response) {
    uint64_t id = 0;
    cli_must(deem_client_call_id(connection->client, &id));
    cli_must(deem_options_set_call_id(connection->options, id));
    cli_interrupt_begin(connection->client, id);
    int32_t status = call(connection, argument, response);
    cli_interrupt_end();
    if (status == DEEM_E_MEMORY || status == DEEM_E_MISUSE)
        cli_must(status);
    return status;
}
