#include "questions/builder.h"

#include "base/alloc.h"

deem_question_set_builder *dm_builder_new(void) {
    return dm_alloc_zero(sizeof(deem_question_set_builder));
}

void dm_builder_free(deem_question_set_builder *builder) {
    if (builder == NULL) {
        return;
    }
    dm_arena_free(&builder->arena);
    dm_arena_free(&builder->check_arena);
    dm_free(builder->findings);
    dm_free(builder);
}

/* Copies text behind *at, with a NUL, and moves *at on. */
static dm_span put(char **at, dm_span text) {
    char *copy = *at;
    if (text.len != 0) {
        memcpy(copy, text.data, text.len);
    }
    copy[text.len] = '\0';
    *at = copy + text.len + 1;
    return dm_span_of(copy, text.len);
}

/* Room for a record and the two texts behind it; NULL when there is no memory. */
static void *take(dm_arena *arena, size_t record, dm_span a, dm_span b) {
    const size_t most = SIZE_MAX / 16;
    return a.len > most || b.len > most ? NULL : dm_arena_take(arena, record + a.len + b.len + 2);
}

static int bad_span(dm_span span) {
    return span.data == NULL && span.len != 0;
}

/* Only text and JSON have bytes. */
static dm_span bytes_of(int32_t form, dm_span bytes) {
    return form == DEEM_FORM_TEXT || form == DEEM_FORM_JSON ? bytes : dm_span_of(NULL, 0);
}

static int known_form(int32_t form, int32_t least) {
    return form >= least && form <= DEEM_FORM_JSON;
}

dm_question *dm_draft_question(deem_question_set_builder *builder, int32_t kind, dm_span key,
                               int32_t form, dm_span instructions) {
    dm_draft *draft = &builder->draft;
    instructions = bytes_of(form, instructions);
    dm_question *question = draft->question_count == INT32_MAX
                                ? NULL
                                : take(&builder->arena, sizeof *question, key, instructions);
    if (question == NULL) {
        return NULL;
    }
    char *at = (char *)(question + 1);
    *question = (dm_question){.kind = kind};
    question->key.text = put(&at, key);
    question->instructions = (dm_content){put(&at, instructions), form};
    draft->text_bytes += key.len + instructions.len;
    *(draft->last == NULL ? &draft->first : &draft->last->next) = question;
    draft->last = question;
    draft->question_count++;
    return question;
}

int dm_draft_entry(deem_question_set_builder *builder, dm_entries *entries, dm_span name,
                   int32_t form, dm_span bytes) {
    bytes = bytes_of(form, bytes);
    dm_entry *entry = builder->draft.entry_count == INT32_MAX
                          ? NULL
                          : take(&builder->arena, sizeof *entry, name, bytes);
    if (entry == NULL) {
        return -1;
    }
    char *at = (char *)(entry + 1);
    *entry = (dm_entry){0};
    entry->name.text = put(&at, name);
    entry->content = (dm_content){put(&at, bytes), form};
    builder->draft.text_bytes += name.len + bytes.len;
    *(entries->last == NULL ? &entries->first : &entries->last->next) = entry;
    entries->last = entry;
    entries->count++;
    builder->draft.entry_count++;
    return 0;
}

int dm_draft_note(deem_question_set_builder *builder, uint32_t question, dm_rule rule,
                  const dm_place *place, const dm_finding_facts *facts) {
    dm_draft *draft = &builder->draft;
    dm_note *note = dm_arena_take(&builder->arena, sizeof *note);
    if (note == NULL || dm_finding_make(&note->finding, &builder->arena, rule, place, facts) != 0) {
        return -1;
    }
    note->next = NULL;
    note->question = question;
    *(draft->last_note == NULL ? &draft->first_note : &draft->last_note->next) = note;
    draft->last_note = note;
    return 0;
}

int32_t dm_builder_add(deem_question_set_builder *builder, int32_t kind, dm_span key, int32_t form,
                       dm_span instructions) {
    if (kind < DEEM_NOUL || kind > DEEM_SCORE || !known_form(form, DEEM_FORM_ABSENT) ||
        bad_span(key) || bad_span(instructions)) {
        return DEEM_E_MISUSE;
    }
    return dm_draft_question(builder, kind, key, form, instructions) == NULL ? DEEM_E_MEMORY
                                                                             : DEEM_OK;
}

/* An entry for the last question, which must be of that kind. */
static int32_t add_entry(deem_question_set_builder *builder, int32_t kind, dm_span name,
                         int32_t form, dm_span bytes) {
    dm_question *question = builder->draft.last;
    if (question == NULL || question->kind != kind || !known_form(form, DEEM_FORM_NULL) ||
        bad_span(name) || bad_span(bytes)) {
        return DEEM_E_MISUSE;
    }
    if (dm_draft_entry(builder, &question->entries, name, form, bytes) != 0) {
        return DEEM_E_MEMORY;
    }
    question->criteria = DEEM_FORM_JSON;
    return DEEM_OK;
}

int32_t dm_builder_criterion(deem_question_set_builder *builder, int32_t side, int32_t form,
                             dm_span text) {
    if (side != 0 && side != 1) {
        return DEEM_E_MISUSE;
    }
    return add_entry(builder, DEEM_NOUL, side ? DM_LITERAL("true") : DM_LITERAL("false"), form,
                     text);
}

int32_t dm_builder_option(deem_question_set_builder *builder, dm_span label, int32_t form,
                          dm_span description) {
    return add_entry(builder, DEEM_CHOICE, label, form, description);
}

int32_t dm_builder_level(deem_question_set_builder *builder, int32_t form, dm_span level) {
    return add_entry(builder, DEEM_SCORE, dm_span_of(NULL, 0), form, level);
}

int32_t dm_builder_field(deem_question_set_builder *builder, dm_span name, dm_span json) {
    dm_question *question = builder->draft.last;
    if (question == NULL || bad_span(name) || bad_span(json)) {
        return DEEM_E_MISUSE;
    }
    return dm_draft_entry(builder, &question->fields, name, DEEM_FORM_JSON, json) != 0
               ? DEEM_E_MEMORY
               : DEEM_OK;
}

int32_t dm_builder_model(deem_question_set_builder *builder, dm_span model) {
    if (bad_span(model)) {
        return DEEM_E_MISUSE;
    }
    dm_span copy = dm_arena_copy(&builder->arena, model.data, model.len);
    if (copy.data == NULL) {
        return DEEM_E_MEMORY;
    }
    builder->draft.model = copy;
    return DEEM_OK;
}
