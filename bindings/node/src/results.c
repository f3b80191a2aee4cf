/* From finished calls to JS values: what runs on every evaluation on its way out. */
#include "addon.h"

#include <stdlib.h>
#include <string.h>

/* The particulars of a response, packed into one string of bytes (a JS string of Latin-1
 * characters), which JS takes apart only when somebody asks (lib/details.js): the numbers below as
 * little-endian int64, then as NUL-terminated texts the request id, the URL, and name and value of
 * each header. */
enum {
    NUMBER_STATUS,
    NUMBER_ATTEMPTS,
    NUMBER_INPUT_TOKENS,
    NUMBER_OUTPUT_TOKENS,
    NUMBER_SENT,
    NUMBER_RECEIVED,
    NUMBER_REUSED,
    NUMBER_TIMINGS,
    NUMBER_COUNT = NUMBER_TIMINGS + DEEM_TIMING_WAITS + 1
};

/* What JS is told in place of DEEM_OK. */
#define LARGE_COUNT (-1)
#define DOUBTFUL    (-2)

#define EXACT_IN_JS INT64_C(9007199254740991)
#define PACKED_ROOM 4096
/* A flood of finished calls is handed over in parts, so that JS stays responsive. */
#define MOST_AT_ONCE 256
/* What JS gets of each: slot, id, code, body, details. */
#define PARTS 5

/* Takes the next finished call or row of a slot. false: there is none. */
static bool take_next(dmn_client_slot *slot, dmn_finished *finished) {
    if (slot->batch == NULL) {
        return deem_client_next(slot->client, &finished->id, &finished->response) == DEEM_OK &&
               finished->id != 0;
    }
    deem_batch_row row;
    if (deem_batch_next(slot->batch, &row, sizeof row, &finished->response) != DEEM_OK) {
        return false;
    }
    finished->id = row.tag;
    finished->row_flags = row.flags;
    return true;
}

size_t dmn_step(dmn_environment *environment, int32_t slot) {
    dmn_client_slot *entry = &environment->clients[slot];
    size_t before = environment->finished_count;
    if (entry->batch != NULL) {
        entry->trouble = deem_batch_step(entry->batch);
    } else {
        deem_client_step(entry->client);
    }
    for (;;) {
        if (environment->finished_count == environment->finished_room) {
            size_t room = environment->finished_room * 2 + 64;
            dmn_finished *more = realloc(environment->finished, room * sizeof *more);
            if (more == NULL) {
                break;
            }
            environment->finished = more;
            environment->finished_room = room;
        }
        bool spare = environment->spare_count > 0;
        dmn_finished finished = {
            .slot = slot,
            .response = spare ? environment->spare[environment->spare_count - 1] : NULL};
        if (!take_next(entry, &finished)) {
            break;
        }
        if (spare) {
            environment->spare_count--;
        }
        environment->finished[environment->finished_count++] = finished;
    }
    return environment->finished_count - before;
}

static size_t append(char *packed, size_t at, const char *text, size_t len) {
    if (at + len + 1 > PACKED_ROOM) {
        return at;
    }
    memcpy(packed + at, text, len);
    packed[at + len] = '\0';
    return at + len + 1;
}

static napi_value pack_details(napi_env env, const deem_response *response, bool *large) {
    char packed[PACKED_ROOM];
    int64_t number[NUMBER_COUNT] = {0};
    int32_t small = 0;
    const char *name, *value, *method;
    size_t name_len, value_len, method_len, at = sizeof number;
    napi_value result;
    deem_response_http_status(response, &small);
    number[NUMBER_STATUS] = small;
    deem_response_attempts(response, &small);
    number[NUMBER_ATTEMPTS] = small;
    deem_response_usage(response, &number[NUMBER_INPUT_TOKENS], &number[NUMBER_OUTPUT_TOKENS]);
    *large =
        number[NUMBER_INPUT_TOKENS] > EXACT_IN_JS || number[NUMBER_OUTPUT_TOKENS] > EXACT_IN_JS;
    deem_response_traffic(response, &number[NUMBER_SENT], &number[NUMBER_RECEIVED], &small);
    number[NUMBER_REUSED] = small;
    for (int32_t which = DEEM_TIMING_TOTAL; which <= DEEM_TIMING_WAITS; which++) {
        deem_response_timing(response, which, &number[NUMBER_TIMINGS + which]);
    }
    memcpy(packed, number, sizeof number);
    if (deem_response_request_id(response, &value, &value_len) != DEEM_OK) {
        value_len = 0;
        value = "";
    }
    at = append(packed, at, value, value_len);
    if (deem_response_endpoint(response, &method, &method_len, &value, &value_len) != DEEM_OK) {
        value_len = 0;
        value = "";
    }
    at = append(packed, at, value, value_len);
    for (size_t i = 0;
         deem_response_header_at(response, i, &name, &name_len, &value, &value_len) == DEEM_OK;
         i++) {
        if (at + name_len + value_len + 2 <= PACKED_ROOM) {
            at = append(packed, at, name, name_len);
            at = append(packed, at, value, value_len);
        }
    }
    if (napi_create_string_latin1(env, packed, at, &result) != napi_ok) {
        napi_get_undefined(env, &result);
    }
    return result;
}

