#include "transport/curl_easy.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "transport/curl_shard.h"
#include "transport/lifecycle.h"

/* An hour: what a wait is cut to, so that it fits an int. */
#define WAIT_MOST_MS 3600000

#define HEADER_MOST 65536
#define BODY_MOST   (16u << 20)

/* What the callbacks fill. */
typedef struct exchange {
    const dm_curl_request *request;
    dm_curl_reply *reply;
    size_t header_bytes;
    dm_failure failure; /* of our own: limits, memory, deadline, cancel */
} exchange;

static size_t on_header(char *data, size_t unit, size_t count, void *user) {
    exchange *self = user;
    size_t len = unit * count;
    size_t most = self->request->header_most > 0 ? self->request->header_most : HEADER_MOST;
    self->header_bytes += len;
    if (self->header_bytes > most) {
        self->failure = DM_FAIL_TOO_LARGE;
        return 0;
    }
    if (len >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        dm_bytes_clear(&self->reply->headers); /* a reply of 100 or 103 came before */
        return len;
    }
    if (len > 2 && dm_bytes_append(&self->reply->headers, data, len) != 0) {
        self->failure = DM_FAIL_MEMORY;
        return 0;
    }
    return len;
}

static size_t on_body(char *data, size_t unit, size_t count, void *user) {
    exchange *self = user;
    size_t len = unit * count;
    size_t most = self->request->body_most > 0 ? self->request->body_most : BODY_MOST;
    if (len > most - self->reply->body.len) {
        self->failure = DM_FAIL_TOO_LARGE;
        return 0;
    }
    if (dm_bytes_append(&self->reply->body, data, len) != 0) {
        self->failure = DM_FAIL_MEMORY;
        return 0;
    }
    return len;
}

/* name ends in its colon. */
static int has_header(const dm_curl_request *request, const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < request->header_count; i++) {
        if (strncasecmp(request->headers[i], name, len) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The caller's headers, and an empty one for each that libcurl would add by itself. NULL: no
 * memory. */
static struct curl_slist *make_headers(const dm_curl_api *api, const dm_curl_request *request) {
    /* With the colon: an empty value takes libcurl's own header out. */
    static const char *const unwanted[] = {"Expect:", "Accept:", "Content-Type:", "User-Agent:"};
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++) {
        if (!has_header(request, unwanted[i])) {
            struct curl_slist *longer = api->slist_append(list, unwanted[i]);
            if (longer == NULL) {
                api->slist_free_all(list);
                return NULL;
            }
            list = longer;
        }
    }
    for (size_t i = 0; i < request->header_count; i++) {
        struct curl_slist *longer = api->slist_append(list, request->headers[i]);
        if (longer == NULL) {
            api->slist_free_all(list);
            return NULL;
        }
        list = longer;
    }
    return list;
}

static CURLcode set_request(const dm_curl_api *api, CURL *easy, exchange *self,
                            struct curl_slist *headers) {
    const dm_curl_request *request = self->request;
    CURLcode first = CURLE_OK;
#define SET(option, value)                                                                         \
    do {                                                                                           \
        CURLcode code_ = api->easy_setopt(easy, option, value);                                    \
        first = first != CURLE_OK ? first : code_;                                                 \
    } while (0)
    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, self);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, self);
    if (strcmp(request->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
    } else if (request->body.len > 0 || strcmp(request->method, "POST") == 0) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        SET(CURLOPT_POSTFIELDS, request->body.len > 0 ? request->body.data : "");
    }
    if (strcmp(request->method, "HEAD") != 0) {
        SET(CURLOPT_CUSTOMREQUEST, request->method);
    }
    if (request->http2) {
        SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    }
    if (request->any_proxy_auth) {
        SET(CURLOPT_PROXYAUTH, (long)CURLAUTH_ANY);
    }
    if (request->accept_gzip) {
        SET(CURLOPT_ACCEPT_ENCODING, "gzip");
    }
#undef SET
    return first;
}

/* Waits for what libcurl waits for, the cancel descriptor and the deadline; libcurl is not entered
 * and no lock is held meanwhile. */
static void wait_for(dm_transfer *transfer, exchange *self) {
    const dm_curl_request *request = self->request;
    struct pollfd fds[DM_CONNECTION_WAIT_MOST + 1];
    int timeout = -1;
    int64_t now = dm_clock_now();
    size_t count = dm_transfer_wait_set(transfer, fds, DM_CONNECTION_WAIT_MOST, now, &timeout);
    size_t cancel_at = count;
    if (request->cancel_fd >= 0) {
        fds[count++] = (struct pollfd){request->cancel_fd, POLLIN, 0};
    }
    if (request->deadline_ns != DM_NEVER) {
        int64_t left = request->deadline_ns > now
                           ? (request->deadline_ns - now + DM_NS_PER_MS - 1) / DM_NS_PER_MS
                           : 0;
        if (timeout < 0 || left < timeout) {
            timeout = left < WAIT_MOST_MS ? (int)left : WAIT_MOST_MS;
        }
    }
    int ready = poll(fds, (nfds_t)count, timeout);
    if (ready > 0 && request->cancel_fd >= 0 && fds[cancel_at].revents != 0) {
        self->failure = DM_FAIL_CANCELLED;
    } else if (dm_clock_now() >= request->deadline_ns) {
        self->failure = DM_FAIL_TIMEOUT;
    }
}

