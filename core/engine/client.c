#include "engine/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/version.h"
#include "deemster.h"
#include "engine/engine.h"
#include "engine/log.h"
#include "engine/task.h"
#include "protocol/names.h"
#include "transport/lifecycle.h"

enum { SPARE_TASKS = 64, PROTECTED_MOST = 7 };

static const char *environment(const char *name, void *user) {
    const deem_config *config = user;
    return config->environment ? getenv(name) : NULL;
}

/* The text that holds: explicit, else the variable when not blank, else the default. Surrounding
 * white space of a variable is cut (wire contract section 1.3). */
static dm_span pick(const deem_config *config, const dm_text_setting *setting, const char *variable,
                    const char *otherwise) {
    if (setting->is_set) {
        return dm_bytes_span(&setting->text);
    }
    const char *value = config->environment && variable != NULL ? getenv(variable) : NULL;
    if (value != NULL) {
        dm_span text = dm_text_trim(dm_span_of(value, strlen(value)));
        if (text.len != 0) {
            return text;
        }
    }
    return dm_span_of(otherwise, strlen(otherwise));
}

static int32_t set_key(deem_client *client, deem_config *config) {
    if (config->auth == DEEM_AUTH_NONE) {
        return DEEM_OK;
    }
    dm_span key = pick(config, &config->api_key, DM_ENV_API_KEY, "");
    if (key.len == 0) {
        return dm_error_set(&config->draft.error, DEEM_E_CONFIG_KEY, 0,
                            "There is no API key: set %s, or give one to the client.",
                            DM_ENV_API_KEY);
    }
    for (size_t i = 0; i < key.len; i++) {
        if (key.data[i] <= ' ' || key.data[i] > '~') {
            return dm_error_set(&config->draft.error, DEEM_E_CONFIG_KEY, 0,
                                "The API key from %s holds white space, a control or a non-ASCII "
                                "character at byte %zu.",
                                config->api_key.is_set ? "the settings" : DM_ENV_API_KEY, i);
        }
    }
    return dm_bytes_append(&client->api_key, key.data, key.len) == 0 ? DEEM_OK : DEEM_E_MEMORY;
}

static int32_t set_url(deem_client *client, deem_config *config) {
    dm_span text = pick(config, &config->base_url, DM_ENV_BASE_URL, DM_WIRE_BASE_URL);
    dm_span path = pick(config, &config->evaluate_path, NULL, DM_WIRE_EVALUATE_PATH);
    dm_http1_error why = {0};
    dm_bytes target = {0};
    if (dm_url_parse(&client->url, text, &why) != 0 ||
        dm_url_join(&client->url, path, &target, &why) != 0) {
        int32_t code = why.problem == DM_HTTP1_NO_MEMORY ? DEEM_E_MEMORY : DEEM_E_CONFIG_URL;
        dm_error_set(&config->draft.error, code, 0, "%s", why.message.data ? why.message.data : "");
        if (!config->base_url.is_set && text.data != NULL &&
            strncmp(text.data, DM_WIRE_BASE_URL, text.len) != 0) {
            dm_bytes_append_text(&config->draft.error.message, " (from " DM_ENV_BASE_URL ")");
        }
        dm_http1_error_free(&why);
        dm_bytes_free(&target);
        return code;
    }
    int failed = dm_bytes_append(&client->evaluate_path, path.data, path.len) != 0 ||
                 dm_bytes_append(&client->evaluate_url, client->url.origin.data,
                                 client->url.origin.len) != 0 ||
                 dm_bytes_append(&client->evaluate_url, target.data, target.len) != 0;
    dm_bytes_free(&target);
    const char *query = failed ? NULL : strchr(client->evaluate_url.data, '?');
    if (query != NULL) {
        client->evaluate_url.len = (size_t)(query - client->evaluate_url.data);
        client->evaluate_url.data[client->evaluate_url.len] = '\0';
    }
    return failed ? DEEM_E_MEMORY : DEEM_OK;
}

/* Adds a protected header whose value is written by printf form. */
static int protect(deem_client *client, const char *name, const char *format, dm_span text) {
    dm_bytes value = {0};
    if (dm_bytes_append_text(&value, format) != 0 ||
        dm_bytes_append(&value, text.data, text.len) != 0) {
        dm_bytes_free(&value);
        return -1;
    }
    client->protected_[client->protected_count++] =
        (dm_http1_field){dm_span_of(name, strlen(name)), dm_bytes_span(&value)};
    return 0;
}

