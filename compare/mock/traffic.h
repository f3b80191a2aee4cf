/* Counting of POST /v1/systemone, and the rate limit over a sliding window. */
#ifndef MOCK_TRAFFIC_H
#define MOCK_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

/* Times of the requests in the last window, oldest first. */
struct mock_window {
    long long *times;
    size_t first, count, capacity;
    size_t most; /* the largest count there ever was */
};

struct mock_traffic {
    unsigned long requests;
    unsigned long by_status[600]; /* [0]: no status was sent */
    unsigned long faults_fired;
    unsigned long connections_opened;
    unsigned long connections_open;
    struct mock_window arrived;  /* every request */
    struct mock_window accepted; /* those the limit let through */
    long window_ms;
};

/* Counts one request that arrived at now (ms). */
void mock_traffic_arrive(struct mock_traffic *traffic, long long now);

/* True, and the request counts as accepted, if fewer than rate were accepted in the window before
 * now. Otherwise *wait_ms is the time until the oldest leaves the window. */
bool mock_traffic_accept(struct mock_traffic *traffic, unsigned long rate, long long now,
                         long *wait_ms);

/* Back to zero, open connections excepted. */
void mock_traffic_reset(struct mock_traffic *traffic);
void mock_traffic_free(struct mock_traffic *traffic);

#endif
