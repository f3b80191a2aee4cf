/**
 * @file deemster.h
 * @brief The stable C ABI of Deemster, the native client for System One decision models.
 *
 * Rules that hold for every function here (docs/conventions.md says more):
 *
 * - **Status.** Every function that can fail returns an int32_t status: #DEEM_OK (0) or a DEEM_E_*
 *   code. Codes are pinned for ever. NULL for a handle that must not be NULL is #DEEM_E_MISUSE.
 * - **Out-parameters** come last and may be NULL when the caller does not want that value. On any
 * status but #DEEM_OK they are set so that nothing can be taken for an answer: pointers NULL,
 * lengths 0, indices -1, doubles NaN, other numbers 0 with the status saying so.
 * - **Strings in** are a pointer and a length in bytes; they may hold any byte, NUL included, and
 * are copied before the call returns. A NULL pointer with length 0 is the empty text.
 * - **Strings out** are a pointer and a length, borrowed from the handle they were asked from,
 * valid until that handle is freed, changed or reused, and followed by a NUL that the length does
 * not count (raw JSON out of a reply alone is not). Nothing is ever returned for free().
 * - **Handles.** What a `*_new` function gives, the matching `*_free` takes back; `*_free(NULL)`
 * does nothing. Getters accept NULL handles and report #DEEM_E_MISUSE.
 * - **Threads.** A builder, a config, an options handle and a response are used by one thread at a
 * time. A question set, a client and a delivered response that nobody reuses may be read from any
 * number of threads at once.
 * - **Text** is UTF-8. Keys and labels are compared byte for byte and never normalised.
 */
#ifndef DEEMSTER_H
#define DEEMSTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks what the library exports. */
#if defined(__GNUC__)
#define DEEM_API __attribute__((visibility("default")))
#else
#define DEEM_API
#endif

/** Major number of the ABI this header describes; a wrapper refuses a library with another one. */
#define DEEM_ABI_MAJOR 0
/** Minor number of the ABI this header describes; a library serves every minor since its oldest. */
#define DEEM_ABI_MINOR 1

/**
 * @defgroup status Status codes
 * What a call came to. docs/errors.md says for each when it happens, whether it is retried and what
 * to do.
 * @{
 */
/** Success. */
#define DEEM_OK 0
/** The call was used against its rules (a NULL handle, a closed client, two threads in one step).
 */
#define DEEM_E_MISUSE 1
/** There was no memory. */
#define DEEM_E_MEMORY 2
/** The caller cancelled the call or closed the client. */
#define DEEM_E_CANCELLED 3
/** A signal arrived in an interruptible call; it is still alive: call again with its id to go on.
 */
#define DEEM_E_INTERRUPTED 4
/** This build, platform or server cannot do that. */
#define DEEM_E_UNSUPPORTED 5
/** A getter was asked for something that is not there (no such question, header, usage, ...). */
#define DEEM_E_ABSENT 6
/** The question has no good answer; the answer's status says why. */
#define DEEM_E_NO_ANSWER 7
/** A setting is missing, out of range or malformed. */
#define DEEM_E_CONFIG 100
/** The API key is missing, or holds white space, control or non-ASCII characters. */
#define DEEM_E_CONFIG_KEY 101
/** The base URL or a path is malformed. */
#define DEEM_E_CONFIG_URL 102
/** The proxy setting is malformed. */
#define DEEM_E_CONFIG_PROXY 103
/** No usable CA certificates were found, or the given ones cannot be read. */
#define DEEM_E_CONFIG_CA 104
/** The question set has errors; its findings name each. */
#define DEEM_E_QUESTIONS 200
/** The state is not text, or not one JSON string, object or array. */
#define DEEM_E_STATE 210
/** The connection failed (no other connection code fits). Retried. */
#define DEEM_E_CONNECTION 300
/** The host name could not be resolved. Retried. */
#define DEEM_E_DNS 301
/** Nobody listens at that address. Retried. */
#define DEEM_E_REFUSED 302
/** The TLS handshake failed. Retried, except when a certificate was refused. */
#define DEEM_E_TLS 303
/** The connection closed before the reply was whole. Retried. */
#define DEEM_E_TRUNCATED 304
/** The proxy refused or broke the connection. Retried, except 407. */
#define DEEM_E_PROXY 305
/** The reply is not well-formed HTTP. Retried. */
#define DEEM_E_HTTP_FRAMING 306
/** One attempt took longer than its limit. Retried. */
#define DEEM_E_TIMEOUT 310
/** The call as a whole took longer than its deadline; the last cause is in the message. Not
 * retried. */
#define DEEM_E_DEADLINE 311
/** 3xx: the server redirects, and redirects are not followed. Not retried. */
#define DEEM_E_HTTP_REDIRECT 399
/** 400: the server refused the request. Not retried. */
#define DEEM_E_HTTP_BAD_REQUEST 400
/** 401: the API key is wrong. Not retried. */
#define DEEM_E_HTTP_AUTHENTICATION 401
/** 402: billing. Not retried. */
#define DEEM_E_HTTP_PAYMENT 402
/** 403: not allowed, or (TypeSafe) no key was sent. Not retried. */
#define DEEM_E_HTTP_PERMISSION 403
/** 404: no such route or model; the message names the URL. Not retried. */
#define DEEM_E_HTTP_NOT_FOUND 404
/** 408: the server gave up waiting. Retried. */
#define DEEM_E_HTTP_TIMEOUT 408
/** 409: conflict. Not retried. */
#define DEEM_E_HTTP_CONFLICT 409
/** 413: the request is too large for the server. Not retried. */
#define DEEM_E_HTTP_TOO_LARGE 413
/** 422: the server found the request invalid; question and field are in the path. Not retried. */
#define DEEM_E_HTTP_UNPROCESSABLE 422
/** 429: rate limited. Retried. */
#define DEEM_E_HTTP_RATE_LIMIT 429
/** Any other 4xx, 1xx or unknown status. Not retried. */
#define DEEM_E_HTTP_OTHER 499
/** 5xx but 529. Retried. */
#define DEEM_E_HTTP_SERVER 500
/** 529: overloaded. Retried. */
#define DEEM_E_HTTP_OVERLOADED 529
/** The reply was received whole and must not be believed; reason and path say why. Not retried. */
#define DEEM_E_INVALID_REPLY 700
/** @} */

/**
 * @defgroup reasons Reasons
 * Why an answer or a reply is not good: the `status` of a #deem_answer, and deem_response_reason().
 * @{
 */
