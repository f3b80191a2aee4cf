#include "questions/compile.h"

#include <stdalign.h>

#include "base/alloc.h"
#include "questions/kind.h"
#include "json/value.h"
#include "json/write.h"

enum {
    SENT_AROUND_KEY = 64, /* bytes of JSON around a question's texts, at most */
    SENT_AROUND_ENTRY = 8 /* the same for an entry */
};

static int write_literal(dm_bytes *out, dm_span text) {
    return dm_bytes_append(out, text.data, text.len);
}

static int write_content(dm_bytes *out, const dm_content *content) {
    switch (content->form) {
    case DEEM_FORM_TEXT:
        return dm_json_write_string(out, content->bytes);
    case DEEM_FORM_JSON:
        return write_literal(out, content->bytes);
    default:
        return write_literal(out, DM_LITERAL("null"));
    }
}

/* name:content, the comma before it when it is not the first. */
static int write_member(dm_bytes *out, dm_span name, const dm_content *content, int first) {
    return (!first && dm_bytes_append_char(out, ',') != 0) ||
           dm_json_write_string(out, name) != 0 || dm_bytes_append_char(out, ':') != 0 ||
           write_content(out, content) != 0;
}

static int write_criteria(dm_bytes *out, const dm_question *question) {
    int list = question->kind == DEEM_SCORE;
    if (write_literal(out, list ? DM_LITERAL(",\"criteria\":[") : DM_LITERAL(",\"criteria\":{"))) {
        return -1;
    }
    for (const dm_entry *entry = question->entries.first; entry != NULL; entry = entry->next) {
        int first = entry == question->entries.first;
        int failed = list ? (!first && dm_bytes_append_char(out, ',') != 0) ||
                                write_content(out, &entry->content) != 0
                          : write_member(out, entry->name.text, &entry->content, first);
        if (failed) {
            return -1;
        }
    }
    return dm_bytes_append_char(out, list ? ']' : '}');
}

static int write_question(dm_bytes *out, const dm_question *question) {
    static const dm_span types[DM_KIND_COUNT] = {
        {":{\"type\":\"noul\"", sizeof ":{\"type\":\"noul\"" - 1},
        {":{\"type\":\"choice\"", sizeof ":{\"type\":\"choice\"" - 1},
        {":{\"type\":\"score\"", sizeof ":{\"type\":\"score\"" - 1},
    };
    int failed = dm_json_write_string(out, question->key.text) != 0 ||
                 write_literal(out, types[question->kind - DEEM_NOUL]) != 0;
    if (!failed && question->instructions.form != DEEM_FORM_ABSENT) {
        failed = write_literal(out, DM_LITERAL(",\"instructions\":")) != 0 ||
                 write_content(out, &question->instructions) != 0;
    }
    if (!failed && question->criteria == DEEM_FORM_NULL) {
        failed = write_literal(out, DM_LITERAL(",\"criteria\":null")) != 0;
    } else if (!failed && question->criteria != DEEM_FORM_ABSENT) {
        failed = write_criteria(out, question) != 0;
    }
    for (const dm_entry *field = question->fields.first; !failed && field != NULL;
         field = field->next) {
        failed = write_member(out, field->name.text, &field->content, 0);
    }
    return failed || dm_bytes_append_char(out, '}') != 0 ? -1 : 0;
}

static int write_questions(dm_bytes *out, const dm_draft *draft) {
    size_t estimate = draft->text_bytes + SENT_AROUND_KEY * (size_t)draft->question_count +
                      SENT_AROUND_ENTRY * (size_t)draft->entry_count + 2;
    if (dm_bytes_reserve(out, estimate) != 0 || dm_bytes_append_char(out, '{') != 0) {
        return -1;
    }
    for (const dm_question *question = draft->first; question != NULL; question = question->next) {
        if ((question != draft->first && dm_bytes_append_char(out, ',') != 0) ||
            write_question(out, question) != 0) {
            return -1;
        }
    }
    return dm_bytes_append_char(out, '}');
}

/* The one block behind a set, cut into its parts. */
typedef struct parts {
    deem_question_set *set;
    dm_plan_question *questions;
    dm_plan_label *labels;
    uint32_t *key_table;
    uint16_t *slots;
    char *texts;
} parts;

/* The next part of a block: its offset, with the end moved on behind it. */
static size_t reserve(size_t *end, size_t size, size_t align) {
    size_t start = (*end + align - 1) / align * align;
    *end = start + size;
    return start;
}

