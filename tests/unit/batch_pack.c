/* Packs to the byte, and the files and tables of a batch: the journal with a torn end, equal rows.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch/dedupe.h"
#include "batch/journal.h"
#include "batch/pack.h"
#include "deemster_experimental.h"

static deem_question_set *make_set(const char *json) {
    deem_question_set_builder *builder = NULL;
    deem_question_set *set = NULL;
    deem_question_set_builder_new(&builder);
    deem_question_set_builder_json_open(builder, json, strlen(json));
    cr_assert_eq(deem_question_set_new(builder, &set), DEEM_OK, "%s", json);
    deem_question_set_builder_free(builder);
    return set;
}

static dm_row *make_row(const char *state) {
    dm_row *row = dm_row_new();
    dm_bytes_append(&row->state, state, strlen(state));
    row->is_json = 1;
    return row;
}

#define ALONE(row) "Answer for `rows[" row "]` alone, as if the other rows were not there."

/* One question asked of two rows. */
static const struct packed {
    const char *name;
    int32_t shape;
    const char *question;
    const char *rows[2];
    const char *state;
    const char *questions;
    const char *warning; /* the first, or NULL */
} packs[] = {
    {"question: text",
     DEEM_PACK_QUESTION,
     "{\"type\":\"noul\",\"instructions\":\"Is `a` b?\"}",
     {"{\"a\":1}", "\"text\""},
     "\"Each question brings the record that it is about.\"",
     "{\"r0q0\":{\"type\":\"noul\",\"instructions\":{\"record\":{\"a\":1},\"question\":\"Is `a` "
     "b?\"}},"
     "\"r1q0\":{\"type\":\"noul\",\"instructions\":{\"record\":\"text\",\"question\":\"Is `a` "
     "b?\"}}}",
     NULL},
    {"question: structured",
     DEEM_PACK_QUESTION,
     "{\"type\":\"noul\",\"instructions\":{\"ask\":[1,\"x\"]},\"criteria\":{\"true\":\"t\"}}",
     {"[]", "{}"},
     "\"Each question brings the record that it is about.\"",
     "{\"r0q0\":{\"type\":\"noul\",\"instructions\":{\"record\":[],\"question\":{\"ask\":[1,\"x\"]}"
     "},"
     "\"criteria\":{\"true\":\"t\"}},"
     "\"r1q0\":{\"type\":\"noul\",\"instructions\":{\"record\":{},\"question\":{\"ask\":[1,\"x\"]}}"
     ","
     "\"criteria\":{\"true\":\"t\"}}}",
     NULL},
    {"question: null",
     DEEM_PACK_QUESTION,
     "{\"type\":\"noul\",\"instructions\":null,\"criteria\":{\"true\":\"t\"}}",
     {"\"a\"", "\"b\""},
     "\"Each question brings the record that it is about.\"",
     "{\"r0q0\":{\"type\":\"noul\",\"instructions\":{\"record\":\"a\",\"question\":null},"
     "\"criteria\":{\"true\":\"t\"}},"
     "\"r1q0\":{\"type\":\"noul\",\"instructions\":{\"record\":\"b\",\"question\":null},"
     "\"criteria\":{\"true\":\"t\"}}}",
     NULL},
    {"question: criteria alone, and a field of the caller's own",
     DEEM_PACK_QUESTION,
     "{\"type\":\"score\",\"criteria\":[\"low\",\"high\"],\"weight\":2}",
     {"\"a\"", "\"b\""},
     "\"Each question brings the record that it is about.\"",
     "{\"r0q0\":{\"type\":\"score\",\"instructions\":{\"record\":\"a\"},\"criteria\":[\"low\","
     "\"high\"],"
     "\"weight\":2},"
     "\"r1q0\":{\"type\":\"score\",\"instructions\":{\"record\":\"b\"},\"criteria\":[\"low\","
     "\"high\"],"
     "\"weight\":2}}",
     NULL},
    {"state: text with paths",
     DEEM_PACK_STATE,
     "{\"type\":\"noul\",\"instructions\":\"Is `a.b[0]` like `a`? \\\"`a`\\\" `not a path`\"}",
     {"{\"a\":{\"b\":[1]}}", "{\"a\":2}"},
     "{\"rows\":[{\"a\":{\"b\":[1]}},{\"a\":2}]}",
     "{\"r0q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE(
         "0") " Is `rows[0].a.b[0]` like `rows[0].a`? \\\"`rows[0].a`\\\" `not a path`\"},"
              "\"r1q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE(
                  "1") " Is `rows[1].a.b[0]` like `rows[1].a`? \\\"`rows[1].a`\\\" `not a "
                       "path`\"}}",
     NULL},
    {"state: structured instructions, criteria with paths, a label stays",
     DEEM_PACK_STATE,
     "{\"type\":\"choice\",\"instructions\":{\"`a`\":[\"see `a`\"]},"
     "\"criteria\":{\"`a`\":\"when `a`\",\"z\":null}}",
     {"{\"a\":1}", "{\"a\":2}"},
     "{\"rows\":[{\"a\":1},{\"a\":2}]}",
     "{\"r0q0\":{\"type\":\"choice\",\"instructions\":{\"scope\":\"" ALONE(
         "0") "\",\"question\":{\"`a`\":[\"see `rows[0].a`\"]}},"
              "\"criteria\":{\"`a`\":\"when `rows[0].a`\",\"z\":null}},"
              "\"r1q0\":{\"type\":\"choice\",\"instructions\":{\"scope\":\"" ALONE(
                  "1") "\",\"question\":{\"`a`\":[\"see `rows[1].a`\"]}},"
                       "\"criteria\":{\"`a`\":\"when `rows[1].a`\",\"z\":null}}}",
     NULL},
    {"state: null instructions",
     DEEM_PACK_STATE,
     "{\"type\":\"noul\",\"instructions\":null,\"criteria\":{\"true\":\"t\"}}",
     {"\"a\"", "\"b\""},
     "{\"rows\":[\"a\",\"b\"]}",
     "{\"r0q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE(
         "0") "\",\"criteria\":{\"true\":\"t\"}},"
              "\"r1q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE(
                  "1") "\",\"criteria\":{\"true\":\"t\"}}}",
     NULL},
    {"state: criteria alone",
     DEEM_PACK_STATE,
     "{\"type\":\"score\",\"criteria\":[\"low\",\"high\"]}",
     {"\"a\"", "\"b\""},
     "{\"rows\":[\"a\",\"b\"]}",
     "{\"r0q0\":{\"type\":\"score\",\"instructions\":\"" ALONE(
         "0") "\",\"criteria\":[\"low\",\"high\"]},"
              "\"r1q0\":{\"type\":\"score\",\"instructions\":\"" ALONE(
                  "1") "\",\"criteria\":[\"low\",\"high\"]}}",
     NULL},
    {"state: a path that a row has not",
     DEEM_PACK_STATE,
     "{\"type\":\"noul\",\"instructions\":\"Is `b.c` so?\"}",
     {"{\"b\":{}}", "{\"a\":2}"},
     "{\"rows\":[{\"b\":{}},{\"a\":2}]}",
     "{\"r0q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE(
         "0") " Is `rows[0].b.c` so?\"},"
              "\"r1q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE("1") " Is `b.c` so?\"}}",
     "questions.q: `b.c` is left as it stands: a row has no field of that name"},
    {"state: a path with rows of text",
     DEEM_PACK_STATE,
     "{\"type\":\"noul\",\"instructions\":\"Is `b` so?\"}",
     {"\"x\"", "\"y\""},
     "{\"rows\":[\"x\",\"y\"]}",
     "{\"r0q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE(
         "0") " Is `b` so?\"},"
              "\"r1q0\":{\"type\":\"noul\",\"instructions\":\"" ALONE("1") " Is `b` so?\"}}",
     "questions.q: `b` is left as it stands: the row is no object"},
};