/** Good. */
#define DEEM_ANSWER_OK 0
/** The reply has no answer for this question. */
#define DEEM_REASON_MISSING 1
/** The answer is of another kind than the question (or of no kind, or a refusal). */
#define DEEM_REASON_WRONG_KIND 2
/** The answer is not the object that its kind requires, or a field is missing. */
#define DEEM_REASON_SHAPE 3
/** A field has the wrong JSON type (null where a number is meant, ...). */
#define DEEM_REASON_TYPE 4
/** A number is out of its range or not finite. */
#define DEEM_REASON_RANGE 5
/** The label was not offered. */
#define DEEM_REASON_LABEL 6
/** An option or level has no probability. */
#define DEEM_REASON_PROBABILITY_MISSING 7
/** The probabilities do not sum to 1 within the tolerance. */
#define DEEM_REASON_SUM 8
/** The named option is not a most probable one. */
#define DEEM_REASON_NOT_TOP 9
/** A level key is not a canonical index of a level that was sent. */
#define DEEM_REASON_LEVEL 10
/** Answered or labelled twice. */
#define DEEM_REASON_DUPLICATE 11
/** The score differs from the mean of its own distribution. */
#define DEEM_REASON_SCORE_MEAN 12
/** The legend is missing a level, or is not an object. */
#define DEEM_REASON_LEGEND 13
/** The body is empty. */
#define DEEM_REASON_EMPTY 20
/** The body is not JSON. */
#define DEEM_REASON_NOT_JSON 21
/** The body is not UTF-8. */
#define DEEM_REASON_NOT_UTF8 22
/** There is data after the JSON document. */
#define DEEM_REASON_TRAILING 23
/** The JSON is nested too deep. */
#define DEEM_REASON_DEPTH 24
/** The reply is larger than the limit. */
#define DEEM_REASON_SIZE 25
/** The body is JSON, but not the object this route answers with. */
#define DEEM_REASON_ENVELOPE 26
/** The reply says 2xx and carries an error. */
#define DEEM_REASON_ERROR_BODY 27
/** A token count is not a whole number from 0 to 2^63-1. */
#define DEEM_REASON_USAGE 28
/** The JSON ends early (retried as #DEEM_E_TRUNCATED where the framing could not tell). */
#define DEEM_REASON_JSON_TRUNCATED 29
/** The content coding is unknown or broken. */
#define DEEM_REASON_ENCODING 30
/** @} */

/**
 * @defgroup kinds Question kinds and constants
 * @{
 */
/** A yes/no question answered by a probability. */
#define DEEM_NOUL 1
/** One label out of 1 to 255 options. */
#define DEEM_CHOICE 2
/** A position on 1 to 10 ordered levels. */
#define DEEM_SCORE 3

/** The instructions or criterion are absent: the field is not sent. */
#define DEEM_FORM_ABSENT 0
/** The instructions or criterion are JSON null. */
#define DEEM_FORM_NULL 1
/** The instructions or criterion are text. */
#define DEEM_FORM_TEXT 2
/** The instructions or criterion are JSON bytes, sent as they stand. */
#define DEEM_FORM_JSON 3

/** A finding that makes the set unusable. */
#define DEEM_SEVERITY_ERROR 1
/** A finding worth a look; the set works. */
#define DEEM_SEVERITY_WARNING 2

/** A reply that fails a check fails the call (default). */
#define DEEM_CHECK_STRICT 1
/** Every check is made and reported per answer; only an unreadable reply fails the call. */
#define DEEM_CHECK_LENIENT 2

/** Authorization: Bearer KEY (default). */
#define DEEM_AUTH_BEARER 1
/** No credentials are sent, and no key is needed (local servers). */
#define DEEM_AUTH_NONE 2
/** X-Api-Key: KEY. */
#define DEEM_AUTH_API_KEY 3

/** Own HTTP/1.1 framing over sockets and libcurl connections (default). */
#define DEEM_TRANSPORT_FAST 1
/** libcurl's own HTTP engine; blocking calls only. */
#define DEEM_TRANSPORT_CURL 2

/** No log lines. */
#define DEEM_LOG_OFF 0
/** As #DEEM_LOG_OFF: the library returns its errors. */
#define DEEM_LOG_ERROR 1
/** As #DEEM_LOG_OFF (default). */
#define DEEM_LOG_WARN 2
/** A line on stderr for each attempt and retry. */
#define DEEM_LOG_INFO 3
/** Also the reply's headers, credentials and cookies masked; never a body. */
#define DEEM_LOG_DEBUG 4

/** Retry connection errors. */
#define DEEM_RETRY_CONNECTION 1
/** Retry attempts that took too long. */
#define DEEM_RETRY_TIMEOUT 2
/** Obey Retry-After and retry-after-ms. */
#define DEEM_RETRY_OBEY_SERVER 4
/** Retry only what cannot have been evaluated: never after the request was sent whole. */
#define DEEM_RETRY_ONLY_UNSENT 8
/** @} */

/**
 * @defgroup answer The answer record
 * @{
 */
/** The answer has a confidence. */
#define DEEM_ANSWER_HAS_CONFIDENCE 1u
/** The answer has a whole distribution. */
#define DEEM_ANSWER_HAS_PROBABILITIES 2u
/** The answer has a legend. */
#define DEEM_ANSWER_HAS_LEGEND 4u
/** The server gave the answer in full, though a check failed: numbers are readable (lenient only).
 */
#define DEEM_ANSWER_DOUBTFUL 8u

/**
 * One answer. 64 bytes, no implicit padding; read with an explicit record size so that it may grow
 * behind its end. Where `status` is not #DEEM_ANSWER_OK numbers are NaN and indices -1, except in a
 * lenient call for an answer flagged #DEEM_ANSWER_DOUBTFUL.
 */
typedef struct deem_answer {
    int32_t question;  /**< Index of the question in the set. */
    int32_t kind;      /**< #DEEM_NOUL, #DEEM_CHOICE or #DEEM_SCORE, as asked. */
    int32_t status;    /**< #DEEM_ANSWER_OK or a DEEM_REASON_*. */
    uint32_t flags;    /**< DEEM_ANSWER_* bits. */
    double value;      /**< noul: probability of yes, 0..1; choice: probability of the chosen
                            option (NaN when none was given); score: position, 0..levels-1. */
    double confidence; /**< 0..1, or NaN when the answer has none (a noul never has one). */
    int32_t chosen;    /**< choice: index of the named option; score: the most probable level
                            (lower wins a tie), or the one nearest to the position when there is
                            no distribution; noul: -1. */
    int32_t top;       /**< Index of the most probable option or level (lower wins), or -1. */
    uint32_t
        first_probability; /**< Where its probabilities start in deem_response_probabilities(). */
    uint32_t
        probability_count; /**< How many: options or levels in the order of the request, or 0. */
    uint64_t reserved[2];  /**< Zero. */
} deem_answer;
/** @} */

/** A question set under construction. One thread at a time. */
typedef struct deem_question_set_builder deem_question_set_builder;
/** A compiled question set: immutable, counted, shared by any threads and clients. */
typedef struct deem_question_set deem_question_set;
/** Settings for a client under construction. One thread at a time. */
typedef struct deem_config deem_config;
/** A client: immutable settings, a connection pool, calls in flight. Any thread. */
typedef struct deem_client deem_client;
/** Settings of one call. Reusable; read only while a call is being started. One thread at a time.
 */
