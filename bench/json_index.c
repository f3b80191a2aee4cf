/* What indexing a reply costs, by each indexer: one repeated document, and 1,024 varied ones. Also
 * the state check, writing a string and reading numbers. Prints ns; nothing is judged here. */
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "triage.h"
#include "json/index.h"
#include "json/state.h"
#include "json/value.h"
#include "json/write.h"

enum { DOCUMENTS = 1024, ROUNDS = 40 };

typedef struct corpus {
    dm_json_index index;
    dm_bytes documents[DOCUMENTS];
    uint32_t mask; /* 0: always the first document */
    double sum;
} corpus;

static void index_one(void *context, uint32_t i) {
    corpus *c = context;
    const dm_bytes *text = &c->documents[i & c->mask];
    if (dm_json_index_run(&c->index, text->data, text->len, NULL, NULL) != DM_JSON_OK) {
        abort();
    }
}

static void index_and_read(void *context, uint32_t i) {
    corpus *c = context;
    index_one(c, i);
    for (uint32_t n = 0; n < c->index.count; n++) {
        const dm_json_node *node = &c->index.nodes[n];
        double value;
        if (node->kind == DM_JSON_NUMBER &&
            dm_json_number(c->index.text, node, &value) == DM_JSON_NUMBER_OK) {
            c->sum += value;
        }
    }
}

static void check_one(void *context, uint32_t i) {
    corpus *c = context;
    const dm_bytes *text = &c->documents[i & c->mask];
    if (dm_json_state_check(text->data, text->len, DM_JSON_DEPTH_DEFAULT, NULL) != DM_JSON_OK) {
        abort();
    }
}

typedef struct writing {
    dm_bytes in;
    dm_bytes out;
} writing;

static void write_one(void *context, uint32_t i) {
    writing *w = context;
    (void)i;
    dm_bytes_clear(&w->out);
    if (dm_json_write_string(&w->out, dm_bytes_span(&w->in)) != 0) {
        abort();
    }
}

static void measure_documents(corpus *c, const char *name, dm_json_indexer indexer) {
    static const uint32_t masks[] = {DOCUMENTS - 1, 0};
    for (int i = 0; i < 2; i++) {
        c->mask = masks[i];
        dm_json_index_init(&c->index, indexer);
        double index_ns = measure_ns(index_one, c, 16 * DOCUMENTS, ROUNDS);
        double read_ns = measure_ns(index_and_read, c, 16 * DOCUMENTS, ROUNDS);
        printf("%-9s %-8s index %6.1f ns, with every number read %6.1f ns\n", name,
               c->mask != 0 ? "varied" : "repeated", index_ns, read_ns);
        dm_json_index_free(&c->index);
    }
}

static void measure_texts(const char *name, const char *piece) {
    enum { SIZE = 1 << 20 };
    corpus *c = calloc(1, sizeof *c);
    writing w = {{0}, {0}};
    if (c == NULL) {
        abort();
    }
    while (w.in.len < SIZE) {
        dm_bytes_append_text(&w.in, piece);
    }
    write_one(&w, 0);
    c->documents[0] = w.out;
    double check_ns = measure_ns(check_one, c, 20, 10);
    w.out = (dm_bytes){0};
    double write_ns = measure_ns(write_one, &w, 20, 10);
    printf("1 MiB of %-12s check %5.2f GB/s, write %5.2f GB/s\n", name,
           (double)c->documents[0].len / check_ns, (double)w.in.len / write_ns);
    dm_bytes_free(&c->documents[0]);
    dm_bytes_free(&w.in);
    dm_bytes_free(&w.out);
    free(c);
}

int main(void) {
    corpus *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return 1;
    }
    json_random random = {1};
    size_t bytes = 0;
    dm_bytes_append_text(&c->documents[0], triage_reply);
    for (int i = 0; i < DOCUMENTS; i++) {
        if (i != 0) {
            triage_varied(&random, &c->documents[i]);
        }
        dm_bytes_reserve(&c->documents[i], DM_JSON_PADDING);
        bytes += c->documents[i].len;
    }
    printf("triage replies: %zu bytes, varied ones %zu in the mean\n", c->documents[0].len,
           bytes / DOCUMENTS);
#ifndef DM_JSON_SCAN_ONLY
    measure_documents(c, "simdjson", DM_JSON_BY_SIMDJSON);
#endif
    measure_documents(c, "scan", DM_JSON_BY_SCAN);
    c->mask = DOCUMENTS - 1;
    printf("state check of the varied ones %6.1f ns\n",
           measure_ns(check_one, c, 16 * DOCUMENTS, ROUNDS));
    measure_texts("English", "My payouts have been failing for 3 days, and nobody answers. ");
    measure_texts("French", "Où est passé mon règlement ? Ça fait déjà trois jours. ");
    measure_texts("Japanese", "三日前から支払いが失敗し続けています。");
    measure_texts("quotes", "he said \"no\"\n");
    for (int i = 0; i < DOCUMENTS; i++) {
        dm_bytes_free(&c->documents[i]);
    }
    free(c);
    return 0;
}
