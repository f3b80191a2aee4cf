/* How many requests of a batch are in flight at once: more while that pays, half of them when the
 * server says that it is too much. Reads no clock: times are given, in nanoseconds of the monotonic
 * clock. One thread at a time. */
#ifndef DM_BATCH_ADAPTIVE_H
#define DM_BATCH_ADAPTIVE_H

#include <stdint.h>

typedef struct dm_adaptive {
    int32_t limit; /* requests at once, now */
    int32_t most;
    int32_t before;    /* the limit that the last growth came from */
    int32_t done;      /* replies in this round */
    int32_t holds;     /* rounds to go before the next try to grow */
    int saturated;     /* in this round the limit was what held requests back */
    int64_t since;     /* when this round began */
    double rate;       /* replies per second of the last full round */
    int64_t halved_at; /* requests sent before this moment halve nothing any more */
} dm_adaptive;

/* Begins with `most` allowed at once, 1 or more. */
void dm_adaptive_init(dm_adaptive *adaptive, int32_t most, int64_t now);

/* A request waited for no other reason than the limit. */
void dm_adaptive_saturated(dm_adaptive *adaptive);

/* A reply came that says nothing about load. */
void dm_adaptive_reply(dm_adaptive *adaptive, int64_t now);

/* A 429 or 529 came for a request sent at `sent`: halves, once for all that were in flight. */
void dm_adaptive_overload(dm_adaptive *adaptive, int64_t sent, int64_t now);

#endif