typedef struct deem_options deem_options;
/** What a call came to, good or bad. Reusable. */
typedef struct deem_response deem_response;

/**
 * @defgroup library The library
 * @{
 */

/**
 * The ABI that the loaded library serves.
 * @param[out] major The major number; a caller made for another one must not go on.
 * @param[out] minor The newest minor number served.
 * @param[out] oldest The oldest minor number of this major still served.
 * @return #DEEM_OK always. Any thread.
 */
DEEM_API int32_t deem_abi_version(uint32_t *major, uint32_t *minor, uint32_t *oldest);

/**
 * The library's version, such as "0.1.0".
 * @return A NUL-terminated text that lives as long as the library. Any thread.
 */
DEEM_API const char *deem_version(void);

/**
 * Whether this build has a feature: "simdjson", "curl" (libcurl can be loaded now), "engine",
 * "hosted".
 * @param feature The name, @p len bytes.
 * @param len Its length in bytes.
 * @return 1 or 0 (also for names it does not know). Any thread.
 */
DEEM_API int32_t deem_has(const char *feature, size_t len);

/**
 * The name of a status code, such as "DEEM_E_TIMEOUT".
 * @param status A DEEM_OK or DEEM_E_* number.
 * @return A NUL-terminated text that lives as long as the library; "DEEM_E_UNKNOWN" for other
 * numbers. Any thread.
 */
DEEM_API const char *deem_status_name(int32_t status);

/**
 * The name of a reason, such as "DEEM_REASON_RANGE".
 * @param reason A DEEM_REASON_* number.
 * @return As deem_status_name(); "DEEM_REASON_UNKNOWN" for other numbers. Any thread.
 */
DEEM_API const char *deem_reason_name(int32_t reason);
/** @} */

/**
 * @defgroup builder Building a question set
 * Questions are added in order; option, level and criterion calls speak of the question added last.
 * Adders return #DEEM_OK, #DEEM_E_MEMORY or #DEEM_E_MISUSE (no question yet, an option for a score,
 * ...); everything about the content is found by the check, which reports all findings at once.
 * Rules: wire contract sections 2.3 to 2.5.
 * @{
 */

/**
 * A new, empty builder.
 * @param[out] builder The handle; the caller owns it (deem_question_set_builder_free()).
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_question_set_builder_new(deem_question_set_builder **builder);

/**
 * Frees a builder. Sets made from it live on.
 * @param builder The handle or NULL.
 */
DEEM_API void deem_question_set_builder_free(deem_question_set_builder *builder);

/**
 * Adds a question.
 * @param builder The builder.
 * @param kind #DEEM_NOUL, #DEEM_CHOICE or #DEEM_SCORE.
 * @param key The question's key (@p key_len bytes; any bytes but invalid UTF-8; the reply is
 * matched by it).
 * @param key_len Its length in bytes.
 * @param form #DEEM_FORM_ABSENT, #DEEM_FORM_NULL, #DEEM_FORM_TEXT or #DEEM_FORM_JSON: what @p
 * instructions is.
 * @param instructions The instructions (@p instructions_len bytes; text or one JSON string, object
 * or array).
 * @param instructions_len Their length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (unknown kind or form).
 */
DEEM_API int32_t deem_question_set_builder_add(deem_question_set_builder *builder, int32_t kind,
                                               const char *key, size_t key_len, int32_t form,
                                               const char *instructions, size_t instructions_len);

/**
 * Says what "yes" or "no" means for the noul added last.
 * @param builder The builder.
 * @param side 1 for `true`, 0 for `false`.
 * @param form #DEEM_FORM_NULL, #DEEM_FORM_TEXT or #DEEM_FORM_JSON.
 * @param text The meaning (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (the last question is no noul).
 */
DEEM_API int32_t deem_question_set_builder_criterion(deem_question_set_builder *builder,
                                                     int32_t side, int32_t form, const char *text,
                                                     size_t len);

/**
 * Adds an option to the choice added last.
 * @param builder The builder.
 * @param label The label (@p label_len bytes; may be empty; reaches the model and comes back as the
 * answer).
 * @param label_len Its length in bytes.
 * @param form #DEEM_FORM_NULL, #DEEM_FORM_TEXT or #DEEM_FORM_JSON: what @p description is.
 * @param description What the label means (@p description_len bytes).
 * @param description_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (the last question is no choice).
 */
DEEM_API int32_t deem_question_set_builder_option(deem_question_set_builder *builder,
                                                  const char *label, size_t label_len, int32_t form,
                                                  const char *description, size_t description_len);

/**
 * Adds the next higher level to the score added last.
 * @param builder The builder.
 * @param form #DEEM_FORM_NULL (found by the check), #DEEM_FORM_TEXT or #DEEM_FORM_JSON.
 * @param level What the level means (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (the last question is no score).
 */
DEEM_API int32_t deem_question_set_builder_level(deem_question_set_builder *builder, int32_t form,
                                                 const char *level, size_t len);

/**
 * Adds a field of the caller's own to the question added last, for servers that know more than
 * System One; it is sent as it stands and is no finding.
 * @param builder The builder.
 * @param name The field's name (@p name_len bytes).
 * @param name_len Its length in bytes.
 * @param json Its value (@p json_len bytes of any JSON).
 * @param json_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (no question yet).
 */
DEEM_API int32_t deem_question_set_builder_field(deem_question_set_builder *builder,
                                                 const char *name, size_t name_len,
                                                 const char *json, size_t json_len);

/**
 * Sets the model that calls with this set ask for when the call itself names none.
 * @param builder The builder.
 * @param model The model (@p len bytes, opaque).
 * @param len Its length in bytes; 0 removes it.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_question_set_builder_model(deem_question_set_builder *builder,
                                                 const char *model, size_t len);

/**
 * Adds every question of a JSON document: the API's `questions` object, or `{"model": …,
 * "questions": …}` around it. Problems in it are findings, with paths into the document.
 * @param builder The builder.
 * @param json The document (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK also when the document has problems, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_question_set_builder_json(deem_question_set_builder *builder,
                                                const char *json, size_t len);

/**
 * As deem_question_set_builder_json(), but unknown fields inside a question are sent as they stand
 * and are no findings (for the drop-in wrappers, whose users may pass fields of other servers).
 * @param builder The builder.
 * @param json The document (@p len bytes).
 * @param len Its length in bytes.
 * @return As deem_question_set_builder_json().
 */
DEEM_API int32_t deem_question_set_builder_json_open(deem_question_set_builder *builder,
                                                     const char *json, size_t len);