static int set_protected(deem_client *client, const deem_config *config) {
    client->protected_ = dm_alloc_zero(PROTECTED_MOST * sizeof *client->protected_);
    if (client->protected_ == NULL) {
        return -1;
    }
    static const char agent[] = "deemster/" DM_VERSION;
    dm_span key = dm_bytes_span(&client->api_key);
    int failed = 0;
    if (config->auth == DEEM_AUTH_BEARER) {
        failed = protect(client, "Authorization", "Bearer ", key);
    } else if (config->auth == DEEM_AUTH_API_KEY) {
        failed = protect(client, "X-Api-Key", "", key);
    }
    dm_span proxy = dm_transport_proxy_authorization(client->transport);
    if (!failed && proxy.len != 0) {
        failed = protect(client, "Proxy-Authorization", "", proxy);
    }
    dm_bytes suffix = {0};
    if (config->user_agent_suffix.is_set && config->user_agent_suffix.text.len != 0) {
        failed = failed || dm_bytes_append_char(&suffix, ' ') != 0 ||
                 dm_bytes_append(&suffix, config->user_agent_suffix.text.data,
                                 config->user_agent_suffix.text.len) != 0;
    }
    failed = failed || protect(client, "User-Agent", agent, dm_bytes_span(&suffix)) != 0;
    dm_bytes_free(&suffix);
    failed = failed || protect(client, "Accept", "application/json", dm_span_of(NULL, 0)) != 0 ||
             protect(client, DM_WIRE_SDK, agent, dm_span_of(NULL, 0)) != 0;
    if (config->runtime.is_set && config->runtime.text.len != 0) {
        failed = failed ||
                 protect(client, DM_WIRE_RUNTIME, "", dm_bytes_span(&config->runtime.text)) != 0;
    } else {
        struct utsname machine;
        char text[160] = "c";
        if (uname(&machine) == 0) {
            snprintf(text, sizeof text, "c (linux; %.64s)", machine.machine);
        }
        failed =
            failed || protect(client, DM_WIRE_RUNTIME, "", dm_span_of(text, strlen(text))) != 0;
    }
    return failed || protect(client, "Content-Type", "application/json", dm_span_of(NULL, 0)) != 0
               ? -1
               : 0;
}

static int32_t set_transport(deem_client *client, deem_config *config) {
    dm_transport_settings settings = {
        .tls = client->url.https,
        .host = client->url.host,
        .port = client->url.port,
        .proxy_mode = DM_PROXY_ENVIRONMENT,
        .ca_file = dm_bytes_span(&config->ca_file.text),
        .ca_dir = dm_bytes_span(&config->ca_dir.text),
        .always_curl = 0,
        .environment = environment,
        .environment_user = config,
    };
    if (config->proxy.is_set) {
        settings.proxy_mode = config->proxy.text.len == 0 ? DM_PROXY_NONE : DM_PROXY_URL;
        settings.proxy_url = dm_bytes_span(&config->proxy.text);
    }
    if (config->no_proxy.is_set) {
        settings.no_proxy = dm_bytes_span(&config->no_proxy.text);
        if (settings.no_proxy.data == NULL) {
            settings.no_proxy.data = "";
        }
    }
    if (dm_transport_new(&settings, &client->transport, &config->draft.error) == 0) {
        return DEEM_OK;
    }
    int32_t code = config->draft.error.code;
    return code == DEEM_E_MEMORY || (code >= DEEM_E_CONFIG && code < DEEM_E_QUESTIONS)
               ? code
               : DEEM_E_CONFIG;
}

static int32_t set_head(deem_client *client, deem_config *config) {
    dm_http1_field fields[PROTECTED_MOST];
    dm_http1_field *all = fields;
    uint32_t count = dm_client_headers(client, NULL, 1, NULL);
    if (count > PROTECTED_MOST) {
        all = dm_alloc(count * sizeof *all);
        if (all == NULL) {
            return DEEM_E_MEMORY;
        }
    }
    dm_client_headers(client, NULL, 1, all);
    dm_bytes target = {0};
    dm_http1_error why = {0};
    int failed = dm_transport_absolute_form(client->transport) &&
                 dm_bytes_append(&target, client->url.origin.data, client->url.origin.len) != 0;
    dm_bytes path = {0};
    failed = failed ||
             dm_url_join(&client->url, dm_bytes_span(&client->evaluate_path), &path, &why) != 0 ||
             dm_bytes_append(&target, path.data, path.len) != 0;
    dm_http1_request request = {
        DM_LITERAL("POST"), dm_bytes_span(&target), client->url.authority, all, count, 1};
    failed = failed || dm_http1_head_make(&client->evaluate_head, &request, &why) != 0;
    int32_t code = DEEM_OK;
    if (failed) {
        code = why.problem == DM_HTTP1_INVALID ? DEEM_E_CONFIG : DEEM_E_MEMORY;
        dm_error_set(&config->draft.error, code, 0, "%s", why.message.data ? why.message.data : "");
    }
    dm_bytes_free(&path);
    dm_bytes_free(&target);
    dm_http1_error_free(&why);
    if (all != fields) {
        dm_free(all);
    }
    return code;
}

