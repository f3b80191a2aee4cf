/* Connections over libcurl's CONNECT_ONLY: names, TLS, tunnels. */
#include <stdio.h>

#include "base/alloc.h"
#include "transport/curl_shard.h"
#include "transport/lifecycle.h"

typedef struct dm_curl_connection {
    dm_connection base;
    dm_transfer transfer;
} dm_curl_connection;

static dm_transfer *transfer_of(dm_connection *connection) {
    return &((dm_curl_connection *)connection)->transfer;
}

static dm_io fail_exit(dm_connection *connection, dm_error *error) {
    return dm_connection_fail(connection, error, DM_FAIL_EXIT, "the process is exiting");
}

static dm_io fail_curl(dm_connection *connection, CURLcode code, const char *doing,
                       dm_error *error) {
    connection->failure =
        dm_transfer_explain(connection->transport, transfer_of(connection), code, doing, error);
    return connection->failure == DM_FAIL_DESCRIPTORS ? DM_IO_NO_DESCRIPTORS : DM_IO_ERROR;
}

static dm_io connect_done(dm_connection *connection, const dm_curl_api *api, dm_error *error) {
    dm_transfer *transfer = transfer_of(connection);
    curl_socket_t fd = CURL_SOCKET_BAD;
    CURLcode code = transfer->result;
    if (code == CURLE_OK) {
        code = api->easy_getinfo(transfer->easy, CURLINFO_ACTIVESOCKET, &fd);
    }
    if (code == CURLE_OK && fd == CURL_SOCKET_BAD) {
        code = CURLE_COULDNT_CONNECT;
    }
    if (code != CURLE_OK) {
        return fail_curl(connection, code, "could not connect to", error);
    }
    dm_transfer_settle(transfer);
    connection->fd = fd;
    connection->connected = 1;
    connection->times = dm_transfer_times(transfer);
    transfer->message[0] = '\0';
    return DM_IO_OK;
}

static dm_io curl_step(dm_connection *connection, int64_t now_ns, dm_error *error) {
    dm_transfer *transfer = transfer_of(connection);
    const dm_curl_api *api = dm_transfer_enter(transfer);
    if (api == NULL) {
        return fail_exit(connection, error);
    }
    if (!transfer->done) {
        dm_transfer_step(transfer, now_ns);
    }
    dm_io result = transfer->done ? connect_done(connection, api, error) : DM_IO_AGAIN;
    dm_transfer_leave(transfer);
    return result;
}

static size_t curl_wait_set(dm_connection *connection, struct pollfd *fds, size_t capacity,
                            int64_t now_ns, int *timeout_ms) {
    return dm_transfer_wait_set(transfer_of(connection), fds, capacity, now_ns, timeout_ms);
}

static dm_io curl_send(dm_connection *connection, const void *data, size_t len, size_t *sent,
                       dm_error *error) {
    dm_transfer *transfer = transfer_of(connection);
    const dm_curl_api *api = dm_transfer_enter(transfer);
    if (api == NULL) {
        return fail_exit(connection, error);
    }
    CURLcode code = api->easy_send(transfer->easy, data, len, sent);
    dm_io result = DM_IO_OK;
    if (code == CURLE_AGAIN || (code == CURLE_OK && *sent == 0)) {
        *sent = 0;
        result = DM_IO_AGAIN;
    } else if (code != CURLE_OK) {
        *sent = 0;
        fail_curl(connection, CURLE_SEND_ERROR, "could not send to", error);
        result = DM_IO_ERROR;
    }
    dm_transfer_leave(transfer);
    return result;
}

/* libcurl tells OpenSSL to take a bare TCP close for an orderly end; over TLS only close_notify is
 * one (RFC 9112 9.8), else the reply may have been cut by anyone on the way. */
static int cut_off(dm_transfer *transfer, const dm_curl_api *api) {
    struct curl_tlssessioninfo *session = NULL;
    const int received_shutdown = 2; /* SSL_RECEIVED_SHUTDOWN */
    return api->ssl_get_shutdown != NULL &&
           api->easy_getinfo(transfer->easy, CURLINFO_TLS_SSL_PTR, &session) == CURLE_OK &&
           session != NULL && session->backend == CURLSSLBACKEND_OPENSSL &&
           session->internals != NULL &&
           (api->ssl_get_shutdown(session->internals) & received_shutdown) == 0;
}