/**
 * Checks everything added so far, offline, and notes all findings.
 * @param builder The builder.
 * @param[out] errors How many findings are errors.
 * @param[out] warnings How many are warnings.
 * @return #DEEM_OK when there is no error, #DEEM_E_QUESTIONS when there is, #DEEM_E_MEMORY,
 * #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_question_set_builder_check(deem_question_set_builder *builder, size_t *errors,
                                                 size_t *warnings);

/**
 * One finding of the last check, in the order of the questions.
 * @param builder The builder.
 * @param index 0 to errors + warnings - 1.
 * @param[out] severity #DEEM_SEVERITY_ERROR or #DEEM_SEVERITY_WARNING.
 * @param[out] rule The rule's id, such as "duplicate-key"; NUL-terminated, lives as long as the
 * library.
 * @param[out] path The JSON path, such as `questions.team.criteria`; borrowed until the next check
 * or free.
 * @param[out] path_len Its length in bytes.
 * @param[out] message What is wrong, in one sentence; borrowed likewise.
 * @param[out] message_len Its length in bytes.
 * @param[out] advice What to do, in one sentence; borrowed likewise.
 * @param[out] advice_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT (no such finding), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_question_set_builder_finding(const deem_question_set_builder *builder,
                                                   size_t index, int32_t *severity,
                                                   const char **rule, const char **path,
                                                   size_t *path_len, const char **message,
                                                   size_t *message_len, const char **advice,
                                                   size_t *advice_len);

/**
 * Checks and compiles. The builder stays as it is and may build again.
 * @param builder The builder.
 * @param[out] set The set, with one reference that the caller owns (deem_question_set_free()).
 * @return #DEEM_OK, #DEEM_E_QUESTIONS (read the findings), #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_question_set_new(deem_question_set_builder *builder, deem_question_set **set);
/** @} */

/**
 * @defgroup set A compiled question set
 * @{
 */

/**
 * Takes one more reference.
 * @param set The set.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_ref(deem_question_set *set);

/**
 * Gives one reference back; the last one frees the set. Calls in flight and responses hold their
 * own.
 * @param set The set or NULL. Any thread.
 */
DEEM_API void deem_question_set_free(deem_question_set *set);

/**
 * How many questions the set has.
 * @param set The set.
 * @param[out] count The number.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_count(const deem_question_set *set, size_t *count);

/**
 * The question at an index.
 * @param set The set.
 * @param index 0 to count-1.
 * @param[out] kind #DEEM_NOUL, #DEEM_CHOICE or #DEEM_SCORE.
 * @param[out] key Its key, borrowed from the set.
 * @param[out] key_len Its length in bytes.
 * @param[out] labels How many options or levels it has (0 for a noul).
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_question(const deem_question_set *set, size_t index,
                                            int32_t *kind, const char **key, size_t *key_len,
                                            size_t *labels);

/**
 * The index of a key.
 * @param set The set.
 * @param key The key (@p key_len bytes).
 * @param key_len Its length in bytes.
 * @param[out] index The question's index, -1 when there is none.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_find(const deem_question_set *set, const char *key,
                                        size_t key_len, int32_t *index);

/**
 * A label of a choice, or the text of a score's level (a structured level as the JSON that is
 * sent).
 * @param set The set.
 * @param question The question's index.
 * @param label The option's or level's index, in the order of the request.
 * @param[out] text The label, borrowed from the set.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_label(const deem_question_set *set, size_t question,
                                         size_t label, const char **text, size_t *len);

/**
 * The bytes that are sent as the value of `questions`.
 * @param set The set.
 * @param[out] json The bytes, borrowed from the set.
 * @param[out] len Their length.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_json(const deem_question_set *set, const char **json,
                                        size_t *len);

/**
 * The model named by the set, if any.
 * @param set The set.
 * @param[out] model The model, borrowed from the set.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_model(const deem_question_set *set, const char **model,
                                         size_t *len);

/**
 * The set's identity: the SHA-256 of the bytes that are sent, as 64 hexadecimal digits. Worked out
 * at the first question for it.
 * @param set The set.
 * @param[out] hex The digits, borrowed from the set.
 * @param[out] len 64.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_question_set_identity(const deem_question_set *set, const char **hex,
                                            size_t *len);
/** @} */

/**
 * @defgroup config Settings of a client
 * A value set here beats the environment, which beats the default; a blank environment variable
 * counts as unset (wire contract section 1.3). A setter that refuses a value returns the code,
 * leaves the old value and says why in deem_config_error().
 * @{
 */

/**
 * New settings, all at their defaults.
 * @param[out] config The handle; the caller owns it (deem_config_free()).
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_new(deem_config **config);

/**
 * Frees settings. Clients made from them live on.
 * @param config The handle or NULL.
 */
DEEM_API void deem_config_free(deem_config *config);

