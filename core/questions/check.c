#include "questions/check.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "questions/kind.h"
#include "json/state.h"

typedef struct checker {
    deem_question_set_builder *builder;
    int failed; /* there was no memory */
} checker;

/* A question being checked, and the facts that most findings about it need. */
typedef struct subject {
    dm_question *question;
    dm_finding_facts facts;
} subject;

static dm_finding *next_finding(deem_question_set_builder *builder) {
    if (builder->finding_count == builder->finding_room) {
        size_t room = builder->finding_room == 0 ? 16 : builder->finding_room * 2;
        dm_finding *findings = dm_realloc(builder->findings, room * sizeof *findings);
        if (findings == NULL) {
            return NULL;
        }
        builder->findings = findings;
        builder->finding_room = room;
    }
    return &builder->findings[builder->finding_count];
}

static void count_finding(deem_question_set_builder *builder) {
    dm_rule rule = builder->findings[builder->finding_count++].rule;
    size_t *sum =
        dm_rule_severity(rule) == DEEM_SEVERITY_ERROR ? &builder->errors : &builder->warnings;
    ++*sum;
}

static void report(checker *check, dm_rule rule, const dm_place *place,
                   const dm_finding_facts *facts) {
    dm_finding *finding = next_finding(check->builder);
    if (finding == NULL ||
        dm_finding_make(finding, &check->builder->check_arena, rule, place, facts) != 0) {
        check->failed = 1;
        return;
    }
    count_finding(check->builder);
}

/* The notes of documents that stand before question number `until`. */
static void report_notes(checker *check, const dm_note **note, uint32_t until) {
    for (; *note != NULL && (*note)->question <= until; *note = (*note)->next) {
        dm_finding *finding = next_finding(check->builder);
        if (finding == NULL) {
            check->failed = 1;
            return;
        }
        *finding = (*note)->finding;
        count_finding(check->builder);
    }
}

/* The names that were met, so that a second one is noticed: a few are compared one by one, many by
 * their hashes. */
typedef struct seen {
    dm_name *few[DM_FEW_NAMES];
    uint32_t few_count;
    uint32_t mask;
    dm_name **slots; /* NULL: only a few */
} seen;

static int seen_open(seen *names, checker *check, uint32_t count) {
    size_t size = dm_name_table_size(count);
    names->few_count = 0;
    names->slots = NULL;
    if (size == 0) {
        return 0;
    }
    names->slots = dm_arena_take(&check->builder->check_arena, size * sizeof(dm_name *));
    if (names->slots == NULL) {
        check->failed = 1;
        return -1;
    }
    memset(names->slots, 0, size * sizeof(dm_name *));
    names->mask = (uint32_t)size - 1;
    return 0;
}

/* The name with the same text that was met before; when there is none, this one is kept. */
static dm_name *seen_before(seen *names, dm_name *name) {
    if (names->slots == NULL) {
        for (uint32_t i = 0; i < names->few_count; i++) {
            if (dm_span_equal(names->few[i]->text, name->text)) {
                return names->few[i];
            }
        }
        names->few[names->few_count++] = name;
        return NULL;
    }
    name->hash = dm_span_hash(name->text);
    uint32_t at = name->hash & names->mask;
    for (; names->slots[at] != NULL; at = (at + 1) & names->mask) {
        dm_name *other = names->slots[at];
        if (other->hash == name->hash && dm_span_equal(other->text, name->text)) {
            return other;
        }
    }
    names->slots[at] = name;
    return NULL;
}

/* Hashes and remembers a name: it is the first with its text, the second, ... */
static uint32_t seen_nth(seen *names, dm_name *name) {
    name->again = 0;
    dm_name *before = seen_before(names, name);
    return before == NULL ? 1 : ++before->again + 1;
}

static void check_utf8(checker *check, const dm_place *place, dm_span text) {
    size_t valid = dm_text_utf8_valid(text);
    if (valid != text.len) {
        report(check, DM_RULE_INVALID_UTF8, place, &(dm_finding_facts){.number = valid});
    }
}

static int blank(dm_span text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c != ' ' && (c < '\t' || c > '\r')) {
            return 0;
        }
    }
    return 1;
}