Test(batch_pack, both_shapes_to_the_byte) {
    for (size_t i = 0; i < sizeof packs / sizeof *packs; i++) {
        const struct packed *pack = &packs[i];
        char json[512];
        dm_packer packer;
        dm_bytes state = {0}, questions = {0};
        dm_row *rows[2] = {make_row(pack->rows[0]), make_row(pack->rows[1])};
        snprintf(json, sizeof json, "{\"q\":%s}", pack->question);
        deem_question_set *set = make_set(json);
        cr_assert_eq(dm_packer_init(&packer, set, pack->shape), 0);
        cr_assert_eq(dm_packer_state(&packer, rows, 2, &state), 0);
        cr_assert_eq(dm_packer_questions(&packer, rows, 2, &questions), 0);
        cr_expect_str_eq(state.data, pack->state, "%s", pack->name);
        cr_expect_str_eq(questions.data, pack->questions, "%s", pack->name);
        cr_expect_eq(packer.warning_count, pack->warning != NULL, "%s", pack->name);
        if (pack->warning != NULL && packer.warning_count == 1) {
            cr_expect_str_eq(packer.warnings[0].data, pack->warning);
        }
        dm_pack_load one = dm_packer_load(&packer, rows[0]->state.len);
        dm_pack_load other = dm_packer_load(&packer, rows[1]->state.len);
        cr_expect(state.len + questions.len <= one.bytes + other.bytes + 128,
                  "%s: more than was reckoned with", pack->name);
        deem_question_set *plan = dm_packer_plan(&packer, 2);
        cr_assert_not_null(plan);
        cr_expect_eq(plan->question_count, 2);
        cr_expect_eq(plan->label_count, 2 * set->label_count);
        cr_expect_eq(dm_plan_find(plan, DM_LITERAL("r1q0"), 0), 1);
        deem_question_set_free(plan);
        dm_packer_free(&packer);
        deem_question_set_free(set);
        dm_bytes_free(&state);
        dm_bytes_free(&questions);
        dm_row_free(rows[0]);
        dm_row_free(rows[1]);
    }
}

