#include "engine/flight.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "deemster.h"

/* A reused connection that dies later than this after the last byte may have been killed by the
 * evaluation. */
#define STALE_NS (1000 * DM_NS_PER_MS)

static const char *text_of(const dm_bytes *message, const char *otherwise) {
    return message->data != NULL && message->len != 0 ? message->data : otherwise;
}

static void over(dm_flight *flight) {
    flight->phase = DM_PHASE_NONE;
}

/* Tells the call that the attempt failed. */
static int fail(dm_flight *flight, dm_call *call, int32_t code, const char *message, int final,
                int64_t now) {
    int silent = flight->reused && !flight->reader.any_byte;
    int stale =
        silent && !final && (flight->sent_at == 0 || dm_clock_now() - flight->sent_at <= STALE_NS);
    flight->keep = 0;
    over(flight);
    dm_call_fail(call, code, message, flight->sent_at != 0, final, stale, now);
    return 1;
}

static int fail_by_error(dm_flight *flight, dm_call *call, int64_t now) {
    int32_t code = flight->error.code != 0 ? flight->error.code : DEEM_E_CONNECTION;
    dm_failure kind =
        flight->connection != NULL ? dm_connection_failure(flight->connection) : DM_FAIL_NONE;
    int final = kind != DM_FAIL_NONE ? dm_failure_is_final(kind)
                                     : code < DEEM_E_CONNECTION || code > DEEM_E_TIMEOUT;
    return fail(flight, call, code, text_of(&flight->error.message, "The connection failed."),
                final, now);
}

int dm_flight_begin(dm_flight *flight, dm_call *call, dm_connection *connection, int64_t now) {
    flight->reused = connection != NULL;
    flight->keep = 0;
    flight->no_descriptors = 0;
    flight->sent = 0;
    flight->sent_at = 0;
    flight->first_byte_at = 0;
    flight->began_at = now;
    flight->connection = connection;
    dm_call_attempt(call, now);
    call->response->reused = flight->reused;
    int64_t *timing = call->response->timing_us;
    timing[DEEM_TIMING_DNS] = timing[DEEM_TIMING_CONNECT] = timing[DEEM_TIMING_TLS] =
        flight->reused ? 0 : -1;
    timing[DEEM_TIMING_FIRST_BYTE] = -1;
    dm_http1_limits limits = dm_http1_default_limits;
    limits.body = (uint64_t)call->client->max_reply_bytes;
    limits.decoded = limits.body;
    flight->reader.limits = limits;
    dm_http1_reader_reset(
        &flight->reader, &call->response->body,
        dm_span_equal(dm_bytes_span(&call->response->method), DM_LITERAL("HEAD")));
    flight->wire = dm_call_wire(call);
    if (flight->wire.data == NULL) {
        fail(flight, call, DEEM_E_MEMORY, "There was no memory for the request.", 1, now);
        return 0;
    }
    flight->phase = DM_PHASE_SEND;
    if (connection == NULL) {
        dm_io io = dm_connection_open(call->client->transport, &flight->connection, &flight->error);
        if (io == DM_IO_NO_DESCRIPTORS) {
            flight->no_descriptors = 1;
            over(flight);
            return 0;
        }
        if (io != DM_IO_OK) {
            fail_by_error(flight, call, now);
            return 0;
        }
        flight->phase = DM_PHASE_CONNECT;
    }
    return 1;
}

static void note_connect_times(dm_flight *flight, dm_call *call) {
    dm_connection_timings times = dm_connection_times(flight->connection);
    int64_t *timing = call->response->timing_us;
    timing[DEEM_TIMING_DNS] = times.dns_us;
    timing[DEEM_TIMING_CONNECT] = times.connect_us;
    timing[DEEM_TIMING_TLS] = times.tls_us;
}

/* Moves the reader's head into the response without copying the texts. */
static int take_head(dm_flight *flight, deem_response *response) {
    dm_http1_reader *reader = &flight->reader;
    response->http_status = reader->status;
    response->field_count = 0;
    if (reader->field_count > response->field_cap) {
        dm_http1_place *fields = dm_realloc(response->fields, DM_HTTP1_MAX_FIELDS * sizeof *fields);
        if (fields == NULL) {
            return -1;
        }
        response->fields = fields;
        response->field_cap = DM_HTTP1_MAX_FIELDS;
    }
    dm_bytes head = response->head;
    response->head = reader->head;
    reader->head = head;
    for (size_t i = 0; i < reader->field_count; i++) {
        dm_http1_place place = reader->fields[i];
        response->fields[i] = place;
        response->head.data[place.name + place.name_len] = '\0'; /* where the colon stood */
        response->head.data[place.value + place.value_len] = '\0';
    }
    response->field_count = (uint32_t)reader->field_count;
    return 0;
}

static int deliver(dm_flight *flight, dm_call *call, int64_t now) {
    dm_http1_reader *reader = &flight->reader;
    /* An early answer to a request that was not sent whole leaves the connection in the middle of a
     * message. */
    flight->keep = reader->reusable && flight->sent_at != 0;
    over(flight);
    if (take_head(flight, call->response) != 0 || dm_call_reply(call, now) == DEEM_E_MEMORY) {
        dm_call_end(call, DEEM_E_MEMORY, "There was no memory for the reply.", now);
    }
    return 1;
}

