/* The plan of faults: which request gets which misbehaviour. */
#ifndef MOCK_FAULTS_H
#define MOCK_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* X(enumerator, name, group, argument, default argument, help). Groups: REPLY replaces the whole
 * reply; ANSWER changes an answer computed from a valid request; BODY changes the bytes of the
 * body; WIRE changes how the reply travels. Arguments: NONE, NUMBER or TEXT (after a colon). */
#define MOCK_FAULT_LIST(X)                                                                         \
    X(STATUS, "STATUS", REPLY, TEXT, 0, "status 200-599 with headers, e.g. 429:retry-after=1")     \
    X(HTML, "html", REPLY, NONE, 0, "200 with an HTML page (captive proxy)")                       \
    X(HTML_502, "html-502", REPLY, NONE, 0, "502 with Cloudflare's HTML page")                     \
    X(HTML_403, "html-403", REPLY, NONE, 0, "403 with an HTML page (firewall)")                    \
    X(EMPTY, "empty", REPLY, NONE, 0, "200 with no body")                                          \
    X(NO_CONTENT, "no-content", REPLY, NONE, 0, "204 with no body")                                \
    X(REDIRECT, "redirect", REPLY, TEXT, 0, "307 to the given URL (default /elsewhere)")           \
    X(ECHO_KEY, "echo-key", REPLY, NONE, 0, "401 whose message repeats the Authorization value")   \
    X(ECHO_STATE, "echo-state", REPLY, NONE, 0, "422 whose input repeats the whole request")       \
    X(OPENAI, "openai", REPLY, NUMBER, 400, "OpenAI's error shape (status as argument)")           \
    X(OPENROUTER, "openrouter", REPLY, NUMBER, 400, "OpenRouter's error shape; :200 is seen too")  \
    X(OLLAMA, "ollama", REPLY, NUMBER, 404, "Ollama's error shape")                                \
    X(LLAMACPP, "llamacpp", REPLY, NUMBER, 422, "llama.cpp's error shape")                         \
    X(OPPER, "opper", REPLY, NUMBER, 400, "Opper's error shape")                                   \
    X(VERCEL, "vercel", REPLY, NUMBER, 400, "Vercel gateway's error shape")                        \
    X(CLOUDFLARE, "cloudflare", REPLY, NUMBER, 400, "Cloudflare's error envelope; try :200 too")   \
    X(BODY_ARRAY, "body-array", REPLY, NONE, 0, "200 with the body []")                            \
    X(BODY_NULL, "body-null", REPLY, NONE, 0, "200 with the body null")                            \
    X(RAW, "raw", REPLY, TEXT, 0, "the bytes of a file as the whole reply, then close")            \
    X(UNKNOWN_TYPE, "unknown-type", ANSWER, NONE, 0, "first answer is of type box")                \
    X(REFUSAL, "refusal", ANSWER, NONE, 0, "first answer is a refusal")                            \
    X(BOOLEAN, "boolean", ANSWER, NONE, 0, "first answer in the gateway spelling (boolean)")       \
    X(WRAPPED, "wrapped", ANSWER, NONE, 0, "first answer wrapped in one more object")              \
    X(WRONG_KIND, "wrong-kind", ANSWER, NONE, 0, "first answer is of another known type")          \
    X(NO_TYPE, "no-type", ANSWER, NONE, 0, "first answer has no type")                             \
    X(MISSING_ANSWER, "missing-answer", ANSWER, NONE, 0, "first question is left out")             \
    X(EXTRA_ANSWER, "extra-answer", ANSWER, TEXT, 0, "an answer nobody asked (default __proto__)") \
    X(DUPLICATE_KEYS, "duplicate-keys", ANSWER, NONE, 0, "first answer stands twice, unequal")     \
    X(EMPTY_ANSWERS, "empty-answers", ANSWER, NONE, 0, "answers is {}")                            \
    X(ANSWERS_ARRAY, "answers-array", ANSWER, NONE, 0, "answers is []")                            \
    X(ANSWERS_NULL, "answers-null", ANSWER, NONE, 0, "answers is null")                            \
    X(NO_ANSWERS, "no-answers", ANSWER, NONE, 0, "answers is absent")                              \
    X(OUT_OF_RANGE, "out-of-range", ANSWER, NONE, 0, "first main number above its range")          \
    X(NEGATIVE, "negative", ANSWER, NONE, 0, "first main number is -0.1")                          \
    X(NULL_NUMBER, "null-number", ANSWER, NONE, 0, "first main number is null")                    \
    X(STRING_NUMBER, "string-number", ANSWER, NONE, 0, "first main number is a string")            \
    X(HUGE_NUMBER, "huge-number", ANSWER, NONE, 0, "first main number is 1e999")                   \
    X(NAN_NUMBER, "nan", ANSWER, NONE, 0, "first main number is the token NaN")                    \
    X(INTEGERS, "integers", ANSWER, NONE, 0, "whole numbers where floats are meant")               \
    X(WRONG_CHOICE, "wrong-choice", ANSWER, NONE, 0, "named choice is the least probable")         \
    X(UNLISTED_CHOICE, "unlisted-choice", ANSWER, NONE, 0, "named choice was never offered")       \
    X(MISSING_OPTION, "missing-option", ANSWER, NONE, 0, "one probability left out")               \
    X(EXTRA_OPTION, "extra-option", ANSWER, NONE, 0, "one probability too many")                   \
    X(BAD_SUM, "bad-sum", ANSWER, NONE, 0, "probabilities sum to one half")                        \
    X(BAD_SCORE, "bad-score", ANSWER, NONE, 0, "score is not the mean of its distribution")        \
    X(BAD_LEVEL_KEY, "bad-level-key", ANSWER, NONE, 0, "score key 00 in place of 0")               \
    X(NO_CONFIDENCE, "no-confidence", ANSWER, NONE, 0, "confidence absent")                        \
    X(NO_PROBABILITIES, "no-probabilities", ANSWER, NONE, 0, "probabilities absent")               \
    X(NO_LEGEND, "no-legend", ANSWER, NONE, 0, "legend absent")                                    \
    X(NULL_USAGE, "null-usage", ANSWER, NONE, 0, "usage is null")                                  \
    X(NO_USAGE, "no-usage", ANSWER, NONE, 0, "usage is absent")                                    \
    X(FLOAT_USAGE, "float-usage", ANSWER, NONE, 0, "token counts 12.0 and 1.5")                    \
    X(BIG_USAGE, "big-usage", ANSWER, NONE, 0, "input tokens are 2^63")                            \
    X(OTHER_USAGE, "other-usage", ANSWER, NONE, 0, "prompt_tokens and completion_tokens")          \
    X(MODEL, "model", ANSWER, TEXT, 0, "the given name as the model that answered")                \
    X(NO_MODEL, "no-model", ANSWER, NONE, 0, "model is absent")                                    \
    X(EXTRA_FIELDS, "extra-fields", ANSWER, NONE, 0, "id, provider, cost, diagnostics beside")     \
    X(ENVELOPE, "envelope", ANSWER, NONE, 0, "Cloudflare's success envelope around the reply")     \
    X(DEEP, "deep", ANSWER, NUMBER, 20000, "an unknown field nested N levels deep")                \
    X(BIG, "big", ANSWER, NUMBER, 1048576, "an unknown field of N bytes")                          \
    X(TRUNCATED_JSON, "truncated-json", BODY, NONE, 0, "half of the body, framed as whole")        \
    X(TWO_DOCUMENTS, "two-documents", BODY, NONE, 0, "the body twice")                             \
    X(TRAILING_TEXT, "trailing-text", BODY, NONE, 0, "text behind the JSON")                       \
    X(TRAILING_SPACE, "trailing-space", BODY, NONE, 0, "blanks and newlines behind the JSON")      \
    X(BAD_UTF8, "bad-utf8", BODY, NONE, 0, "bytes FF FE inside the first string")                  \
    X(LONE_SURROGATE, "lone-surrogate", BODY, NONE, 0, "half an escaped pair in a string")         \
    X(BOM, "bom", BODY, NONE, 0, "byte order mark before the JSON")                                \
    X(UTF16, "utf16", BODY, NONE, 0, "the body in UTF-16 with its mark")                           \
    X(NUL, "nul", BODY, NONE, 0, "a zero byte behind the JSON")                                    \
    X(GZIP, "gzip", BODY, NONE, 0, "gzip body")                                                    \
    X(GZIP_TRUNCATED, "gzip-truncated", BODY, NONE, 0, "gzip body without its last 8 bytes")       \
    X(GZIP_HALF, "gzip-half", BODY, NONE, 0, "half of a gzip body, framed as whole")               \
    X(GZIP_TRAILING, "gzip-trailing", BODY, NONE, 0, "text behind a gzip body")                    \
    X(DEFLATE, "deflate", BODY, NONE, 0, "deflate (zlib) body")                                    \
    X(ZSTD_LABEL, "zstd-label", BODY, NONE, 0, "plain body labelled zstd")                         \
    X(NO_CONTENT_TYPE, "no-content-type", BODY, NONE, 0, "no Content-Type")                        \
    X(DELAY, "delay", WIRE, NUMBER, 100, "reply MS late (joins any other fault)")                  \
    X(HANG, "hang", WIRE, NONE, 0, "no reply, connection left open")                               \
    X(HANG_BODY, "hang-body", WIRE, NUMBER, 1, "head and N bytes of the body, then silence")       \
    X(DRIP, "drip", WIRE, NUMBER, 10, "one byte of the body per MS")                               \
    X(CUT, "cut", WIRE, NUMBER, 0, "close after N bytes of the body (default half)")               \
    X(CUT_HEAD, "cut-head", WIRE, NUMBER, 0, "close after N bytes of the head (default half)")     \
    X(GZIP_LENGTH, "gzip-length", WIRE, NONE, 0, "gzip body under the unpacked Content-Length")    \
    X(RESET, "reset", WIRE, NONE, 0, "connection reset, no reply")                                 \
    X(RESET_BODY, "reset-body", WIRE, NONE, 0, "connection reset in mid-body")                     \
    X(CLOSE, "close", WIRE, NONE, 0, "connection closed, no reply")                                \
    X(CLOSE_AFTER, "close-after", WIRE, NONE, 0, "good reply, then the kept connection closes")    \
    X(CHUNKED, "chunked", WIRE, NUMBER, 64, "chunks of N bytes, then trailers")                    \
    X(CHUNKED_CUT, "chunked-cut", WIRE, NONE, 0, "closed before the last chunk")                   \
    X(NO_LENGTH, "no-length", WIRE, NONE, 0, "no length, the close ends the body")                 \
    X(NO_LENGTH_CUT, "no-length-cut", WIRE, NONE, 0, "no length, JSON cut, close")                 \
    X(CONTINUE, "continue", WIRE, NONE, 0, "two interim 1xx heads before the reply")

