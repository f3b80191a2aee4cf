/* deemster-mock: a faithful System One server for tests, demonstrations and benchmarks. */
#include <argp.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "options.h"

static const char about[] =
    "A System One server that answers from the request alone: no model, no network, no key "
    "needed.\v"
    "Prints its base URL on one line when it is ready, then serves until SIGTERM or SIGINT. Exit "
    "status: 0, 1 it cannot serve, 2 wrong arguments, 3 a planned fault never fired.";

enum {
    OPTION_PREFIX = 256,
    OPTION_KEY,
    OPTION_NO_AUTH,
    OPTION_SEED,
    OPTION_LATENCY,
    OPTION_RATE,
    OPTION_TLS,
    OPTION_FIXED,
    OPTION_STDIN,
    OPTION_TOKENS,
    OPTION_MODEL,
    OPTION_UNKNOWN_TYPE,
    OPTION_LIST
};

static const struct argp_option arguments[] = {
    {"port", 'p', "PORT", 0, "Port to listen on; 0 picks a free one (default 0)", 0},
    {"listen", 'l', "ADDRESS", 0, "Address to listen on (default 127.0.0.1)", 0},
    {"prefix", OPTION_PREFIX, "PATH", 0, "Path prefix of every API route, e.g. /typesafe", 0},
    {"key", OPTION_KEY, "KEY", 0, "The only right key (default: any but wrong-key)", 0},
    {"no-auth", OPTION_NO_AUTH, NULL, 0, "Ask for no key, as a local server does", 0},
    {"model", OPTION_MODEL, "NAME", 0, "One more model name to accept; repeatable", 0},
    {"seed", OPTION_SEED, "N", 0, "Seed of the key orders; 0 keeps the request's (default 1)", 0},
    {"token-limit", OPTION_TOKENS, "N", 0,
     "Tokens of state and all questions, half for state and the longest question; a token is 8 "
     "bytes; 0: none (default 64000)",
     0},
    {"unknown-type-422", OPTION_UNKNOWN_TYPE, NULL, 0,
     "Answer an unknown question type with 422 in place of 400", 0},
    {"fault", 'f', "WHAT@N", 0,
     "Fault on the Nth POST /v1/systemone (N-M and every work too); repeatable", 1},
    {"list-faults", OPTION_LIST, NULL, 0, "List the faults and exit", 1},
    {"rate", OPTION_RATE, "N/WINDOW_MS", 0, "Answer 429 above N requests per window", 1},
    {"latency", OPTION_LATENCY, "MS", 0, "Wait before each answer", 1},
    {"tls", OPTION_TLS, "CERT KEY", 0, "Serve https with these PEM files", 2},
    {"fixed", OPTION_FIXED, "FILE|minos", 0,
     "Benchmark ceiling: this body for every POST, nothing checked", 2},
    {"exit-with-stdin", OPTION_STDIN, NULL, 0, "Also stop when standard input ends", 2},
    {"quiet", 'q', NULL, 0, "No list of the faults that never fired", 3},
    {"verbose", 'v', NULL, 0, "A line for each request on standard error", 3},
    {0}};

static long read_long(struct argp_state *state, const char *option, const char *text) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > 1000000000)
        argp_error(state, "%s needs a whole number from 0 to 1000000000, not '%s'", option, text);
    return value;
}

static void read_rate(struct argp_state *state, struct mock_options *options, char *text) {
    char *slash = strchr(text, '/');
    if (!slash) {
        argp_error(state, "--rate needs N/WINDOW_MS, for example 20/1000");
        return;
    }
    *slash = 0;
    options->rate = (unsigned long)read_long(state, "--rate", text);
    options->window_ms = read_long(state, "--rate", slash + 1);
    if (!options->rate || !options->window_ms)
        argp_error(state, "--rate needs two numbers above 0");
}