static int allocate(parts *out, const dm_draft *draft) {
    size_t slots = 0;
    size_t texts = draft->model.len + 1;
    for (const dm_question *question = draft->first; question != NULL; question = question->next) {
        texts += question->key.text.len + 1;
        if (question->kind == DEEM_NOUL) {
            continue;
        }
        slots += question->kind == DEEM_CHOICE ? dm_name_table_size(question->entries.count) : 0;
        for (const dm_entry *entry = question->entries.first; entry != NULL; entry = entry->next) {
            dm_span text = question->kind == DEEM_CHOICE ? entry->name.text : entry->content.bytes;
            texts += text.len + 1;
        }
    }
    size_t keys = dm_name_table_size(draft->question_count);
    size_t end = sizeof(deem_question_set);
    size_t questions_at =
        reserve(&end, draft->question_count * sizeof(dm_plan_question), alignof(dm_plan_question));
    size_t labels_at =
        reserve(&end, draft->entry_count * sizeof(dm_plan_label), alignof(dm_plan_label));
    size_t keys_at = reserve(&end, keys * sizeof(uint32_t), alignof(uint32_t));
    size_t slots_at = reserve(&end, slots * sizeof(uint16_t), alignof(uint16_t));
    size_t texts_at = reserve(&end, texts, 1);
    char *block = dm_alloc(end);
    if (block == NULL) {
        return -1;
    }
    memset(block, 0, sizeof(deem_question_set));
    memset(block + keys_at, 0, texts_at - keys_at);
    out->set = (deem_question_set *)(void *)block;
    out->questions = (dm_plan_question *)(void *)(block + questions_at);
    out->labels = (dm_plan_label *)(void *)(block + labels_at);
    out->key_table = (uint32_t *)(void *)(block + keys_at);
    out->slots = (uint16_t *)(void *)(block + slots_at);
    out->texts = block + texts_at;
    out->set->key_table_mask = keys == 0 ? 0 : (uint32_t)keys - 1;
    return 0;
}

static dm_span put_text(parts *to, dm_span text) {
    char *copy = to->texts;
    if (text.len != 0) {
        memcpy(copy, text.data, text.len);
    }
    copy[text.len] = '\0';
    to->texts = copy + text.len + 1;
    return dm_span_of(copy, text.len);
}

/* A level's text; a JSON string is read, anything else structured stays JSON. Reading a string
 * never makes it longer. 0, or -1 when there is no memory. */
static int put_level(parts *to, const dm_content *level, dm_span *out) {
    dm_span json = level->bytes;
    size_t start = 0;
    while (level->form == DEEM_FORM_JSON && strchr(" \t\r\n", json.data[start]) != NULL) {
        start++;
    }
    if (level->form != DEEM_FORM_JSON || json.data[start] != '"') {
        *out = put_text(to, json);
        return 0;
    }
    size_t end = json.len - 1;
    while (json.data[end] != '"') {
        end--;
    }
    dm_json_node node = {.start = (uint32_t)start + 1,
                         .end = (uint32_t)end,
                         .next = 1,
                         .kind = DM_JSON_STRING,
                         .flags = DM_JSON_ESCAPED};
    dm_bytes text = {0};
    int failed = dm_json_string_append(json.data, &node, &text) != 0;
    if (!failed) {
        *out = put_text(to, dm_bytes_span(&text));
    }
    dm_bytes_free(&text);
    return failed ? -1 : 0;
}

static int fill_labels(parts *to, const dm_question *from, dm_plan_question *question,
                       uint32_t *slots) {
    size_t size = from->kind == DEEM_CHOICE ? dm_name_table_size(from->entries.count) : 0;
    uint16_t *table = to->slots + *slots;
    question->table = *slots;
    question->table_mask = size == 0 ? 0 : (uint32_t)size - 1;
    *slots += (uint32_t)size;
    uint32_t index = 0;
    for (const dm_entry *entry = from->entries.first; entry != NULL; entry = entry->next) {
        dm_plan_label *label = &to->labels[question->first_label + index++];
        if (from->kind == DEEM_SCORE) {
            label->hash = 0;
            if (put_level(to, &entry->content, &label->text) != 0) {
                return -1;
            }
            continue;
        }
        label->text = put_text(to, entry->name.text);
        label->hash = entry->name.hash;
        if (size != 0) {
            uint32_t at = label->hash & question->table_mask;
            while (table[at] != 0) {
                at = (at + 1) & question->table_mask;
            }
            table[at] = (uint16_t)index;
        }
    }
    question->label_count = index;
    return 0;
}

static int fill(parts *to, const dm_draft *draft) {
    uint32_t labels = 0;
    uint32_t slots = 0;
    uint32_t index = 0;
    uint32_t mask = to->set->key_table_mask;
    for (const dm_question *from = draft->first; from != NULL; from = from->next) {
        dm_plan_question *question = &to->questions[index++];
        *question = (dm_plan_question){.key = put_text(to, from->key.text),
                                       .hash = from->key.hash,
                                       .kind = from->kind,
                                       .first_label = labels};
        if (from->kind != DEEM_NOUL && fill_labels(to, from, question, &slots) != 0) {
            return -1;
        }
        labels += question->label_count;
        if (mask != 0) {
            uint32_t at = question->hash & mask;
            while (to->key_table[at] != 0) {
                at = (at + 1) & mask;
            }
            to->key_table[at] = index;
        }
    }
    deem_question_set *set = to->set;
    set->question_count = index;
    set->label_count = labels;
    set->questions = to->questions;
    set->labels = to->labels;
    set->key_table = to->key_table;
    set->slots = to->slots;
    set->model = put_text(to, draft->model);
    return 0;
}

int32_t dm_compile(const deem_question_set_builder *builder, deem_question_set **set) {
    dm_bytes json = {0};
    parts made = {0};
    if (write_questions(&json, &builder->draft) != 0 || allocate(&made, &builder->draft) != 0 ||
        fill(&made, &builder->draft) != 0) {
        dm_free(made.set);
        dm_bytes_free(&json);
        return DEEM_E_MEMORY;
    }
    made.set->json = dm_bytes_span(&json);
    atomic_init(&made.set->references, 1);
    *set = made.set;
    return DEEM_OK;
}
