/* Deemster from C: many calls from one thread with submit, step and next. */
#include <poll.h>
#include <stdlib.h>

#include "shared.h"

/* Which slot a call belongs to: a small table, open addressed. */
#define PLACES 8192

static struct {
    uint64_t id;
    size_t slot;
} places[PLACES];

static void remember(uint64_t id, size_t slot) {
    size_t place = id % PLACES;
    while (places[place].id)
        place = (place + 1) % PLACES;
    places[place].id = id;
    places[place].slot = slot;
}

/* Finds and forgets; what follows in the same run is moved up, so that no gap hides it. */
static size_t recall(uint64_t id) {
    size_t place = id % PLACES;
    while (places[place].id != id)
        place = (place + 1) % PLACES;
    size_t slot = places[place].slot;
    places[place].id = 0;
    for (size_t next = (place + 1) % PLACES; places[next].id; next = (next + 1) % PLACES) {
        uint64_t moved = places[next].id;
        places[next].id = 0;
        remember(moved, places[next].slot);
    }
    return slot;
}

static bool start(struct meter *meter, size_t slot) {
    uint64_t id = 0;
    if (!meter_begin(meter, slot))
        return false;
    if (deem_submit_text(client, set, own_setup.state.data, own_setup.state.length, NULL, &id) !=
        DEEM_OK)
        abort();
    remember(id, slot);
    return true;
}

static void drive(struct meter *meter, size_t in_flight) {
    deem_response *response = NULL;
    int32_t descriptor = -1;
    size_t open = 0;
    deem_client_fd(client, &descriptor);
    for (size_t slot = 0; slot < in_flight; slot++)
        open += start(meter, slot);
    while (open) {
        uint64_t id = 0;
        struct pollfd ready = {.fd = descriptor, .events = POLLIN};
        poll(&ready, 1, 10000);
        deem_client_step(client);
        while (deem_client_next(client, &id, &response) == DEEM_OK && id) {
            struct outcome outcome = {.noul = -1};
            size_t slot = recall(id);
            own_read(response, &outcome);
            meter_end(meter, slot, &outcome);
            open -= !start(meter, slot);
        }
    }
    deem_response_free(response);
}

int main(void) {
    return serve(&(struct contestant){.library = "deemster",
                                      .version = deem_version(),
                                      .open = own_open,
                                      .close = own_close,
                                      .drive = drive,
                                      .answer = own_answer});
}
