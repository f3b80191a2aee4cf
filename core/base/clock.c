#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t fake_now = -1;
static _Atomic int64_t fake_wall;

void dm_clock_set_fake(int64_t now_ns, int64_t wall_ms) {
    atomic_store(&fake_wall, wall_ms);
    atomic_store(&fake_now, now_ns);
}

int64_t dm_clock_now(void) {
    int64_t fake = atomic_load_explicit(&fake_now, memory_order_relaxed);
    if (__builtin_expect(fake >= 0, 0)) {
        return fake;
    }
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 * DM_NS_PER_MS + time.tv_nsec;
}

int64_t dm_clock_wall_ms(void) {
    if (__builtin_expect(atomic_load_explicit(&fake_now, memory_order_relaxed) >= 0, 0)) {
        return atomic_load_explicit(&fake_wall, memory_order_relaxed);
    }
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / DM_NS_PER_MS;
}
