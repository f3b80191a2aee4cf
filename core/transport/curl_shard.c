#include "transport/curl_shard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "transport/lifecycle.h"
#include "transport/wake.h"

/* An hour: what a wait is cut to, so that it fits an int. */
#define WAIT_MOST_MS 3600000

struct dm_shard {
    dm_shard *next;
    const dm_curl_api *api;
    unsigned reserved; /* places taken; under the transport's lock */
    pthread_mutex_t lock;
    CURLM *multi;
    dm_transfer *transfers[DM_SHARD_MOST];
    dm_transfer *stepping; /* whose thread is inside: it need not be woken */
    int64_t timer_ns;      /* when libcurl wants to be called */
    int timer_told;        /* by the timer callback, since last cleared */
};

const dm_curl_api *dm_transfer_enter(dm_transfer *transfer) {
    if (!dm_exit_gate_enter()) {
        return NULL;
    }
    pthread_mutex_lock(&transfer->shard->lock);
    return transfer->api;
}

void dm_transfer_leave(dm_transfer *transfer) {
    pthread_mutex_unlock(&transfer->shard->lock);
    dm_exit_gate_leave();
}

/* libcurl's callbacks: all run inside a call of ours, so the lock is held. */

static void changed(dm_transfer *transfer) {
    if (transfer != transfer->shard->stepping && transfer->wake >= 0) {
        dm_wake_signal(transfer->wake);
    }
}

static void unwatch(dm_transfer *transfer, int fd) {
    for (size_t i = 0; i < transfer->watch_count; i++) {
        if (transfer->watches[i].fd == fd) {
            transfer->watches[i] = transfer->watches[--transfer->watch_count];
            changed(transfer);
            return;
        }
    }
}

static void watch(dm_transfer *transfer, int fd, int what) {
    short events =
        (short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0));
    size_t i = 0;
    while (i < transfer->watch_count && transfer->watches[i].fd != fd) {
        i++;
    }
    if (i == DM_WATCHES_MOST) {
        return; /* libcurl's own timers still drive it */
    }
    transfer->watch_count += i == transfer->watch_count;
    transfer->watches[i] = (struct pollfd){fd, events, 0};
    changed(transfer);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *unused) {
    (void)unused;
    dm_shard *shard = user;
    for (size_t i = 0; i < DM_SHARD_MOST; i++) {
        dm_transfer *transfer = shard->transfers[i];
        if (transfer == NULL) {
            continue;
        }
        if (what == CURL_POLL_REMOVE) {
            unwatch(transfer, fd);
        } else if (transfer->easy == easy) {
            watch(transfer, fd, what);
        }
    }
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *user) {
    (void)multi;
    dm_shard *shard = user;
    shard->timer_told = 1;
    shard->timer_ns = timeout_ms < 0    ? DM_NEVER
                      : timeout_ms == 0 ? INT64_MIN
                                        : dm_clock_now() + timeout_ms * DM_NS_PER_MS;
    return 0;
}

static curl_socket_t on_open_socket(void *user, curlsocktype purpose,
                                    struct curl_sockaddr *address) {
    (void)purpose;
    dm_transfer *transfer = user;
    size_t i = 0;
    while (i < DM_WATCHES_MOST && atomic_load(&transfer->sockets[i]) >= 0) {
        i++;
    }
    if (i == DM_WATCHES_MOST) {
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0) {
        transfer->descriptors_gone |= errno == EMFILE || errno == ENFILE;
        return CURL_SOCKET_BAD;
    }
    atomic_store(&transfer->sockets[i], fd);
    return fd;
}

/* Given the shard, not the transfer: a newer libcurl may close a connection after its handle. */
static int on_close_socket(void *user, curl_socket_t fd) {
    dm_shard *shard = user;
    for (size_t i = 0; i < DM_SHARD_MOST; i++) {
        for (size_t j = 0; shard->transfers[i] != NULL && j < DM_WATCHES_MOST; j++) {
            int expected = fd;
            atomic_compare_exchange_strong(&shard->transfers[i]->sockets[j], &expected, -1);
        }
    }
    return close(fd);
}