Test(batch_pack, paths_of_a_422_name_rows) {
    static const struct {
        const char *path;
        int64_t row;
        int32_t question;
        const char *rest;
    } paths[] = {
        {"questions.r3q1.criteria.a", 3, 1, ".criteria.a"},
        {"questions.r0q0", 0, 0, ""},
        {"questions.r12q2.criteria", -1, -1, "questions.r12q2.criteria"}, /* no such question */
        {"questions.rx", -1, -1, "questions.rx"},
        {"questions.r1", -1, -1, "questions.r1"},
        {"state.rows[7].a", 7, -1, "state.rows[7].a"},
        {"state", -1, -1, "state"},
        {"", -1, -1, ""},
        {"questions.r99999999999999999999q0", -1, -1, "questions.r99999999999999999999q0"},
    };
    deem_question_set *set = make_set("{\"a\":{\"type\":\"noul\",\"instructions\":\"?\"},"
                                      "\"b\":{\"type\":\"noul\",\"instructions\":\"?\"}}");
    dm_packer packer;
    cr_assert_eq(dm_packer_init(&packer, set, DEEM_PACK_QUESTION), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int32_t question;
        dm_span rest;
        dm_span path = dm_span_of(paths[i].path, strlen(paths[i].path));
        cr_expect_eq(dm_packer_row_of_path(&packer, path, &question, &rest), paths[i].row, "%s",
                     paths[i].path);
        cr_expect_eq(question, paths[i].question, "%s", paths[i].path);
        cr_expect(dm_span_equal(rest, dm_span_of(paths[i].rest, strlen(paths[i].rest))), "%s",
                  paths[i].path);
    }
    dm_packer_free(&packer);
    deem_question_set_free(set);
}

Test(batch_pack, the_last_rows_are_found_again) {
    enum { ROWS = 1000, ROOM = 100 };
    static dm_row *rows[ROWS];
    dm_dedupe dedupe;
    cr_assert_eq(dm_dedupe_init(&dedupe, ROOM), 0);
    for (int i = 0; i < ROWS; i++) {
        char text[32];
        snprintf(text, sizeof text, "\"row %d\"", i);
        rows[i] = make_row(text);
        cr_assert_eq(dm_row_digest(rows[i], dm_span_of(NULL, 0)), 0);
        cr_assert_null(dm_dedupe_find(&dedupe, rows[i]->digest));
        dm_row *gone = dm_dedupe_add(&dedupe, rows[i]);
        cr_assert_eq(gone, i < ROOM ? NULL : rows[i - ROOM]);
        for (int k = 0; k <= i; k++) {
            dm_row *found = dm_dedupe_find(&dedupe, rows[k]->digest);
            cr_assert_eq(found, k > i - ROOM ? rows[k] : NULL);
            cr_assert_eq(rows[k]->known, k > i - ROOM);
        }
    }
    /* Rows of another group are other rows, and text is not the JSON that looks like it. */
    dm_row *other = make_row("\"row 999\"");
    dm_row_digest(other, DM_LITERAL("tenant"));
    cr_expect_null(dm_dedupe_find(&dedupe, other->digest));
    other->is_json = 0;
    dm_row_digest(other, dm_span_of(NULL, 0));
    cr_expect_null(dm_dedupe_find(&dedupe, other->digest));
    dm_row_free(other);
    int popped = 0;
    while (dm_dedupe_pop(&dedupe) != NULL) {
        popped++;
    }
    cr_expect_eq(popped, ROOM);
    dm_dedupe_free(&dedupe);
    for (int i = 0; i < ROWS; i++) {
        dm_row_free(rows[i]);
    }
}

