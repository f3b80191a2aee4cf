#include "batch/limiter.h"

#include <string.h>

#include "base/clock.h"

/* How much one reply moves the learned ratio, and the bounds of the ratio. */
static const double LEARN = 0.1, LEAST_RATIO = 0.05, MOST_RATIO = 20;

static int64_t slot_ns(const dm_window *window) {
    return (window->width_ns + DM_WINDOW_SLOTS - 1) / DM_WINDOW_SLOTS;
}

static int64_t *slot_at(dm_window *window, int64_t number) {
    return &window->slots[number % (DM_WINDOW_SLOTS + 1)];
}

static void window_init(dm_window *window, int64_t limit, int64_t width_ms) {
    memset(window, 0, sizeof *window);
    window->limit = limit;
    window->width_ns = width_ms * DM_NS_PER_MS;
}

/* Empties the slots that have left the window. */
static void advance(dm_window *window, int64_t now) {
    int64_t number = now / slot_ns(window);
    if (number - window->newest > DM_WINDOW_SLOTS) {
        memset(window->slots, 0, sizeof window->slots);
        window->sum = 0;
        window->newest = number;
    }
    while (window->newest < number) {
        window->newest++;
        int64_t *slot = slot_at(window, window->newest);
        window->sum -= *slot;
        *slot = 0;
    }
}

static int64_t window_when(dm_window *window, int64_t amount, int64_t now) {
    if (window->limit == 0) {
        return now;
    }
    advance(window, now);
    if (now < window->blocked_for) {
        return window->blocked_for;
    }
    int64_t room = window->limit - (amount < window->limit ? amount : window->limit);
    int64_t sum = window->sum;
    int64_t number = window->newest - DM_WINDOW_SLOTS;
    for (; sum > room && number <= window->newest; number++) {
        if (number >= 0) {
            sum -= *slot_at(window, number);
        }
    }
    /* The slots before `number` must have left: the newest is then DM_WINDOW_SLOTS behind it. */
    return sum == window->sum ? now : (number + DM_WINDOW_SLOTS) * slot_ns(window);
}

static void window_add(dm_window *window, int64_t amount, int64_t now) {
    if (window->limit == 0) {
        return;
    }
    advance(window, now);
    *slot_at(window, window->newest) += amount;
    window->sum += amount;
    if (amount > window->limit) {
        double widths = (double)amount / (double)window->limit;
        window->blocked_for = now + (int64_t)(widths * (double)window->width_ns);
    }
}

void dm_limiter_init(dm_limiter *limiter, int64_t requests, int64_t requests_ms, int64_t tokens,
                     int64_t tokens_ms) {
    window_init(&limiter->requests, requests, requests_ms);
    window_init(&limiter->tokens, tokens, tokens_ms);
    limiter->paused_until = 0;
    limiter->tokens_per_estimated = 1;
}

static int64_t expected(const dm_limiter *limiter, int64_t estimate) {
    return (int64_t)((double)estimate * limiter->tokens_per_estimated);
}

int64_t dm_limiter_when(dm_limiter *limiter, int64_t estimate, int64_t now) {
    int64_t when = window_when(&limiter->requests, 1, now);
    int64_t tokens = window_when(&limiter->tokens, expected(limiter, estimate), now);
    when = tokens > when ? tokens : when;
    return limiter->paused_until > when ? limiter->paused_until : when;
}

int64_t dm_limiter_take(dm_limiter *limiter, int64_t estimate, int64_t now) {
    int64_t tokens = expected(limiter, estimate);
    window_add(&limiter->requests, 1, now);
    window_add(&limiter->tokens, tokens, now);
    return tokens;
}

void dm_limiter_correct(dm_limiter *limiter, int64_t sent, int64_t estimate, int64_t counted,
                        int64_t real, int64_t now) {
    if (estimate > 0) {
        double ratio = (double)real / (double)estimate;
        ratio = ratio < LEAST_RATIO ? LEAST_RATIO : ratio > MOST_RATIO ? MOST_RATIO : ratio;
        limiter->tokens_per_estimated += LEARN * (ratio - limiter->tokens_per_estimated);
    }
    dm_window *window = &limiter->tokens;
    if (window->limit == 0) {
        return;
    }
    advance(window, now);
    int64_t number = sent / slot_ns(window);
    if (number < window->newest - DM_WINDOW_SLOTS) {
        return;
    }
    *slot_at(window, number) += real - counted;
    window->sum += real - counted;
}

void dm_limiter_pause(dm_limiter *limiter, int64_t until) {
    if (until > limiter->paused_until) {
        limiter->paused_until = until;
    }
}
