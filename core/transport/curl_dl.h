/* libcurl, opened at the first need and never closed. The only door to it: a table of functions.
 *
 * Only the headers of libcurl are needed to build, nothing is linked. */
#ifndef DM_TRANSPORT_CURL_DL_H
#define DM_TRANSPORT_CURL_DL_H

#ifndef CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_TYPECHECK
#endif
#include <curl/curl.h>

#include "base/error.h"

/* curl.h makes variadic macros of these, which would also rewrite the members below. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

typedef struct dm_curl_api {
    CURLcode (*global_init)(long flags);
    curl_version_info_data *(*version_info)(CURLversion age);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    CURLcode (*easy_send)(CURL *easy, const void *data, size_t len, size_t *sent);
    CURLcode (*easy_recv)(CURL *easy, void *buffer, size_t len, size_t *got);
    const char *(*easy_strerror)(CURLcode code);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
    CURLMcode (*multi_socket_action)(CURLM *multi, curl_socket_t socket, int events, int *running);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
    /* SSL_get_shutdown of the OpenSSL that this libcurl uses; NULL with another TLS library or one
     * that cannot be seen. */
    int (*ssl_get_shutdown)(const void *ssl);
} dm_curl_api;

/* The oldest libcurl that will do: QUICK_EXIT and the CA cache came with it. */
#define DM_CURL_FLOOR 0x075700

/* The table, opening and initialising libcurl at the first call: a libdeemster-curl.so.4 beside our
 * own library, then libcurl.so.4, then libcurl-gnutls.so.4. NULL with error filled (libcurl, exit)
 * in one sentence when there is none, or it is older than 7.87, or built without threaded name
 * look-ups or TLS. A failure is tried anew at the next call. Any thread; the first call costs 12 to
 * 20 ms. */
const dm_curl_api *dm_curl_load(dm_error *error);

/* Fills the table from an opened library. 0, or -1 with error naming the first missing function. */
int dm_curl_fill(void *library, dm_curl_api *api, dm_error *error);

/* Checks version and features through the table and runs its global init. 0 or -1 with error. */
int dm_curl_start(const dm_curl_api *api, dm_error *error);

/* Tests only: dm_curl_load gives this table from now on; NULL: the real one again. The table must
 * outlive every transport. Set it while no other thread uses a transport. */
void dm_curl_set_api(const dm_curl_api *api);

#endif