static int fail_by_reader(dm_flight *flight, dm_call *call, int64_t now) {
    const dm_http1_error *error = &flight->reader.error;
    const char *message = text_of(&error->message, "The reply cannot be read.");
    switch (error->problem) {
    case DM_HTTP1_TRUNCATED:
        return fail(flight, call, DEEM_E_TRUNCATED, message, 0, now);
    case DM_HTTP1_TOO_LARGE:
        return fail(flight, call, DEEM_E_INVALID_REPLY, message, 1, now);
    case DM_HTTP1_ENCODING:
        fail(flight, call, DEEM_E_INVALID_REPLY, message, 1, now);
        call->response->error.reason = DEEM_REASON_ENCODING;
        return 1;
    case DM_HTTP1_NO_MEMORY:
        return fail(flight, call, DEEM_E_MEMORY, message, 1, now);
    default:
        return fail(flight, call, DEEM_E_HTTP_FRAMING, message, 0, now);
    }
}

/* Reads until the reply is whole or nothing is left. 1 over, 0 wait, -1 nothing was read and the
 * pipe is broken. */
static int receive(dm_flight *flight, dm_call *call, char *buffer, size_t size, int64_t now) {
    for (;;) {
        size_t got = 0;
        dm_io io = dm_connection_recv(flight->connection, buffer, size, &got, &flight->error);
        if (io == DM_IO_AGAIN) {
            return 0;
        }
        if (io == DM_IO_CLOSED) {
            if (!flight->reader.any_byte) {
                return fail(flight, call, DEEM_E_TRUNCATED,
                            "The connection was closed without a reply.", 0, now);
            }
            return dm_http1_reader_eof(&flight->reader) == DM_HTTP1_COMPLETE
                       ? deliver(flight, call, now)
                       : fail_by_reader(flight, call, now);
        }
        if (io != DM_IO_OK) {
            return -1;
        }
        if (flight->first_byte_at == 0) {
            flight->first_byte_at = dm_clock_now();
            call->response->timing_us[DEEM_TIMING_FIRST_BYTE] =
                (flight->first_byte_at - (flight->sent_at != 0 ? flight->sent_at : now)) / 1000;
        }
        call->response->received += (int64_t)got;
        size_t consumed = 0;
        int state = dm_http1_reader_feed(&flight->reader, buffer, got, &consumed);
        if (state == DM_HTTP1_COMPLETE) {
            if (consumed < got) {
                flight->reader.reusable = 0;
            }
            return deliver(flight, call, now);
        }
        if (state == DM_HTTP1_FAILED) {
            return fail_by_reader(flight, call, now);
        }
    }
}

int dm_flight_step(dm_flight *flight, dm_call *call, char *buffer, size_t size, int64_t now) {
    dm_io io;
    if (flight->phase == DM_PHASE_CONNECT) {
        io = dm_connection_connect_step(flight->connection, now, &flight->error);
        if (io == DM_IO_AGAIN) {
            return 0;
        }
        if (io == DM_IO_NO_DESCRIPTORS) {
            flight->no_descriptors = 1;
            over(flight);
            return 1;
        }
        if (io != DM_IO_OK) {
            return fail_by_error(flight, call, now);
        }
        note_connect_times(flight, call);
        flight->phase = DM_PHASE_SEND;
    }
    while (flight->phase == DM_PHASE_SEND) {
        size_t sent = 0;
        io = dm_connection_send(flight->connection, flight->wire.data + flight->sent,
                                flight->wire.len - flight->sent, &sent, &flight->error);
        if (io == DM_IO_OK) {
            flight->sent += sent;
            call->response->sent += (int64_t)sent;
            if (flight->sent == flight->wire.len) {
                flight->sent_at = dm_clock_now();
                flight->phase = DM_PHASE_RECEIVE;
                return 0; /* no reply can be there yet: poll first */
            }
            continue;
        }
        /* The server may answer before it has read everything (413), and then stop reading. */
        int early = receive(flight, call, buffer, size, now);
        if (early == 1) {
            return 1;
        }
        if (io == DM_IO_AGAIN && early == 0) {
            return 0;
        }
        return fail_by_error(flight, call, now);
    }
    int result = receive(flight, call, buffer, size, now);
    return result < 0 ? fail_by_error(flight, call, now) : result;
}

int dm_flight_wants_write(const dm_flight *flight) {
    return flight->phase == DM_PHASE_SEND;
}

void dm_flight_abort(dm_flight *flight) {
    flight->keep = 0;
    over(flight);
}

dm_connection *dm_flight_take_connection(dm_flight *flight) {
    dm_connection *connection = flight->connection;
    flight->connection = NULL;
    return connection;
}

void dm_flight_free(dm_flight *flight) {
    dm_connection_close(dm_flight_take_connection(flight));
    dm_http1_reader_free(&flight->reader);
    dm_error_free(&flight->error);
}