/* Whether a good JSON string, object or array has nothing in it. */
static int blank_json(dm_span json) {
    while (json.len > 0 && blank(dm_span_of(json.data + json.len - 1, 1))) {
        json.len--;
    }
    while (json.len > 0 && blank(dm_span_of(json.data, 1))) {
        json.data++;
        json.len--;
    }
    return json.len >= 2 && blank(dm_span_of(json.data + 1, json.len - 2));
}

/* Checks that the bytes are one JSON value and returns its first byte, or 0 when they are none. */
static char check_json(checker *check, const dm_place *place, dm_span json) {
    dm_json_fault fault;
    dm_json_reason reason = dm_json_check_value(json.data, json.len, DM_MOST_DEPTH, &fault);
    if (reason == DM_JSON_OK) {
        size_t at = 0;
        while (strchr(" \t\r\n", json.data[at]) != NULL) {
            at++;
        }
        return json.data[at];
    }
    char what[160];
    dm_finding_facts facts = {.number = fault.offset, .what = ""};
    dm_rule rule = DM_RULE_INVALID_UTF8;
    if (reason == DM_JSON_TOO_DEEP) {
        rule = DM_RULE_TOO_DEEP;
        facts.number = DM_MOST_DEPTH;
    } else if (reason != DM_JSON_BAD_UTF8) {
        rule = DM_RULE_INVALID_JSON;
        snprintf(what, sizeof what, "%s at offset %zu", dm_json_reason_text(reason), fault.offset);
        facts.what = what;
    }
    report(check, rule, place, &facts);
    return 0;
}

/* Checks instructions, a description, a level or a side. Returns DEEM_FORM_ABSENT, DEEM_FORM_NULL
 * (JSON null too), or DEEM_FORM_TEXT when there is something. */
static int32_t check_content(checker *check, const dm_place *place, const dm_content *content) {
    if (content->form == DEEM_FORM_ABSENT || content->form == DEEM_FORM_NULL) {
        return content->form;
    }
    int is_blank;
    if (content->form == DEEM_FORM_TEXT) {
        check_utf8(check, place, content->bytes);
        is_blank = blank(content->bytes);
    } else {
        char first = check_json(check, place, content->bytes);
        if (first == 'n') {
            return DEEM_FORM_NULL;
        }
        int good = first == '"' || first == '{' || first == '[';
        if (!good && first != 0) {
            const char *what = first == 't' || first == 'f' ? "a boolean" : "a number";
            report(check, DM_RULE_WRONG_TYPE, place, &(dm_finding_facts){.what = what});
        }
        is_blank = good && blank_json(content->bytes);
    }
    if (is_blank) {
        report(check, DM_RULE_BLANK_TEXT, place, &(dm_finding_facts){0});
    }
    return DEEM_FORM_TEXT;
}

static void check_options(checker *check, const subject *about, const dm_place *criteria) {
    dm_entries *options = &about->question->entries;
    seen labels;
    if (seen_open(&labels, check, options->count) != 0) {
        return;
    }
    dm_finding_facts facts = about->facts;
    facts.number = options->count;
    if (options->count == 0 && !about->question->unreadable) {
        report(check, DM_RULE_NO_OPTIONS, criteria, &facts);
    } else if (options->count > DM_MOST_OPTIONS) {
        report(check, DM_RULE_TOO_MANY_OPTIONS, criteria, &facts);
    } else if (options->count > DM_RELIABLE_OPTIONS) {
        report(check, DM_RULE_MANY_OPTIONS, criteria, &facts);
    } else if (options->count == 1) {
        report(check, DM_RULE_ONE_OPTION, criteria, &facts);
    }
    for (dm_entry *option = options->first; option != NULL; option = option->next) {
        dm_place place = *criteria;
        place.name = &option->name.text;
        facts.name = option->name.text;
        check_utf8(check, &place, option->name.text);
        if (seen_nth(&labels, &option->name) == 2) {
            report(check, DM_RULE_DUPLICATE_LABEL, &place, &facts);
        }
        check_content(check, &place, &option->content);
    }
}

static void check_levels(checker *check, const subject *about, const dm_place *criteria) {
    dm_entries *levels = &about->question->entries;
    dm_finding_facts facts = about->facts;
    facts.number = levels->count;
    if (levels->count == 0 && !about->question->unreadable) {
        report(check, DM_RULE_NO_LEVELS, criteria, &facts);
    } else if (levels->count > DM_MOST_LEVELS) {
        report(check, DM_RULE_TOO_MANY_LEVELS, criteria, &facts);
    } else if (levels->count == 1) {
        report(check, DM_RULE_ONE_LEVEL, criteria, &facts);
    }
    dm_place place = *criteria;
    for (dm_entry *level = levels->first; level != NULL; level = level->next) {
        place.position++;
        if (check_content(check, &place, &level->content) == DEEM_FORM_NULL) {
            facts.number = place.position - 1;
            report(check, DM_RULE_NULL_LEVEL, &place, &facts);
        }
    }
}

