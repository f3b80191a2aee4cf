/* Timing for micro-benchmarks. */
#ifndef DM_BENCH_MEASURE_H
#define DM_BENCH_MEASURE_H

#include <stdint.h>
#include <time.h>

static inline uint64_t measure_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The least time in ns of one call of body(context, i), i = 0, 1, ..., over `rounds` rounds of
 * `calls` calls; the first round, which warms up, does not count. */
static inline double measure_ns(void (*body)(void *context, uint32_t i), void *context,
                                uint32_t calls, int rounds) {
    double least = 0;
    for (int round = 0; round <= rounds; round++) {
        uint64_t start = measure_now_ns();
        for (uint32_t i = 0; i < calls; i++) {
            body(context, i);
        }
        double each = (double)(measure_now_ns() - start) / calls;
        if (round == 1 || (round > 1 && each < least)) {
            least = each;
        }
    }
    return least;
}

#endif
