#include "traffic.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"

static void forget(struct mock_window *window, long long before) {
    while (window->count && window->times[window->first] <= before) {
        window->first++;
        window->count--;
    }
}

static void note(struct mock_window *window, long long now) {
    if (window->first + window->count == window->capacity) {
        if (window->first > window->count) {
            memcpy(window->times, window->times + window->first,
                   window->count * sizeof *window->times);
            window->first = 0;
        } else {
            window->capacity = window->capacity ? window->capacity * 2 : 64;
            window->times = mock_resize(window->times, window->capacity * sizeof *window->times);
        }
    }
    window->times[window->first + window->count++] = now;
    if (window->count > window->most)
        window->most = window->count;
}

void mock_traffic_arrive(struct mock_traffic *traffic, long long now) {
    traffic->requests++;
    forget(&traffic->arrived, now - traffic->window_ms);
    note(&traffic->arrived, now);
}

bool mock_traffic_accept(struct mock_traffic *traffic, unsigned long rate, long long now,
                         long *wait_ms) {
    struct mock_window *accepted = &traffic->accepted;
    forget(accepted, now - traffic->window_ms);
    if (accepted->count >= rate) {
        *wait_ms = (long)(accepted->times[accepted->first] + traffic->window_ms - now);
        return false;
    }
    note(accepted, now);
    return true;
}

void mock_traffic_reset(struct mock_traffic *traffic) {
    unsigned long open = traffic->connections_open;
    long window_ms = traffic->window_ms;
    mock_traffic_free(traffic);
    *traffic = (struct mock_traffic){.connections_open = open, .window_ms = window_ms};
}

void mock_traffic_free(struct mock_traffic *traffic) {
    free(traffic->arrived.times);
    free(traffic->accepted.times);
    traffic->arrived = traffic->accepted = (struct mock_window){0};
}
