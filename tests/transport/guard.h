/* A libcurl table that ends the program when two threads are ever inside one multi, or when a
 * thread enters a handle of a multi that another one is inside. Put it in before the first
 * transport is made; it wraps the real libcurl. For tests. */
#ifndef DM_TESTS_TRANSPORT_GUARD_H
#define DM_TESTS_TRANSPORT_GUARD_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/curl_dl.h"

#define GUARD_MOST 4096

static const dm_curl_api *guard_real;

/* Which multi an easy handle is in, and how many threads are inside each multi. */
static struct {
    void *_Atomic easy;
    CURLM *_Atomic multi;
} guard_handles[GUARD_MOST];
static struct {
    CURLM *_Atomic multi;
    atomic_int inside;
    pthread_t thread;
} guard_multis[64];
static atomic_long guard_calls;

static int guard_place(CURLM *multi) {
    for (int i = 0; i < 64; i++) {
        CURLM *expected = NULL;
        if (atomic_load(&guard_multis[i].multi) == multi ||
            atomic_compare_exchange_strong(&guard_multis[i].multi, &expected, multi)) {
            return i;
        }
    }
    abort();
}

static void guard_enter(CURLM *multi) {
    atomic_fetch_add(&guard_calls, 1);
    if (multi == NULL) {
        return;
    }
    int place = guard_place(multi);
    if (atomic_fetch_add(&guard_multis[place].inside, 1) == 0) {
        guard_multis[place].thread = pthread_self();
    } else if (!pthread_equal(guard_multis[place].thread, pthread_self())) {
        fprintf(stderr, "two threads are inside one multi\n");
        abort();
    }
}

static void guard_leave(CURLM *multi) {
    if (multi != NULL) {
        atomic_fetch_sub(&guard_multis[guard_place(multi)].inside, 1);
    }
}

static CURLM *guard_multi_of(CURL *easy) {
    for (int i = 0; i < GUARD_MOST; i++) {
        if (atomic_load(&guard_handles[i].easy) == easy) {
            return atomic_load(&guard_handles[i].multi);
        }
    }
    return NULL;
}

static CURLMcode guard_add(CURLM *multi, CURL *easy) {
    guard_enter(multi);
    CURLMcode code = guard_real->multi_add_handle(multi, easy);
    for (int i = 0; i < GUARD_MOST; i++) {
        void *expected = NULL;
        if (atomic_compare_exchange_strong(&guard_handles[i].easy, &expected, easy)) {
            atomic_store(&guard_handles[i].multi, multi);
            break;
        }
    }
    guard_leave(multi);
    return code;
}

static CURLMcode guard_remove(CURLM *multi, CURL *easy) {
    guard_enter(multi);
    CURLMcode code = guard_real->multi_remove_handle(multi, easy);
    for (int i = 0; i < GUARD_MOST; i++) {
        if (atomic_load(&guard_handles[i].easy) == easy) {
            atomic_store(&guard_handles[i].multi, NULL);
            atomic_store(&guard_handles[i].easy, NULL);
        }
    }
    guard_leave(multi);
    return code;
}

static CURLMcode guard_action(CURLM *multi, curl_socket_t fd, int events, int *running) {
    guard_enter(multi);
    CURLMcode code = guard_real->multi_socket_action(multi, fd, events, running);
    guard_leave(multi);
    return code;
}

static CURLMsg *guard_info(CURLM *multi, int *left) {
    guard_enter(multi);
    CURLMsg *message = guard_real->multi_info_read(multi, left);
    guard_leave(multi);
    return message;
}

static CURLMcode guard_multi_cleanup(CURLM *multi) {
    guard_enter(multi);
    CURLMcode code = guard_real->multi_cleanup(multi);
    guard_leave(multi);
    atomic_store(&guard_multis[guard_place(multi)].multi, NULL);
    return code;
}

static CURLcode guard_send(CURL *easy, const void *data, size_t len, size_t *sent) {
    CURLM *multi = guard_multi_of(easy);
    guard_enter(multi);
    CURLcode code = guard_real->easy_send(easy, data, len, sent);
    guard_leave(multi);
    return code;
}

static CURLcode guard_recv(CURL *easy, void *buffer, size_t len, size_t *got) {
    CURLM *multi = guard_multi_of(easy);
    guard_enter(multi);
    CURLcode code = guard_real->easy_recv(easy, buffer, len, got);
    guard_leave(multi);
    return code;
}

static CURLcode guard_getinfo(CURL *easy, CURLINFO info, ...) {
    CURLM *multi = guard_multi_of(easy);
    va_list list;
    va_start(list, info);
    void *out = va_arg(list, void *);
    va_end(list);
    guard_enter(multi);
    CURLcode code = guard_real->easy_getinfo(easy, info, out);
    guard_leave(multi);
    return code;
}

/* Puts the guard in: every transport made from now on is watched. 0 or -1 (no libcurl). */
static int guard_install(void) {
    static dm_curl_api guarded;
    dm_error error = {0};
    guard_real = dm_curl_load(&error);
    if (guard_real == NULL) {
        fprintf(stderr, "%s\n", error.message.data);
        return -1;
    }
    guarded = *guard_real;
    guarded.multi_add_handle = guard_add;
    guarded.multi_remove_handle = guard_remove;
    guarded.multi_socket_action = guard_action;
    guarded.multi_info_read = guard_info;
    guarded.multi_cleanup = guard_multi_cleanup;
    guarded.easy_send = guard_send;
    guarded.easy_recv = guard_recv;
    guarded.easy_getinfo = guard_getinfo;
    dm_curl_set_api(&guarded);
    return 0;
}

#endif
