/* deemster models: lists the server's models. */
#include <argp.h>
#include <stdio.h>

#include "command.h"
#include "connection.h"
#include "report.h"

struct models {
    struct cli_connection connection;
    bool as_json;
};

enum { OPTION_JSON = 0x100 };

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Print one JSON document, also when the call fails", 0}, {0}};

static const struct argp_child children[] = {{&cli_connection_parser, 0, NULL, 0}, {0}};

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct models *models = state->input;
    (void)text;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &models->connection;
        return 0;
    case OPTION_JSON:
        models->as_json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct listed {
    const char *name, *description, *date;
    size_t name_len, description_len, date_len;
};

static bool get_model(const deem_response *response, size_t index, struct listed *model) {
    return deem_response_listed_model(response, index, &model->name, &model->name_len,
                                      &model->description, &model->description_len, &model->date,
                                      &model->date_len) == DEEM_OK;
}

static void text_or_null(struct cli_json *json, const char *name, const char *text, size_t len) {
    cli_json_name(json, name);
    if (text == NULL)
        cli_json_null(json);
    else
        cli_json_text(json, text, len);
}

static void show_json(const deem_response *response) {
    struct cli_json json = {stdout, false};
    struct listed model;
    cli_json_open(&json, '{');
    cli_report_call(&json, response);
    cli_json_name(&json, "models");
    cli_json_open(&json, '[');
    for (size_t i = 0; get_model(response, i, &model); i++) {
        cli_json_open(&json, '{');
        text_or_null(&json, "name", model.name, model.name_len);
        text_or_null(&json, "description", model.description, model.description_len);
        text_or_null(&json, "release_date", model.date, model.date_len);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    fputc('\n', stdout);
}

/* A line for each: NAME, tab, RELEASE DATE, tab, DESCRIPTION. */
static void show(const deem_response *response) {
    struct listed model;
    for (size_t i = 0; get_model(response, i, &model); i++) {
        cli_show(stdout, model.name, model.name_len, CLI_WHOLE);
        fputc('\t', stdout);
        cli_show(stdout, model.date, model.date_len, CLI_WHOLE);
        fputc('\t', stdout);
        cli_show(stdout, model.description, model.description_len, CLI_WHOLE);
        fputc('\n', stdout);
    }
}

static int32_t ask(struct cli_connection *connection, void *argument, deem_response **response) {
    (void)argument;
    return deem_list_models(connection->client, connection->options, response);
}

int cli_models(int argc, char **argv) {
    static const struct argp parser = {
        .options = options,
        .parser = read_argument,
        .doc = "List the server's models: name, release date, description, a line each.",
        .children = children};
    struct models models = {.as_json = false};
    deem_response *response = NULL;
    int32_t http = 0;
    cli_connection_start(&models.connection);
    argp_parse(&parser, argc, argv, 0, NULL, &models);
    cli_connection_open(&models.connection);
    int32_t status = cli_connection_call(&models.connection, ask, NULL, &response);
    cli_report_error(response);
    if (models.as_json)
        show_json(response);
    else if (status == DEEM_OK)
        show(response);
    deem_response_http_status(response, &http);
    deem_response_free(response);
    cli_connection_end(&models.connection);
    return cli_exit_code(status, http);
}