static dm_shard *new_shard(const dm_curl_api *api) {
    dm_shard *shard = dm_alloc_zero(sizeof *shard);
    if (shard == NULL) {
        return NULL;
    }
    shard->api = api;
    shard->timer_ns = DM_NEVER;
    shard->multi = api->multi_init();
    if (shard->multi != NULL &&
        (api->multi_setopt(shard->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
         api->multi_setopt(shard->multi, CURLMOPT_SOCKETDATA, shard) != CURLM_OK ||
         api->multi_setopt(shard->multi, CURLMOPT_TIMERFUNCTION, on_timer) != CURLM_OK ||
         api->multi_setopt(shard->multi, CURLMOPT_TIMERDATA, shard) != CURLM_OK ||
         /* Each HTTP/2 exchange on its own connection: a shared one has one socket callback. */
         api->multi_setopt(shard->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING) !=
             CURLM_OK)) {
        api->multi_cleanup(shard->multi);
        shard->multi = NULL;
    }
    if (shard->multi == NULL) {
        dm_free(shard);
        return NULL;
    }
    pthread_mutex_init(&shard->lock, NULL);
    return shard;
}

/* A shard of the table with a free place, which is taken. NULL: no memory. */
static dm_shard *reserve(dm_transport *transport, const dm_curl_api *api) {
    pthread_mutex_lock(&transport->lock);
    dm_shard *shard = transport->shards;
    while (shard != NULL && (shard->reserved == DM_SHARD_MOST || shard->api != api)) {
        shard = shard->next;
    }
    if (shard == NULL) {
        shard = new_shard(api);
        if (shard != NULL) {
            shard->next = transport->shards;
            transport->shards = shard;
        }
    }
    if (shard != NULL) {
        shard->reserved++;
    }
    pthread_mutex_unlock(&transport->lock);
    return shard;
}

static void release(dm_transport *transport, dm_shard *shard) {
    pthread_mutex_lock(&transport->lock);
    shard->reserved--;
    pthread_mutex_unlock(&transport->lock);
}

/* The options of every handle. The first code that is not OK. */
static CURLcode set_options(const dm_transport *transport, dm_transfer *transfer) {
    const dm_curl_api *api = transfer->api;
    CURL *easy = transfer->easy;
    CURLcode first = CURLE_OK;
#define SET(option, value)                                                                         \
    do {                                                                                           \
        CURLcode code_ = api->easy_setopt(easy, option, value);                                    \
        first = first != CURLE_OK ? first : code_;                                                 \
    } while (0)
    const dm_proxy *proxy = &transport->proxy;
    int proxied = transport->has_proxy && transport->route != DM_ROUTE_ABSOLUTE;
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_ERRORBUFFER, transfer->message);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    SET(CURLOPT_OPENSOCKETDATA, transfer);
    SET(CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
    SET(CURLOPT_CLOSESOCKETDATA, transfer->shard);
    /* Ours: the attempt's limit. libcurl's default of 300 s would cut in. */
    SET(CURLOPT_CONNECTTIMEOUT_MS, 24L * 3600 * 1000);
    SET(CURLOPT_NOPROXY, "");
    SET(CURLOPT_PROXY, proxied ? proxy->url.data : "");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    /* Each given or none: libcurl's built-in folder would be read at every handshake. */
    const char *file = transport->ca.file.len > 0 ? transport->ca.file.data : NULL;
    const char *dir = transport->ca.dir.len > 0 ? transport->ca.dir.data : NULL;
    SET(CURLOPT_CAINFO, file);
    SET(CURLOPT_CAPATH, dir);
    if (transport->has_proxy && proxy->scheme == DM_PROXY_HTTPS) {
        SET(CURLOPT_PROXY_CAINFO, file);
        SET(CURLOPT_PROXY_CAPATH, dir);
    }
    if (proxied && proxy->has_user) {
        SET(CURLOPT_PROXYUSERNAME, proxy->user.len > 0 ? proxy->user.data : "");
        SET(CURLOPT_PROXYPASSWORD, proxy->password.len > 0 ? proxy->password.data : "");
        SET(CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC);
    }
#undef SET
    return first;
}

static dm_io open_failed(dm_transport *transport, dm_transfer *transfer, dm_failure *kind,
                         dm_failure what, const char *text, dm_error *error) {
    if (transfer->easy != NULL) {
        transfer->api->easy_cleanup(transfer->easy);
    }
    if (transfer->wake >= 0) {
        close(transfer->wake);
    }
    if (transfer->shard != NULL) {
        release(transport, transfer->shard);
    }
    *kind = what;
    dm_fail(error, what, "could not make a connection to %s: %s", transport->peer.data, text);
    return what == DM_FAIL_DESCRIPTORS ? DM_IO_NO_DESCRIPTORS : DM_IO_ERROR;
}

static dm_io open_inside(dm_transport *transport, const dm_curl_api *api, dm_transfer *transfer,
                         dm_failure *kind, dm_error *error) {
    transfer->api = api;
    transfer->shard = reserve(transport, api);
    if (transfer->shard == NULL) {
        return open_failed(transport, transfer, kind, DM_FAIL_MEMORY, "no memory", error);
    }
    transfer->wake = dm_wake_open();
    if (transfer->wake < 0) {
        return open_failed(transport, transfer, kind, dm_errno_failure(errno), dm_errno_text(errno),
                           error);
    }
    transfer->easy = api->easy_init();
    if (transfer->easy == NULL) {
        return open_failed(transport, transfer, kind, DM_FAIL_MEMORY, "no memory", error);
    }
    CURLcode code = set_options(transport, transfer);
    if (code != CURLE_OK) {
        return open_failed(transport, transfer, kind,
                           code == CURLE_OUT_OF_MEMORY ? DM_FAIL_MEMORY : DM_FAIL_LIBCURL,
                           api->easy_strerror(code), error);
    }
    pthread_mutex_lock(&transfer->shard->lock);
    size_t place = 0;
    while (transfer->shard->transfers[place] != NULL) {
        place++;
    }
    transfer->shard->transfers[place] = transfer;
    pthread_mutex_unlock(&transfer->shard->lock);
    return DM_IO_OK;
}

dm_io dm_transfer_open(dm_transport *transport, dm_transfer *transfer, dm_failure *kind,
                       dm_error *error) {
    memset(transfer, 0, sizeof *transfer);
    transfer->wake = -1;
    for (size_t i = 0; i < DM_WATCHES_MOST; i++) {
        atomic_init(&transfer->sockets[i], -1);
    }
    const dm_curl_api *api = dm_curl_load(error);
    if (api == NULL) {
        *kind = DM_FAIL_LIBCURL;
        return DM_IO_ERROR;
    }
    if (!dm_exit_gate_enter()) {
        *kind = DM_FAIL_EXIT;
        dm_fail(error, DM_FAIL_EXIT, "the process is exiting");
        return DM_IO_ERROR;
    }
    dm_io result = open_inside(transport, api, transfer, kind, error);
    dm_exit_gate_leave();
    return result;
}

static void finish(dm_transfer *transfer, CURLcode result) {
    transfer->done = 1;
    transfer->result = result;
    changed(transfer);
}

static void read_messages(dm_shard *shard) {
    int left = 0;
    for (CURLMsg *message = shard->api->multi_info_read(shard->multi, &left); message != NULL;
         message = shard->api->multi_info_read(shard->multi, &left)) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        for (size_t i = 0; i < DM_SHARD_MOST; i++) {
            dm_transfer *transfer = shard->transfers[i];
            if (transfer != NULL && transfer->easy == message->easy_handle) {
                finish(transfer, message->data.result);
            }
        }
    }
}

