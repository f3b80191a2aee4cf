#include "faults.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"

enum argument { NONE, NUMBER, TEXT };

static const struct {
    const char *name;
    enum mock_fault_group group;
    enum argument argument;
    long initial;
    const char *help;
} kinds[] = {
#define X(enumerator, name, group, argument, initial, help)                                        \
    {name, MOCK_GROUP_##group, argument, initial, help},
    MOCK_FAULT_LIST(X)
#undef X
};

static bool read_number(const char *text, size_t length, unsigned long *value) {
    char digits[20];
    if (!length || length >= sizeof digits || strspn(text, "0123456789") < length)
        return false;
    memcpy(digits, text, length);
    digits[length] = 0;
    *value = strtoul(digits, NULL, 10);
    return true;
}

static bool read_occurrence(struct mock_fault *fault, const char *text) {
    if (!strcmp(text, "every")) {
        fault->from = 1;
        fault->to = (unsigned long)-1;
        return true;
    }
    const char *dash = strchr(text, '-');
    size_t first = dash ? (size_t)(dash - text) : strlen(text);
    if (!read_number(text, first, &fault->from) || !fault->from)
        return false;
    fault->to = fault->from;
    return !dash ||
           (read_number(dash + 1, strlen(dash + 1), &fault->to) && fault->to >= fault->from);
}

static bool read_what(struct mock_fault *fault, const char *what, size_t length) {
    const char *colon = memchr(what, ':', length);
    size_t name = colon ? (size_t)(colon - what) : length;
    const char *argument = colon ? colon + 1 : NULL;
    size_t argument_length = colon ? length - name - 1 : 0;
    unsigned long value = 0;
    if (name == 3 && read_number(what, name, &value)) {
        if (value < 200 || value > 599)
            return false;
        fault->kind = MOCK_FAULT_STATUS;
        fault->status = (int)value;
    } else {
        size_t kind = 1; /* STATUS itself is no name */
        while (kind < MOCK_FAULT_KINDS &&
               (strlen(kinds[kind].name) != name || strncmp(kinds[kind].name, what, name) != 0))
            kind++;
        if (kind == MOCK_FAULT_KINDS)
            return false;
        fault->kind = (enum mock_fault_kind)kind;
    }
    fault->group = kinds[fault->kind].group;
    fault->number = kinds[fault->kind].initial;
    if (argument) {
        if (kinds[fault->kind].argument == NONE)
            return false;
        if (kinds[fault->kind].argument == NUMBER) {
            if (!read_number(argument, argument_length, &value) || value > 1000000000)
                return false;
            fault->number = (long)value;
        }
        fault->text = mock_copy(argument, argument_length);
    } else if (fault->kind == MOCK_FAULT_RAW || fault->kind == MOCK_FAULT_MODEL) {
        return false;
    }
    return true;
}

bool mock_plan_add(struct mock_plan *plan, const char *spec, char *message, size_t size) {
    struct mock_fault fault = {0};
    const char *at = strrchr(spec, '@');
    if (!at || !read_occurrence(&fault, at + 1)) {
        snprintf(message, size, "fault '%.80s' needs @N, @N-M or @every behind it (N from 1)",
                 spec);
        return false;
    }
    if (!read_what(&fault, spec, (size_t)(at - spec))) {
        snprintf(message, size, "fault '%.80s' is not known in this form; see --list-faults", spec);
        free(fault.text);
        return false;
    }
    fault.spec = mock_copy(spec, strlen(spec));
    plan->faults = mock_resize(plan->faults, (plan->count + 1) * sizeof *plan->faults);
    plan->faults[plan->count++] = fault;
    return true;
}

void mock_plan_free(struct mock_plan *plan) {
    for (size_t i = 0; i < plan->count; i++) {
        free(plan->faults[i].spec);
        free(plan->faults[i].text);
    }
    free(plan->faults);
    *plan = (struct mock_plan){0};
}

struct mock_fault *mock_plan_find(struct mock_plan *plan, unsigned long occurrence, bool delay) {
    for (size_t i = 0; i < plan->count; i++) {
        struct mock_fault *fault = &plan->faults[i];
        if (occurrence >= fault->from && occurrence <= fault->to &&
            (fault->kind == MOCK_FAULT_DELAY) == delay)
            return fault;
    }
    return NULL;
}

size_t mock_plan_report(const struct mock_plan *plan, FILE *stream) {
    size_t never = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->faults[i].fired)
            continue;
        if (stream)
            fprintf(stream, "deemster-mock: planned fault never fired: %s\n", plan->faults[i].spec);
        never++;
    }
    return never;
}

void mock_faults_print(FILE *stream) {
    static const char *const arguments[] = {"", ":N", ":TEXT"};
    for (size_t i = 0; i < MOCK_FAULT_KINDS; i++) {
        char name[64];
        if (i == MOCK_FAULT_STATUS)
            snprintf(name, sizeof name, "STATUS[:HEADER=VALUE,...]");
        else
            snprintf(name, sizeof name, "%s%s%s%s", kinds[i].name, kinds[i].argument ? "[" : "",
                     arguments[kinds[i].argument], kinds[i].argument ? "]" : "");
        fprintf(stream, "%-26s %s\n", name, kinds[i].help);
    }
}
