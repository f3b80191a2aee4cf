/**
 * @file deemster_experimental.h
 * @brief What may still change between minor versions: the hosted exchange, batches.
 *
 * In a hosted exchange the library does everything but the transport: it hands out each attempt as
 * method, URL, headers and body, and takes back status, headers and body, or a failure. Attempts,
 * waits, deadline and checks stay in the library.
 *
 * A batch asks one question set about any number of rows, at a pace, several rows in one request if
 * wanted, with a journal to go on from.
 *
 * Conventions are those of deemster.h.
 */
#ifndef DEEMSTER_EXPERIMENTAL_H
#define DEEMSTER_EXPERIMENTAL_H

#include "deemster.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One call whose transport is the caller's. One thread at a time; may be reused for further calls.
 */
typedef struct deem_exchange deem_exchange;

/** The attempt is to be sent now. */
#define DEEM_EXCHANGE_SEND 1
/** Nothing is to be done before the wait is over. */
#define DEEM_EXCHANGE_WAIT 2
/** The call is over: take its response. */
#define DEEM_EXCHANGE_DONE 3

/**
 * A new exchange, idle.
 * @param client The client whose settings it uses; the exchange holds a reference.
 * @param[out] exchange The handle; the caller owns it (deem_exchange_free()).
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_exchange_new(deem_client *client, deem_exchange **exchange);

/**
 * Frees an exchange; a call still under way is forgotten.
 * @param exchange The handle or NULL.
 */
DEEM_API void deem_exchange_free(deem_exchange *exchange);

/**
 * Starts a call about a text, as deem_evaluate_text().
 * @param exchange The exchange; what it was doing is forgotten.
 * @param set The question set.
 * @param text The state (@p len bytes of UTF-8).
 * @param len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @return #DEEM_OK also when the call is already over (a refused state), #DEEM_E_MEMORY,
 * #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_exchange_start_text(deem_exchange *exchange, deem_question_set *set,
                                          const char *text, size_t len,
                                          const deem_options *options);

/**
 * Starts a call about a JSON state, as deem_evaluate_json().
 * @param exchange The exchange.
 * @param set The question set.
 * @param json The state (@p len bytes).
 * @param len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @return As deem_exchange_start_text().
 */
DEEM_API int32_t deem_exchange_start_json(deem_exchange *exchange, deem_question_set *set,
                                          const char *json, size_t len,
                                          const deem_options *options);

/**
 * Starts a raw call, as deem_request() (and deem_list_models() for GET /v1/models).
 * @param exchange The exchange.
 * @param method The method (@p method_len bytes).
 * @param method_len Its length in bytes.
 * @param path The path below the base URL (@p path_len bytes).
 * @param path_len Its length in bytes.
 * @param body The body (@p body_len bytes), or NULL for none.
 * @param body_len Its length in bytes.
 * @param options The call's own settings, or NULL.
 * @return As deem_exchange_start_text().
 */
DEEM_API int32_t deem_exchange_start_request(deem_exchange *exchange, const char *method,
                                             size_t method_len, const char *path, size_t path_len,
                                             const char *body, size_t body_len,
                                             const deem_options *options);

/**
 * What is to be done now. Ask again after every reply, failure, cancel and wait.
 * @param exchange The exchange.
 * @param[out] action #DEEM_EXCHANGE_SEND, #DEEM_EXCHANGE_WAIT or #DEEM_EXCHANGE_DONE.
 * @param[out] milliseconds WAIT: how long to wait; SEND: how long the attempt may take (-1: no
 * limit).
 * @return #DEEM_OK, #DEEM_E_MISUSE (nothing was started).
 */
DEEM_API int32_t deem_exchange_next(deem_exchange *exchange, int32_t *action,
                                    int64_t *milliseconds);

/**
 * The attempt that is to be sent. Borrowed until the exchange is told what came of it.
 * @param exchange The exchange.
 * @param[out] method The method.
 * @param[out] method_len Its length in bytes.
 * @param[out] url The URL.
 * @param[out] url_len Its length in bytes.
 * @param[out] body The body; NULL when there is none.
 * @param[out] body_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MISUSE (no attempt is due).
 */
