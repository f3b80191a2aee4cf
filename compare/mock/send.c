#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <gnutls/gnutls.h>

#include "server.h"

static int socket_of(struct mock_exchange *exchange) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* Sends bytes past libmicrohttpd, which has written nothing on this exchange. */
static bool send_bytes(struct mock_exchange *exchange, const char *bytes, size_t length) {
    int descriptor = socket_of(exchange);
    gnutls_session_t session = NULL;
    if (exchange->server->options->certificate)
        session = (gnutls_session_t)MHD_get_connection_info(exchange->connection,
                                                            MHD_CONNECTION_INFO_GNUTLS_SESSION)
                      ->tls_session;
    while (length) {
        ssize_t sent;
        bool again;
        if (session) {
            sent = gnutls_record_send(session, bytes, length);
            again = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED;
        } else {
            sent = send(descriptor, bytes, length, MSG_NOSIGNAL);
            again = sent < 0 && (errno == EAGAIN || errno == EINTR);
        }
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        } else if (!again) {
            return false;
        } else {
            struct pollfd wait = {.fd = descriptor, .events = POLLOUT};
            if (poll(&wait, 1, 1000) <= 0)
                return false;
        }
    }
    return true;
}

static bool send_buffer(struct mock_exchange *exchange, struct mock_buffer *bytes) {
    bool sent = send_bytes(exchange, bytes->data, bytes->length);
    mock_buffer_free(bytes);
    return sent;
}

/* Aborts the connection: the peer gets RST at once (disconnecting a TCP socket does that). */
static void reset(struct mock_exchange *exchange) {
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (connect(socket_of(exchange), &nowhere, sizeof nowhere) < 0)
        perror("deemster-mock: reset");
}

/* The head of a reply that we write ourselves; framing is the header for the body's length. */
static void put_head(struct mock_buffer *out, const struct mock_reply *reply, const char *framing) {
    mock_buffer_print(out, "HTTP/1.1 %d %s\r\nConnection: close\r\n", reply->status,
                      mock_reply_phrase(reply->status));
    if (reply->content_type)
        mock_buffer_print(out, "Content-Type: %s\r\n", reply->content_type);
    for (size_t i = 0; i < reply->header_count; i++)
        mock_buffer_print(out, "%s: %s\r\n", reply->names[i], reply->values[i]);
    mock_buffer_print(out, "%s\r\n", framing);
}

static void put_head_with_length(struct mock_buffer *out, const struct mock_reply *reply,
                                 size_t length) {
    char framing[48];
    snprintf(framing, sizeof framing, "Content-Length: %zu\r\n", length);
    put_head(out, reply, framing);
}

/* Replies that the connection does not outlive. */
static enum MHD_Result send_and_close(struct mock_exchange *exchange) {
    struct mock_reply *reply = &exchange->reply;
    struct mock_buffer out = {0};
    size_t length = reply->body.length, keep = length;
    switch (reply->wire) {
    case MOCK_FAULT_CUT_HEAD:
        put_head_with_length(&out, reply, length);
        keep = reply->wire_number ? (size_t)reply->wire_number : out.length / 2;
        if (keep < out.length)
            out.length = keep;
        keep = 0;
        break;
    case MOCK_FAULT_NO_LENGTH:
        put_head(&out, reply, "");
        break;
    case MOCK_FAULT_NO_LENGTH_CUT:
        put_head(&out, reply, "");
        keep = length / 2;
        break;
    case MOCK_FAULT_CHUNKED_CUT:
        put_head(&out, reply, "Transfer-Encoding: chunked\r\n");
        mock_buffer_print(&out, "%zx\r\n", length);
        mock_buffer_add(&out, reply->body.data, length);
        mock_buffer_print(&out, "\r\n");
        keep = 0;
        break;
    case MOCK_FAULT_GZIP_LENGTH:
        mock_reply_header(reply, "Content-Encoding", "gzip");
        put_head_with_length(&out, reply, length);
        mock_reply_pack(&reply->body, 31);
        keep = reply->body.length < length ? reply->body.length : length;
        break;
    case MOCK_FAULT_RAW:
        break;
    case MOCK_FAULT_HANG_BODY:
        put_head_with_length(&out, reply, length);
        keep = (size_t)reply->wire_number < length ? (size_t)reply->wire_number : length;
        break;
    case MOCK_FAULT_CUT:
        put_head_with_length(&out, reply, length);
        keep = reply->wire_number ? (size_t)reply->wire_number : length / 2;
        if (keep >= length)
            keep = length ? length - 1 : 0;
        break;
    case MOCK_FAULT_RESET_BODY:
        put_head_with_length(&out, reply, length);
        keep = length / 2;
        break;
    default:
        put_head_with_length(&out, reply, length);
    }
    mock_buffer_add(&out, reply->body.data, keep);
    bool sent = send_buffer(exchange, &out);
    if (sent && reply->wire == MOCK_FAULT_HANG_BODY) {
        mock_suspend(exchange, -1);
        return MHD_YES;
    }
    if (reply->wire == MOCK_FAULT_RESET_BODY)
        reset(exchange);
    return MHD_NO;
}

