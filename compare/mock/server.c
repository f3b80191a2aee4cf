#include "server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include <gnutls/gnutls.h>

#include "answer.h"

#define MAX_BODY         ((size_t)64 << 20)
#define CONNECTION_LIMIT 4096

static const char models[] =
    "{\"models\":[{\"name\":\"jev-latest\",\"description\":\"Newest stable model\","
    "\"release_date\":\"2026-09-10T18:38:01.391457+00:00\"},{\"name\":\"jev-preview\","
    "\"description\":\"Next model\",\"release_date\":\"2026-09-10T18:39:06+00:00\"}]}";

void mock_suspend(struct mock_exchange *exchange, long ms) {
    struct mock_server *server = exchange->server;
    exchange->due = ms < 0 ? -1 : mock_now_ms() + ms;
    exchange->is_suspended = true;
    exchange->previous = NULL;
    exchange->next = server->suspended;
    if (server->suspended)
        server->suspended->previous = exchange;
    server->suspended = exchange;
    MHD_suspend_connection(exchange->connection);
}

static void unlink_suspended(struct mock_exchange *exchange) {
    if (!exchange->is_suspended)
        return;
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        exchange->server->suspended = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    exchange->is_suspended = false;
}

/* Resumes what is due (everything when stopping). Returns the time to the next one in ms, or -1. */
static long long resume_due(struct mock_server *server) {
    long long now = mock_now_ms(), wait = -1;
    struct mock_exchange *next;
    for (struct mock_exchange *exchange = server->suspended; exchange; exchange = next) {
        next = exchange->next;
        if (server->stopping || (exchange->due >= 0 && exchange->due <= now)) {
            unlink_suspended(exchange);
            MHD_resume_connection(exchange->connection);
            wait = 0;
        } else if (exchange->due >= 0 && (wait < 0 || exchange->due - now < wait)) {
            wait = exchange->due - now;
        }
    }
    return wait;
}

static const char *header_of(struct mock_exchange *exchange, const char *name) {
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

/* 200, or the status that refuses the caller (wire contract 4.1). */
static int authorise(struct mock_exchange *exchange) {
    const char *key = header_of(exchange, "Authorization");
    if (exchange->server->options->no_auth)
        return 200;
    if (!key || strncasecmp(key, "Bearer ", 7) != 0 || !key[7 + strspn(key + 7, " ")])
        return 403;
    key += 7 + strspn(key + 7, " ");
    const char *right = exchange->server->options->key;
    return (right ? !strcmp(key, right) : strcmp(key, "wrong-key") != 0) ? 200 : 401;
}

static bool refuse(struct mock_exchange *exchange) {
    int status = authorise(exchange);
    struct mock_fault fault = {.kind = MOCK_FAULT_STATUS, .status = status};
    return status != 200 && mock_reply_fault(&exchange->reply, &fault, NULL, NULL);
}

static void limit_rate(struct mock_exchange *exchange, long wait_ms) {
    char text[32];
    struct mock_fault fault = {.kind = MOCK_FAULT_STATUS, .status = 429};
    mock_reply_fault(&exchange->reply, &fault, NULL, NULL);
    snprintf(text, sizeof text, "%ld", (wait_ms + 999) / 1000);
    mock_reply_header(&exchange->reply, "Retry-After", text);
    snprintf(text, sizeof text, "%ld", wait_ms);
    mock_reply_header(&exchange->reply, "retry-after-ms", text);
}

/* Fills the reply to a request that no fault replaces. Returns true if an ANSWER fault was worked
 * in. */
static bool answer(struct mock_exchange *exchange, const struct mock_fault *fault) {
    const struct mock_options *options = exchange->server->options;
    struct mock_reply *reply = &exchange->reply;
    struct mock_request request;
    long wait_ms = 0;
    bool worked = false;
    if (options->rate &&
        !mock_traffic_accept(&exchange->server->traffic, options->rate, mock_now_ms(), &wait_ms)) {
        limit_rate(exchange, wait_ms);
        return false;
    }
    if (refuse(exchange))
        return false;
    reply->content_type = "application/json";
    if (exchange->body.length > MAX_BODY) {
        mock_reply_json(reply, 413, "{\"detail\":\"Content Too Large\"}");
        return false;
    }
    reply->status =
        mock_request_read(&request, exchange->body.data, exchange->body.length,
                          header_of(exchange, "Content-Type"), &options->rules, &reply->body);
    if (reply->status == 500)
        reply->content_type = "text/plain; charset=utf-8";
    if (reply->status == 200)
        worked = mock_answer(&request, options->seed, fault, &reply->body) && fault;
    mock_request_free(&request);
    return worked;
}

/* Returns the delay in ms before the reply goes out. */
static long system_one(struct mock_exchange *exchange, const char *path) {
    struct mock_server *server = exchange->server;
    struct mock_reply *reply = &exchange->reply;
    long delay_ms = server->options->latency_ms;
    mock_traffic_arrive(&server->traffic, mock_now_ms());
    server->occurrence++;
    struct mock_fault *delay = mock_plan_find(&server->plan, server->occurrence, true);
    if (delay) {
        delay_ms += delay->number;
        delay->fired++;
        server->traffic.faults_fired++;
    }
    struct mock_fault *fault = mock_plan_find(&server->plan, server->occurrence, false);
    bool fired = false;
    if (fault && fault->group == MOCK_GROUP_REPLY) {
        fired =
            mock_reply_fault(reply, fault, header_of(exchange, "Authorization"), &exchange->body);
        if (!fired)
            mock_reply_json(reply, 500,
                            "{\"detail\":\"deemster-mock: the fault's file cannot be "
                            "read\"}");
    } else {
        fired = answer(exchange, fault && fault->group == MOCK_GROUP_ANSWER ? fault : NULL);
        if (fault && fault->group == MOCK_GROUP_BODY)
            fired = mock_reply_spoil(reply, fault->kind);
        if (fault && fault->group == MOCK_GROUP_WIRE) {
            reply->wire = fault->kind;
            reply->wire_number = fault->number;
            fired = true;
        }
    }
    if (fired) {
        fault->fired++;
        server->traffic.faults_fired++;
    }
    bool silent = reply->wire == MOCK_FAULT_HANG || reply->wire == MOCK_FAULT_RESET ||
                  reply->wire == MOCK_FAULT_CLOSE || reply->wire == MOCK_FAULT_RAW;
    server->traffic.by_status[silent ? 0 : reply->status]++;
    mock_control_keep(exchange, path);
    return delay_ms;
}

/* The part of a path behind the prefix, or NULL if it is not below it. */
static const char *below_prefix(const char *path, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) ? NULL : path + length;
}