DEEM_API int32_t deem_exchange_attempt(const deem_exchange *exchange, const char **method,
                                       size_t *method_len, const char **url, size_t *url_len,
                                       const char **body, size_t *body_len);

/**
 * The headers of the attempt, one by one. The framing ones (Host, Content-Length, Connection) are
 * the transport's own and not among them.
 * @param exchange The exchange.
 * @param index 0 to their number less one.
 * @param[out] name The name.
 * @param[out] name_len Its length in bytes.
 * @param[out] value The value (one of them holds the key).
 * @param[out] value_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT (no more), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_exchange_attempt_header(const deem_exchange *exchange, size_t index,
                                              const char **name, size_t *name_len,
                                              const char **value, size_t *value_len);

/**
 * Notes a header of the reply that is about to be handed in.
 * @param exchange The exchange.
 * @param name The name (@p name_len bytes).
 * @param name_len Its length in bytes.
 * @param value The value (@p value_len bytes).
 * @param value_len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (no attempt is under way).
 */
DEEM_API int32_t deem_exchange_reply_header(deem_exchange *exchange, const char *name,
                                            size_t name_len, const char *value, size_t value_len);

/**
 * Hands in the reply to the attempt: its body whole and decoded.
 * @param exchange The exchange.
 * @param status The HTTP status, 100 to 999.
 * @param body The body (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK whatever the reply is worth, #DEEM_E_MEMORY, #DEEM_E_MISUSE (no attempt is under
 * way).
 */
DEEM_API int32_t deem_exchange_reply(deem_exchange *exchange, int32_t status, const char *body,
                                     size_t len);

/**
 * Says that the attempt failed without a reply.
 * @param exchange The exchange.
 * @param code A connection code (300 to 310).
 * @param sent 1 when the request may have reached the server whole, else 0.
 * @param message What happened (@p len bytes).
 * @param len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (no attempt is under way, or another code).
 */
DEEM_API int32_t deem_exchange_fail(deem_exchange *exchange, int32_t code, int32_t sent,
                                    const char *message, size_t len);

/**
 * Ends the call with #DEEM_E_CANCELLED.
 * @param exchange The exchange.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_exchange_cancel(deem_exchange *exchange);

/**
 * Takes the response of a call that is over.
 * @param exchange The exchange; idle afterwards.
 * @param[in,out] response A response given in is reused (its memory serves the next call of this
 *                exchange), NULL gets a new one that the caller owns.
 * @return #DEEM_OK (deem_response_code() says what the call came to), #DEEM_E_MEMORY,
 * #DEEM_E_MISUSE (the call is not over).
 */
DEEM_API int32_t deem_exchange_take(deem_exchange *exchange, deem_response **response);

/**
 * @defgroup batch Batches
 * Push rows while there is room, poll the descriptor, `step`, then `next` until it gives no row
 * (and once after each push: rows of a journal and equal rows are done at once). One thread at a
 * time. While a batch is alive nobody else steps its client in another thread; the client's other
 * calls go on through deem_client_next().
 * @{
 */

/** Settings of a batch under construction. One thread at a time. */
typedef struct deem_batch_settings deem_batch_settings;
/** A batch under way. One thread at a time. */
typedef struct deem_batch deem_batch;

/** One row in each request, the row being the state. */
#define DEEM_PACK_NONE 0
/** Many rows in a request: each question brings its row along in its instructions. */
#define DEEM_PACK_QUESTION 1
/** Many rows in a request: the state holds the rows, each question is bound to one of them. */
#define DEEM_PACK_STATE 2

/** The row's answers come from the journal: nothing was asked. */
#define DEEM_ROW_RESTORED 1u
/** The row is equal to an earlier one and takes that one's answers. */
#define DEEM_ROW_DUPLICATE 2u
/** The row was never sent (the batch was stopped, or only rehearses). */
#define DEEM_ROW_UNSENT 4u

/**
 * What is known about a finished row beside its response. 64 bytes, read with an explicit record
 * size. Usage and cost of a request stand in the response of the first row of its rows alone.
 */