static enum MHD_Result drip(struct mock_exchange *exchange) {
    struct mock_reply *reply = &exchange->reply;
    if (!exchange->head_sent) {
        struct mock_buffer out = {0};
        put_head_with_length(&out, reply, reply->body.length);
        exchange->head_sent = true;
        if (!send_buffer(exchange, &out))
            return MHD_NO;
    } else if (!send_bytes(exchange, reply->body.data + exchange->sent++, 1)) {
        return MHD_NO;
    }
    if (exchange->sent == reply->body.length)
        return MHD_NO;
    mock_suspend(exchange, reply->wire_number);
    return MHD_YES;
}

static ssize_t read_chunk(void *context, uint64_t position, char *out, size_t room) {
    struct mock_exchange *exchange = context;
    const struct mock_buffer *body = &exchange->reply.body;
    size_t chunk = exchange->reply.wire_number ? (size_t)exchange->reply.wire_number : 1;
    size_t left = body->length - (size_t)position;
    if (!left)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (chunk > left)
        chunk = left;
    if (chunk > room)
        chunk = room;
    memcpy(out, body->data + position, chunk);
    return (ssize_t)chunk;
}

static enum MHD_Result send_whole(struct mock_exchange *exchange) {
    struct mock_reply *reply = &exchange->reply;
    bool chunked = reply->wire == MOCK_FAULT_CHUNKED;
    struct MHD_Response *response =
        chunked
            ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_chunk, exchange, NULL)
            : MHD_create_response_from_buffer(reply->body.length, reply->body.data,
                                              MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    bool taken = true;
    if (reply->content_type)
        taken = MHD_add_response_header(response, "Content-Type", reply->content_type) == MHD_YES;
    for (size_t i = 0; i < reply->header_count && taken; i++)
        taken = MHD_add_response_header(response, reply->names[i], reply->values[i]) == MHD_YES;
    if (chunked && taken)
        taken = MHD_add_response_footer(response, "X-Trailer", "mock") == MHD_YES &&
                MHD_add_response_footer(response, "Server-Timing", "mock;dur=1") == MHD_YES;
    enum MHD_Result result = MHD_NO;
    if (taken)
        result = MHD_queue_response(exchange->connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    /* An empty value, or a header that libmicrohttpd keeps for itself: by hand, then. */
    return taken ? result : send_and_close(exchange);
}

enum MHD_Result mock_send(struct mock_exchange *exchange) {
    static const char interim[] = "HTTP/1.1 102 Processing\r\n\r\n"
                                  "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n";
    switch (exchange->reply.wire) {
    case MOCK_FAULT_HANG:
        mock_suspend(exchange, -1);
        return MHD_YES;
    case MOCK_FAULT_DRIP:
        return drip(exchange);
    case MOCK_FAULT_RESET:
        reset(exchange);
        return MHD_NO;
    case MOCK_FAULT_CLOSE:
        return MHD_NO;
    case MOCK_FAULT_CONTINUE:
        if (!send_bytes(exchange, interim, sizeof interim - 1))
            return MHD_NO;
        return send_whole(exchange);
    case MOCK_FAULT_CLOSE_AFTER:
        exchange->close_after = true;
        return send_whole(exchange);
    case MOCK_FAULT_CHUNKED:
    case MOCK_FAULT_KINDS:
        return send_whole(exchange);
    default:
        return send_and_close(exchange);
    }
}