static void take_facts(const dm_curl_api *api, dm_transfer *transfer, dm_curl_reply *reply) {
    long version = 0, connects = 0;
    curl_off_t sent = 0;
    api->easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &reply->status);
    api->easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version);
    api->easy_getinfo(transfer->easy, CURLINFO_NUM_CONNECTS, &connects);
    api->easy_getinfo(transfer->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    reply->http_version = version == CURL_HTTP_VERSION_1_0   ? 10
                          : version == CURL_HTTP_VERSION_1_1 ? 11
                          : version == CURL_HTTP_VERSION_2_0 ? 20
                                                             : 0;
    reply->reused = transfer->done && transfer->result == CURLE_OK && connects == 0;
    reply->sent_bytes = sent;
    reply->times = dm_transfer_times(transfer);
}

static dm_io fail_own(dm_transport *transport, dm_curl_reply *reply, dm_failure kind,
                      dm_error *error) {
    static const char *const texts[DM_FAIL_KINDS] = {
        [DM_FAIL_TOO_LARGE] = "the reply is larger than the limit",
        [DM_FAIL_MEMORY] = "no memory",
        [DM_FAIL_CANCELLED] = "cancelled",
        [DM_FAIL_TIMEOUT] = "no whole reply came in time",
        [DM_FAIL_EXIT] = "the process is exiting",
        [DM_FAIL_FORKED] = "this client was made before a fork and belongs to the parent process",
    };
    reply->failure = kind;
    dm_fail(error, kind, "%s: %s", transport->peer.data, texts[kind]);
    return DM_IO_ERROR;
}

/* Runs the transfer to its end, a limit, the deadline or a cancel. */
static dm_io run(dm_transport *transport, dm_transfer *transfer, exchange *self, dm_error *error) {
    dm_curl_reply *reply = self->reply;
    for (;;) {
        const dm_curl_api *api = dm_transfer_enter(transfer);
        if (api == NULL) {
            return fail_own(transport, reply, DM_FAIL_EXIT, error);
        }
        if (self->failure == DM_FAIL_NONE && !transfer->done) {
            dm_transfer_step(transfer, dm_clock_now());
        }
        int ended = transfer->done || self->failure != DM_FAIL_NONE;
        dm_io result = DM_IO_OK;
        if (ended) {
            take_facts(api, transfer, reply);
            if (self->failure == DM_FAIL_NONE && transfer->result != CURLE_OK) {
                reply->failure = dm_transfer_explain(transport, transfer, transfer->result,
                                                     "no reply from", error);
                result = reply->failure == DM_FAIL_DESCRIPTORS ? DM_IO_NO_DESCRIPTORS : DM_IO_ERROR;
            }
        }
        dm_transfer_leave(transfer);
        if (self->failure != DM_FAIL_NONE) {
            return fail_own(transport, reply, self->failure, error);
        }
        if (ended) {
            return result;
        }
        wait_for(transfer, self);
    }
}

dm_io dm_curl_perform(dm_transport *transport, const dm_curl_request *request, dm_curl_reply *reply,
                      dm_error *error) {
    dm_bytes_clear(&reply->headers);
    dm_bytes_clear(&reply->body);
    reply->status = 0;
    reply->failure = DM_FAIL_NONE;
    reply->times = (dm_connection_timings){-1, -1, -1};
    reply->sent_bytes = 0;
    reply->reused = 0;
    reply->http_version = 0;
    if (transport->generation != dm_fork_generation()) {
        return fail_own(transport, reply, DM_FAIL_FORKED, error);
    }
    dm_transfer *transfer = dm_alloc(sizeof *transfer);
    if (transfer == NULL) {
        return fail_own(transport, reply, DM_FAIL_MEMORY, error);
    }
    dm_io result = dm_transfer_open(transport, transfer, &reply->failure, error);
    if (result != DM_IO_OK) {
        dm_free(transfer);
        return result;
    }
    exchange self = {request, reply, 0, DM_FAIL_NONE};
    struct curl_slist *headers = NULL;
    const dm_curl_api *api = dm_transfer_enter(transfer);
    if (api == NULL) {
        return fail_own(transport, reply, DM_FAIL_EXIT, error);
    }
    headers = make_headers(api, request);
    CURLcode code =
        headers == NULL ? CURLE_OUT_OF_MEMORY : set_request(api, transfer->easy, &self, headers);
    if (code != CURLE_OK) {
        reply->failure = dm_transfer_explain(transport, transfer, code, "could not ask", error);
        result = DM_IO_ERROR;
    }
    dm_transfer_leave(transfer);
    if (result == DM_IO_OK) {
        result = run(transport, transfer, &self, error);
    }
    if (dm_transfer_close(transport, transfer)) {
        dm_free(transfer);
    }
    if (dm_exit_gate_enter()) {
        api->slist_free_all(headers);
        dm_exit_gate_leave();
    }
    return result;
}

void dm_curl_reply_free(dm_curl_reply *reply) {
    dm_bytes_free(&reply->headers);
    dm_bytes_free(&reply->body);
}