/* ---- the journal ---- */

enum { RECORDS = 6 };

static const dm_journal_key base = {
    .identity = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .model = {"jev-latest", 10},
    .pack_rows = 1};

static char path[64];

static int32_t open_journal(dm_journal *journal, int resume, const dm_journal_key *key,
                            dm_error *error) {
    return dm_journal_open(journal, dm_span_of(path, strlen(path)), resume, key, error);
}

static dm_row *answered(deem_question_set *set, uint64_t position) {
    char text[96];
    dm_row *row = make_row("\"x\"");
    row->position = position;
    row->attempts = 2;
    row->place = (dm_pack_place){position, 0, 1, DEEM_PACK_QUESTION};
    dm_row_digest(row, dm_span_of(NULL, 0));
    row->response = dm_response_new();
    dm_response_begin(row->response, set);
    row->response->http_status = 200;
    dm_response_add_header(row->response, DM_LITERAL("x-typesafe-request-id"), DM_LITERAL("req_1"));
    int len = snprintf(text, sizeof text,
                       "{\"answers\":\n{\"q\":{\"type\":\"noul\",\"noul\":0.%d5}}}", (int)position);
    dm_bytes_append(&row->response->body, text, (size_t)len);
    return row;
}

static int restored(dm_journal *journal, deem_question_set *set, uint64_t position, double *noul) {
    dm_json_index index;
    dm_json_index_init(&index, DM_JSON_BY_DEFAULT);
    dm_row *row = make_row("\"x\"");
    row->position = position;
    dm_row_digest(row, dm_span_of(NULL, 0));
    int found = dm_journal_restore(journal, row, set, DEEM_CHECK_STRICT, &index);
    if (found == 1) {
        dm_span id = dm_response_request_id(row->response);
        cr_expect(dm_span_equal(id, DM_LITERAL("req_1")));
        cr_expect_eq(row->response->error.code, DEEM_OK);
        cr_expect_eq(row->attempts, 2);
        cr_expect_eq(row->place.pack, position);
        *noul = row->response->reply.answers.records[0].value;
    }
    dm_row_free(row);
    dm_json_index_free(&index);
    return found;
}

static void write_records(deem_question_set *set, int from, int to) {
    dm_journal journal;
    dm_error error = {0};
    cr_assert_eq(open_journal(&journal, from > 0, &base, &error), DEEM_OK);
    for (int i = from; i < to; i++) {
        dm_row *row = answered(set, (uint64_t)i);
        cr_assert_eq(dm_journal_append(&journal, &row, 1), 0);
        dm_row_free(row);
    }
    dm_journal_close(&journal);
}

static long size_of(void) {
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    return (long)status.st_size;
}