static error_t read_argument(int key, char *text, struct argp_state *state) {
    struct mock_options *options = state->input;
    char message[256];
    switch (key) {
    case 'p':
        if (read_long(state, "--port", text) > 65535)
            argp_error(state, "--port goes up to 65535");
        options->port = text;
        return 0;
    case 'l':
        options->address = text;
        return 0;
    case OPTION_PREFIX:
        while (*text && text[strlen(text) - 1] == '/')
            text[strlen(text) - 1] = 0;
        if (*text && *text != '/')
            argp_error(state, "--prefix starts with a slash");
        options->prefix = text;
        return 0;
    case OPTION_KEY:
        options->key = text;
        return 0;
    case OPTION_NO_AUTH:
        options->no_auth = true;
        return 0;
    case OPTION_MODEL: {
        const char **models = mock_resize((void *)options->rules.models,
                                          (options->rules.model_count + 1) * sizeof *models);
        models[options->rules.model_count++] = text;
        options->rules.models = models;
        return 0;
    }
    case OPTION_SEED:
        options->seed = (uint64_t)read_long(state, "--seed", text);
        return 0;
    case OPTION_TOKENS:
        options->rules.token_limit = (size_t)read_long(state, "--token-limit", text);
        return 0;
    case OPTION_UNKNOWN_TYPE:
        options->rules.unknown_type_422 = true;
        return 0;
    case 'f':
        if (!mock_plan_add(&options->plan, text, message, sizeof message))
            argp_error(state, "%s", message);
        return 0;
    case OPTION_LIST:
        mock_faults_print(stdout);
        exit(0);
    case OPTION_RATE:
        read_rate(state, options, text);
        return 0;
    case OPTION_LATENCY:
        options->latency_ms = read_long(state, "--latency", text);
        return 0;
    case OPTION_TLS:
        if (state->next >= state->argc)
            argp_error(state, "--tls needs two files: CERT KEY");
        options->certificate = text;
        options->private_key = state->argv[state->next++];
        return 0;
    case OPTION_FIXED:
        options->fixed = text;
        return 0;
    case OPTION_STDIN:
        options->exit_with_stdin = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case 'v':
        options->verbose = true;
        return 0;
    case ARGP_KEY_END:
        if (options->fixed && (options->plan.count || options->rate || options->certificate))
            argp_error(state, "--fixed goes with neither --fault nor --rate nor --tls");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

long long mock_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int mock_signal_descriptor(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool mock_stdin_open(void) {
    char bytes[512];
    ssize_t got = read(0, bytes, sizeof bytes);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

static int listen_on(const char *address, const char *port) {
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int error = getaddrinfo(address, port, &hints, &found);
    if (error) {
        fprintf(stderr, "deemster-mock: --listen %s is not a numeric address: %s\n", address,
                gai_strerror(error));
        return -1;
    }
    int on = 1;
    int listener =
        socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (listener >= 0)
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener < 0 || bind(listener, found->ai_addr, found->ai_addrlen) ||
        listen(listener, 1024)) {
        fprintf(stderr, "deemster-mock: cannot listen on %s port %s: %s\n", address, port,
                strerror(errno));
        if (listener >= 0)
            close(listener);
        listener = -1;
    }
    freeaddrinfo(found);
    return listener;
}

static char base_url[512];

static void print_url(void) {
    puts(base_url);
    fflush(stdout);
}

static void make_url(const struct mock_options *options, int listener) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    getsockname(listener, (struct sockaddr *)&address, &length);
    getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = address.ss_family == AF_INET6;
    snprintf(base_url, sizeof base_url, "%s://%s%.128s%s:%.8s%.256s",
             options->certificate ? "https" : "http", six ? "[" : "", host, six ? "]" : "", port,
             options->prefix);
}

int main(int argc, char **argv) {
    struct mock_options options = {.address = "127.0.0.1",
                                   .port = "0",
                                   .prefix = "",
                                   .seed = 1,
                                   .window_ms = 1000,
                                   .rules = {.token_limit = 64000}};
    static const struct argp parser = {.options = arguments, .parser = read_argument, .doc = about};
    argp_program_version = "deemster-mock " MOCK_VERSION;
    argp_err_exit_status = MOCK_EXIT_USAGE;
    if (argp_parse(&parser, argc, argv, 0, NULL, &options))
        return MOCK_EXIT_USAGE;
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int listener = listen_on(options.address, options.port);
    if (listener < 0)
        return MOCK_EXIT_FAILED;
    make_url(&options, listener);
    int status = options.fixed ? mock_serve_fixed(&options, listener, print_url)
                               : mock_serve(&options, listener, print_url);
    mock_plan_free(&options.plan);
    free((void *)options.rules.models);
    return status;
}
