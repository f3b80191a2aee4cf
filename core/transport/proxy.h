/* Reading a proxy URL, and finding it in the environment. */
#ifndef DM_TRANSPORT_PROXY_H
#define DM_TRANSPORT_PROXY_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

typedef enum dm_proxy_scheme {
    DM_PROXY_HTTP = 0,
    DM_PROXY_HTTPS,
    DM_PROXY_SOCKS4,
    DM_PROXY_SOCKS4A,
    DM_PROXY_SOCKS5,
    DM_PROXY_SOCKS5H
} dm_proxy_scheme;

/* A proxy in parts. All texts are NUL-terminated and owned. All zero is a valid empty one. */
typedef struct dm_proxy {
    dm_proxy_scheme scheme;
    dm_bytes host; /* without brackets */
    uint16_t port;
    int has_user;
    dm_bytes user;     /* percent-decoded; secret */
    dm_bytes password; /* percent-decoded; secret */
    dm_bytes url;      /* scheme://host:port, without user and password: what libcurl is given */
    dm_bytes shown;    /* the same with *** for user and password: what people are shown */
} dm_proxy;

/* Splits [scheme://][user[:password]@]host[:port][/]. Refused: an unknown scheme, no host, a port
 * out of 1..65535, a path, control, white-space or non-ASCII bytes in the host, a broken percent
 * sequence or NUL in user or password, a colon in a user that is sent by Basic (RFC 7617 2).
 * `source` names where the text is from in messages, which never show user or password. 0, or -1
 * with error filled. Any thread. */
int dm_proxy_parse(dm_span text, const char *source, dm_proxy *proxy, dm_error *error);

/* The proxy variable that counts for the scheme (see dm_proxy_mode in transport.h). NULL when there
 * is none, else its value, and *name is the variable's name. */
const char *dm_proxy_from_environment(int tls, const char *(*environment)(const char *, void *),
                                      void *user, const char **name);

/* Appends "Basic " and the base64 of user:password (RFC 7617). 0 or -1 (no memory). */
int dm_proxy_basic(const dm_proxy *proxy, dm_bytes *out);

/* Gives the memory back; proxy is empty and usable again. */
void dm_proxy_free(dm_proxy *proxy);

#endif