/**
 * What the last setter or deem_client_new() had to refuse. Never holds the key.
 * @param config The settings.
 * @param[out] message One sentence, borrowed until the next call on the config; empty when nothing
 * was wrong.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_error(const deem_config *config, const char **message, size_t *len);

/**
 * Whether environment variables are read (default yes): TYPESAFE_API_KEY, TYPESAFE_BASE_URL,
 * TYPESAFE_DEFAULT_MODEL, TYPESAFE_LOG_LEVEL; HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY in both
 * cases; SSL_CERT_FILE, SSL_CERT_DIR, CURL_CA_BUNDLE.
 * @param config The settings.
 * @param enabled 1 or 0.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_environment(deem_config *config, int32_t enabled);

/**
 * The API key. Surrounding white space is cut; empty, inner white space, control and non-ASCII
 * characters are refused at once, without showing the key. Bound to the origin of the base URL;
 * never shown again.
 * @param config The settings.
 * @param key The key (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG_KEY, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_api_key(deem_config *config, const char *key, size_t len);

/**
 * How the key is sent.
 * @param config The settings.
 * @param auth #DEEM_AUTH_BEARER (default), #DEEM_AUTH_API_KEY or #DEEM_AUTH_NONE.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_auth(deem_config *config, int32_t auth);

/**
 * The base URL, default https://api.typesafe.ai. A path prefix is kept, trailing slashes are cut,
 * and routes are joined with one slash (wire contract section 1.1). http and https only; no user
 * information, query or fragment.
 * @param config The settings.
 * @param url The URL (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG_URL, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_base_url(deem_config *config, const char *url, size_t len);

/**
 * The route that evaluates, default /v1/systemone, for gateways that keep it elsewhere.
 * @param config The settings.
 * @param path The path below the base URL (@p len bytes, begins with a slash).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG_URL, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_evaluate_path(deem_config *config, const char *path, size_t len);

/**
 * The model, default jev-latest; opaque and case-sensitive.
 * @param config The settings.
 * @param model The model (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG (empty or not UTF-8), #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_model(deem_config *config, const char *model, size_t len);

/**
 * The limit for a call as a whole: pool wait, attempts and waits between them. Default 30,000.
 * @param config The settings.
 * @param milliseconds 1 or more; 0 for no limit.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_deadline_ms(deem_config *config, int64_t milliseconds);

/**
 * The limit for one attempt: DNS, connect, TLS, send, the whole body. Default 10,000.
 * @param config The settings.
 * @param milliseconds 1 or more; 0 for no limit.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_attempt_ms(deem_config *config, int64_t milliseconds);

/**
 * How often a failed call is tried again, default 2.
 * @param config The settings.
 * @param retries 0 to 100.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_max_retries(deem_config *config, int32_t retries);

/**
 * The wait before a retry: @p initial_ms, doubled each time up to @p most_ms, less a random share
 * of up to
 * @p jitter. Default 500, 5,000, 0.25 (wire contract section 4.3).
 * @param config The settings.
 * @param initial_ms 0 to 3,600,000 milliseconds.
 * @param most_ms 0 to 3,600,000 milliseconds.
 * @param jitter 0 to 1.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_backoff(deem_config *config, int64_t initial_ms, int64_t most_ms,
                                         double jitter);

/**
 * What is retried beside statuses.
 * @param config The settings.
 * @param flags DEEM_RETRY_* bits; default CONNECTION, TIMEOUT and OBEY_SERVER.
 * @return #DEEM_OK, #DEEM_E_CONFIG (unknown bits), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_retry_flags(deem_config *config, int32_t flags);

/**
 * The statuses that are retried, default 408, 429 and 500 to 599.
 * @param config The settings.
 * @param statuses The statuses (@p count of them, each 300 to 599); NULL with 0 for none.
 * @param count How many, at most 300.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_retry_statuses(deem_config *config, const int32_t *statuses,
                                                size_t count);

/**
 * The longest server-given wait that is obeyed, default 0: no cap but the deadline. A hint beyond
 * the cap is treated as absent (the ordinary wait is used); one beyond the deadline fails the call
 * at once.
 * @param config The settings.
 * @param milliseconds 0 or more.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_retry_after_cap_ms(deem_config *config, int64_t milliseconds);

/**
 * The proxy: an http:// URL with or without user:password@, or empty for none whatever the
 * environment says.
 * @param config The settings.
 * @param url The URL (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG_PROXY, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_proxy(deem_config *config, const char *url, size_t len);

/**
 * Hosts that no proxy is used for, as in NO_PROXY: names, suffixes, addresses, ranges, `*`.
 * @param config The settings.
 * @param list The list (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_no_proxy(deem_config *config, const char *list, size_t len);

/**
 * The file with the CA certificates (PEM) that are trusted.
 * @param config The settings.
 * @param path The path (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG_CA, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_ca_file(deem_config *config, const char *path, size_t len);

/**
 * The folder with the CA certificates (hashed, PEM) that are trusted.
 * @param config The settings.
 * @param path The path (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG_CA, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_ca_dir(deem_config *config, const char *path, size_t len);

/**
 * The largest number of connections of this client, default 256; calls beyond it wait their turn.
 * @param config The settings.
 * @param connections 1 to 65,536.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_max_connections(deem_config *config, int32_t connections);

/**
 * How long an unused connection is kept, default 60,000; a shorter `Keep-Alive: timeout` is obeyed.
 * @param config The settings.
 * @param milliseconds 0 or more; 0 keeps none.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_idle_ms(deem_config *config, int64_t milliseconds);

/**
 * Text added to the User-Agent, such as "my-service/2.1".
 * @param config The settings.
 * @param suffix The text (@p len bytes; no control characters).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_user_agent_suffix(deem_config *config, const char *suffix,
                                                   size_t len);

/**
 * What the X-TypeSafe-Runtime header says, such as "python/3.11.7 (linux; x86_64)".
 * @param config The settings.
 * @param runtime The text (@p len bytes; no control characters).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_runtime(deem_config *config, const char *runtime, size_t len);

/**
 * Adds a header to every request. A later one of the same name (case ignored) replaces it. The
 * protected ones are Authorization, Accept, User-Agent, X-TypeSafe-SDK, X-TypeSafe-Runtime,
 * Content-Type, X-TypeSafe-Retry-Count and the framing headers: setting them is accepted and has no
 * effect (wire contract section 1.2).
 * @param config The settings.
 * @param name The name (@p name_len bytes, an RFC 9110 token).
 * @param name_len Its length in bytes.
 * @param value The value (@p value_len bytes; no CR, LF or NUL).
 * @param value_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_add_header(deem_config *config, const char *name, size_t name_len,
                                        const char *value, size_t value_len);

/**
 * Whether a reply that fails a check fails the call.
 * @param config The settings.
 * @param check #DEEM_CHECK_STRICT (default) or #DEEM_CHECK_LENIENT.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_check(deem_config *config, int32_t check);

/**
 * The largest reply body, also after decompression, default 16 MiB.
 * @param config The settings.
 * @param bytes 1,024 to 1 GiB.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_max_reply_bytes(deem_config *config, int64_t bytes);

/**
 * Which HTTP engine is used.
 * @param config The settings.
 * @param transport #DEEM_TRANSPORT_FAST (default) or #DEEM_TRANSPORT_CURL.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_transport(deem_config *config, int32_t transport);

/**
 * Which log lines are written to stderr; beats TYPESAFE_LOG_LEVEL (debug, info, warn, error, off).
 * @param config The settings.
 * @param level A DEEM_LOG_* number.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_config_set_log_level(deem_config *config, int32_t level);
/** @} */

/**
 * @defgroup client The client
 * @{
 */

/**
 * A client from settings; the settings are copied and may be freed or changed. Opens nothing: the
 * first call connects.
 * @param config The settings; deem_config_error() says what was refused.
 * @param[out] client The client, with one reference that the caller owns (deem_client_free()).
 * @return #DEEM_OK, a DEEM_E_CONFIG* code, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_client_new(deem_config *config, deem_client **client);

/**
 * Takes one more reference.
 * @param client The client.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_client_ref(deem_client *client);

/**
 * Cancels every call in flight and refuses new ones. May be called again, also while others call.
 * @param client The client.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread; never blocks on the network.
 */
DEEM_API int32_t deem_client_close(deem_client *client);

/**
 * Gives one reference back; the last one closes the client and frees it when no call is inside.
 * @param client The client or NULL. Any thread.
 */
DEEM_API void deem_client_free(deem_client *client);

/**
 * A fresh id for a blocking call that another thread may want to cancel
 * (deem_options_set_call_id()). Ids are below 2^53, never 0 and never used twice.
 * @param client The client.
 * @param[out] id The id.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_client_call_id(deem_client *client, uint64_t *id);

/**
 * Cancels a call: it ends with #DEEM_E_CANCELLED at once, whatever it is doing, and is never
 * retried. An id that is unknown or finished is no error; one that was not yet used cancels the
 * call that comes.
 * @param client The client.
 * @param id The id.
 * @return #DEEM_OK, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_client_cancel(deem_client *client, uint64_t id);
/** @} */

/**
 * @defgroup options Settings of one call
 * What is not set here is as in the client's settings. Setters refuse what the config's refuse,
 * with the reason in deem_options_error().
 * @{
 */

