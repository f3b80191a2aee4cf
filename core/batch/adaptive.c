#include "batch/adaptive.h"

enum { FIRST_LIMIT = 8, LEAST_ROUND = 16, HOLD_ROUNDS = 8 };

/* A round must be so much faster than the one before for its growth to have paid. */
static const double PAYS = 1.05;

static void begin_round(dm_adaptive *adaptive, int64_t now) {
    adaptive->done = 0;
    adaptive->saturated = 0;
    adaptive->since = now;
}

void dm_adaptive_init(dm_adaptive *adaptive, int32_t most, int64_t now) {
    *adaptive = (dm_adaptive){.most = most, .limit = most < FIRST_LIMIT ? most : FIRST_LIMIT};
    adaptive->before = adaptive->limit;
    begin_round(adaptive, now);
}

void dm_adaptive_saturated(dm_adaptive *adaptive) {
    adaptive->saturated = 1;
}

void dm_adaptive_reply(dm_adaptive *adaptive, int64_t now) {
    adaptive->done++;
    int32_t round = 2 * adaptive->limit > LEAST_ROUND ? 2 * adaptive->limit : LEAST_ROUND;
    if (adaptive->done < round) {
        return;
    }
    double rate =
        now > adaptive->since ? adaptive->done * 1e9 / (double)(now - adaptive->since) : 0;
    if (!adaptive->saturated) {
        begin_round(adaptive, now);
        return;
    }
    if (adaptive->holds > 0) {
        adaptive->holds--;
    } else if (rate > adaptive->rate * PAYS) {
        adaptive->before = adaptive->limit;
        adaptive->limit += adaptive->limit > 1 ? adaptive->limit / 2 : 1;
        adaptive->limit = adaptive->limit < adaptive->most ? adaptive->limit : adaptive->most;
        adaptive->rate = rate;
    } else {
        adaptive->limit = adaptive->before;
        adaptive->holds = HOLD_ROUNDS;
        adaptive->rate = 0; /* the server may be another by then */
    }
    begin_round(adaptive, now);
}

void dm_adaptive_overload(dm_adaptive *adaptive, int64_t sent, int64_t now) {
    if (sent < adaptive->halved_at) {
        return;
    }
    adaptive->limit = adaptive->limit > 1 ? adaptive->limit / 2 : 1;
    adaptive->before = adaptive->limit;
    adaptive->holds = HOLD_ROUNDS;
    adaptive->rate = 0;
    adaptive->halved_at = now;
    begin_round(adaptive, now);
}
