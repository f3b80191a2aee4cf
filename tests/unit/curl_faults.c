/* Every call to libcurl, and every allocation of ours, fails in turn: an error each time, no crash,
 * no descriptor left open, and the transport works again afterwards. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "deemster.h"
#include "transport/connection.h"
#include "transport/curl_dl.h"
#include "transport/curl_easy.h"

static const dm_curl_api *real;
static int calls_left; /* the call that brings it to 0 fails; below 0: none */

static int fails(void) {
    return calls_left >= 0 && calls_left-- == 0;
}

static CURL *fake_easy_init(void) {
    return fails() ? NULL : real->easy_init();
}

/* On the platforms of this test a long, a pointer and a curl_off_t are passed alike. */
static CURLcode fake_setopt(CURL *easy, CURLoption option, ...) {
    va_list list;
    va_start(list, option);
    void *value = va_arg(list, void *);
    va_end(list);
    return fails() ? CURLE_OUT_OF_MEMORY : real->easy_setopt(easy, option, value);
}

static CURLcode fake_getinfo(CURL *easy, CURLINFO info, ...) {
    va_list list;
    va_start(list, info);
    void *value = va_arg(list, void *);
    va_end(list);
    return fails() ? CURLE_BAD_FUNCTION_ARGUMENT : real->easy_getinfo(easy, info, value);
}

static CURLcode fake_send(CURL *easy, const void *data, size_t len, size_t *sent) {
    return fails() ? CURLE_SEND_ERROR : real->easy_send(easy, data, len, sent);
}

static CURLcode fake_recv(CURL *easy, void *buffer, size_t len, size_t *got) {
    return fails() ? CURLE_RECV_ERROR : real->easy_recv(easy, buffer, len, got);
}

static CURLM *fake_multi_init(void) {
    return fails() ? NULL : real->multi_init();
}

static CURLMcode fake_multi_setopt(CURLM *multi, CURLMoption option, ...) {
    va_list list;
    va_start(list, option);
    void *value = va_arg(list, void *);
    va_end(list);
    return fails() ? CURLM_OUT_OF_MEMORY : real->multi_setopt(multi, option, value);
}

static CURLMcode fake_add(CURLM *multi, CURL *easy) {
    return fails() ? CURLM_OUT_OF_MEMORY : real->multi_add_handle(multi, easy);
}

static CURLMcode fake_remove(CURLM *multi, CURL *easy) {
    return fails() ? CURLM_INTERNAL_ERROR : real->multi_remove_handle(multi, easy);
}

static CURLMcode fake_action(CURLM *multi, curl_socket_t fd, int events, int *running) {
    return fails() ? CURLM_INTERNAL_ERROR : real->multi_socket_action(multi, fd, events, running);
}

static struct curl_slist *fake_append(struct curl_slist *list, const char *text) {
    return fails() ? NULL : real->slist_append(list, text);
}

static dm_curl_api table;

static void use_fake(void) {
    dm_error error = {0};
    real = dm_curl_load(&error);
    cr_assert_not_null(real, "%s", error.message.data);
    table = *real;
    table.easy_init = fake_easy_init;
    table.easy_setopt = fake_setopt;
    table.easy_getinfo = fake_getinfo;
    table.easy_send = fake_send;
    table.easy_recv = fake_recv;
    table.multi_init = fake_multi_init;
    table.multi_setopt = fake_multi_setopt;
    table.multi_add_handle = fake_add;
    table.multi_remove_handle = fake_remove;
    table.multi_socket_action = fake_action;
    table.slist_append = fake_append;
    dm_curl_set_api(&table);
}

/* A server on its own thread that answers each request alike. */
static void *serve_one(void *user) {
    int fd = *(int *)user;
    free(user);
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    char buffer[4096];
    while (recv(fd, buffer, sizeof buffer, 0) > 0 &&
           send(fd, reply, sizeof reply - 1, MSG_NOSIGNAL) > 0) {
    }
    close(fd);
    return NULL;
}

static void *serve(void *user) {
    for (;;) {
        int *fd = malloc(sizeof *fd);
        *fd = accept(*(int *)user, NULL, NULL);
        pthread_t thread;
        if (*fd < 0 || pthread_create(&thread, NULL, serve_one, fd) != 0) {
            free(fd);
            return NULL;
        }
        pthread_detach(thread);
    }
}