Test(batch_pack, a_journal_is_whole_wherever_it_is_torn) {
    deem_question_set *set = make_set("{\"q\":{\"type\":\"noul\",\"instructions\":\"?\"}}");
    long ends[RECORDS + 1];
    snprintf(path, sizeof path, "/tmp/deemster-journal-%d", (int)getpid());
    unlink(path);
    write_records(set, 0, 0);
    ends[0] = size_of();
    for (int i = 0; i < RECORDS; i++) {
        write_records(set, i == 0 ? 0 : i, i + 1);
        ends[i + 1] = size_of();
    }
    char *whole = malloc((size_t)ends[RECORDS]);
    int fd = open(path, O_RDONLY);
    cr_assert_eq(read(fd, whole, (size_t)ends[RECORDS]), ends[RECORDS]);
    close(fd);
    for (long cut = 0; cut <= ends[RECORDS]; cut++) {
        for (int damage = 0; damage < 2; damage++) { /* cut off, or cut off and followed by junk */
            unlink(path); /* cutting the file to nothing would be flushed to the disk each time */
            fd = open(path, O_WRONLY | O_CREAT, 0600);
            cr_assert_eq(write(fd, whole, (size_t)cut), cut);
            if (damage == 1 && cut >= ends[0]) {
                cr_assert_eq(write(fd, "R 5 0\nab", 8), 8);
            }
            close(fd);
            dm_journal journal;
            dm_error error = {0};
            cr_assert_eq(open_journal(&journal, 1, &base, &error), DEEM_OK, "cut at %ld: %s", cut,
                         error.message.data);
            int good = 0;
            while (good < RECORDS && ends[good + 1] <= cut) {
                good++;
            }
            for (int i = 0; i < RECORDS; i++) {
                double noul = 0;
                cr_assert_eq(restored(&journal, set, (uint64_t)i, &noul), i < good, "cut at %ld",
                             cut);
                cr_assert(i >= good || noul == (i * 10 + 5) / 100.0);
            }
            dm_row *row = answered(set, RECORDS); /* and it can be written on */
            cr_assert_eq(dm_journal_append(&journal, &row, 1), 0);
            dm_row_free(row);
            dm_journal_close(&journal);
            cr_assert_eq(open_journal(&journal, 1, &base, &error), DEEM_OK);
            double noul = 0;
            cr_assert_eq(restored(&journal, set, RECORDS, &noul), 1);
            cr_assert_eq(restored(&journal, set, 0, &noul), good > 0);
            dm_journal_close(&journal);
            dm_error_free(&error);
        }
    }
    free(whole);
    deem_question_set_free(set);
    unlink(path);
}

Test(batch_pack, a_journal_of_another_run_is_refused) {
    deem_question_set *set = make_set("{\"q\":{\"type\":\"noul\",\"instructions\":\"?\"}}");
    snprintf(path, sizeof path, "/tmp/deemster-journal-%d", (int)getpid());
    unlink(path);
    write_records(set, 0, 1);
    dm_journal_key other_set = base, other_model = base, shorter_model = base, other_shape = base,
                   other_size = base, other_seed = base;
    other_set.identity = "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    other_model.model = dm_span_of("jev-latesT", 10);
    shorter_model.model = dm_span_of("jev", 3);
    other_shape.shape = DEEM_PACK_STATE;
    other_size.pack_rows = 32;
    other_seed.shuffle = 1;
    const struct {
        const dm_journal_key *key;
        int resume;
        const char *says;
    } refusals[] = {
        {&base, 0, "add --resume to go on"},   {&other_set, 1, "another question set"},
        {&other_model, 1, "another model"},    {&shorter_model, 1, "another model"},
        {&other_shape, 1, "with other packs"}, {&other_size, 1, "with other packs"},
        {&other_seed, 1, "with other packs"},
    };
    dm_error error = {0};
    dm_journal journal, second;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        cr_expect_eq(open_journal(&journal, refusals[i].resume, refusals[i].key, &error),
                     DEEM_E_CONFIG);
        cr_expect_not_null(strstr(error.message.data, refusals[i].says), "%s", error.message.data);
        dm_journal_close(&journal);
    }
    cr_assert_eq(open_journal(&journal, 1, &base, &error), DEEM_OK);
    cr_expect_eq(open_journal(&second, 1, &base, &error), DEEM_E_CONFIG);
    cr_expect_not_null(strstr(error.message.data, "in use by another run"));
    dm_journal_close(&second);

    /* A row that has changed since is another row. */
    double noul = 0;
    cr_expect_eq(restored(&journal, set, 0, &noul), 1);
    dm_row *changed = make_row("\"y\"");
    dm_row_digest(changed, dm_span_of(NULL, 0));
    dm_json_index index;
    dm_json_index_init(&index, DM_JSON_BY_DEFAULT);
    cr_expect_eq(dm_journal_restore(&journal, changed, set, DEEM_CHECK_STRICT, &index), 0);
    dm_row_free(changed);
    dm_json_index_free(&index);
    dm_journal_close(&journal);

    int fd = open(path, O_WRONLY | O_TRUNC);
    cr_assert_eq(write(fd, "{\"some\":\"file\"}\n", 16), 16);
    close(fd);
    cr_expect_eq(open_journal(&journal, 1, &base, &error), DEEM_E_CONFIG);
    cr_expect_not_null(strstr(error.message.data, "no journal of this version"), "%s",
                       error.message.data);
    dm_journal_close(&journal);
    unlink(path);
    dm_error_free(&error);
    deem_question_set_free(set);
}