static int32_t set_rest(deem_client *client, deem_config *config) {
    client->limits = dm_default_limits;
    dm_limits_merge(&client->limits, &config->draft);
    client->transport_kind = config->transport;
    client->max_reply_bytes = config->max_reply_bytes;
    client->idle_ms = config->idle_ms;
    client->pool.limit = (uint32_t)config->max_connections;
    client->next_id = 1;
    client->log_level = config->log_level;
    if (client->log_level < 0) {
        dm_text_setting none = {0};
        dm_span name = pick(config, &none, DM_ENV_LOG_LEVEL, "warn");
        client->log_level = dm_log_level_of(name);
        if (client->log_level < 0) {
            return dm_error_set(&config->draft.error, DEEM_E_CONFIG, 0,
                                "%s must be debug, info, warn, error or off.", DM_ENV_LOG_LEVEL);
        }
    }
    dm_span model = pick(config, &config->model, DM_ENV_MODEL, DM_WIRE_MODEL);
    int32_t code = dm_text_setting_check(model, "model", DEEM_E_CONFIG, &config->draft.error);
    if (code != DEEM_OK) {
        return code;
    }
    if (dm_bytes_append(&client->model, model.data, model.len) != 0) {
        return DEEM_E_MEMORY;
    }
    for (uint32_t i = 0; i < config->headers.count; i++) {
        if (dm_pairs_put(&client->headers, config->headers.items[i].name,
                         config->headers.items[i].value, 1) != 0) {
            return DEEM_E_MEMORY;
        }
    }
    return DEEM_OK;
}

static void wipe(dm_bytes *bytes) {
    if (bytes->data != NULL) {
        explicit_bzero(bytes->data, bytes->cap);
    }
    dm_bytes_free(bytes);
}

static void unlink_task(deem_client *client, dm_task *task) {
    *(task->previous != NULL ? &task->previous->next : &client->active) = task->next;
    if (task->next != NULL) {
        task->next->previous = task->previous;
    }
    task->next = task->previous = NULL;
}

/* Gives up an interrupted call that nobody will come back for. Under the lock. */
static void drop_parked(deem_client *client, dm_task *task) {
    unlink_task(client, task);
    dm_flight_abort(&task->flight);
    dm_connection_close(dm_flight_take_connection(&task->flight));
    if (task->has_slot) {
        dm_pool_release(&client->pool);
        task->has_slot = 0;
    }
    task->parked = 0;
    task->next = client->spare;
    client->spare = task;
    client->spare_count++;
}

static void destroy(deem_client *client) {
    int inherited = client->generation != dm_fork_generation();
    if (!inherited) {
        while (client->active != NULL) {
            drop_parked(client, client->active);
        }
        dm_engine_free(client->engine);
        for (dm_connection *c; (c = dm_pool_pop_any(&client->pool)) != NULL;) {
            dm_connection_close(c);
        }
    }
    dm_pool_free(&client->pool);
    while (client->spare != NULL) {
        dm_task *task = client->spare;
        client->spare = task->next;
        dm_task_free(task);
    }
    dm_transport_unref(client->transport);
    dm_url_free(&client->url);
    dm_bytes_free(&client->evaluate_path);
    dm_bytes_free(&client->evaluate_url);
    dm_bytes_free(&client->model);
    wipe(&client->api_key);
    for (uint32_t i = 0; i < client->protected_count; i++) {
        dm_span value = client->protected_[i].value;
        explicit_bzero((void *)(uintptr_t)value.data, value.len);
        dm_free((void *)(uintptr_t)value.data);
    }
    dm_free(client->protected_);
    dm_pairs_free(&client->headers);
    dm_http1_head_free(&client->evaluate_head);
    dm_free(client->reserved);
    pthread_mutex_destroy(&client->lock);
    dm_free(client);
}

