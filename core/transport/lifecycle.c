#include "transport/lifecycle.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

_Atomic uint32_t dm_fork_count;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Bit 31: the gate is closed. Below: how many threads are inside. */
#define GATE_CLOSED UINT32_C(0x80000000)
static _Atomic uint32_t gate;

/* How long the exit waits for those inside: no call waits for the network, so each is out within
 * milliseconds; the bound is for a thread that was killed or stopped inside. */
#define GATE_WAIT_MS 2000

/* A thread that finds the gate closed stays here for so long, once: were it to end at once, the TLS
 * library's thread clean-up would run beside the library's own at exit, and crash. The process is
 * gone long before, unless something at exit waits for the thread. */
#define STAY_NS 500000000L
static pthread_t leaving; /* the thread that exits; set before the gate closes */

static void in_child(void) {
    atomic_fetch_add(&dm_fork_count, 1);
    /* The threads counted inside stayed in the parent. */
    atomic_fetch_and(&gate, GATE_CLOSED);
}

static void register_fork(void) {
    pthread_atfork(NULL, NULL, in_child);
}

void dm_fork_watch(void) {
    pthread_once(&fork_once, register_fork);
}

static void close_gate(void) {
    leaving = pthread_self();
    uint32_t inside = atomic_fetch_or(&gate, GATE_CLOSED);
    for (int waited = 0; (inside & ~GATE_CLOSED) != 0 && waited < GATE_WAIT_MS; waited++) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
        inside = atomic_load(&gate);
    }
}

void dm_exit_gate_install(void) {
    atexit(close_gate);
}

int dm_exit_gate_enter(void) {
    if ((atomic_fetch_add(&gate, 1) & GATE_CLOSED) == 0) {
        return 1;
    }
    atomic_fetch_sub(&gate, 1);
    static _Thread_local int stayed;
    if (!stayed && !pthread_equal(pthread_self(), leaving)) {
        stayed = 1;
        struct timespec pause = {0, STAY_NS};
        nanosleep(&pause, NULL);
    }
    return 0;
}

void dm_exit_gate_leave(void) {
    atomic_fetch_sub(&gate, 1);
}
