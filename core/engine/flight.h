/* One attempt over one connection, without waiting: connect, send, read the reply. */
#ifndef DM_ENGINE_FLIGHT_H
#define DM_ENGINE_FLIGHT_H

#include <stdint.h>

#include "engine/call.h"
#include "http1/reader.h"
#include "transport/connection.h"

typedef enum dm_phase {
    DM_PHASE_NONE = 0,
    DM_PHASE_CONNECT,
    DM_PHASE_SEND,
    DM_PHASE_RECEIVE
} dm_phase;

typedef struct dm_flight {
    dm_connection *connection; /* owned while the flight is on, and after it until taken */
    dm_phase phase;
    int reused;
    int keep;           /* the flight is over and its connection may serve again */
    int no_descriptors; /* the flight could not begin: the process has no descriptor left */
    size_t sent;
    int64_t began_at;
    int64_t sent_at; /* when the last byte went out; 0: not all of it yet */
    int64_t first_byte_at;
    dm_span wire;
    dm_http1_reader reader;
    dm_error error; /* scratch */
} dm_flight;

/* Begins the call's due attempt on an idle connection, or (connection NULL) on a new one. 1 when it
 * is on its way; 0 when it is over already (the call has been told) or flight->no_descriptors is
 * set. */
int dm_flight_begin(dm_flight *flight, dm_call *call, dm_connection *connection, int64_t now);

/* Does what can be done without waiting. buffer receives (size bytes, may be shared between
 * flights). 1 when the flight is over and the call has been told; 0 when it must wait:
 * dm_connection_wait_set (and dm_flight_wants_write). */
int dm_flight_step(dm_flight *flight, dm_call *call, char *buffer, size_t size, int64_t now);

/* Whether the connected flight waits to send. */
int dm_flight_wants_write(const dm_flight *flight);

/* Ends the flight for an outside reason (limit passed, cancelled); the call is not told. */
void dm_flight_abort(dm_flight *flight);

/* Whether every byte of the request went out. */
static inline int dm_flight_is_sent(const dm_flight *flight) {
    return flight->sent_at != 0;
}

/* Takes the connection out, to be kept or closed. */
dm_connection *dm_flight_take_connection(dm_flight *flight);

/* Gives the memory back; closes a connection that is still there. */
void dm_flight_free(dm_flight *flight);

#endif