int32_t dm_client_new(deem_config *config, deem_client **out) {
    dm_error_clear(&config->draft.error);
    dm_fork_watch();
    deem_client *client = dm_alloc_zero(sizeof *client);
    if (client == NULL) {
        return DEEM_E_MEMORY;
    }
    client->handles = 1;
    client->references = 1;
    client->generation = dm_fork_generation();
    pthread_mutex_init(&client->lock, NULL);
    int32_t code = set_rest(client, config);
    code = code != DEEM_OK ? code : set_key(client, config);
    code = code != DEEM_OK ? code : set_url(client, config);
    code = code != DEEM_OK ? code : set_transport(client, config);
    if (code == DEEM_OK && set_protected(client, config) != 0) {
        code = DEEM_E_MEMORY;
    }
    code = code != DEEM_OK ? code : set_head(client, config);
    if (code != DEEM_OK) {
        destroy(client);
        return code;
    }
    *out = client;
    return DEEM_OK;
}

uint32_t dm_client_headers(const deem_client *client, const deem_options *options, int with_body,
                           dm_http1_field *out) {
    uint32_t count = 0;
    const dm_pairs none = {0};
    const dm_pairs *mine = options != NULL ? &options->headers : &none;
    for (uint32_t i = 0; i < client->headers.count; i++) {
        int replaced = 0;
        for (uint32_t k = 0; k < mine->count && !replaced; k++) {
            replaced = dm_text_equal_nocase(client->headers.items[i].name, mine->items[k].name);
        }
        if (!replaced) {
            if (out != NULL) {
                out[count] = client->headers.items[i];
            }
            count++;
        }
    }
    for (uint32_t i = 0; i < mine->count; i++) {
        if (out != NULL) {
            out[count] = mine->items[i];
        }
        count++;
    }
    uint32_t protected_count = client->protected_count - (with_body ? 0 : 1);
    for (uint32_t i = 0; i < protected_count; i++) {
        if (out != NULL) {
            out[count] = client->protected_[i];
        }
        count++;
    }
    return count;
}

void dm_client_ref(deem_client *client) {
    atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
}

void dm_client_unref(deem_client *client) {
    if (client != NULL &&
        atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel) == 1) {
        destroy(client);
    }
}

void dm_client_handle_ref(deem_client *client) {
    atomic_fetch_add_explicit(&client->handles, 1, memory_order_relaxed);
}

void dm_client_handle_unref(deem_client *client) {
    if (client != NULL &&
        atomic_fetch_sub_explicit(&client->handles, 1, memory_order_acq_rel) == 1) {
        dm_client_close(client);
        dm_client_unref(client);
    }
}

int dm_client_after_fork(deem_client *client) {
    if (__builtin_expect(client->generation == dm_fork_generation(), 1)) {
        return 0;
    }
    /* The child has one thread, this one. The parent's lock may be held by a thread that is not
     * here, and its descriptors are shared: the child closes its copies and leaks the rest. */
    pthread_mutex_init(&client->lock, NULL);
    client->generation = dm_fork_generation();
    for (dm_connection *c; (c = dm_pool_pop_any(&client->pool)) != NULL;) {
        dm_connection_abandon(c);
    }
    client->pool.used = 0;
    client->pool.first = client->pool.last = NULL;
    for (dm_task *task = client->active; task != NULL; task = task->next) {
        dm_connection_abandon(dm_flight_take_connection(&task->flight));
        if (task->cancel_fd >= 0) {
            close(task->cancel_fd);
            task->cancel_fd = -1;
        }
    }
    for (dm_task *task = client->spare; task != NULL; task = task->next) {
        if (task->cancel_fd >= 0) {
            close(task->cancel_fd);
            task->cancel_fd = -1;
        }
    }
    dm_engine_after_fork(client);
    dm_transport_after_fork(client->transport);
    return 1;
}

static void cancel_task(dm_task *task) {
    if (atomic_exchange(&task->cancelled, 1) == 0) {
        if (task->side == DM_SIDE_ENGINE) {
            dm_engine_poke(task);
        } else if (task->cancel_fd >= 0) {
            uint64_t one = 1;
            (void)!write(task->cancel_fd, &one, sizeof one);
        }
    }
}

void dm_client_close(deem_client *client) {
    dm_client_after_fork(client);
    pthread_mutex_lock(&client->lock);
    client->closed = 1;
    for (dm_task *task = client->active; task != NULL; task = task->next) {
        cancel_task(task);
    }
    pthread_mutex_unlock(&client->lock);
}