static napi_value body_text(napi_env env, const deem_response *response) {
    const char *body = NULL;
    size_t len = 0;
    napi_value result;
    if (deem_response_body(response, &body, &len, NULL) != DEEM_OK) {
        len = 0;
    }
    /* JSON.parse takes no byte order mark, which some servers send. */
    if (len >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0) {
        body += 3;
        len -= 3;
    }
    if (napi_create_string_utf8(env, len > 0 ? body : "", len, &result) != napi_ok) {
        napi_get_undefined(env, &result);
    }
    return result;
}

/* Whether a question of a call that succeeded has no good answer: only in a lenient call. */
static bool has_problem(const deem_response *response) {
    int32_t reason = DEEM_ANSWER_OK;
    for (size_t question = 0;
         deem_response_problem(response, question, &reason, NULL, NULL, NULL, NULL) == DEEM_OK;
         question++) {
        if (reason != DEEM_ANSWER_OK) {
            return true;
        }
    }
    return false;
}

/* Gives a response back for reuse. */
static void recycle(dmn_environment *environment, deem_response *response) {
    pthread_mutex_lock(&environment->lock);
    if (environment->spare_count < DMN_SPARE_RESPONSES) {
        environment->spare[environment->spare_count++] = response;
        response = NULL;
    }
    pthread_mutex_unlock(&environment->lock);
    deem_response_free(response);
}

napi_value dmn_take_finished(dmn_environment *environment) {
    napi_env env = environment->env;
    dmn_finished taken[MOST_AT_ONCE];
    pthread_mutex_lock(&environment->lock);
    size_t count = environment->finished_count;
    if (count > MOST_AT_ONCE) {
        count = MOST_AT_ONCE;
    }
    if (count > 0) {
        memcpy(taken, environment->finished, count * sizeof *taken);
        environment->finished_count -= count;
        memmove(environment->finished, environment->finished + count,
                environment->finished_count * sizeof *taken);
    }
    pthread_mutex_unlock(&environment->lock);
    napi_value list = NULL;
    if (count == 0 || napi_create_array_with_length(env, count * PARTS, &list) != napi_ok) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        deem_response *response = taken[i].response;
        dmn_client_slot *client = &environment->clients[taken[i].slot];
        int32_t code = deem_response_code(response);
        napi_value item[PARTS];
        bool large = false;
        napi_create_int32(env, taken[i].slot, &item[0]);
        napi_create_double(env, (double)taken[i].id, &item[1]);
        item[3] = body_text(env, response);
        bool doubtful = code == DEEM_OK && has_problem(response);
        if (code == DEEM_OK && !doubtful) {
            item[4] = pack_details(env, response, &large);
            recycle(environment, response);
        } else {
            item[4] = dmn_wrap_response(env, response);
        }
        code = doubtful ? DOUBTFUL : large ? LARGE_COUNT : code;
        if (client->batch != NULL) {
            code = (code - DOUBTFUL) | (int32_t)(taken[i].row_flags << 16);
        }
        napi_create_int32(env, code, &item[2]);
        for (uint32_t part = 0; part < PARTS; part++) {
            napi_set_element(env, list, (uint32_t)i * PARTS + part, item[part]);
        }
        if (--client->in_flight == 0 && environment->by_loop) {
            dmn_loop_hold(client, false);
        }
        if (--environment->in_flight == 0 && !environment->by_loop) {
            napi_unref_threadsafe_function(env, environment->wake);
        }
        if (client->closing) {
            dmn_settle_client(environment, taken[i].slot);
        }
    }
    return list;
}

void dmn_call_finished(dmn_environment *environment) {
    napi_env env = environment->env;
    napi_value receiver, function, list, error;
    napi_handle_scope scope;
    bool more = true, thrown = false;
    while (more) {
        if (napi_open_handle_scope(env, &scope) != napi_ok) {
            return;
        }
        list = dmn_take_finished(environment);
        more = list != NULL;
        if (more && napi_get_global(env, &receiver) == napi_ok &&
            napi_get_reference_value(env, environment->on_finished, &function) == napi_ok) {
            if (environment->by_loop) {
                napi_make_callback(env, environment->context, receiver, function, 1, &list, NULL);
            } else {
                napi_call_function(env, receiver, function, 1, &list, NULL);
            }
            napi_is_exception_pending(env, &thrown);
            if (thrown && napi_get_and_clear_last_exception(env, &error) == napi_ok) {
                napi_fatal_exception(env, error);
            }
        }
        napi_close_handle_scope(env, scope);
        if (environment->stopping) {
            return;
        }
    }
}
