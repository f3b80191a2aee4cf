/* Does with one connection what the command line says and prints one JSON line for each action, so
 * that run.py can try connections against real servers.
 *
 * probe HOST PORT [tls=1] [proxy=URL] [ca=FILE] [cadir=DIR] [curl=1] ACTION...
 *   connect          open and step to the end         send:TEXT   \r \n are escapes
 *   recv:N           until N bytes came or the end    wait:MS     let time pass
 *   probe            look whether it is still alive   close       close it
 *   child            fork; the child abandons the connection, opens one of its own and ends
 *   full:METHOD:PATH[:BODY]  one exchange by libcurl's own HTTP; option full2=1 asks for HTTP/2,
 *                    any=1 for any proxy authentication, deadline=MS, cancel=MS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/connection.h"
#include "transport/curl_easy.h"

static dm_transport *transport;
static dm_connection *connection;
static dm_error error;
static const char *host, *port;
static int tls, http2, any_auth, deadline_ms, cancel_ms;

static const char *io_name(dm_io io) {
    static const char *const names[] = {"ok", "again", "closed", "no descriptors", "error"};
    return names[io];
}

static void print_text(const char *text, size_t len) {
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\') {
            printf("\\%c", byte);
        } else if (byte < 0x20 || byte >= 0x7f) {
            printf("\\u%04x", byte);
        } else {
            putchar(byte);
        }
    }
    putchar('"');
}

static void report(const char *action, dm_io io, dm_failure failure) {
    printf("{\"action\":\"%s\",\"io\":\"%s\"", action, io_name(io));
    if (io == DM_IO_ERROR || io == DM_IO_NO_DESCRIPTORS) {
        printf(",\"failure\":\"%s\",\"code\":%d,\"message\":", dm_failure_name(failure),
               error.code);
        print_text(error.message.data != NULL ? error.message.data : "", error.message.len);
    }
}

static int steps;

static dm_io drive(dm_connection *one) {
    dm_io io;
    steps = 1;
    while ((io = dm_connection_connect_step(one, dm_clock_now(), &error)) == DM_IO_AGAIN) {
        struct pollfd fds[DM_CONNECTION_WAIT_MOST];
        int timeout = -1;
        size_t count =
            dm_connection_wait_set(one, fds, DM_CONNECTION_WAIT_MOST, dm_clock_now(), &timeout);
        poll(fds, (nfds_t)count, timeout);
        steps++;
    }
    return io;
}

static void do_connect(void) {
    dm_io io = dm_connection_open(transport, &connection, &error);
    if (io == DM_IO_OK) {
        io = drive(connection);
    }
    report("connect", io, connection != NULL ? dm_connection_failure(connection) : DM_FAIL_NONE);
    if (io == DM_IO_OK) {
        dm_connection_timings times = dm_connection_times(connection);
        printf(",\"dns_us\":%lld,\"connect_us\":%lld,\"tls_us\":%lld,\"route\":%d",
               (long long)times.dns_us, (long long)times.connect_us, (long long)times.tls_us,
               (int)dm_transport_route(transport));
    }
    printf(",\"steps\":%d}\n", steps);
}

static void wait_ready(short events) {
    struct pollfd fds[1];
    int timeout = 0;
    dm_connection_wait_set(connection, fds, 1, dm_clock_now(), &timeout);
    fds[0].events = events;
    poll(fds, 1, timeout);
}

static void do_send(const char *text) {
    char *data = malloc(strlen(text) + 1);
    size_t len = 0;
    for (; *text != '\0'; text++) {
        if (text[0] == '\\' && (text[1] == 'r' || text[1] == 'n')) {
            data[len++] = *++text == 'r' ? '\r' : '\n';
        } else {
            data[len++] = *text;
        }
    }
    size_t total = 0;
    dm_io io = DM_IO_OK;
    while (total < len && io == DM_IO_OK) {
        size_t sent = 0;
        io = dm_connection_send(connection, data + total, len - total, &sent, &error);
        total += sent;
        if (io == DM_IO_AGAIN) {
            wait_ready(POLLOUT);
            io = DM_IO_OK;
        }
    }
    free(data);
    report("send", io, dm_connection_failure(connection));
    printf(",\"bytes\":%zu}\n", total);
}

static void do_recv(size_t wanted) {
    dm_bytes data = {0};
    dm_io io = DM_IO_OK;
    static char buffer[65536];
    while (data.len < wanted) {
        size_t got = 0;
        io = dm_connection_recv(connection, buffer, sizeof buffer, &got, &error);
        if (io == DM_IO_AGAIN) {
            wait_ready(POLLIN);
            continue;
        }
        if (io != DM_IO_OK || dm_bytes_append(&data, buffer, got) != 0) {
            break;
        }
    }
    report("recv", io, dm_connection_failure(connection));
    printf(",\"bytes\":%zu,\"head\":", data.len);
    print_text(data.data, data.len < 300 ? data.len : 300);
    printf("}\n");
    dm_bytes_free(&data);
}

static void do_child(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dm_connection_abandon(connection);
        dm_transport_after_fork(transport);
        dm_connection *own = NULL;
        dm_io io = dm_connection_open(transport, &own, &error);
        if (io == DM_IO_OK) {
            io = drive(own);
        }
        dm_connection_close(own);
        _exit(io == DM_IO_OK ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("{\"action\":\"child\",\"status\":%d}\n", status);
}

static void *cancel_soon(void *user) {
    usleep((useconds_t)cancel_ms * 1000);
    if (write(*(int *)user, "x", 1) != 1) {
        abort();
    }
    return NULL;
}

static void do_full(char *text) {
    char *rest = NULL;
    char *method = strtok_r(text, ":", &rest);
    char *path = strtok_r(NULL, ":", &rest);
    char *body = rest != NULL && *rest != '\0' ? rest : NULL;
    char url[600];
    int v6 = strchr(host, ':') != NULL;
    snprintf(url, sizeof url, "%s://%s%s%s:%s%s", tls ? "https" : "http", v6 ? "[" : "", host,
             v6 ? "]" : "", port, path);
    const char *const headers[] = {"X-Probe: yes", "Content-Type: application/json"};
    int ends[2] = {-1, -1};
    pthread_t thread = pthread_self();
    if (cancel_ms > 0 &&
        (pipe(ends) != 0 || pthread_create(&thread, NULL, cancel_soon, &ends[1]))) {
        abort();
    }
    dm_curl_request request = {
        .method = method,
        .url = url,
        .headers = headers,
        .header_count = 2,
        .body = dm_span_of(body, body != NULL ? strlen(body) : 0),
        .deadline_ns = deadline_ms > 0 ? dm_clock_now() + deadline_ms * DM_NS_PER_MS : DM_NEVER,
        .cancel_fd = ends[0],
        .http2 = http2,
        .any_proxy_auth = any_auth,
        .body_most = 100000,
    };
    dm_curl_reply reply = {0};
    dm_io io = dm_curl_perform(transport, &request, &reply, &error);
    report("full", io, reply.failure);
    printf(",\"status\":%ld,\"version\":%d,\"reused\":%d,\"sent\":%lld,\"headers\":", reply.status,
           reply.http_version, reply.reused, (long long)reply.sent_bytes);
    print_text(reply.headers.data, reply.headers.len);
    printf(",\"body\":");
    print_text(reply.body.data, reply.body.len < 300 ? reply.body.len : 300);
    printf(",\"bytes\":%zu}\n", reply.body.len);
    dm_curl_reply_free(&reply);
    if (cancel_ms > 0) {
        pthread_join(thread, NULL);
        close(ends[0]);
        close(ends[1]);
    }
}

static dm_span span(const char *text) {
    return dm_span_of(text, text != NULL ? strlen(text) : 0);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "probe HOST PORT [option=value...] ACTION...\n");
        return 2;
    }
    host = arguments[1];
    port = arguments[2];
    dm_transport_settings settings = {0};
    settings.host = span(host);
    settings.port = (uint16_t)atoi(port);
    settings.proxy_mode = DM_PROXY_NONE;
    int at = 3;
    for (; at < count; at++) {
        char *value = strchr(arguments[at], '=');
        const char *colon = strchr(arguments[at], ':');
        if (value == NULL || (colon != NULL && colon < value)) {
            break;
        }
        *value++ = '\0';
        const char *name = arguments[at];
        if (strcmp(name, "tls") == 0) {
            settings.tls = tls = 1;
        } else if (strcmp(name, "proxy") == 0) {
            settings.proxy_mode = DM_PROXY_URL;
            settings.proxy_url = span(value);
        } else if (strcmp(name, "ca") == 0) {
            settings.ca_file = span(value);
        } else if (strcmp(name, "cadir") == 0) {
            settings.ca_dir = span(value);
        } else if (strcmp(name, "curl") == 0) {
            settings.always_curl = 1;
        } else if (strcmp(name, "full2") == 0) {
            http2 = 1;
        } else if (strcmp(name, "any") == 0) {
            any_auth = 1;
        } else if (strcmp(name, "deadline") == 0) {
            deadline_ms = atoi(value);
        } else if (strcmp(name, "cancel") == 0) {
            cancel_ms = atoi(value);
        } else {
            fprintf(stderr, "unknown option %s\n", name);
            return 2;
        }
    }
    if (dm_transport_new(&settings, &transport, &error) != 0) {
        report("new", DM_IO_ERROR, DM_FAIL_NONE);
        printf("}\n");
        return 0;
    }
    for (; at < count; at++) {
        char *action = arguments[at];
        if (strcmp(action, "connect") == 0) {
            do_connect();
        } else if (strncmp(action, "send:", 5) == 0) {
            do_send(action + 5);
        } else if (strncmp(action, "recv:", 5) == 0) {
            do_recv((size_t)atol(action + 5));
        } else if (strncmp(action, "wait:", 5) == 0) {
            usleep((useconds_t)atoi(action + 5) * 1000);
        } else if (strcmp(action, "probe") == 0) {
            static const char *const names[] = {"alive", "closed", "bytes"};
            printf("{\"action\":\"probe\",\"found\":\"%s\"}\n",
                   names[dm_connection_probe(connection)]);
        } else if (strcmp(action, "child") == 0) {
            do_child();
        } else if (strcmp(action, "close") == 0) {
            dm_connection_close(connection);
            connection = NULL;
            printf("{\"action\":\"close\"}\n");
        } else if (strncmp(action, "full:", 5) == 0) {
            do_full(action + 5);
        } else {
            fprintf(stderr, "unknown action %s\n", action);
            return 2;
        }
        fflush(stdout);
    }
    dm_connection_close(connection);
    dm_transport_unref(transport);
    dm_error_free(&error);
    return 0;
}
