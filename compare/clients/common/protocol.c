#include "protocol.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* The calls of one slot; only its own thread touches it. */
struct slot {
    uint64_t begin;
    uint64_t *finished, *taken; /* when each call ended, how long it took: nanoseconds */
    size_t count, room;
    size_t failures;
    struct outcome last;
    char error[sizeof((struct outcome *)0)->error];
};

struct meter {
    uint64_t end;       /* no call begins after this, or 0 */
    _Atomic long calls; /* calls still to begin when end is 0 */
    bool judge;         /* compare with what is wanted */
    struct slot *slots;
    size_t in_flight;
};

static const struct contestant *contestant;
static struct setup setup;
static void **workers; /* kept, with their connections, until the client is closed */
static size_t worker_count;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *allocate(size_t size) {
    void *memory = calloc(1, size);
    if (!memory)
        abort();
    return memory;
}

bool meter_begin(struct meter *meter, size_t slot) {
    if (meter->end) {
        uint64_t time = now();
        meter->slots[slot].begin = time;
        return time < meter->end;
    }
    if (atomic_fetch_sub(&meter->calls, 1) <= 0)
        return false;
    meter->slots[slot].begin = now();
    return true;
}

void meter_end(struct meter *meter, size_t slot, const struct outcome *outcome) {
    uint64_t time = now();
    struct slot *own = &meter->slots[slot];
    if (own->count == own->room) {
        own->room = own->room ? own->room * 2 : 1024;
        own->finished = realloc(own->finished, own->room * sizeof *own->finished);
        own->taken = realloc(own->taken, own->room * sizeof *own->taken);
        if (!own->finished || !own->taken)
            abort();
    }
    own->finished[own->count] = time;
    own->taken[own->count++] = time - own->begin;
    if (!meter->judge) {
        own->last = *outcome;
        return;
    }
    const char *wrong = outcome->error;
    if (!*wrong && (outcome->noul != setup.want_noul ||
                    (setup.choice_key.length && strcmp(outcome->choice, setup.want_choice.data))))
        wrong = "wrong answer";
    if (*wrong && !own->failures++)
        snprintf(own->error, sizeof own->error, "%s", wrong);
}

struct thread {
    struct meter *meter;
    size_t slot;
};

static void *run_worker(void *context) {
    struct thread *thread = context;
    while (meter_begin(thread->meter, thread->slot)) {
        struct outcome outcome = {.noul = -1};
        contestant->call(workers[thread->slot], &outcome);
        meter_end(thread->meter, thread->slot, &outcome);
    }
    return NULL;
}

static void run(struct meter *meter, size_t in_flight) {
    meter->in_flight = in_flight;
    meter->slots = allocate(in_flight * sizeof *meter->slots);
    if (contestant->drive) {
        contestant->drive(meter, in_flight);
        return;
    }
    if (in_flight > worker_count) {
        workers = realloc(workers, in_flight * sizeof *workers);
        if (!workers)
            abort();
        while (worker_count < in_flight)
            workers[worker_count++] = contestant->worker();
    }
    struct thread *threads = allocate(in_flight * sizeof *threads);
    pthread_t *handles = allocate(in_flight * sizeof *handles);
    for (size_t i = 0; i < in_flight; i++)
        threads[i] = (struct thread){meter, i};
    for (size_t i = 1; i < in_flight; i++)
        if (pthread_create(&handles[i], NULL, run_worker, &threads[i]))
            abort();
    run_worker(&threads[0]);
    for (size_t i = 1; i < in_flight; i++)
        pthread_join(handles[i], NULL);
    free(threads);
    free(handles);
}

static void release(struct meter *meter) {
    for (size_t i = 0; i < meter->in_flight; i++) {
        free(meter->slots[i].finished);
        free(meter->slots[i].taken);
    }
    free(meter->slots);
}

static uint64_t cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void write_json_text(FILE *out, const char *text, size_t length) {
    putc('"', out);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20 || byte > 0x7e)
            fprintf(out, "\\u%04x", byte);
        else
            putc(byte, out);
    }
    putc('"', out);
}

/* The latencies in the order of the slots, thinned evenly to at most `most`. */
static void write_samples(FILE *out, const struct meter *meter, size_t total, size_t most) {
    size_t stride = total > most ? (total + most - 1) / most : 1, index = 0, written = 0;
    fputs("\"samples\":[", out);
    for (size_t i = 0; i < meter->in_flight; i++)
        for (size_t k = 0; k < meter->slots[i].count; k++)
            if (index++ % stride == 0)
                fprintf(out, written++ ? ",%llu" : "%llu",
                        (unsigned long long)meter->slots[i].taken[k]);
    fputs("]", out);
}