/* Names that may not be there twice, and their contents; whether one of them says something. */
static int check_members(checker *check, dm_entries *members, const dm_place *where, int any_json) {
    seen names;
    if (members->count == 0 || seen_open(&names, check, members->count) != 0) {
        return 0;
    }
    int meaning = 0;
    for (dm_entry *member = members->first; member != NULL; member = member->next) {
        dm_place place = *where;
        place.name = &member->name.text;
        check_utf8(check, &place, member->name.text);
        uint32_t most = any_json && dm_field_is_known(member->name.text) ? 0 : 1;
        if (seen_nth(&names, &member->name) == most + 1) {
            report(check, DM_RULE_DUPLICATE_FIELD, &place,
                   &(dm_finding_facts){.name = member->name.text});
        }
        if (any_json) {
            check_json(check, &place, member->content.bytes);
        } else {
            meaning |= check_content(check, &place, &member->content) == DEEM_FORM_TEXT;
        }
    }
    return meaning;
}

static void check_body(checker *check, const subject *about, const dm_place *at) {
    dm_question *question = about->question;
    dm_place instructions = *at;
    instructions.field = "instructions";
    dm_place criteria = *at;
    criteria.field = "criteria";
    int asked = check_content(check, &instructions, &question->instructions) == DEEM_FORM_TEXT;
    if (question->kind == DEEM_NOUL) {
        int meant = check_members(check, &question->entries, &criteria, 0);
        if (!asked && (meant || question->unreadable)) {
            report(check, DM_RULE_INSTRUCTIONS_MISSING, &instructions, &about->facts);
        } else if (!asked) {
            report(check, DM_RULE_NOUL_WITHOUT_MEANING, at, &about->facts);
        }
    } else if (!asked) {
        report(check, DM_RULE_INSTRUCTIONS_MISSING, &instructions, &about->facts);
    }
    if (question->kind == DEEM_CHOICE) {
        check_options(check, about, &criteria);
    } else if (question->kind == DEEM_SCORE) {
        check_levels(check, about, &criteria);
    }
    check_members(check, &question->fields, at, 1);
}

static void check_question(checker *check, seen *keys, dm_question *question) {
    subject about = {question, {.kind = dm_kind_name(question->kind), .key = question->key.text}};
    dm_place at = {.root = "questions", .key = &question->key.text};
    check_utf8(check, &at, question->key.text);
    if (question->key.text.len == 0) {
        report(check, DM_RULE_EMPTY_KEY, &at, &about.facts);
    }
    if (seen_nth(keys, &question->key) == 2) {
        report(check, DM_RULE_DUPLICATE_KEY, &at, &about.facts);
    }
    if (question->kind != 0) {
        check_body(check, &about, &at);
    }
}

int32_t dm_check(deem_question_set_builder *builder) {
    const dm_draft *draft = &builder->draft;
    checker check = {builder, 0};
    builder->finding_count = builder->errors = builder->warnings = 0;
    dm_arena_reset(&builder->check_arena);
    seen keys;
    if (seen_open(&keys, &check, draft->question_count) == 0) {
        const dm_note *note = draft->first_note;
        check_utf8(&check, &(dm_place){.field = "model"}, draft->model);
        uint32_t number = 0;
        for (dm_question *question = draft->first; question != NULL; question = question->next) {
            report_notes(&check, &note, number++);
            check_question(&check, &keys, question);
        }
        report_notes(&check, &note, UINT32_MAX);
        if (draft->question_count == 0 && !draft->unreadable) {
            report(&check, DM_RULE_NO_QUESTION, &(dm_place){.root = "questions"},
                   &(dm_finding_facts){0});
        }
    }
    if (check.failed) {
        builder->finding_count = builder->errors = builder->warnings = 0;
        return DEEM_E_MEMORY;
    }
    return builder->errors != 0 ? DEEM_E_QUESTIONS : DEEM_OK;
}
