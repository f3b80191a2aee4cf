#include "questions/kind.h"

#include "deemster.h"

const char *const dm_kind_names[DM_KIND_COUNT] = {"noul", "choice", "score"};
const char *const dm_field_names[DM_FIELD_COUNT] = {"type", "instructions", "criteria"};

static int32_t position_of(dm_span name, const char *const *names, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (dm_span_equal(name, dm_span_of(names[i], strlen(names[i])))) {
            return i + 1;
        }
    }
    return 0;
}

const char *dm_kind_name(int32_t kind) {
    return kind >= DEEM_NOUL && kind <= DEEM_SCORE ? dm_kind_names[kind - DEEM_NOUL] : "question";
}

int32_t dm_kind_of(dm_span name) {
    return position_of(name, dm_kind_names, DM_KIND_COUNT);
}

int dm_field_is_known(dm_span name) {
    return position_of(name, dm_field_names, DM_FIELD_COUNT) != 0;
}