/**
 * New options, nothing set.
 * @param[out] options The handle; the caller owns it (deem_options_free()).
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_new(deem_options **options);

/**
 * Frees options. Calls started with them go on.
 * @param options The handle or NULL.
 */
DEEM_API void deem_options_free(deem_options *options);

/**
 * Puts everything back to unset, keeping the memory.
 * @param options The options.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_reset(deem_options *options);

/**
 * What the last setter had to refuse.
 * @param options The options.
 * @param[out] message One sentence, borrowed until the next call on the options.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_error(const deem_options *options, const char **message, size_t *len);

/**
 * The model for this call; beats the set's and the client's.
 * @param options The options.
 * @param model The model (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_model(deem_options *options, const char *model, size_t len);

/**
 * The limit for this call as a whole.
 * @param options The options.
 * @param milliseconds 1 or more; 0 for no limit.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_deadline_ms(deem_options *options, int64_t milliseconds);

/**
 * The limit for each attempt of this call.
 * @param options The options.
 * @param milliseconds 1 or more; 0 for no limit.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_attempt_ms(deem_options *options, int64_t milliseconds);

/**
 * How often this call is tried again.
 * @param options The options.
 * @param retries 0 to 100.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_max_retries(deem_options *options, int32_t retries);

/**
 * The waits of this call, as deem_config_set_backoff().
 * @param options The options.
 * @param initial_ms 0 to 3,600,000 milliseconds.
 * @param most_ms 0 to 3,600,000 milliseconds.
 * @param jitter 0 to 1.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_backoff(deem_options *options, int64_t initial_ms,
                                          int64_t most_ms, double jitter);

/**
 * What is retried in this call, as deem_config_set_retry_flags().
 * @param options The options.
 * @param flags DEEM_RETRY_* bits.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_retry_flags(deem_options *options, int32_t flags);

/**
 * The statuses retried in this call, as deem_config_set_retry_statuses().
 * @param options The options.
 * @param statuses The statuses.
 * @param count How many.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_retry_statuses(deem_options *options, const int32_t *statuses,
                                                 size_t count);

/**
 * The longest server-given wait obeyed in this call, as deem_config_set_retry_after_cap_ms().
 * @param options The options.
 * @param milliseconds 0 or more.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_retry_after_cap_ms(deem_options *options, int64_t milliseconds);

/**
 * Whether a reply that fails a check fails this call.
 * @param options The options.
 * @param check #DEEM_CHECK_STRICT or #DEEM_CHECK_LENIENT.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_check(deem_options *options, int32_t check);

/**
 * Adds a header to this call's request; beats the client's of the same name; protected as in
 * deem_config_add_header().
 * @param options The options.
 * @param name The name (@p name_len bytes).
 * @param name_len Its length in bytes.
 * @param value The value (@p value_len bytes).
 * @param value_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_add_header(deem_options *options, const char *name, size_t name_len,
                                         const char *value, size_t value_len);

/**
 * Adds a top-level field to this call's request body, for gateways that know more than System One
 * (the official server answers 400 to unknown ones; wire contract section 2.1). `state`, `model`
 * and `questions` replace the library's own field of that name.
 * @param options The options.
 * @param name The field's name (@p name_len bytes of UTF-8).
 * @param name_len Its length in bytes.
 * @param json Its value (@p json_len bytes of any JSON).
 * @param json_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_add_field(deem_options *options, const char *name, size_t name_len,
                                        const char *json, size_t json_len);

/**
 * Gives a blocking call an id from deem_client_call_id(), so that another thread can cancel it.
 * With the id of a call that ended #DEEM_E_INTERRUPTED the next call goes on with that one.
 * @param options The options.
 * @param id The id; 0 for none.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_call_id(deem_options *options, uint64_t id);

/**
 * Whether a signal ends a blocking wait of this call with #DEEM_E_INTERRUPTED. The call stays
 * alive: calling again with the same id, set and state goes on with it; deem_client_cancel() ends
 * it.
 * @param options The options; they need a call id.
 * @param interruptible 1 or 0 (default).
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_options_set_interruptible(deem_options *options, int32_t interruptible);
/** @} */

/**
 * @defgroup calls Blocking calls
 * Any thread, any number at once on one client. `response` is in and out: a response given in is
 * reused (and must belong to no other call), NULL gets a new one that the caller owns. It is set on
 * every status but #DEEM_E_MEMORY and #DEEM_E_MISUSE, holds everything known about the call, and
 * its code is the status returned. On #DEEM_E_INTERRUPTED it holds nothing yet.
 * @{
 */

/**
 * Asks a question set about a text.
 * @param client The client.
 * @param set The question set.
 * @param text The state (@p len bytes of UTF-8; may be empty; any characters, NUL included).
 * @param len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @param[in,out] response Where the response goes.
 * @return #DEEM_OK when every question has a good answer; any DEEM_E_* code otherwise.
 */
DEEM_API int32_t deem_evaluate_text(deem_client *client, deem_question_set *set, const char *text,
                                    size_t len, const deem_options *options,
                                    deem_response **response);

/**
 * Asks a question set about a JSON state, which is checked and sent as it stands.
 * @param client The client.
 * @param set The question set.
 * @param json One JSON string, object or array (@p len bytes of UTF-8, no byte order mark; wire
 * contract section 2.2); anything else is #DEEM_E_STATE with the offset.
 * @param len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @param[in,out] response Where the response goes.
 * @return As deem_evaluate_text().
 */
DEEM_API int32_t deem_evaluate_json(deem_client *client, deem_question_set *set, const char *json,
                                    size_t len, const deem_options *options,
                                    deem_response **response);

/**
 * Lists the models (GET /v1/models). Both list shapes are read (wire contract section 5).
 * @param client The client.
 * @param options The call's own settings, or NULL.
 * @param[in,out] response Where the response goes; read it with deem_response_listed_model().
 * @return #DEEM_OK or a DEEM_E_* code.
 */
DEEM_API int32_t deem_list_models(deem_client *client, const deem_options *options,
                                  deem_response **response);

/**
 * Makes a raw call to any path below the base URL, with the client's key, headers, retries and
 * limits. The body of the reply is not looked into.
 * @param client The client.
 * @param method The method (@p method_len bytes): GET, POST, PUT, PATCH, DELETE or HEAD.
 * @param method_len Its length in bytes.
 * @param path The path below the base URL (@p path_len bytes, begins with a slash; may hold a
 * query).
 * @param path_len Its length in bytes.
 * @param body The body (@p body_len bytes of JSON), or NULL for none.
 * @param body_len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @param[in,out] response Where the response goes.
 * @return #DEEM_OK for 2xx, or a DEEM_E_* code.
 */
DEEM_API int32_t deem_request(deem_client *client, const char *method, size_t method_len,
                              const char *path, size_t path_len, const char *body, size_t body_len,
                              const deem_options *options, deem_response **response);
/** @} */