static uint16_t start_server(void) {
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    static int listener;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof address;
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, len), 0);
    cr_assert_eq(listen(listener, 64), 0);
    getsockname(listener, (struct sockaddr *)&address, &len);
    pthread_t thread;
    pthread_create(&thread, NULL, serve, &listener);
    pthread_detach(thread);
    return ntohs(address.sin_port);
}

/* How many descriptors are open with which the client's end of a socket could be meant: all but the
 * server's, which close on their own threads a moment later; so it counts those connected to port.
 */
static int client_sockets(uint16_t port) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct sockaddr_in peer = {0};
        socklen_t len = sizeof peer;
        int fd = atoi(entry->d_name);
        count += getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
                 peer.sin_family == AF_INET && ntohs(peer.sin_port) == port;
    }
    closedir(folder);
    return count;
}

static dm_transport *transport_to(uint16_t port, int always_curl, dm_error *error) {
    dm_transport_settings settings = {0};
    settings.host = DM_LITERAL("127.0.0.1");
    settings.port = port;
    settings.proxy_mode = DM_PROXY_NONE;
    settings.always_curl = always_curl;
    dm_transport *transport = NULL;
    dm_transport_new(&settings, &transport, error);
    return transport;
}

static void wait_for(dm_connection *connection) {
    struct pollfd fds[DM_CONNECTION_WAIT_MOST];
    int timeout = -1;
    size_t count =
        dm_connection_wait_set(connection, fds, DM_CONNECTION_WAIT_MOST, dm_clock_now(), &timeout);
    cr_assert(count > 0 || timeout >= 0);
    cr_assert_neq(poll(fds, (nfds_t)count, timeout < 0 ? 5000 : timeout) == 0 && timeout < 0, 1,
                  "nothing woke the wait");
}

/* Connects, asks and reads; DM_IO_OK only when the reply came. */
static dm_io ask(dm_transport *transport, dm_error *error) {
    dm_connection *connection = NULL;
    size_t count = 0;
    char buffer[256];
    dm_io io = dm_connection_open(transport, &connection, error);
    if (io == DM_IO_OK) {
        while ((io = dm_connection_connect_step(connection, dm_clock_now(), error)) ==
               DM_IO_AGAIN) {
            wait_for(connection);
        }
    }
    if (io == DM_IO_OK && dm_connection_probe(connection) != DM_PROBE_ALIVE) {
        io = DM_IO_CLOSED;
    }
    if (io == DM_IO_OK) {
        io = dm_connection_send(connection, "ask", 3, &count, error);
    }
    while (io == DM_IO_OK && (io = dm_connection_recv(connection, buffer, sizeof buffer, &count,
                                                      error)) == DM_IO_AGAIN) {
        wait_for(connection);
        io = DM_IO_OK;
    }
    dm_connection_close(connection);
    return io;
}

static dm_io ask_full(dm_transport *transport, uint16_t port, dm_error *error) {
    char url[60];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", (unsigned)port);
    const char *const headers[] = {"X-Test: 1"};
    dm_curl_request request = {.method = "POST",
                               .url = url,
                               .headers = headers,
                               .header_count = 1,
                               .body = DM_LITERAL("body"),
                               .deadline_ns = dm_clock_now() + 5000 * DM_NS_PER_MS,
                               .cancel_fd = -1};
    dm_curl_reply reply = {0};
    dm_io io = dm_curl_perform(transport, &request, &reply, error);
    cr_expect(io != DM_IO_OK || (reply.status == 200 && reply.body.len == 2) || calls_left < 0);
    dm_curl_reply_free(&reply);
    return io;
}

/* One round: a new transport, two connections and two exchanges by full libcurl. The number that
 * went well, of 4. */
