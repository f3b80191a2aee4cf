/* Time: monotonic for every limit, wall only to read a date. */
#ifndef DM_BASE_CLOCK_H
#define DM_BASE_CLOCK_H

#include <stdint.h>

#define DM_NS_PER_MS INT64_C(1000000)

/* Later than any moment: "no limit". */
#define DM_NEVER INT64_MAX

/* Nanoseconds on the monotonic clock. Any thread. */
int64_t dm_clock_now(void);

/* Milliseconds since 1970-01-01 UTC. Any thread. */
int64_t dm_clock_wall_ms(void);

/* Tests only: both clocks stand at these values until set again; now < 0 gives the real clocks
 * back. Set it while no other thread reads the clock. */
void dm_clock_set_fake(int64_t now_ns, int64_t wall_ms);

#endif
