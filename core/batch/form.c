/* From rows to requests. Everything here depends on the rows and their order alone, so that a run
 * that is taken up again makes the same packs. */
#include "base/alloc.h"
#include "base/text.h"
#include "batch/batch.h"

enum {
    SHUFFLED_PACKS = 16, /* rows of so many packs are mixed with one another */
    TOKENS_OF_REQUEST = 300,
    TOKENS_OF_QUESTION = 20
};

/* Bytes of a token: as it is for English text, and as it may be at worst. */
enum { BYTES_PER_TOKEN = 4, BYTES_PER_TOKEN_WORST = 3 };

static int64_t estimate(size_t bytes, size_t questions, int bytes_per_token) {
    return TOKENS_OF_REQUEST + TOKENS_OF_QUESTION * (int64_t)questions +
           (int64_t)bytes / bytes_per_token;
}

void dm_form_free_request(dm_batch_request *request) {
    if (request != NULL) {
        dm_bytes_free(&request->state);
        dm_bytes_free(&request->questions);
        dm_plan_unref(request->plan);
        dm_free(request->rows);
        dm_free(request);
    }
}

void dm_form_ready(deem_batch *batch, dm_batch_request *request) {
    dm_request_list *list = &batch->ready;
    if (list->last == NULL || list->last->order <= request->order) {
        dm_requests_push(list, request);
        return;
    }
    dm_batch_request **at = &list->first;
    while ((*at)->order <= request->order) {
        at = &(*at)->next;
    }
    request->next = *at;
    *at = request;
}

static int write_pack(deem_batch *batch, dm_batch_request *request) {
    dm_packer *packer = &batch->packer;
    if (dm_packer_state(packer, request->rows, request->count, &request->state) != 0 ||
        dm_packer_questions(packer, request->rows, request->count, &request->questions) != 0) {
        return -1;
    }
    request->plan = dm_packer_plan(packer, request->count);
    batch->stats.warnings = (int32_t)packer->warning_count;
    return request->plan == NULL ? -1 : 0;
}

int dm_form_request(deem_batch *batch, dm_row *const *rows, uint32_t count, uint64_t order,
                    int packed) {
    dm_batch_request *request = dm_alloc_zero(sizeof *request);
    if (request == NULL) {
        return -1;
    }
    request->order = order;
    request->packed = packed;
    request->count = count;
    request->rows = dm_alloc(count * sizeof(dm_row *));
    if (request->rows != NULL) {
        memcpy(request->rows, rows, count * sizeof(dm_row *));
    }
    if (request->rows == NULL || (packed && write_pack(batch, request) != 0)) {
        dm_form_free_request(request);
        return -1;
    }
    size_t bytes = packed ? request->state.len + request->questions.len
                          : rows[0]->state.len + batch->set->json.len;
    request->estimate =
        estimate(bytes, (size_t)count * batch->set->question_count, BYTES_PER_TOKEN);
    dm_form_ready(batch, request);
    return 0;
}

/* ---- packs ---- */

/* Makes a pack of these entries: the rows among them that are not done go into one request. */
static int send_entries(deem_batch *batch, const dm_pack_entry *entries, uint32_t count) {
    if (count == 0) {
        return 0;
    }
    dm_row **rows = dm_alloc(count * sizeof(dm_row *));
    if (rows == NULL) {
        return -1;
    }
    uint64_t pack = entries[0].position;
    for (uint32_t i = 0; i < count; i++) {
        pack = entries[i].position < pack ? entries[i].position : pack;
    }
    uint32_t asked = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (entries[i].row != NULL) {
            entries[i].row->place =
                (dm_pack_place){pack, (int32_t)i, (int32_t)count, batch->settings.shape};
            rows[asked++] = entries[i].row;
        }
    }
    int failed = asked > 0 && dm_form_request(batch, rows, asked, batch->next_order++, 1) != 0;
    dm_free(rows);
    return failed ? -1 : 0;
}

/* Whether one more row would pass a limit of the pack. */
static int is_full(const deem_batch *batch, const dm_pack_load *load, uint32_t rows) {
    const dm_pack_limits *limits = &batch->settings.pack;
    size_t questions = (size_t)rows * batch->set->question_count;
    return rows > limits->rows || (int64_t)questions > limits->questions ||
           (int64_t)load->bytes > limits->bytes ||
           estimate(load->bytes, questions, BYTES_PER_TOKEN_WORST) > limits->tokens ||
           (batch->settings.shape == DEEM_PACK_STATE &&
            estimate(load->state + load->longest, 1, BYTES_PER_TOKEN_WORST) > limits->half);
}

static void add_load(dm_pack_load *sum, const dm_pack_load *load) {
    sum->bytes += load->bytes;
    sum->state += load->state;
    sum->longest = load->longest > sum->longest ? load->longest : sum->longest;
}

/* Cuts the entries into packs and sends them: all of them, or all but the last one, which may still
 * grow. Returns how many entries were sent, -1 without memory. */
