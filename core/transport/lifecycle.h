/* The process's life: leaving it while threads are inside libcurl, and forking. */
#ifndef DM_TRANSPORT_LIFECYCLE_H
#define DM_TRANSPORT_LIFECYCLE_H

#include <stdatomic.h>
#include <stdint.h>

/* Steps by one in every child of a fork. An object remembers the value of its birth; another value
 * now means that this process inherited it. */
extern _Atomic uint32_t dm_fork_count;

/* Call before the first object is made (dm_transport_new does): the counter stands still without
 * it. Any thread, any number of times. */
void dm_fork_watch(void);

/* The generation of this process. Any thread, takes no lock. */
static inline uint32_t dm_fork_generation(void) {
    return atomic_load_explicit(&dm_fork_count, memory_order_relaxed);
}

/* Registers the exit gate with atexit. Exit handlers run last first, so this comes after whatever
 * registers one that libcurl must not outlive (its TLS library); several times is fine, the first
 * to run closes the gate. */
void dm_exit_gate_install(void);

/* Enters libcurl: 1, and dm_exit_gate_leave must follow; or 0 once the process is exiting, then
 * libcurl must not be called. Nested use is allowed. Any thread, never waits. */
int dm_exit_gate_enter(void);

/* Leaves libcurl. */
void dm_exit_gate_leave(void);

#endif
