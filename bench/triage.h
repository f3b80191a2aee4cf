/* Replies of the triage shape (a noul, a choice of two, a score of three levels): the one that
 * other clients measure, and varied ones, since on a repeated document every branch is learned. */
#ifndef DM_BENCH_TRIAGE_H
#define DM_BENCH_TRIAGE_H

#include <stdint.h>

#include "../tests/support/json_random.h"
#include "base/bytes.h"

static const char triage_reply[] =
    "{\"model\":\"jev-1.13.0\",\"answers\":{\"requests_credentials\":{\"type\":\"noul\",\"noul\":0."
    "1},"
    "\"team\":{\"type\":\"choice\",\"choice\":\"account\",\"probabilities\":{\"billing\":0.2,"
    "\"account\":0.8},\"confidence\":0.7},\"urgency\":{\"type\":\"score\",\"score\":1.9,\"legend\":"
    "{"
    "\"0\":\"Low\",\"1\":\"Medium\",\"2\":\"High\"},\"probabilities\":{\"0\":0.0,\"1\":0.1,\"2\":0."
    "9},"
    "\"confidence\":0.8}},\"usage\":{\"input_tokens\":296,\"output_tokens\":20}}";

/* units / 10^decimals, for a value in 0..9. */
static inline void triage_decimal(dm_bytes *out, uint32_t units, uint32_t decimals) {
    static const uint32_t scales[] = {1, 10, 100, 1000, 10000};
    uint32_t scale = scales[decimals];
    dm_bytes_append_format(out, "%u.%0*u", units / scale, (int)decimals, units % scale);
}

/* Replaces what is in *out by a valid reply of that shape: numbers of 1, 2 or 4 decimals that agree
 * with each other, answers, fields and probabilities in any order. */
static inline void triage_varied(json_random *random, dm_bytes *out) {
    static const uint32_t places[] = {1, 2, 2, 4};
    static const uint32_t scales[] = {1, 10, 100, 1000, 10000};
    uint32_t decimals = places[json_random_below(random, 4)], scale = scales[decimals];
    uint32_t billing = json_random_below(random, scale + 1);
    uint32_t low = json_random_below(random, scale / 2 + 1);
    uint32_t medium = json_random_below(random, scale / 2 + 1);
    uint32_t levels[] = {low, medium, scale - low - medium};
    uint32_t first = json_random_below(random, 3);

    dm_bytes_clear(out);
    dm_bytes_append_format(out, "{\"model\":\"jev-1.13.%u\",\"answers\":{",
                           json_random_below(random, 12));
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t confidence_first = json_random_below(random, 2);
        dm_bytes_append_text(out, i != 0 ? "," : "");
        switch ((first + i) % 3) {
        case 0:
            dm_bytes_append_text(out, "\"requests_credentials\":{\"type\":\"noul\",\"noul\":");
            triage_decimal(out, json_random_below(random, scale + 1), decimals);
            break;
        case 1:
            dm_bytes_append_format(out, "\"team\":{\"type\":\"choice\",\"choice\":\"%s\",",
                                   billing > scale - billing ? "billing" : "account");
            if (confidence_first) {
                dm_bytes_append_text(out, "\"confidence\":");
                triage_decimal(out, json_random_below(random, scale + 1), decimals);
                dm_bytes_append_char(out, ',');
            }
            uint32_t swap = json_random_below(random, 2);
            dm_bytes_append_format(out, "\"probabilities\":{\"%s\":", swap ? "account" : "billing");
            triage_decimal(out, swap ? scale - billing : billing, decimals);
            dm_bytes_append_format(out, ",\"%s\":", swap ? "billing" : "account");
            triage_decimal(out, swap ? billing : scale - billing, decimals);
            dm_bytes_append_char(out, '}');
            if (!confidence_first) {
                dm_bytes_append_text(out, ",\"confidence\":");
                triage_decimal(out, json_random_below(random, scale + 1), decimals);
            }
            break;
        default:
            dm_bytes_append_text(out, "\"urgency\":{\"type\":\"score\",\"score\":");
            triage_decimal(out, levels[1] + 2 * levels[2], decimals);
            dm_bytes_append_text(out,
                                 ",\"legend\":{\"0\":\"Low\",\"1\":\"Medium\",\"2\":\"High\"}");
            if (confidence_first) {
                dm_bytes_append_text(out, ",\"confidence\":");
                triage_decimal(out, json_random_below(random, scale + 1), decimals);
            }
            uint32_t level = json_random_below(random, 3);
            dm_bytes_append_text(out, ",\"probabilities\":{");
            for (uint32_t l = 0; l < 3; l++, level = (level + 1) % 3) {
                dm_bytes_append_format(out, "%s\"%u\":", l != 0 ? "," : "", level);
                triage_decimal(out, levels[level], decimals);
            }
            dm_bytes_append_char(out, '}');
            if (!confidence_first) {
                dm_bytes_append_text(out, ",\"confidence\":");
                triage_decimal(out, json_random_below(random, scale + 1), decimals);
            }
        }
        dm_bytes_append_char(out, '}');
    }
    dm_bytes_append_format(out, "},\"usage\":{\"input_tokens\":%u,\"output_tokens\":%u}}",
                           100 + json_random_below(random, 900),
                           20 + json_random_below(random, 60));
}

#endif
