/* The pace of a batch: one limiter that everything sent goes through, retries and the halves of a
 * split pack included. Does no I/O and reads no clock: every time is given, in nanoseconds of the
 * monotonic clock. One thread at a time. */
#ifndef DM_BATCH_LIMITER_H
#define DM_BATCH_LIMITER_H

#include <stdint.h>

enum { DM_WINDOW_SLOTS = 100 };

/* At most `limit` units in any window of `width_ns`: counted in slots of a hundredth of it, and the
 * oldest slot that reaches into the window counts whole, so that the limit is never passed. */
typedef struct dm_window {
    int64_t limit; /* 0: no limit */
    int64_t width_ns;
    int64_t sum;         /* of the slots that reach into the window that ends now */
    int64_t newest;      /* number of the newest slot: time / slot width */
    int64_t blocked_for; /* an amount above the whole limit keeps the window shut for longer */
    int64_t slots[DM_WINDOW_SLOTS + 1];
} dm_window;

typedef struct dm_limiter {
    dm_window requests;
    dm_window tokens;
    int64_t paused_until;
    double tokens_per_estimated; /* what replies have shown so far; 1 to begin with */
} dm_limiter;

/* Limits per so many milliseconds (1 or more); a limit of 0 is none. */
void dm_limiter_init(dm_limiter *limiter, int64_t requests, int64_t requests_ms, int64_t tokens,
                     int64_t tokens_ms);

/* When a request of so many estimated tokens may be sent: `now` or earlier means at once. A request
 * larger than the whole token limit goes when the window is empty. */
int64_t dm_limiter_when(dm_limiter *limiter, int64_t estimate, int64_t now);

/* Counts a request that is being sent. Returns the tokens that were counted for it. */
int64_t dm_limiter_take(dm_limiter *limiter, int64_t estimate, int64_t now);

/* Sets right what was counted for a request sent at `sent`, now that its real tokens are known, and
 * learns from it for the estimates to come. */
void dm_limiter_correct(dm_limiter *limiter, int64_t sent, int64_t estimate, int64_t counted,
                        int64_t real, int64_t now);

/* Nothing may be sent before that moment (Retry-After); an earlier one changes nothing. */
void dm_limiter_pause(dm_limiter *limiter, int64_t until);

#endif
