/* What the two libcurl contestants share: the request written by hand, a handle set up to be
 * reused, and the reply collected into a block. */
#ifndef COMPARE_CURL_SHARED_H
#define COMPARE_CURL_SHARED_H

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "../common/protocol.h"

static struct setup given;
static struct curl_slist *headers;
static char endpoint_url[512];

struct exchange {
    CURL *handle;
    char *request;
    struct text reply; /* length bytes of `room` are used */
    size_t room;
    char error[CURL_ERROR_SIZE];
};

/* Writes {"state":"…","model":"…","questions":…}; returns its length. */
static size_t write_request(char *out) {
    static const char hex[] = "0123456789abcdef";
    char *at = out + sprintf(out, "{\"state\":\"");
    for (size_t i = 0; i < given.state.length; i++) {
        unsigned char byte = (unsigned char)given.state.data[i];
        if (byte == '"' || byte == '\\') {
            *at++ = '\\';
            *at++ = (char)byte;
        } else if (byte < 0x20) {
            memcpy(at, "\\u00", 4);
            at[4] = hex[byte >> 4];
            at[5] = hex[byte & 15];
            at += 6;
        } else {
            *at++ = (char)byte;
        }
    }
    at += sprintf(at, "\",\"model\":\"%s\",\"questions\":", given.model.data);
    memcpy(at, given.questions.data, given.questions.length);
    at += given.questions.length;
    *at++ = '}';
    return (size_t)(at - out);
}

static size_t collect(char *data, size_t size, size_t count, void *context) {
    struct exchange *exchange = context;
    size_t length = size * count;
    if (exchange->reply.length + length > exchange->room) {
        exchange->room = (exchange->reply.length + length) * 2;
        exchange->reply.data = realloc(exchange->reply.data, exchange->room);
        if (!exchange->reply.data)
            abort();
    }
    memcpy(exchange->reply.data + exchange->reply.length, data, length);
    exchange->reply.length += length;
    return length;
}

static bool shared_open(const struct setup *setup, char *error, size_t room) {
    char authorization[256];
    (void)error;
    (void)room;
    given = *setup;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    snprintf(endpoint_url, sizeof endpoint_url, "%s/v1/systemone", setup->url.data);
    snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", setup->key.data);
    headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, authorization);
    return true;
}

static void shared_close(void) {
    curl_slist_free_all(headers);
    headers = NULL;
}

static struct exchange *exchange_new(void) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        abort();
    exchange->request =
        malloc(given.state.length * 6 + given.questions.length + given.model.length + 64);
    exchange->handle = curl_easy_init();
    CURL *handle = exchange->handle;
    curl_easy_setopt(handle, CURLOPT_URL, endpoint_url);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, exchange->error);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, exchange);
    if (given.ca.length)
        curl_easy_setopt(handle, CURLOPT_CAINFO, given.ca.data);
    return exchange;
}

static void exchange_free(struct exchange *exchange) {
    curl_easy_cleanup(exchange->handle);
    free(exchange->request);
    free(exchange->reply.data);
    free(exchange);
}

static void exchange_prepare(struct exchange *exchange) {
    size_t length = write_request(exchange->request);
    exchange->reply.length = 0;
    curl_easy_setopt(exchange->handle, CURLOPT_POSTFIELDS, exchange->request);
    curl_easy_setopt(exchange->handle, CURLOPT_POSTFIELDSIZE, (long)length);
}

static void exchange_read(struct exchange *exchange, CURLcode code, struct outcome *outcome) {
    long status = 0;
    if (code != CURLE_OK) {
        snprintf(outcome->error, sizeof outcome->error, "%s: %s", curl_easy_strerror(code),
                 exchange->error);
        return;
    }
    curl_easy_getinfo(exchange->handle, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        snprintf(outcome->error, sizeof outcome->error, "HTTP %ld", status);
    else if (!exchange->reply.length)
        snprintf(outcome->error, sizeof outcome->error, "empty body");
    else
        read_body(&given, exchange->reply.data, exchange->reply.length, outcome);
}

static void shared_answer(FILE *out) {
    struct exchange *exchange = exchange_new();
    exchange_prepare(exchange);
    curl_easy_perform(exchange->handle);
    fputs("{\"body\":", out);
    write_json_text(out, exchange->reply.data, exchange->reply.length);
    fputs("}", out);
    exchange_free(exchange);
}

#endif