enum mock_fault_kind {
#define X(enumerator, ...) MOCK_FAULT_##enumerator,
    MOCK_FAULT_LIST(X)
#undef X
        MOCK_FAULT_KINDS
};

enum mock_fault_group { MOCK_GROUP_REPLY, MOCK_GROUP_ANSWER, MOCK_GROUP_BODY, MOCK_GROUP_WIRE };

struct mock_fault {
    char *spec; /* as written: WHAT@N */
    enum mock_fault_kind kind;
    enum mock_fault_group group;
    int status; /* STATUS and the error shapes */
    long number;
    char *text;             /* the argument as text; NULL if none */
    unsigned long from, to; /* occurrence, counted from 1 */
    unsigned long fired;
};

struct mock_plan {
    struct mock_fault *faults;
    size_t count;
};

/* Adds "WHAT@N", "WHAT@N-M" or "WHAT@every". On a mistake returns false with one sentence in
 * message (size bytes). */
bool mock_plan_add(struct mock_plan *plan, const char *spec, char *message, size_t size);
void mock_plan_free(struct mock_plan *plan);

/* The first fault planned for this occurrence that is a delay, or is none; NULL if there is none.
 */
struct mock_fault *mock_plan_find(struct mock_plan *plan, unsigned long occurrence, bool delay);

/* Writes a line for each planned fault that never fired (none if stream is NULL); returns how many.
 */
size_t mock_plan_report(const struct mock_plan *plan, FILE *stream);

/* Writes the list of faults, one line each. */
void mock_faults_print(FILE *stream);

#endif