static dm_io curl_recv(dm_connection *connection, void *buffer, size_t capacity, size_t *got,
                       dm_error *error) {
    dm_transfer *transfer = transfer_of(connection);
    const dm_curl_api *api = dm_transfer_enter(transfer);
    if (api == NULL) {
        return fail_exit(connection, error);
    }
    CURLcode code = api->easy_recv(transfer->easy, buffer, capacity, got);
    dm_io result = code == CURLE_OK ? (*got > 0 ? DM_IO_OK : DM_IO_CLOSED) : DM_IO_AGAIN;
    if (code != CURLE_OK) {
        *got = 0;
    }
    if (result == DM_IO_CLOSED && connection->transport->tls && cut_off(transfer, api)) {
        code = CURLE_RECV_ERROR;
        snprintf(transfer->message, sizeof transfer->message,
                 "the peer closed without ending TLS (close_notify)");
    }
    if (code != CURLE_OK && code != CURLE_AGAIN) {
        fail_curl(connection, CURLE_RECV_ERROR, "could not receive from", error);
        result = DM_IO_ERROR;
    }
    dm_transfer_leave(transfer);
    return result;
}

/* Always reads: a TLS record may wait inside the TLS library, where poll does not see it. Reads on
 * while the socket is readable: GnuTLS gives AGAIN after each ticket. */
static dm_probe curl_probe(dm_connection *connection) {
    char byte;
    size_t got = 0;
    dm_io result;
    int records = 0;
    struct pollfd readable = {connection->fd, POLLIN, 0};
    do {
        result = curl_recv(connection, &byte, 1, &got, NULL);
    } while (result == DM_IO_AGAIN && ++records < 16 && poll(&readable, 1, 0) > 0);
    return result == DM_IO_AGAIN ? DM_PROBE_ALIVE
           : result == DM_IO_OK  ? DM_PROBE_BYTES
                                 : DM_PROBE_CLOSED;
}

static int curl_close(dm_connection *connection) {
    return dm_transfer_close(connection->transport, transfer_of(connection));
}

static void curl_abandon(dm_connection *connection) {
    dm_transfer_abandon(transfer_of(connection));
    connection->fd = -1;
}

static const dm_connection_kind curl_kind = {
    curl_step, curl_wait_set, curl_send, curl_recv, curl_probe, curl_close, curl_abandon,
};

dm_io dm_curl_connection_new(dm_transport *transport, dm_connection **out, dm_error *error) {
    dm_curl_connection *self = dm_alloc_zero(sizeof *self);
    if (self == NULL) {
        dm_fail(error, DM_FAIL_MEMORY, "no memory for a connection");
        return DM_IO_ERROR;
    }
    dm_failure kind = DM_FAIL_NONE;
    dm_io result = dm_transfer_open(transport, &self->transfer, &kind, error);
    if (result != DM_IO_OK) {
        dm_free(self);
        return result;
    }
    const dm_curl_api *api = dm_transfer_enter(&self->transfer);
    CURLcode code = CURLE_FAILED_INIT;
    if (api != NULL) {
        code = api->easy_setopt(self->transfer.easy, CURLOPT_URL, transport->url.data);
        if (code == CURLE_OK) {
            code = api->easy_setopt(self->transfer.easy, CURLOPT_CONNECT_ONLY, 1L);
        }
        if (code != CURLE_OK) {
            dm_transfer_explain(transport, &self->transfer, code, "could not connect to", error);
        }
        dm_transfer_leave(&self->transfer);
    } else {
        dm_fail(error, DM_FAIL_EXIT, "the process is exiting");
    }
    if (code != CURLE_OK) {
        if (dm_transfer_close(transport, &self->transfer)) {
            dm_free(self);
        }
        return DM_IO_ERROR;
    }
    self->base.kind = &curl_kind;
    *out = &self->base;
    return DM_IO_OK;
}
