#include "transport/curl_dl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "transport/failure.h"
#include "transport/lifecycle.h"

/* RTLD_DEEPBIND: inside Node libcurl would else bind to Node's own OpenSSL. The sanitizers'
 * run-time cannot stand it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEEPBIND 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define DEEPBIND 0
#endif
#endif
#if !defined(DEEPBIND) && defined(RTLD_DEEPBIND)
#define DEEPBIND RTLD_DEEPBIND
#elif !defined(DEEPBIND)
#define DEEPBIND 0
#endif

static dm_curl_api opened;
static const dm_curl_api *_Atomic current;
static const dm_curl_api *_Atomic replacement;
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Another thread may have held the lock when this child was forked. */
static void in_child(void) {
    pthread_mutex_init(&load_lock, NULL);
}

static void register_fork(void) {
    pthread_atfork(NULL, NULL, in_child);
}

int dm_curl_fill(void *library, dm_curl_api *api, dm_error *error) {
    const struct {
        const char *name;
        void *slot;
    } wanted[] = {
        {"curl_global_init", &api->global_init},
        {"curl_version_info", &api->version_info},
        {"curl_easy_init", &api->easy_init},
        {"curl_easy_cleanup", &api->easy_cleanup},
        {"curl_easy_setopt", &api->easy_setopt},
        {"curl_easy_getinfo", &api->easy_getinfo},
        {"curl_easy_send", &api->easy_send},
        {"curl_easy_recv", &api->easy_recv},
        {"curl_easy_strerror", &api->easy_strerror},
        {"curl_multi_init", &api->multi_init},
        {"curl_multi_cleanup", &api->multi_cleanup},
        {"curl_multi_add_handle", &api->multi_add_handle},
        {"curl_multi_remove_handle", &api->multi_remove_handle},
        {"curl_multi_setopt", &api->multi_setopt},
        {"curl_multi_socket_action", &api->multi_socket_action},
        {"curl_multi_info_read", &api->multi_info_read},
        {"curl_slist_append", &api->slist_append},
        {"curl_slist_free_all", &api->slist_free_all},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *function = dlsym(library, wanted[i].name);
        if (function == NULL) {
            dm_fail(error, DM_FAIL_LIBCURL, "the libcurl of this system has no function %s",
                    wanted[i].name);
            return -1;
        }
        memcpy(wanted[i].slot, &function, sizeof function);
    }
    void *optional = dlsym(library, "SSL_get_shutdown");
    memcpy(&api->ssl_get_shutdown, &optional, sizeof optional);
    return 0;
}

int dm_curl_start(const dm_curl_api *api, dm_error *error) {
    const curl_version_info_data *info = api->version_info(CURLVERSION_NOW);
    if (info->version_num < DM_CURL_FLOOR) {
        dm_fail(error, DM_FAIL_LIBCURL,
                "libcurl 7.87 or newer is needed and this system has %.40s: install a newer one",
                info->version);
        return -1;
    }
    if ((info->features & CURL_VERSION_ASYNCHDNS) == 0 ||
        (info->features & CURL_VERSION_SSL) == 0) {
        dm_fail(error, DM_FAIL_LIBCURL,
                "the libcurl %.40s of this system was built without %s: install one that has it",
                info->version,
                (info->features & CURL_VERSION_SSL) == 0 ? "TLS" : "asynchronous name look-ups");
        return -1;
    }
    CURLcode code = api->global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        dm_fail(error, DM_FAIL_LIBCURL, "libcurl could not be initialised: %.200s",
                api->easy_strerror(code));
        return -1;
    }
    return 0;
}

/* The path of a libcurl beside our own library; empty when that has no path. */
static void beside_us(char *path, size_t size) {
    Dl_info info;
    void *self = NULL;
    const dm_curl_api *(*function)(dm_error *) = dm_curl_load;
    memcpy(&self, &function, sizeof self);
    path[0] = '\0';
    if (dladdr(self, &info) == 0 || info.dli_fname == NULL) {
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    int len = slash != NULL ? (int)(slash - info.dli_fname) : -1;
    if (len >= 0 &&
        (size_t)snprintf(path, size, "%.*s/libdeemster-curl.so.4", len, info.dli_fname) >= size) {
        path[0] = '\0';
    }
}

/* Keeps OpenSSL, when nobody in this process has begun to use it, from tearing itself down at exit
 * under threads that are inside (OPENSSL_INIT_NO_ATEXIT; the memory goes with the process). When
 * somebody has, its exit handler stands already, and the exit gate, which is registered behind it,
 * runs first. */
static void prime_openssl(void *library) {
    const uint64_t add_all_ciphers = 0x4; /* libssl's own init asks for it as well */
    const uint64_t no_exit_handler = 0x80000;
    int (*init)(uint64_t options, const void *settings);
    void *function = dlsym(library, "OPENSSL_init_crypto");
    memcpy(&init, &function, sizeof init);
    if (init != NULL) {
        init(add_all_ciphers | no_exit_handler, NULL);
    }
}

/* Opens the first library that will do. 0, or -1 with the reason of the last one that opened. */
static int open_any(dm_error *error) {
    char own[4096];
    beside_us(own, sizeof own);
    const char *const names[] = {own, "libcurl.so.4", "libcurl-gnutls.so.4"};
    int any = 0;
    dm_exit_gate_install(); /* the libraries' own destructors run after every exit handler */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = names[i][0] != '\0'
                            ? dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | DEEPBIND)
                            : NULL;
        if (library == NULL) {
            continue;
        }
        any = 1;
        prime_openssl(library);
        dm_exit_gate_install();
        if (dm_curl_fill(library, &opened, error) == 0 && dm_curl_start(&opened, error) == 0) {
            dm_exit_gate_install();
            return 0;
        }
    }
    if (!any) {
        dm_fail(
            error, DM_FAIL_LIBCURL,
            "https, host names and proxy tunnels need libcurl 7.87 or newer, and none was found "
            "(tried libdeemster-curl.so.4 beside this library, libcurl.so.4, "
            "libcurl-gnutls.so.4): install it (Debian and Ubuntu: libcurl4, others: libcurl)");
    }
    return -1;
}

const dm_curl_api *dm_curl_load(dm_error *error) {
    const dm_curl_api *api = atomic_load_explicit(&replacement, memory_order_acquire);
    if (api == NULL) {
        api = atomic_load_explicit(&current, memory_order_acquire);
    }
    if (api != NULL) {
        return api;
    }
    pthread_once(&fork_once, register_fork);
    pthread_mutex_lock(&load_lock);
    api = atomic_load_explicit(&current, memory_order_acquire);
    if (api == NULL && !dm_exit_gate_enter()) {
        dm_fail(error, DM_FAIL_EXIT, "the process is exiting");
    } else if (api == NULL) {
        if (open_any(error) == 0) {
            api = &opened;
            atomic_store_explicit(&current, api, memory_order_release);
        }
        dm_exit_gate_leave();
    }
    pthread_mutex_unlock(&load_lock);
    return api;
}

void dm_curl_set_api(const dm_curl_api *api) {
    atomic_store_explicit(&replacement, api, memory_order_release);
}
