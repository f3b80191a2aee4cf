/* The sizes and places that callers were compiled with. A failure here is a broken ABI. */
#include <stddef.h>

#include "deemster_experimental.h"

#define HOLDS(name, condition) _Static_assert(condition, #name)

HOLDS(answer_size, sizeof(deem_answer) == 64);
HOLDS(answer_alignment, _Alignof(deem_answer) == 8);
HOLDS(question, offsetof(deem_answer, question) == 0);
HOLDS(kind, offsetof(deem_answer, kind) == 4);
HOLDS(status, offsetof(deem_answer, status) == 8);
HOLDS(flags, offsetof(deem_answer, flags) == 12);
HOLDS(value, offsetof(deem_answer, value) == 16);
HOLDS(confidence, offsetof(deem_answer, confidence) == 24);
HOLDS(chosen, offsetof(deem_answer, chosen) == 32);
HOLDS(top, offsetof(deem_answer, top) == 36);
HOLDS(first_probability, offsetof(deem_answer, first_probability) == 40);
HOLDS(probability_count, offsetof(deem_answer, probability_count) == 44);
HOLDS(reserved, offsetof(deem_answer, reserved) == 48);

int main(void) {
    return 0;
}