/**
 * @defgroup engine Many calls from one thread
 * `submit`, `next` and `cancel` from any thread, `step` from one thread at a time. The descriptor
 * is readable exactly while `step` has work: poll it, `step`, then `next` until it gives id 0.
 * Every submitted call completes exactly once, cancelled ones too.
 * @{
 */

/**
 * Starts a call about a text and returns at once; see deem_evaluate_text(). The state is copied.
 * @param client The client.
 * @param set The question set; the call holds its own reference.
 * @param text The state (@p len bytes of UTF-8).
 * @param len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @param[out] id The call's id.
 * @return #DEEM_OK, #DEEM_E_STATE, #DEEM_E_CANCELLED (closed), #DEEM_E_UNSUPPORTED, #DEEM_E_MEMORY,
 *         #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_submit_text(deem_client *client, deem_question_set *set, const char *text,
                                  size_t len, const deem_options *options, uint64_t *id);

/**
 * Starts a call about a JSON state and returns at once; see deem_evaluate_json().
 * @param client The client.
 * @param set The question set; the call holds its own reference.
 * @param json The state (@p len bytes).
 * @param len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @param[out] id The call's id.
 * @return As deem_submit_text().
 */
DEEM_API int32_t deem_submit_json(deem_client *client, deem_question_set *set, const char *json,
                                  size_t len, const deem_options *options, uint64_t *id);

/**
 * Starts a raw call and returns at once; see deem_request() and deem_list_models().
 * @param client The client.
 * @param method The method (@p method_len bytes).
 * @param method_len Its length in bytes.
 * @param path The path below the base URL (@p path_len bytes).
 * @param path_len Its length in bytes.
 * @param body The body (@p body_len bytes), or NULL for none.
 * @param body_len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @param[out] id The call's id.
 * @return As deem_submit_text().
 */
DEEM_API int32_t deem_submit_request(deem_client *client, const char *method, size_t method_len,
                                     const char *path, size_t path_len, const char *body,
                                     size_t body_len, const deem_options *options, uint64_t *id);

/**
 * The descriptor to poll for reading. It belongs to the client: do not close it. After a fork it
 * must be fetched again.
 * @param client The client.
 * @param[out] fd The descriptor, -1 when there is none.
 * @return #DEEM_OK, #DEEM_E_UNSUPPORTED, #DEEM_E_MEMORY, #DEEM_E_CONNECTION (no descriptors left),
 *         #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_client_fd(deem_client *client, int32_t *fd);

/**
 * Does the work that is due, without waiting: connects, sends, receives, times out, retries.
 * @param client The client.
 * @return #DEEM_OK, #DEEM_E_MISUSE (another thread is inside).
 */
DEEM_API int32_t deem_client_step(deem_client *client);

/**
 * Takes the next finished call.
 * @param client The client.
 * @param[out] id Its id, or 0 when none is finished.
 * @param[in,out] response Its response: a response given in is reused, NULL gets a new one;
 * untouched when none is finished.
 * @return #DEEM_OK (also when none is finished), #DEEM_E_MEMORY, #DEEM_E_MISUSE. Any thread.
 */
DEEM_API int32_t deem_client_next(deem_client *client, uint64_t *id, deem_response **response);
/** @} */

/**
 * @defgroup response Reading a response
 * A response holds its question set. All text is borrowed from it.
 * @{
 */

/**
 * Frees a response.
 * @param response The handle or NULL.
 */
DEEM_API void deem_response_free(deem_response *response);

/**
 * What the call came to.
 * @param response The response.
 * @return #DEEM_OK or a DEEM_E_* code; #DEEM_E_MISUSE for NULL.
 */
DEEM_API int32_t deem_response_code(const deem_response *response);

/**
 * Why, in one sentence: empty for a good response. Holds neither the key nor the caller's state,
 * and control bytes in it are escaped.
 * @param response The response.
 * @param[out] message The sentence.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_message(const deem_response *response, const char **message,
                                       size_t *len);

/**
 * The first reason an invalid reply was refused for.
 * @param response The response.
 * @return A DEEM_REASON_*, or #DEEM_ANSWER_OK when there is none.
 */
DEEM_API int32_t deem_response_reason(const deem_response *response);

/**
 * Where in the reply (answers.team.choice) or, for a 422, in the request (questions.team.criteria)
 * the problem is.
 * @param response The response.
 * @param[out] path The path; empty when there is none.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_path(const deem_response *response, const char **path, size_t *len);

/**
 * The HTTP status of the last attempt that got one.
 * @param response The response.
 * @param[out] status The status, 0 when there was none.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_http_status(const deem_response *response, int32_t *status);

/**
 * The request id: the header x-typesafe-request-id, else x-request-id, request-id, cf-ray, else the
 * body's `id` (wire contract section 9, trap 33).
 * @param response The response.
 * @param[out] id The id.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_request_id(const deem_response *response, const char **id,
                                          size_t *len);

/**
 * The wait that the server asked for with its last reply.
 * @param response The response.
 * @param[out] milliseconds The wait.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_retry_after_ms(const deem_response *response, int64_t *milliseconds);

/**
 * How many times the request was sent or tried to be sent.
 * @param response The response.
 * @param[out] attempts The number, 0 when nothing was tried.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_attempts(const deem_response *response, int32_t *attempts);

/**
 * The model that answered, as the server names it.
 * @param response The response.
 * @param[out] model The model.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_model(const deem_response *response, const char **model,
                                     size_t *len);

/**
 * The token counts, in either spelling (input_tokens or prompt_tokens, output_tokens or
 * completion_tokens).
 * @param response The response.
 * @param[out] input Tokens in, -1 when absent.
 * @param[out] output Tokens out, -1 when absent.
 * @return #DEEM_OK when at least one is there, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_usage(const deem_response *response, int64_t *input,
                                     int64_t *output);

/**
 * The cost that the server states (usage.cost or cost), in its own unit.
 * @param response The response.
 * @param[out] cost The cost, NaN when absent.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_cost(const deem_response *response, double *cost);

/** Indices of deem_response_timing(). Time from the call's start to its end. */
#define DEEM_TIMING_TOTAL 0
/** Waiting for a connection of the pool. */
#define DEEM_TIMING_QUEUE 1
/** Resolving the name, last attempt. */
#define DEEM_TIMING_DNS 2
/** Connecting, last attempt. */
#define DEEM_TIMING_CONNECT 3
/** The TLS handshake, last attempt. */
#define DEEM_TIMING_TLS 4
/** From sending to the first byte of the reply, last attempt. */
#define DEEM_TIMING_FIRST_BYTE 5
/** Waits between attempts. */
#define DEEM_TIMING_WAITS 6