static long route(struct mock_exchange *exchange, const char *method, const char *url) {
    static const struct {
        const char *path, *method;
    } routes[] = {{"/v1/systemone", "POST"}, {"/v1/models", "GET"}, {"/health", "GET"}};
    struct mock_reply *reply = &exchange->reply;
    const char *path = below_prefix(url, exchange->server->options->prefix);
    if (mock_control(exchange, method, path ? path : url) || mock_control(exchange, method, url))
        return 0;
    size_t at = 0;
    while (path && at < 3 && strcmp(path, routes[at].path) != 0)
        at++;
    if (!path || at == 3) {
        mock_reply_json(reply, 404, "{\"detail\":\"Not Found\"}");
    } else if (strcmp(method, routes[at].method) != 0) {
        mock_reply_json(reply, 405, "{\"detail\":\"Method Not Allowed\"}");
        mock_reply_header(reply, "Allow", routes[at].method);
    } else if (at == 0) {
        return system_one(exchange, url);
    } else if (at == 2) {
        mock_reply_json(reply, 200, "{\"status\":\"ok\"}");
    } else if (!refuse(exchange)) {
        mock_reply_json(reply, 200, models);
    }
    return 0;
}

static void put_request_id(struct mock_exchange *exchange) {
    struct mock_server *server = exchange->server;
    char id[64];
    if (exchange->reply.foreign)
        return;
    uint64_t hash = mock_hash(&server->replies, sizeof server->replies, server->options->seed);
    snprintf(id, sizeof id, "req_%016llx%08lx", (unsigned long long)hash, ++server->replies);
    mock_reply_header(&exchange->reply, "x-typesafe-request-id", id);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **memory) {
    struct mock_server *server = context;
    struct mock_exchange *exchange = *memory;
    (void)version;
    if (!exchange) {
        exchange = mock_resize(NULL, sizeof *exchange);
        *exchange = (struct mock_exchange){
            .server = server, .connection = connection, .reply = {.wire = MOCK_FAULT_KINDS}};
        *memory = exchange;
        return MHD_YES;
    }
    if (*upload_size) {
        if (exchange->body.length <= MAX_BODY)
            mock_buffer_add(&exchange->body, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (!exchange->answered) {
        long delay_ms = route(exchange, method, url);
        exchange->answered = true;
        put_request_id(exchange);
        if (server->options->verbose)
            fprintf(stderr, "deemster-mock: %s %s %d\n", method, url, exchange->reply.status);
        if (delay_ms > 0) {
            mock_suspend(exchange, delay_ms);
            return MHD_YES;
        }
    }
    return server->stopping ? MHD_NO : mock_send(exchange);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **memory,
                         enum MHD_RequestTerminationCode code) {
    struct mock_exchange *exchange = *memory;
    (void)context;
    (void)code;
    if (!exchange)
        return;
    if (exchange->close_after)
        shutdown(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                 SHUT_RDWR);
    unlink_suspended(exchange);
    mock_buffer_free(&exchange->body);
    mock_reply_free(&exchange->reply);
    free(exchange);
    *memory = NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **memory,
                          enum MHD_ConnectionNotificationCode code) {
    struct mock_server *server = context;
    (void)connection;
    (void)memory;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        server->traffic.connections_opened++;
        server->traffic.connections_open++;
    } else {
        server->traffic.connections_open--;
    }
}

static char *read_pem(const char *path) {
    gnutls_datum_t data = {0};
    if (gnutls_load_file(path, &data) != 0) {
        fprintf(stderr, "deemster-mock: cannot read %s\n", path);
        return NULL;
    }
    char *text = mock_copy((const char *)data.data, data.size);
    gnutls_free(data.data);
    return text;
}

static struct MHD_Daemon *start(struct mock_server *server, int listener) {
    const struct mock_options *options = server->options;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_END, 0, NULL}, {MHD_OPTION_END, 0, NULL}, {MHD_OPTION_END, 0, NULL}};
    char *certificate = NULL, *private_key = NULL;
    if (options->certificate) {
        certificate = read_pem(options->certificate);
        private_key = read_pem(options->private_key);
        if (!certificate || !private_key) {
            free(certificate);
            free(private_key);
            return NULL;
        }
        flags |= MHD_USE_TLS;
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, certificate};
        tls[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, private_key};
    }
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTION_LIMIT, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)65536, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!daemon)
        fputs("deemster-mock: the server does not start; with --tls, see that the files are a "
              "certificate and its key in PEM\n",
              stderr);
    free(certificate); /* the daemon has read them */
    free(private_key);
    return daemon;
}

