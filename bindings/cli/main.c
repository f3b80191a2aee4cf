/* The deemster command: finds the command that is asked for and runs it. */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "deemster.h"

static const struct cli_command commands[] = {
    {"check", "find what is wrong with question sets, offline", cli_check},
    {"evaluate", "ask a question set about a text or JSON state", cli_evaluate},
    {"batch", "ask a question set about every row of a file", cli_batch},
    {"models", "list the server's models", cli_models},
    {"mock", "run the mock server", cli_mock},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_version(FILE *stream, struct argp_state *state) {
    uint32_t major = 0, minor = 0;
    (void)state;
    deem_abi_version(&major, &minor, NULL);
    fprintf(stream, "deemster %s (library %s, ABI %u.%u)\n", CLI_VERSION, deem_version(), major,
            minor);
}

void cli_die(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("deemster: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(code);
}

void cli_must(int32_t status) {
    if (status != DEEM_OK)
        cli_die(CLI_LOCAL, "%s",
                status == DEEM_E_MEMORY ? "out of memory" : deem_status_name(status));
}

int cli_exit_code(int32_t status, int32_t http_status) {
    switch (status) {
    case DEEM_OK:
        return CLI_GOOD;
    case DEEM_E_CANCELLED:
        return CLI_INTERRUPTED;
    case DEEM_E_CONFIG_KEY:
    case DEEM_E_HTTP_AUTHENTICATION:
    case DEEM_E_HTTP_PAYMENT:
    case DEEM_E_HTTP_PERMISSION:
        return CLI_ACCESS;
    case DEEM_E_PROXY:
        return http_status == 407 ? CLI_ACCESS : CLI_TRY_AGAIN;
    case DEEM_E_HTTP_TIMEOUT:
    case DEEM_E_HTTP_RATE_LIMIT:
    case DEEM_E_HTTP_SERVER:
    case DEEM_E_HTTP_OVERLOADED:
        return CLI_TRY_AGAIN;
    case DEEM_E_INVALID_REPLY:
    case DEEM_E_NO_ANSWER:
        return CLI_BAD_REPLY;
    default:
        break;
    }
    if (status >= DEEM_E_CONFIG && status < DEEM_E_CONNECTION)
        return CLI_USAGE;
    if (status >= DEEM_E_CONNECTION && status < DEEM_E_HTTP_REDIRECT)
        return CLI_TRY_AGAIN;
    if (status >= DEEM_E_HTTP_REDIRECT && status < DEEM_E_HTTP_SERVER)
        return CLI_REFUSED;
    return CLI_LOCAL;
}

struct request {
    const struct cli_command *command; /* NULL: none was named */
    int at;                            /* its index in argv */
};

static const struct cli_command *find_command(const char *name) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        request->command = find_command(text);
        if (request->command == NULL)
            argp_error(state, "there is no command '%s'", text);
        request->at = state->next - 1;
        state->next = state->argc; /* the rest is the command's */
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a command");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Adds the list of commands to the help text. */
static char *help_filter(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_PRE_DOC)
        return (char *)text;
    char *list = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&list, &size);
    if (stream == NULL)
        return (char *)text;
    fprintf(stream, "%s\n\nCommands:\n", text);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'deemster COMMAND --help' says more about each. Options:", stream);
    fclose(stream);
    return list;
}

int main(int argc, char **argv) {
    static const struct argp parser = {
        .parser = read_argument,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc = "Ask decision models of the System One kind, and check what is asked.\v"
               "The key is read from the environment variable TYPESAFE_API_KEY or a file, the "
               "server from TYPESAFE_BASE_URL. Data goes to standard output, everything else to "
               "standard error.",
        .help_filter = help_filter};
    argp_program_version_hook = print_version;
    argp_err_exit_status = CLI_USAGE;
    struct request request = {NULL, 0};
    argv[0] = (char *)"deemster"; /* in messages, however it was called */
    error_t error = argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &request);
    if (error != 0 || request.command == NULL)
        cli_die(CLI_LOCAL, "%s", strerror(error));

    char name[32];
    snprintf(name, sizeof name, "deemster %s", request.command->name);
    argv[request.at] = name;
    int code = request.command->run(argc - request.at, argv + request.at);
    if (fflush(stdout) != 0 || ferror(stdout))
        cli_die(CLI_LOCAL, "cannot write the output: %s", strerror(errno));
    return code;
}
