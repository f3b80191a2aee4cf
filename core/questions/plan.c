#include "questions/plan.h"

#include <sched.h>

#include "base/alloc.h"
#include "base/sha256.h"

void dm_plan_ref(deem_question_set *set) {
    atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
}

void dm_plan_unref(deem_question_set *set) {
    if (set == NULL || atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    dm_free((char *)set->json.data);
    dm_free(set);
}

int32_t dm_plan_find(const deem_question_set *set, dm_span key, uint32_t expected) {
    if (expected < set->question_count && dm_span_equal(set->questions[expected].key, key)) {
        return (int32_t)expected;
    }
    if (set->key_table_mask == 0) {
        for (uint32_t i = 0; i < set->question_count; i++) {
            if (dm_span_equal(set->questions[i].key, key)) {
                return (int32_t)i;
            }
        }
        return -1;
    }
    uint32_t hash = dm_span_hash(key);
    uint32_t at = hash & set->key_table_mask;
    for (; set->key_table[at] != 0; at = (at + 1) & set->key_table_mask) {
        uint32_t found = set->key_table[at] - 1;
        if (set->questions[found].hash == hash && dm_span_equal(set->questions[found].key, key)) {
            return (int32_t)found;
        }
    }
    return -1;
}

int32_t dm_plan_find_label(const deem_question_set *set, const dm_plan_question *question,
                           dm_span label, uint32_t expected) {
    const dm_plan_label *labels = set->labels + question->first_label;
    if (expected < question->label_count && dm_span_equal(labels[expected].text, label)) {
        return (int32_t)expected;
    }
    if (question->table_mask == 0) {
        for (uint32_t i = 0; i < question->label_count; i++) {
            if (dm_span_equal(labels[i].text, label)) {
                return (int32_t)i;
            }
        }
        return -1;
    }
    const uint16_t *table = set->slots + question->table;
    uint32_t hash = dm_span_hash(label);
    uint32_t at = hash & question->table_mask;
    for (; table[at] != 0; at = (at + 1) & question->table_mask) {
        uint32_t found = table[at] - 1u;
        if (labels[found].hash == hash && dm_span_equal(labels[found].text, label)) {
            return (int32_t)found;
        }
    }
    return -1;
}

enum { IDENTITY_UNKNOWN, IDENTITY_BEING_WRITTEN, IDENTITY_KNOWN };

const char *dm_plan_identity(deem_question_set *set) {
    if (atomic_load_explicit(&set->identity_state, memory_order_acquire) == IDENTITY_KNOWN) {
        return set->identity;
    }
    char hex[sizeof set->identity];
    dm_sha256_hex(set->json, hex);
    int expected = IDENTITY_UNKNOWN;
    if (atomic_compare_exchange_strong(&set->identity_state, &expected, IDENTITY_BEING_WRITTEN)) {
        memcpy(set->identity, hex, sizeof hex);
        atomic_store_explicit(&set->identity_state, IDENTITY_KNOWN, memory_order_release);
    }
    while (atomic_load_explicit(&set->identity_state, memory_order_acquire) != IDENTITY_KNOWN) {
        sched_yield(); /* another thread is copying its 65 bytes */
    }
    return set->identity;
}