/* How many calls ended in each tenth of a second. */
static void write_buckets(FILE *out, const struct meter *meter, uint64_t start, uint64_t last) {
    size_t count = (size_t)((last - start) / 100000000u) + 1;
    uint64_t *buckets = allocate(count * sizeof *buckets);
    for (size_t i = 0; i < meter->in_flight; i++)
        for (size_t k = 0; k < meter->slots[i].count; k++)
            buckets[(meter->slots[i].finished[k] - start) / 100000000u]++;
    fputs(",\"buckets\":[", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, i ? ",%llu" : "%llu", (unsigned long long)buckets[i]);
    fputs("]", out);
    free(buckets);
}

/* Runs one measured stretch and writes its members of the reply. */
static void measure(FILE *out, struct meter *meter, size_t in_flight, size_t most) {
    uint64_t cpu = cpu_us(), start = now(), last = start;
    meter->judge = true;
    run(meter, in_flight);
    cpu = cpu_us() - cpu;
    size_t total = 0, failures = 0;
    const char *error = "";
    for (size_t i = 0; i < in_flight; i++) {
        struct slot *slot = &meter->slots[i];
        total += slot->count;
        failures += slot->failures;
        if (slot->failures && !*error)
            error = slot->error;
        if (slot->count && slot->finished[slot->count - 1] > last)
            last = slot->finished[slot->count - 1];
    }
    fprintf(out,
            "\"calls\":%zu,\"failures\":%zu,\"elapsed_ns\":%llu,\"cpu_us\":%llu,\"error\":", total,
            failures, (unsigned long long)(last - start), (unsigned long long)cpu);
    write_json_text(out, error, strlen(error));
    putc(',', out);
    write_samples(out, meter, total, most);
    write_buckets(out, meter, start, last);
    release(meter);
}

const char *json_field(const char *at, const char *end, const char *name, size_t length) {
    while (at < end) {
        const char *found = memmem(at, (size_t)(end - at), name, length);
        if (!found || found + length >= end)
            return NULL;
        at = found + length;
        if (found[-1] != '"' || *at != '"')
            continue;
        const char *value = at + 1;
        while (value < end && (*value == ' ' || *value == '\n'))
            value++;
        if (value == end || *value != ':')
            continue;
        value++;
        while (value < end && (*value == ' ' || *value == '\n'))
            value++;
        return value;
    }
    return NULL;
}

void read_body(const struct setup *given, const char *body, size_t length,
               struct outcome *outcome) {
    const char *end = body + length;
    const char *answer = json_field(body, end, given->noul_key.data, given->noul_key.length);
    const char *noul = answer ? json_field(answer, end, "noul", 4) : NULL;
    if (!noul) {
        snprintf(outcome->error, sizeof outcome->error, "no noul in the reply");
        return;
    }
    outcome->noul = strtod(noul, NULL);
    if (!given->choice_key.length)
        return;
    answer = json_field(body, end, given->choice_key.data, given->choice_key.length);
    const char *choice = answer ? json_field(answer, end, "choice", 6) : NULL;
    const char *close = choice ? memchr(choice + 1, '"', (size_t)(end - choice - 1)) : NULL;
    if (!close || (size_t)(close - choice) > sizeof outcome->choice) {
        snprintf(outcome->error, sizeof outcome->error, "no choice in the reply");
        return;
    }
    memcpy(outcome->choice, choice + 1, (size_t)(close - choice) - 1);
    outcome->choice[close - choice - 1] = 0;
}

static const char *member(const char *line, const char *name) {
    return json_field(line, line + strlen(line), name, strlen(name));
}

static double number(const char *line, const char *name, double otherwise) {
    const char *value = member(line, name);
    return value ? strtod(value, NULL) : otherwise;
}

/* A member that is plain text: the harness sends nothing that needs escapes. */
static struct text text(const char *line, const char *name) {
    const char *value = member(line, name);
    struct text result = {.length = value && *value == '"' ? strcspn(value + 1, "\"") : 0};
    result.data = allocate(result.length + 1);
    if (result.length)
        memcpy(result.data, value + 1, result.length);
    return result;
}

