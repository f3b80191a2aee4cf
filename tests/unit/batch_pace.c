/* The pace of a batch under a fake clock: the limiter's windows, its pauses and what it learns, and
 * the concurrency that grows and halves. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "batch/adaptive.h"
#include "batch/limiter.h"

#define MS DM_NS_PER_MS

enum { SENT_MOST = 4000 };

/* How a stream of requests is sent through a limiter. */
typedef struct stream {
    const char *name;
    int64_t requests, requests_ms, tokens, tokens_ms;
    int64_t estimate;              /* of each request */
    int64_t real;                  /* what its reply states, LATENCY later; 0: states nothing */
    int64_t pause_at;              /* after so many requests ... */
    int64_t pause_ms;              /* ... the server asks for a pause */
    int64_t run_ms;                /* for so long */
    int64_t sent_least, sent_most; /* in that time */
} stream;

static const stream streams[] = {
    {"twenty a second", 20, 1000, 0, 1000, 100, 0, 0, 0, 10000, 180, 220},
    {"one a second", 1, 1000, 0, 1000, 100, 0, 0, 0, 10000, 9, 11},
    {"a thousand a minute", 1000, 60000, 0, 1000, 100, 0, 0, 0, 121000, 2000, 3000},
    {"tokens bind", 0, 60000, 10000, 1000, 1000, 0, 0, 0, 5000, 45, 60},
    {"both bind in turn", 5, 1000, 10000, 1000, 1000, 0, 0, 0, 5000, 23, 30},
    {"estimates are set right upwards", 0, 60000, 10000, 1000, 500, 1000, 0, 0, 5000, 42, 75},
    {"estimates are set right downwards", 0, 60000, 10000, 1000, 2000, 1000, 0, 0, 5000, 40, 60},
    {"a request above the whole limit goes alone", 0, 60000, 1000, 1000, 5000, 0, 0, 0, 20000, 4,
     5},
    {"a pause holds everything", 100, 1000, 0, 1000, 1, 0, 50, 3000, 4000, 50, 200},
    {"no limits", 0, 60000, 0, 1000, 100, 0, 0, 0, 100, SENT_MOST, SENT_MOST},
};

static const int64_t LATENCY = 30 * MS;

/* The largest amount in any window of that width, of what was counted in the end. */
static int64_t most_in_window(const int64_t *times, const int64_t *amounts, int count,
                              int64_t width) {
    int64_t most = 0, sum = 0;
    for (int last = 0, first = 0; last < count; last++) {
        sum += amounts[last];
        while (times[first] + width <= times[last]) {
            sum -= amounts[first++];
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void run(const stream *row) {
    static int64_t times[SENT_MOST], ones[SENT_MOST], counted[SENT_MOST], tokens[SENT_MOST];
    dm_limiter limiter;
    const int64_t begin = 123456789 * MS;
    int64_t now = begin;
    int sent = 0, answered = 0;
    int64_t paused_until = 0;
    dm_limiter_init(&limiter, row->requests, row->requests_ms, row->tokens, row->tokens_ms);
    while (sent < SENT_MOST && now < begin + row->run_ms * MS) {
        for (; row->real > 0 && answered < sent && times[answered] + LATENCY <= now; answered++) {
            dm_limiter_correct(&limiter, times[answered], row->estimate, counted[answered],
                               row->real, now);
        }
        int64_t when = dm_limiter_when(&limiter, row->estimate, now);
        if (when > now) {
            now = row->real > 0 && when > now + LATENCY / 2 ? now + LATENCY / 2 : when;
            continue;
        }
        cr_assert_geq(now, paused_until, "%s: sent during the pause", row->name);
        counted[sent] = dm_limiter_take(&limiter, row->estimate, now);
        tokens[sent] = row->real > 0 ? row->real : row->estimate;
        ones[sent] = 1;
        times[sent++] = now;
        if (sent == row->pause_at) {
            paused_until = now + row->pause_ms * MS;
            dm_limiter_pause(&limiter, paused_until);
            dm_limiter_pause(&limiter, now); /* an earlier end changes nothing */
        }
    }
    cr_expect(sent >= row->sent_least && sent <= row->sent_most, "%s: %d sent", row->name, sent);
    if (row->requests > 0) {
        int64_t most = most_in_window(times, ones, sent, row->requests_ms * MS);
        cr_expect(most <= row->requests, "%s: %lld requests in a window", row->name,
                  (long long)most);
    }
    if (row->tokens > 0 && row->real == 0 && row->estimate <= row->tokens) {
        int64_t most = most_in_window(times, tokens, sent, row->tokens_ms * MS);
        cr_expect(most <= row->tokens, "%s: %lld tokens in a window", row->name, (long long)most);
    }
    if (row->real > 0) {
        double ratio = (double)row->real / (double)row->estimate;
        cr_expect(limiter.tokens_per_estimated > ratio * 0.8 &&
                      limiter.tokens_per_estimated < ratio * 1.25,
                  "%s: learned a wrong ratio", row->name);
    }
}

Test(batch_pace, the_limiter_keeps_every_window) {
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        run(&streams[i]);
    }
}

/* A server whose rate grows with the requests at once up to `pays`, and then no more. */
static void serve(dm_adaptive *adaptive, int32_t pays, int replies, int64_t *now) {
    for (int i = 0; i < replies; i++) {
        int32_t at_once = adaptive->limit < pays ? adaptive->limit : pays;
        *now += 100 * MS / at_once;
        dm_adaptive_saturated(adaptive);
        dm_adaptive_reply(adaptive, *now);
    }
}

Test(batch_pace, concurrency_grows_while_it_pays_and_halves) {
    dm_adaptive adaptive;
    int64_t now = 5000 * MS;
    dm_adaptive_init(&adaptive, 256, now);
    cr_expect_eq(adaptive.limit, 8);
    serve(&adaptive, 1000, 5000, &now);
    cr_expect_eq(adaptive.limit, 256, "it pays up to the most");

    dm_adaptive_init(&adaptive, 256, now);
    serve(&adaptive, 20, 5000, &now);
    cr_expect(adaptive.limit >= 18 && adaptive.limit <= 41, "beyond 20 it does not pay: %d",
              adaptive.limit);

    dm_adaptive_init(&adaptive, 3, now);
    cr_expect_eq(adaptive.limit, 3);
    serve(&adaptive, 1000, 500, &now);
    cr_expect_eq(adaptive.limit, 3);

    dm_adaptive_init(&adaptive, 256, now);
    for (int i = 0; i < 500; i++) { /* never held back: nothing says that more would pay */
        dm_adaptive_reply(&adaptive, now += MS);
    }
    cr_expect_eq(adaptive.limit, 8);

    adaptive.limit = 64;
    int64_t sent = now;
    for (int i = 0; i < 64; i++) { /* one overload, told to each request in flight */
        dm_adaptive_overload(&adaptive, sent, now += MS);
    }
    cr_expect_eq(adaptive.limit, 32);
    for (int i = 0; i < 20; i++) {
        now += MS;
        dm_adaptive_overload(&adaptive, now, now);
    }
    cr_expect_eq(adaptive.limit, 1, "and never 0");
    serve(&adaptive, 1000, 5000, &now);
    cr_expect(adaptive.limit > 1, "it grows again");
}
