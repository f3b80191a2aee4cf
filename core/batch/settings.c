#include "batch/settings.h"

#include "deemster_experimental.h"

void dm_batch_settings_init(deem_batch_settings *settings) {
    *settings = (deem_batch_settings){
        .requests = 1000,
        .requests_ms = 60000,
        .tokens = 100000,
        .tokens_ms = 1000,
        .concurrency = 64,
        .window_rows = 4096,
        .window_bytes = 64 << 20,
        .ordered = 1,
        .dedupe_rows = 4096,
        .shape = DEEM_PACK_NONE,
        .pack = {.rows = 1, .questions = 1000, .bytes = 1 << 20, .tokens = 60000, .half = 30000}};
}

static void wipe_text(dm_text_setting *setting) {
    dm_bytes_free(&setting->text);
    setting->is_set = 0;
}

static void wipe_options(deem_options *options) {
    dm_error_free(&options->draft.error);
    wipe_text(&options->model);
    dm_pairs_free(&options->headers);
    dm_pairs_free(&options->fields);
    *options = (deem_options){0};
}

void dm_batch_settings_wipe(deem_batch_settings *settings) {
    dm_error_free(&settings->error);
    wipe_options(&settings->options);
    wipe_text(&settings->journal);
}

static int copy_text(dm_text_setting *to, const dm_text_setting *from) {
    dm_bytes_clear(&to->text);
    to->is_set = from->is_set;
    return dm_bytes_append(&to->text, from->text.data, from->text.len);
}

static int copy_pairs(dm_pairs *to, const dm_pairs *from) {
    dm_pairs_clear(to);
    for (uint32_t i = 0; i < from->count; i++) {
        if (dm_pairs_put(to, from->items[i].name, from->items[i].value, 0) != 0) {
            return -1;
        }
    }
    return 0;
}

int dm_options_copy(deem_options *to, const deem_options *from) {
    to->draft.limits = from->draft.limits;
    to->draft.set = from->draft.set;
    return copy_text(&to->model, &from->model) != 0 || copy_pairs(&to->headers, &from->headers) ||
                   copy_pairs(&to->fields, &from->fields)
               ? -1
               : 0;
}

int dm_batch_settings_copy(deem_batch_settings *to, const deem_batch_settings *from) {
    *to = *from;
    to->error = (dm_error){0};
    to->options = (deem_options){0};
    to->journal = (dm_text_setting){0};
    return dm_options_copy(&to->options, &from->options) != 0 ||
                   copy_text(&to->journal, &from->journal) != 0
               ? -1
               : 0;
}