typedef struct deem_batch_row {
    uint64_t position;    /**< Among the rows pushed, from 0. */
    uint64_t tag;         /**< As pushed. */
    uint64_t pack;        /**< The pack's id: the position of the first row put into it. */
    int32_t place;        /**< The row's place in its pack, from 0. */
    int32_t size;         /**< Rows of the pack; 0: the row was not packed. */
    int32_t shape;        /**< DEEM_PACK_*. */
    uint32_t flags;       /**< DEEM_ROW_* bits. */
    uint64_t reserved[3]; /**< Zero. */
} deem_batch_row;

/** How a batch stands. 192 bytes, read with an explicit record size. */
typedef struct deem_batch_stats {
    uint64_t pushed;          /**< Rows. */
    uint64_t done;            /**< Rows that are finished, handed out or not. */
    uint64_t failed;          /**< Of these: without good answers. */
    uint64_t restored;        /**< Of these: out of the journal. */
    uint64_t duplicates;      /**< Of these: equal to an earlier row. */
    uint64_t unsent;          /**< Of these: never sent. */
    uint64_t requests;        /**< Requests sent, retries among them; in a rehearsal: to be sent. */
    uint64_t retries;         /**< Of these: asked again. */
    uint64_t splits;          /**< Packs that were halved, or lost a row, and asked again. */
    int64_t input_tokens;     /**< As the replies state; estimated for requests that stated none. */
    int64_t output_tokens;    /**< As the replies state. */
    int64_t estimated_tokens; /**< The input tokens of all requests so far by our own estimate. */
    double cost;              /**< As the replies state; NaN when none stated one. */
    int64_t paused_ms;        /**< How much longer nothing is sent because the server asked so. */
    int32_t in_flight;        /**< Requests. */
    int32_t concurrency;      /**< How many may be in flight now. */
    int32_t stopped;          /**< #DEEM_OK, or why nothing more is sent: #DEEM_E_CANCELLED
                                   (deem_batch_stop()), #DEEM_E_ABSENT (the token cap), or the code
                                   of an error that hits every row. */
    int32_t warnings;         /**< deem_batch_warning(). */
    uint64_t reserved[8];     /**< Zero. */
} deem_batch_stats;

/**
 * New settings, all at their defaults.
 * @param[out] settings The handle; the caller owns it (deem_batch_settings_free()).
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_new(deem_batch_settings **settings);

/**
 * Frees settings. Batches made from them go on.
 * @param settings The handle or NULL.
 */
DEEM_API void deem_batch_settings_free(deem_batch_settings *settings);