static int round_of_calls(uint16_t port, int always_curl) {
    dm_error error = {0};
    dm_transport *transport = transport_to(port, always_curl, &error);
    int good = 0;
    if (transport == NULL) {
        cr_expect_eq(error.code, DEEM_E_MEMORY);
        dm_error_free(&error);
        return 0;
    }
    for (int i = 0; i < 4; i++) {
        dm_error_clear(&error);
        dm_io io = i < 2 ? ask(transport, &error) : ask_full(transport, port, &error);
        good += io == DM_IO_OK;
        cr_expect(io == DM_IO_OK || io == DM_IO_CLOSED || error.code != DEEM_OK);
    }
    dm_transport_unref(transport);
    dm_error_free(&error);
    return good;
}

Test(curl_faults, every_call_of_libcurl) {
    uint16_t port = start_server();
    use_fake();
    calls_left = -1;
    cr_assert_eq(round_of_calls(port, 1), 4);
    int rows = 0, bad = 0;
    for (int nth = 0;; nth++) {
        calls_left = nth;
        int good = round_of_calls(port, 1);
        if (calls_left >= 0) {
            cr_expect_eq(good, 4);
            break; /* there are no more calls than that */
        }
        rows++;
        bad += good < 4;
        cr_expect_geq(good, 3, "call %d: %d", nth, good);
        cr_expect_eq(client_sockets(port), 0, "call %d leaves a socket open", nth);
    }
    cr_expect_gt(rows, 60);
    cr_expect_gt(bad, 40);
    dm_curl_set_api(NULL);
}

static int allocations_left;

static int gate(size_t size, void *user) {
    (void)size;
    (void)user;
    return allocations_left < 0 || allocations_left-- != 0;
}

Test(curl_faults, every_allocation) {
    uint16_t port = start_server();
    for (int always_curl = 0; always_curl < 2; always_curl++) {
        allocations_left = -1;
        cr_assert_eq(round_of_calls(port, always_curl), 4);
        dm_alloc_set_gate(gate, NULL);
        int rows = 0;
        for (int nth = 0;; nth++) {
            allocations_left = nth;
            int good = round_of_calls(port, always_curl);
            if (allocations_left >= 0) {
                cr_expect_eq(good, 4);
                break;
            }
            rows++;
            cr_expect(good == 0 || good == 3, "allocation %d: %d", nth, good);
            cr_expect_eq(client_sockets(port), 0, "allocation %d leaves a socket open", nth);
        }
        dm_alloc_set_gate(NULL, NULL);
        cr_expect_gt(rows, 5);
    }
}

/* A libcurl that is too old, or lacks what is needed, is refused in one sentence. */
static curl_version_info_data version;
static CURLcode init_result;

static curl_version_info_data *fake_version(CURLversion age) {
    (void)age;
    return &version;
}

static CURLcode fake_global_init(long flags) {
    (void)flags;
    return init_result;
}

Test(curl_faults, unfit_libraries) {
    static const struct {
        unsigned number;
        int features;
        CURLcode init;
        const char *word; /* NULL: fit */
    } rows[] = {
        {0x075700, CURL_VERSION_ASYNCHDNS | CURL_VERSION_SSL, CURLE_OK, NULL},
        {0x081200, CURL_VERSION_ASYNCHDNS | CURL_VERSION_SSL, CURLE_OK, NULL},
        {0x075600, CURL_VERSION_ASYNCHDNS | CURL_VERSION_SSL, CURLE_OK, "7.87 or newer"},
        {0x075700, CURL_VERSION_SSL, CURLE_OK, "asynchronous name look-ups"},
        {0x075700, CURL_VERSION_ASYNCHDNS, CURLE_OK, "TLS"},
        {0x075700, CURL_VERSION_ASYNCHDNS | CURL_VERSION_SSL, CURLE_FAILED_INIT, "initialised"},
    };
    use_fake();
    table.version_info = fake_version;
    table.global_init = fake_global_init;
    version.version = "9.8.7-text";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dm_error error = {0};
        version.version_num = rows[i].number;
        version.features = rows[i].features;
        init_result = rows[i].init;
        cr_expect_eq(dm_curl_start(&table, &error), rows[i].word == NULL ? 0 : -1);
        if (rows[i].word != NULL) {
            cr_expect_eq(error.code, DEEM_E_UNSUPPORTED);
            cr_expect(strstr(error.message.data, rows[i].word) != NULL, "%s", error.message.data);
        }
        dm_error_free(&error);
    }
    dm_curl_set_api(NULL);
}