/* Lets libcurl handle one socket, or its timers; a failure of the multi ends this transfer. */
static void act(dm_transfer *transfer, curl_socket_t fd, int flags) {
    dm_shard *shard = transfer->shard;
    int running = 0;
    CURLMcode code = shard->api->multi_socket_action(shard->multi, fd, flags, &running);
    if (code != CURLM_OK && !transfer->done) {
        finish(transfer, code == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT);
    }
}

void dm_transfer_step(dm_transfer *transfer, int64_t now_ns) {
    dm_shard *shard = transfer->shard;
    shard->stepping = transfer;
    dm_wake_clear(transfer->wake);
    if (!transfer->added && !transfer->done) {
        CURLMcode code = shard->api->multi_add_handle(shard->multi, transfer->easy);
        transfer->added = code == CURLM_OK;
        if (!transfer->added) {
            finish(transfer, code == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT);
        }
    }
    struct pollfd ready[DM_WATCHES_MOST];
    size_t count = transfer->watch_count;
    memcpy(ready, transfer->watches, count * sizeof ready[0]);
    if (count > 0 && poll(ready, (nfds_t)count, 0) > 0) {
        for (size_t i = 0; i < count && !transfer->done; i++) {
            short seen = ready[i].revents;
            int flags = (seen & (POLLIN | POLLHUP) ? CURL_CSELECT_IN : 0) |
                        (seen & POLLOUT ? CURL_CSELECT_OUT : 0) |
                        (seen & (POLLERR | POLLNVAL) ? CURL_CSELECT_ERR : 0);
            if (flags != 0) {
                act(transfer, ready[i].fd, flags);
            }
        }
    }
    for (int round = 0; round < 8 && shard->timer_ns <= now_ns && !transfer->done; round++) {
        shard->timer_told = 0;
        act(transfer, CURL_SOCKET_TIMEOUT, 0);
        if (!shard->timer_told && shard->timer_ns <= now_ns) {
            /* Not told anew, so libcurl found nothing due yet: ask again soon. */
            shard->timer_ns = now_ns + DM_NS_PER_MS;
        }
        read_messages(shard);
    }
    read_messages(shard);
    shard->stepping = NULL;
}