/**
 * What the last setter or deem_batch_new() had to refuse.
 * @param settings The settings.
 * @param[out] message One sentence, borrowed until the next call on the settings.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_error(const deem_batch_settings *settings,
                                           const char **message, size_t *len);

/**
 * Model, limits, headers and fields of every request. The deadline counts from the moment that the
 * limiter releases a row; time that a retry waits for the limiter is not counted.
 * @param settings The settings.
 * @param options The options, copied; call id and interruptible have no effect.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_options(deem_batch_settings *settings,
                                                 const deem_options *options);

/**
 * The request rate: at most @p requests in any window of @p milliseconds. Default 1,000 in 60,000.
 * @param settings The settings.
 * @param requests 1 or more; 0 for no limit.
 * @param milliseconds 1 to 86,400,000.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_requests(deem_batch_settings *settings, int64_t requests,
                                                  int64_t milliseconds);

/**
 * The token rate: at most @p tokens (in and out) in any window of @p milliseconds. Default 100,000
 * in 1,000. Estimates are set right by the usage that comes back.
 * @param settings The settings.
 * @param tokens 1 or more; 0 for no limit.
 * @param milliseconds 1 to 86,400,000.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_tokens(deem_batch_settings *settings, int64_t tokens,
                                                int64_t milliseconds);

/**
 * The largest number of requests in flight, default 64. Fewer are in flight while more do not pay,
 * and half of them after a 429 or 529.
 * @param settings The settings.
 * @param requests 1 to 65,536.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_concurrency(deem_batch_settings *settings,
                                                     int32_t requests);

/**
 * How many rows, and how many bytes of rows, the batch holds between push and next. Default 4,096
 * rows and 64 MiB. Packs span at most half of either.
 * @param settings The settings.
 * @param rows 2 to 16,777,216.
 * @param bytes 1,024 or more.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_window(deem_batch_settings *settings, int64_t rows,
                                                int64_t bytes);

/**
 * Whether rows come out in the order they were pushed (default), or as they finish.
 * @param settings The settings.
 * @param ordered 1 or 0.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_ordered(deem_batch_settings *settings, int32_t ordered);

/**
 * Among how many different rows an equal one is looked for: it is not asked, and takes the answers
 * of the first, also while that one is in flight. Default 4,096.
 * @param settings The settings.
 * @param rows 0 (never) to 16,777,216.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_dedupe(deem_batch_settings *settings, int64_t rows);

/**
 * Many rows in one request. Default #DEEM_PACK_NONE.
 * @param settings The settings.
 * @param shape DEEM_PACK_*.
 * @param rows The largest pack, 1 to 65,536.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_pack(deem_batch_settings *settings, int32_t shape,
                                              int64_t rows);

/**
 * Where packs are cut beside their rows. Tokens are estimated pessimistically. A row that is too
 * large by itself is sent alone.
 * @param settings The settings.
 * @param questions Questions in a request, default 1,000.
 * @param bytes Bytes of state and questions, default 1 MiB.
 * @param tokens Tokens of a request, default 60,000.
 * @param half Tokens of state and the longest question, default 30,000.
 * @return #DEEM_OK, #DEEM_E_CONFIG (below 1), #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_pack_limits(deem_batch_settings *settings,
                                                     int64_t questions, int64_t bytes,
                                                     int64_t tokens, int64_t half);

/**
 * Mixes the rows among the packs of a stretch of sixteen packs, always in the same way for the same
 * seed, so that sorted input does not meet the same places.
 * @param settings The settings.
 * @param seed Any number.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_pack_shuffle(deem_batch_settings *settings, uint64_t seed);

/**
 * A file that every good row is written to before it is handed out, so that a later batch over the
 * same rows asks only what is missing. One batch at a time may use it; it belongs to one question
 * set, model and way of packing.
 * @param settings The settings.
 * @param path The path (@p len bytes); empty: none (default).
 * @param len Its length in bytes.
 * @param resume 1: go on with what the file holds; 0: a file that holds answers is refused.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_journal(deem_batch_settings *settings, const char *path,
                                                 size_t len, int32_t resume);

/**
 * The largest number of input tokens: nothing is sent that could pass it, counting what is in
 * flight by estimate. The batch then stops. Default 0: no cap.
 * @param settings The settings.
 * @param tokens 0 or more.
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_most_tokens(deem_batch_settings *settings, int64_t tokens);

/**
 * Whether the batch only rehearses: everything is checked, packed and counted, nothing is sent, and
 * every row ends #DEEM_E_CANCELLED.
 * @param settings The settings.
 * @param rehearsal 1 or 0 (default).
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_settings_set_rehearsal(deem_batch_settings *settings,
                                                   int32_t rehearsal);

/**
 * A batch. Settings are copied.
 * @param client The client; the batch holds a reference.
 * @param set The question set; the batch holds a reference.
 * @param settings The settings; deem_batch_settings_error() says what was refused. NULL: defaults.
 * @param[out] batch The handle; the caller owns it (deem_batch_free()).
 * @return #DEEM_OK, #DEEM_E_CONFIG, #DEEM_E_CONNECTION (no descriptors), #DEEM_E_UNSUPPORTED (a
 * client of libcurl's transport), #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_new(deem_client *client, deem_question_set *set,
                                deem_batch_settings *settings, deem_batch **batch);

/**
 * Cancels what is in flight and frees the batch.
 * @param batch The handle or NULL.
 */
DEEM_API void deem_batch_free(deem_batch *batch);

