/**
 * @file deemster_experimental.h
 * @brief What may still change between minor versions: the hosted exchange.
 *
 * In a hosted exchange the library does everything but the transport: it hands out each attempt as
 * method, URL, headers and body, and takes back status, headers and body, or a failure. Attempts,
 * waits, deadline and checks stay in the library. Conventions are those of deemster.h.
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

#ifdef __cplusplus
}
#endif

#endif /* DEEMSTER_EXPERIMENTAL_H */