static struct text file(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "rb");
    if (!in) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    struct text result = {0};
    fseek(in, 0, SEEK_END);
    result.data = allocate((size_t)ftell(in) + 1);
    result.length = (size_t)ftell(in);
    rewind(in);
    result.length = fread(result.data, 1, result.length, in);
    fclose(in);
    return result;
}

static void do_open(const char *line) {
    char error[400] = "";
    struct text folder = text(line, "folder");
    setup = (struct setup){.url = text(line, "url"),
                           .key = text(line, "key"),
                           .model = text(line, "model"),
                           .ca = text(line, "ca"),
                           .state = file(folder.data, "state.txt"),
                           .questions = file(folder.data, "questions.json"),
                           .body = file(folder.data, "body.json"),
                           .choice_key = text(line, "choice_key"),
                           .noul_key = text(line, "noul_key"),
                           .want_choice = text(line, "want_choice"),
                           .want_noul = number(line, "want_noul", 0),
                           .retries = (int)number(line, "retries", -1),
                           .in_flight = (int)number(line, "in_flight", 1)};
    free(folder.data);
    uint64_t start = now();
    bool good = contestant->open(&setup, error, sizeof error);
    printf("{\"open_us\":%llu,\"error\":", (unsigned long long)(now() - start) / 1000);
    write_json_text(stdout, good ? "" : error, good ? 0 : strlen(error));
    puts("}");
}

static void do_close(void) {
    while (worker_count)
        contestant->worker_end(workers[--worker_count]);
    free(workers);
    workers = NULL;
    contestant->close();
    struct text *texts[] = {&setup.url,      &setup.key,        &setup.model, &setup.ca,
                            &setup.state,    &setup.questions,  &setup.body,  &setup.choice_key,
                            &setup.noul_key, &setup.want_choice};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]->data);
    setup = (struct setup){0};
    puts("{}");
}

static void do_verdict(void) {
    struct meter meter = {.calls = 1};
    run(&meter, 1);
    const struct slot *slot = &meter.slots[0];
    printf("{\"taken_ns\":%llu,", (unsigned long long)(slot->count ? slot->taken[0] : 0));
    if (*slot->last.error) {
        fputs("\"error\":", stdout);
        write_json_text(stdout, slot->last.error, strlen(slot->last.error));
    } else {
        /* JSON has no infinity: as text it is still told from a number. */
        printf(isfinite(slot->last.noul) ? "\"noul\":%.17g" : "\"noul\":\"%g\"", slot->last.noul);
    }
    puts("}");
    release(&meter);
}

static void do_load(const char *line) {
    size_t in_flight = (size_t)number(line, "in_flight", 1);
    double warm = number(line, "warm_s", 0), seconds = number(line, "seconds", 1);
    struct meter warming = {.judge = true, .end = now() + (uint64_t)(warm * 1e9)};
    size_t warm_calls = 0;
    run(&warming, in_flight);
    for (size_t i = 0; i < in_flight; i++)
        warm_calls += warming.slots[i].count;
    release(&warming);
    printf("{\"warm_calls\":%zu,", warm_calls);
    struct meter meter = {.end = now() + (uint64_t)(seconds * 1e9)};
    measure(stdout, &meter, in_flight, (size_t)number(line, "samples", 1000));
    puts("}");
}

int serve(const struct contestant *given) {
    char *line = NULL;
    size_t room = 0;
    contestant = given;
    printf("{\"library\":\"%s\",\"version\":\"%s\",\"runtime\":\"C, %s\",\"import_us\":0}\n",
           given->library, given->version, __VERSION__);
    fflush(stdout);
    while (getline(&line, &room, stdin) > 0) {
        struct text operation = text(line, "op");
        if (!strcmp(operation.data, "open")) {
            do_open(line);
        } else if (!strcmp(operation.data, "close")) {
            do_close();
        } else if (!strcmp(operation.data, "answer")) {
            contestant->answer(stdout);
            puts("");
        } else if (!strcmp(operation.data, "verdict")) {
            do_verdict();
        } else if (!strcmp(operation.data, "load")) {
            do_load(line);
        } else {
            struct meter meter = {.calls = (long)number(line, "calls", 1)};
            putchar('{');
            measure(stdout, &meter, 1, SIZE_MAX);
            puts("}");
        }
        free(operation.data);
        fflush(stdout);
    }
    free(line);
    return 0;
}