/**
 * How many more rows may be pushed now.
 * @param batch The batch.
 * @param[out] rows Their number; 0 after deem_batch_finish().
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_room(const deem_batch *batch, size_t *rows);

/**
 * Adds a row that is text.
 * @param batch The batch.
 * @param text The state (@p len bytes of UTF-8); refused bytes make the row fail, not the push.
 * @param len Its length in bytes.
 * @param group Rows of different groups never share a request or an answer (@p group_len bytes).
 * @param group_len Its length in bytes.
 * @param tag The caller's own number, handed out with the row.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE (no room).
 */
DEEM_API int32_t deem_batch_push_text(deem_batch *batch, const char *text, size_t len,
                                      const char *group, size_t group_len, uint64_t tag);

/**
 * Adds a row that is JSON: one string, object or array, sent as it stands.
 * @param batch The batch.
 * @param json The state (@p len bytes).
 * @param len Its length in bytes.
 * @param group As in deem_batch_push_text().
 * @param group_len Its length in bytes.
 * @param tag The caller's own number.
 * @return As deem_batch_push_text().
 */
DEEM_API int32_t deem_batch_push_json(deem_batch *batch, const char *json, size_t len,
                                      const char *group, size_t group_len, uint64_t tag);

/**
 * Adds a row that cannot be asked (blank, malformed): it fails with #DEEM_E_STATE and the caller's
 * sentence, and keeps its place in the order.
 * @param batch The batch.
 * @param message The sentence (@p len bytes of UTF-8).
 * @param len Its length in bytes.
 * @param tag The caller's own number.
 * @return As deem_batch_push_text().
 */
DEEM_API int32_t deem_batch_push_error(deem_batch *batch, const char *message, size_t len,
                                       uint64_t tag);

/**
 * Says that no more rows come: packs that were being filled are sent.
 * @param batch The batch.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_finish(deem_batch *batch);

/**
 * The descriptor: readable while deem_batch_step() has work (replies, a released row, a retry that
 * is due).
 * @param batch The batch.
 * @param[out] fd The descriptor, owned by the batch.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_fd(const deem_batch *batch, int32_t *fd);

/**
 * Does what is due without waiting; steps the client too.
 * @param batch The batch.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_CONFIG (the journal cannot be written: the batch has
 * stopped), #DEEM_E_MISUSE (another thread is inside the client's step).
 */
DEEM_API int32_t deem_batch_step(deem_batch *batch);

/**
 * Takes the next finished row.
 * @param batch The batch.
 * @param[out] row Its record (deem_batch_row).
 * @param row_size sizeof(deem_batch_row) as the caller knows it, 64 or more, a multiple of 8.
 * @param[in,out] response Its response, read as any other: answers, code and message, request id,
 * model, attempts of all its requests together. A response given in is reused, NULL gets a new one;
 * untouched when no row is finished. Of a packed row the body holds its own answers alone.
 * @return #DEEM_OK, #DEEM_E_ABSENT (no row is finished), #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_next(deem_batch *batch, void *row, size_t row_size,
                                 deem_response **response);

/**
 * Sends nothing more. What is in flight ends as usual, what was not sent ends #DEEM_E_CANCELLED.
 * @param batch The batch.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_stop(deem_batch *batch);

/**
 * As deem_batch_stop(), and cancels what is in flight.
 * @param batch The batch.
 * @return #DEEM_OK, #DEEM_E_MEMORY, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_cancel(deem_batch *batch);

/**
 * How the batch stands.
 * @param batch The batch.
 * @param[out] stats The record (deem_batch_stats).
 * @param stats_size sizeof(deem_batch_stats) as the caller knows it, 192 or more, a multiple of 8.
 * @return #DEEM_OK, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_stats_read(const deem_batch *batch, void *stats, size_t stats_size);

/**
 * A warning about packing: a path in back-ticks that could not be bound to a row.
 * @param batch The batch.
 * @param index 0 to their number less one; at most 32 are kept.
 * @param[out] text One sentence, borrowed from the batch.
 * @param[out] len Its length in bytes.
 * @return #DEEM_OK, #DEEM_E_ABSENT, #DEEM_E_MISUSE.
 */
DEEM_API int32_t deem_batch_warning(const deem_batch *batch, size_t index, const char **text,
                                    size_t *len);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* DEEMSTER_EXPERIMENTAL_H */