static void loop(struct mock_server *server, int signals) {
    int epoll = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct pollfd waits[3] = {{.fd = epoll, .events = POLLIN},
                              {.fd = signals, .events = POLLIN},
                              {.fd = server->options->exit_with_stdin ? 0 : -1, .events = POLLIN}};
    for (;;) {
        MHD_UNSIGNED_LONG_LONG server_wait;
        long long wait = resume_due(server);
        if (MHD_get_timeout(server->daemon, &server_wait) == MHD_YES &&
            (wait < 0 || server_wait < (unsigned long long)wait))
            wait = server_wait > INT_MAX ? INT_MAX : (long long)server_wait;
        if (poll(waits, 3, wait > INT_MAX ? INT_MAX : (int)wait) < 0 && errno != EINTR)
            return;
        if (waits[1].revents || (waits[2].revents && !mock_stdin_open()))
            return;
        MHD_run(server->daemon);
    }
}

int mock_serve(struct mock_options *options, int listener, void (*ready)(void)) {
    struct mock_server server = {.options = options, .plan = options->plan};
    server.traffic.window_ms = options->window_ms;
    options->plan = (struct mock_plan){0};
    int signals = mock_signal_descriptor();
    server.daemon = start(&server, listener);
    if (!server.daemon || signals < 0)
        return MOCK_EXIT_FAILED;
    ready();
    loop(&server, signals);
    server.stopping = true;
    resume_due(&server);
    MHD_run(server.daemon);
    MHD_stop_daemon(server.daemon);
    size_t never = mock_plan_report(&server.plan, options->quiet ? NULL : stderr);
    mock_plan_free(&server.plan);
    mock_traffic_free(&server.traffic);
    mock_buffer_free(&server.last_headers);
    mock_buffer_free(&server.last_body);
    free(server.last_path);
    return never ? MOCK_EXIT_FAULT_NEVER_FIRED : 0;
}