size_t dm_transfer_wait_set(dm_transfer *transfer, struct pollfd *fds, size_t capacity,
                            int64_t now_ns, int *timeout_ms) {
    pthread_mutex_lock(&transfer->shard->lock);
    size_t count = 0;
    while (count < transfer->watch_count && count + 1 < capacity) {
        fds[count] = transfer->watches[count];
        count++;
    }
    int64_t timer_ns = transfer->shard->timer_ns;
    if (!transfer->added || transfer->done || timer_ns <= now_ns) {
        *timeout_ms = 0;
    } else if (timer_ns == DM_NEVER) {
        *timeout_ms = -1;
    } else {
        int64_t wait = (timer_ns - now_ns + DM_NS_PER_MS - 1) / DM_NS_PER_MS;
        *timeout_ms = wait < WAIT_MOST_MS ? (int)wait : WAIT_MOST_MS;
    }
    pthread_mutex_unlock(&transfer->shard->lock);
    if (count < capacity) {
        fds[count++] = (struct pollfd){transfer->wake, POLLIN, 0};
    }
    return count;
}

void dm_transfer_settle(dm_transfer *transfer) {
    if (transfer->wake >= 0) {
        close(transfer->wake);
        transfer->wake = -1;
    }
}

int dm_transfer_close(dm_transport *transport, dm_transfer *transfer) {
    dm_shard *shard = transfer->shard;
    const dm_curl_api *api = dm_transfer_enter(transfer);
    if (api == NULL) {
        return 0;
    }
    if (transfer->added) {
        api->multi_remove_handle(shard->multi, transfer->easy);
    }
    api->easy_cleanup(transfer->easy);
    for (size_t i = 0; i < DM_SHARD_MOST; i++) {
        if (shard->transfers[i] == transfer) {
            shard->transfers[i] = NULL;
        }
    }
    dm_transfer_settle(transfer);
    dm_transfer_leave(transfer);
    release(transport, shard);
    return 1;
}

void dm_transfer_abandon(dm_transfer *transfer) {
    for (size_t i = 0; i < DM_WATCHES_MOST; i++) {
        int fd = atomic_exchange(&transfer->sockets[i], -1);
        if (fd >= 0) {
            close(fd);
        }
    }
    dm_transfer_settle(transfer);
}

void dm_shards_free(dm_transport *transport) {
    if (transport->shards == NULL || transport->generation != dm_fork_generation() ||
        !dm_exit_gate_enter()) {
        return;
    }
    while (transport->shards != NULL) {
        dm_shard *shard = transport->shards;
        transport->shards = shard->next;
        shard->api->multi_cleanup(shard->multi);
        pthread_mutex_destroy(&shard->lock);
        dm_free(shard);
    }
    dm_exit_gate_leave();
}

dm_connection_timings dm_transfer_times(dm_transfer *transfer) {
    const dm_curl_api *api = transfer->api;
    curl_off_t dns = 0, connect = 0, tls = 0;
    api->easy_getinfo(transfer->easy, CURLINFO_NAMELOOKUP_TIME_T, &dns);
    api->easy_getinfo(transfer->easy, CURLINFO_CONNECT_TIME_T, &connect);
    api->easy_getinfo(transfer->easy, CURLINFO_APPCONNECT_TIME_T, &tls);
    dm_connection_timings times = {dns > 0 ? dns : -1, connect > 0 ? connect - dns : -1,
                                   tls > 0 ? tls - connect : -1};
    return times;
}