static int64_t cut(deem_batch *batch, const dm_pack_entry *entries, uint32_t count, int all) {
    uint32_t first = 0;
    dm_pack_load sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        dm_pack_load with = sum;
        add_load(&with, &entries[i].load);
        if (i > first && is_full(batch, &with, i - first + 1)) {
            if (send_entries(batch, entries + first, i - first) != 0) {
                return -1;
            }
            first = i;
            with = entries[i].load;
        }
        sum = with;
    }
    int full = count - first == batch->settings.pack.rows;
    if (all || full) {
        return send_entries(batch, entries + first, count - first) != 0 ? -1 : (int64_t)count;
    }
    return first;
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15); /* SplitMix64 */
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void shuffle(const deem_batch *batch, dm_open_pack *pack) {
    uint64_t state = batch->settings.seed ^ pack->first_position * UINT64_C(0xD1342543DE82EF95);
    for (uint32_t i = pack->count; i > 1; i--) {
        uint32_t k = (uint32_t)(next_random(&state) % i);
        dm_pack_entry kept = pack->entries[i - 1];
        pack->entries[i - 1] = pack->entries[k];
        pack->entries[k] = kept;
    }
}

/* Sends what can be sent of an open pack; `all`: it takes no more rows. */
static int close_pack(deem_batch *batch, dm_open_pack *pack, int all) {
    if (batch->settings.shuffle) {
        if (!all && pack->count < batch->settings.pack.rows * SHUFFLED_PACKS) {
            return 0;
        }
        shuffle(batch, pack);
        all = 1;
    }
    int64_t sent = cut(batch, pack->entries, pack->count, all);
    if (sent < 0) {
        return -1;
    }
    uint32_t left = pack->count - (uint32_t)sent;
    memmove(pack->entries, pack->entries + sent, left * sizeof *pack->entries);
    pack->count = left;
    if (left > 0) {
        pack->first_position = pack->entries[0].position;
    }
    return 0;
}

static void free_pack(dm_open_pack *pack) {
    dm_free(pack->entries);
    dm_bytes_free(&pack->name);
}

static int close_at(deem_batch *batch, uint32_t at) {
    dm_open_pack pack = batch->open[at];
    if (close_pack(batch, &pack, 1) != 0) {
        batch->open[at] = pack;
        return -1;
    }
    free_pack(&pack);
    batch->open_count--;
    memmove(&batch->open[at], &batch->open[at + 1],
            (batch->open_count - at) * sizeof batch->open[0]);
    return 0;
}

/* The open pack of a group, made when there is none; the oldest one closes when there are many. */
static dm_open_pack *pack_of(deem_batch *batch, dm_span group) {
    uint32_t hash = dm_span_hash(group);
    for (uint32_t i = 0; i < batch->open_count; i++) {
        if (batch->open[i].group == hash &&
            dm_span_equal(dm_bytes_span(&batch->open[i].name), group)) {
            return &batch->open[i];
        }
    }
    if (batch->open_count == DM_OPEN_PACKS && close_at(batch, 0) != 0) {
        return NULL;
    }
    dm_open_pack *pack = &batch->open[batch->open_count];
    *pack = (dm_open_pack){.group = hash};
    if (dm_bytes_append(&pack->name, group.data, group.len) != 0) {
        return NULL;
    }
    batch->open_count++;
    return pack;
}

static int add_entry(deem_batch *batch, dm_open_pack *pack, dm_row *row) {
    if (pack->count == pack->room) {
        uint32_t room = pack->room == 0 ? 32 : pack->room * 2;
        dm_pack_entry *entries = dm_realloc(pack->entries, room * sizeof *entries);
        if (entries == NULL) {
            return -1;
        }
        pack->entries = entries;
        pack->room = room;
    }
    if (pack->count == 0) {
        pack->first_position = row->position;
        pack->first_byte = row->bytes_before;
    }
    pack->entries[pack->count++] =
        (dm_pack_entry){row->done || row->response != NULL ? NULL : row, row->position,
                        dm_packer_load(&batch->packer, row->state.len)};
    return 0;
}

/* A pack spans at most half of the window, so that its rows cannot be what the window waits for. */
static int close_old(deem_batch *batch) {
    const deem_batch_settings *settings = &batch->settings;
    for (uint32_t i = 0; i < batch->open_count;) {
        const dm_open_pack *pack = &batch->open[i];
        int old =
            pack->count > 0 &&
            (batch->stats.pushed - pack->first_position >= (uint64_t)settings->window_rows / 2 ||
             batch->bytes_pushed - pack->first_byte >= (uint64_t)settings->window_bytes / 2);
        if (old && close_at(batch, i) != 0) {
            return -1;
        }
        i += !old;
    }
    return 0;
}

int dm_form_add(deem_batch *batch, dm_row *row, dm_span group) {
    if (batch->settings.shape == DEEM_PACK_NONE) {
        return row->response != NULL ? 0 : dm_form_request(batch, &row, 1, batch->next_order++, 0);
    }
    dm_open_pack *pack = pack_of(batch, group);
    return pack == NULL || add_entry(batch, pack, row) != 0 || close_pack(batch, pack, 0) != 0 ||
                   close_old(batch) != 0
               ? -1
               : 0;
}

int dm_form_close_all(deem_batch *batch) {
    while (batch->open_count > 0) {
        if (close_at(batch, 0) != 0) {
            return -1;
        }
    }
    return 0;
}

void dm_form_free(deem_batch *batch) {
    for (uint32_t i = 0; i < batch->open_count; i++) {
        free_pack(&batch->open[i]);
    }
    batch->open_count = 0;
}
