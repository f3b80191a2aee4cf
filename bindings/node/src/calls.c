/* Submitting, cancelling and flushing calls: what runs on every evaluation on its way in. */
#include "addon.h"

#include <stdlib.h>

/* Text that is longer than this is worth asking for its length first. */
#define FIRST_SCRATCH ((size_t)64 * 1024)

/* Makes the scratch buffer large enough. */
static bool reserve(dmn_environment *environment, size_t room) {
    if (environment->scratch_room >= room) {
        return true;
    }
    char *more = realloc(environment->scratch, room);
    if (more == NULL) {
        return false;
    }
    environment->scratch = more;
    environment->scratch_room = room;
    return true;
}

/* Reads a JS string as UTF-8 into the scratch buffer. A string of n UTF-16 units needs at most 3n
 * bytes, and the buffer is never read into its last four bytes without asking for the exact length.
 */
bool dmn_read_text(dmn_environment *environment, napi_value value, const char **text, size_t *len) {
    napi_env env = environment->env;
    if (!reserve(environment, FIRST_SCRATCH) ||
        napi_get_value_string_utf8(env, value, environment->scratch, environment->scratch_room,
                                   len) != napi_ok) {
        return false;
    }
    if (*len + 4 >= environment->scratch_room) {
        size_t whole = 0;
        if (napi_get_value_string_utf8(env, value, NULL, 0, &whole) != napi_ok ||
            !reserve(environment, whole + 8) ||
            napi_get_value_string_utf8(env, value, environment->scratch, environment->scratch_room,
                                       len) != napi_ok) {
            return false;
        }
    }
    *text = environment->scratch;
    return true;
}

/* A large state is rare: the buffer does not stay large because of it. */
void dmn_trim(dmn_environment *environment) {
    if (environment->scratch_room > 4 * FIRST_SCRATCH) {
        free(environment->scratch);
        environment->scratch = NULL;
        environment->scratch_room = 0;
    }
}

/* The options given by JS: a handle, or undefined for none. */
static bool read_options(napi_env env, napi_value value, deem_options **options) {
    napi_valuetype type;
    *options = NULL;
    if (napi_typeof(env, value, &type) != napi_ok) {
        return false;
    }
    if (type == napi_undefined || type == napi_null) {
        return true;
    }
    *options = dmn_unwrap(env, value, DMN_OPTIONS);
    return *options != NULL;
}

void dmn_count_in(dmn_environment *environment, dmn_client_slot *slot) {
    if (slot->in_flight++ == 0 && environment->by_loop) {
        dmn_loop_hold(slot, true);
    }
    if (environment->in_flight++ == 0 && !environment->by_loop) {
        napi_ref_threadsafe_function(environment->env, environment->wake);
    }
}

/* Counts a call that was submitted, and gives JS its id or minus the status. */
static napi_value submitted(dmn_environment *environment, dmn_client_slot *client, int32_t status,
                            uint64_t id) {
    napi_value result;
    if (status == DEEM_OK) {
        dmn_count_in(environment, client);
    }
    napi_create_double(environment->env, status == DEEM_OK ? (double)id : (double)-status, &result);
    return result;
}

napi_value dmn_submit(napi_env env, napi_callback_info info) {
    napi_value argument[5];
    size_t count = 5, len = 0;
    int32_t set = -1;
    bool json = false;
    const char *state = NULL;
    deem_options *options = NULL;
    uint64_t id = 0;
    dmn_environment *environment = dmn_arguments(env, info, &count, argument);
    if (environment == NULL || count < 5) {
        return dmn_refuse(env,
                          "submit takes a client, a question set, a kind, a state and options");
    }
    dmn_client_slot *client = dmn_client_at(environment, argument[0]);
    if (client == NULL) {
        return NULL;
    }
    if (napi_get_value_int32(env, argument[1], &set) != napi_ok || set < 0 ||
        set >= environment->set_count || environment->sets[set] == NULL) {
        return dmn_refuse(env, "this is no open question set");
    }
    if (napi_get_value_bool(env, argument[2], &json) != napi_ok ||
        !dmn_read_text(environment, argument[3], &state, &len)) {
        return dmn_refuse(env, "the state must be a string");
    }
    if (!read_options(env, argument[4], &options)) {
        return dmn_refuse(env, "these are no options");
    }
    deem_question_set *questions = environment->sets[set];
    int32_t status = json ? deem_submit_json(client->client, questions, state, len, options, &id)
                          : deem_submit_text(client->client, questions, state, len, options, &id);
    dmn_trim(environment);
    return submitted(environment, client, status, id);
}

napi_value dmn_submit_request(napi_env env, napi_callback_info info) {
    napi_value argument[5];
    size_t count = 5, method_len = 0, path_len = 0, body_len = 0;
    char method[16], path[4096];
    const char *body = NULL;
    napi_valuetype type;
    deem_options *options = NULL;
    uint64_t id = 0;
    dmn_environment *environment = dmn_arguments(env, info, &count, argument);
    if (environment == NULL || count < 5) {
        return dmn_refuse(env,
                          "submitRequest takes a client, a method, a path, a body and options");
    }
    dmn_client_slot *client = dmn_client_at(environment, argument[0]);
    if (client == NULL) {
        return NULL;
    }
    if (napi_get_value_string_utf8(env, argument[1], method, sizeof method, &method_len) !=
            napi_ok ||
        napi_get_value_string_utf8(env, argument[2], path, sizeof path, &path_len) != napi_ok ||
        napi_typeof(env, argument[3], &type) != napi_ok) {
        return dmn_refuse(env, "method and path must be strings");
    }
    if (type != napi_undefined && type != napi_null &&
        !dmn_read_text(environment, argument[3], &body, &body_len)) {
        return dmn_refuse(env, "the body must be a string");
    }
    if (!read_options(env, argument[4], &options)) {
        return dmn_refuse(env, "these are no options");
    }
    int32_t status = deem_submit_request(client->client, method, method_len, path, path_len, body,
                                         body_len, options, &id);
    dmn_trim(environment);
    return submitted(environment, client, status, id);
}

napi_value dmn_cancel(napi_env env, napi_callback_info info) {
    napi_value argument[2];
    size_t count = 2;
    double id = 0;
    dmn_environment *environment = dmn_arguments(env, info, &count, argument);
    if (environment == NULL || count < 2 ||
        napi_get_value_double(env, argument[1], &id) != napi_ok || !(id >= 1) ||
        !(id <= 9007199254740991.0)) {
        return dmn_refuse(env, "cancel takes a client and the id of a call");
    }
    dmn_client_slot *client = dmn_client_at(environment, argument[0]);
    if (client != NULL) {
        deem_client_cancel(client->client, (uint64_t)id);
    }
    return NULL;
}

napi_value dmn_flush(napi_env env, napi_callback_info info) {
    napi_value argument;
    size_t count = 1;
    int32_t slot = -1;
    dmn_environment *environment = dmn_arguments(env, info, &count, &argument);
    if (environment == NULL || count < 1 || napi_get_value_int32(env, argument, &slot) != napi_ok) {
        return dmn_refuse(env, "flush takes a client");
    }
    /* A client that was closed meanwhile, or that the thread steps just now, needs no help. */
    if (slot < 0 || slot >= environment->client_count ||
        pthread_mutex_trylock(&environment->lock) != 0) {
        return NULL;
    }
    if (dmn_in_use(&environment->clients[slot])) {
        dmn_step(environment, slot);
    }
    pthread_mutex_unlock(&environment->lock);
    return dmn_take_finished(environment);
}
