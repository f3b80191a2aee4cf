/* What every contestant written in C shares: it reads one JSON object a line on standard input,
 * does what it says, and writes one JSON object a line. compare/clients/README.md has the
 * operations. A contestant supplies a struct contestant and calls serve(). */
#ifndef COMPARE_PROTOCOL_H
#define COMPARE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct text {
    char *data; /* NUL-terminated; the NUL is not counted */
    size_t length;
};

/* What a client is opened with. */
struct setup {
    struct text url, key, model, ca; /* ca: path of the CA file to trust, or empty */
    struct text state, questions;    /* the state's text; the questions object as JSON */
    struct text body;                /* the whole request body */
    struct text choice_key, noul_key, want_choice; /* choice_key is empty when none is asked */
    double want_noul;
    int retries; /* -1: the library's own default */
    int in_flight;
};

/* What one call came to. */
struct outcome {
    char choice[64];
    double noul;
    char error[400]; /* empty: it was answered */
};

/* Counts and times the calls of one operation. */
struct meter;

/* Asks for leave to start a call in a slot (0 to in_flight - 1) and notes the time. */
bool meter_begin(struct meter *meter, size_t slot);
/* Notes the end of the slot's call and checks what it came to. */
void meter_end(struct meter *meter, size_t slot, const struct outcome *outcome);

struct contestant {
    const char *library, *version;
    /* Makes the client. Returns false after writing the reason. */
    bool (*open)(const struct setup *setup, char *error, size_t room);
    void (*close)(void);
    /* Blocking contestants: what a thread needs, one call, and its end. */
    void *(*worker)(void);
    void (*call)(void *worker, struct outcome *outcome);
    void (*worker_end)(void *worker);
    /* Others: keeps in_flight calls going until the meter refuses to begin one. */
    void (*drive)(struct meter *meter, size_t in_flight);
    /* Makes one call and writes the whole answer as a JSON object. */
    void (*answer)(FILE *out);
};

/* Serves until standard input ends. Returns the exit status. */
int serve(const struct contestant *contestant);

/* Writes bytes as a JSON string. */
void write_json_text(FILE *out, const char *text, size_t length);

/* The first value of a field, by name and as it stands; NULL if it is not there. Good enough for
 * bodies that were not made to mislead. */
const char *json_field(const char *at, const char *end, const char *name, size_t length);

/* Reads the two answers that are checked out of a reply's body by hand. */
void read_body(const struct setup *setup, const char *body, size_t length, struct outcome *outcome);

#endif