uint64_t dm_client_reserve_id(deem_client *client) {
    dm_client_after_fork(client);
    uint64_t id = 0;
    pthread_mutex_lock(&client->lock);
    if (client->reserved_count == client->reserved_cap) {
        uint32_t cap = client->reserved_cap == 0 ? 8 : client->reserved_cap * 2;
        dm_reserved_id *reserved = dm_realloc(client->reserved, cap * sizeof *reserved);
        if (reserved != NULL) {
            client->reserved = reserved;
            client->reserved_cap = cap;
        }
    }
    if (client->reserved_count < client->reserved_cap) {
        id = client->next_id++;
        client->reserved[client->reserved_count++] = (dm_reserved_id){id, 0};
    }
    pthread_mutex_unlock(&client->lock);
    return id;
}

void dm_client_cancel(deem_client *client, uint64_t id) {
    dm_client_after_fork(client);
    if (id == 0) {
        return;
    }
    pthread_mutex_lock(&client->lock);
    for (dm_task *task = client->active; task != NULL; task = task->next) {
        if (task->id == id) {
            cancel_task(task);
            if (task->parked) {
                drop_parked(client, task);
            }
            pthread_mutex_unlock(&client->lock);
            return;
        }
    }
    for (uint32_t i = 0; i < client->reserved_count; i++) {
        if (client->reserved[i].id == id) {
            client->reserved[i].cancelled = 1;
        }
    }
    pthread_mutex_unlock(&client->lock);
}

/* Uses a reserved id up. DEEM_OK, DEEM_E_CANCELLED or DEEM_E_MISUSE. */
static int32_t use_id(deem_client *client, uint64_t id) {
    for (uint32_t i = 0; i < client->reserved_count; i++) {
        if (client->reserved[i].id == id) {
            int cancelled = client->reserved[i].cancelled;
            client->reserved[i] = client->reserved[--client->reserved_count];
            return cancelled ? DEEM_E_CANCELLED : DEEM_OK;
        }
    }
    return DEEM_E_MISUSE;
}

int64_t dm_client_idle_ms(const deem_client *client, int64_t server_ms) {
    if (server_ms < 0 || server_ms - 1000 >= client->idle_ms) {
        return client->idle_ms;
    }
    return server_ms - 1000; /* leave before the server does */
}

int32_t dm_client_begin(deem_client *client, uint64_t id, dm_side side, dm_task **out) {
    pthread_mutex_lock(&client->lock);
    int32_t code = client->closed ? DEEM_E_CANCELLED : DEEM_OK;
    if (id == DM_NEW_ID) {
        id = client->next_id++;
    } else if (id != 0) {
        int32_t used = use_id(client, id);
        code = code != DEEM_OK ? code : used;
    }
    dm_task *task = NULL;
    if (code == DEEM_OK) {
        task = client->spare;
        if (task != NULL) {
            client->spare = task->next;
            client->spare_count--;
        } else {
            task = dm_task_new();
        }
        if (task == NULL) {
            code = DEEM_E_MEMORY;
        } else if (side == DM_SIDE_BLOCKING && dm_task_ensure_cancel_fd(task) != 0) {
            task->next = client->spare;
            client->spare = task;
            client->spare_count++;
            code = DEEM_E_CONNECTION;
        }
    }
    if (code == DEEM_OK) {
        task->id = id;
        task->side = side;
        task->finished = 0;
        atomic_store(&task->cancelled, 0);
        task->previous = NULL;
        task->next = client->active;
        if (client->active != NULL) {
            client->active->previous = task;
        }
        client->active = task;
        *out = task;
    }
    pthread_mutex_unlock(&client->lock);
    return code;
}

void dm_client_end(deem_client *client, dm_task *task) {
    pthread_mutex_lock(&client->lock);
    unlink_task(client, task);
    int keep = client->spare_count < SPARE_TASKS;
    if (keep) {
        task->next = client->spare;
        client->spare = task;
        client->spare_count++;
    }
    pthread_mutex_unlock(&client->lock);
    if (!keep) {
        dm_task_free(task);
    }
}

dm_task *dm_client_parked(deem_client *client, uint64_t id) {
    pthread_mutex_lock(&client->lock);
    dm_task *task = client->active;
    while (task != NULL && !(task->parked && task->id == id)) {
        task = task->next;
    }
    if (task != NULL) {
        task->parked = 0;
    }
    pthread_mutex_unlock(&client->lock);
    return task;
}