/**
 * One duration.
 * @param response The response.
 * @param which A DEEM_TIMING_*.
 * @param[out] microseconds The duration; 0 for a step that did not happen (a reused connection has
 * no DNS).
 * @return #DEEM_OK, #DEEM_E_ABSENT (no such timing, or not known), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_timing(const deem_response *response, int32_t which,
                                      int64_t *microseconds);

/**
 * The bytes of all attempts, heads included, and whether the last attempt used a kept connection.
 * @param response The response.
 * @param[out] sent Bytes sent.
 * @param[out] received Bytes received.
 * @param[out] reused 1 when the last attempt's connection had served before, else 0.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_traffic(const deem_response *response, int64_t *sent,
                                       int64_t *received, int32_t *reused);

/**
 * The method and URL that were called; the URL has neither credentials nor query.
 * @param response The response.
 * @param[out] method The method.
 * @param[out] method_len Its length in bytes.
 * @param[out] url The URL.
 * @param[out] url_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_endpoint(const deem_response *response, const char **method,
                                        size_t *method_len, const char **url, size_t *url_len);

/**
 * The body of the last reply as it came (decompressed). Error bodies are cut at 64 KiB and may
 * quote the caller's state: show them only on request.
 * @param response The response.
 * @param[out] body The bytes.
 * @param[out] len Their number.
 * @param[out] cut 1 when the rest was cut off, else 0.
 * @return #DEEM_OK, #DEEM_E_ABSENT (no reply), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_body(const deem_response *response, const char **body, size_t *len,
                                    int32_t *cut);

/**
 * A header of the last reply by name, case ignored; the first of several.
 * @param response The response.
 * @param name The name (@p name_len bytes).
 * @param name_len Its length in bytes.
 * @param[out] value The value.
 * @param[out] value_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_header(const deem_response *response, const char *name,
                                      size_t name_len, const char **value, size_t *value_len);

/**
 * The headers of the last reply, one by one, as they came.
 * @param response The response.
 * @param index 0 to the number of headers less one.
 * @param[out] name The name.
 * @param[out] name_len Its length in bytes.
 * @param[out] value The value.
 * @param[out] value_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT (no more), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_header_at(const deem_response *response, size_t index,
                                         const char **name, size_t *name_len, const char **value,
                                         size_t *value_len);

/**
 * The question set that was asked.
 * @param response The response.
 * @return The set, borrowed from the response, or NULL (a raw call, a model list, NULL).
 */
DEEM_API deem_question_set *deem_response_question_set(const deem_response *response);

/**
 * Copies the answer records in the order of the set: one per question also when the call failed.
 * @param response The response.
 * @param[out] answers Room for @p count records of @p record_size bytes each.
 * @param record_size sizeof(deem_answer) as the caller knows it, 64 or more, a multiple of 8.
 * @param count How many records there is room for.
 * @param[out] written How many were written.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_answers(const deem_response *response, void *answers,
                                       size_t record_size, size_t count, size_t *written);

/**
 * The probabilities of all answers in one array; a record says where its own begin and how many.
 * @param response The response.
 * @param[out] probabilities The array, borrowed from the response; NaN where there is none.
 * @param[out] count How many.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_probabilities(const deem_response *response,
                                             const double **probabilities, size_t *count);

/**
 * The probability of yes.
 * @param response The response.
 * @param question The question's index in the set.
 * @param[out] probability 0..1.
 * @return #DEEM_OK, #DEEM_E_NO_ANSWER, #DEEM_E_ABSENT (no such noul), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_noul(const deem_response *response, size_t question,
                                    double *probability);

/**
 * The named option.
 * @param response The response.
 * @param question The question's index in the set.
 * @param[out] option The option's index.
 * @param[out] label Its label, borrowed from the question set.
 * @param[out] label_len Its length in bytes.
 * @param[out] confidence 0..1, or NaN when the server gave none.
 * @return #DEEM_OK, #DEEM_E_NO_ANSWER, #DEEM_E_ABSENT (no such choice), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_choice(const deem_response *response, size_t question,
                                      int32_t *option, const char **label, size_t *label_len,
                                      double *confidence);

/**
 * The position on the levels: not the number that a level's text may show.
 * @param response The response.
 * @param question The question's index in the set.
 * @param[out] position 0..levels-1, may be fractional.
 * @param[out] level The most probable level's index (deem_question_set_label() gives its text).
 * @param[out] confidence 0..1, or NaN when the server gave none.
 * @return #DEEM_OK, #DEEM_E_NO_ANSWER, #DEEM_E_ABSENT (no such score), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_score(const deem_response *response, size_t question,
                                     double *position, int32_t *level, double *confidence);

/**
 * Why one question has no good answer, where in the reply, and in words.
 * @param response The response.
 * @param question The question's index in the set.
 * @param[out] reason A DEEM_REASON_*, or #DEEM_ANSWER_OK.
 * @param[out] path The path, such as `answers.team.probabilities`.
 * @param[out] path_len Its length in bytes.
 * @param[out] message One sentence; empty for a good answer.
 * @param[out] message_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_problem(const deem_response *response, size_t question,
                                       int32_t *reason, const char **path, size_t *path_len,
                                       const char **message, size_t *message_len);

/**
 * The answer of one question as raw JSON.
 * @param response The response.
 * @param question The question's index in the set.
 * @param[out] json The bytes of the reply.
 * @param[out] len Their number.
 * @return #DEEM_OK, #DEEM_E_ABSENT (not answered), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_answer_json(const deem_response *response, size_t question,
                                           const char **json, size_t *len);

/**
 * The legend entry of one level as raw JSON: any JSON value.
 * @param response The response.
 * @param question The question's index in the set.
 * @param level The level's index.
 * @param[out] json The bytes of the reply.
 * @param[out] len Their number.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_legend(const deem_response *response, size_t question, size_t level,
                                      const char **json, size_t *len);

/**
 * An answer that nobody asked for, kept as it came.
 * @param response The response.
 * @param index 0 to their number less one.
 * @param[out] key Its key.
 * @param[out] key_len Its length in bytes.
 * @param[out] json Its raw JSON.
 * @param[out] json_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT (no more), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_extra_answer(const deem_response *response, size_t index,
                                            const char **key, size_t *key_len, const char **json,
                                            size_t *json_len);

/**
 * A field of the reply's top level by name, as raw JSON.
 * @param response The response.
 * @param name The name (@p name_len bytes).
 * @param name_len Its length in bytes.
 * @param[out] json The bytes of the reply.
 * @param[out] len Their number.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_field(const deem_response *response, const char *name,
                                     size_t name_len, const char **json, size_t *len);

/**
 * A model of a model list.
 * @param response A response of deem_list_models().
 * @param index 0 to their number less one.
 * @param[out] name Its name.
 * @param[out] name_len Its length in bytes.
 * @param[out] description Its description; NULL when absent.
 * @param[out] description_len Its length in bytes.
 * @param[out] release_date Its release date as the server writes it; NULL when absent.
 * @param[out] release_date_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT (no more), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_response_listed_model(const deem_response *response, size_t index,
                                            const char **name, size_t *name_len,
                                            const char **description, size_t *description_len,
                                            const char **release_date, size_t *release_date_len);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* DEEMSTER_H */
