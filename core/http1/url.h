/* Base URLs, split strictly. */
#ifndef DM_HTTP1_URL_H
#define DM_HTTP1_URL_H

#include <stdint.h>

#include "base/bytes.h"
#include "http1/error.h"

/* A base URL in parts. The spans lie in `text`, which the URL owns. */
typedef struct dm_url {
    int https;         /* 1 for https, 0 for http */
    int ipv6;          /* 1 when host is an IPv6 address */
    uint16_t port;     /* the explicit one, or 80 or 443 */
    dm_span host;      /* lower case, an IPv6 address without its brackets */
    dm_span authority; /* the Host value: [v6] in brackets, the port only when not the default */
    dm_span origin;    /* scheme://authority */
    dm_span prefix;    /* path without trailing slashes: empty, or it starts with a slash */
    dm_bytes text;
} dm_url;

/* Splits a base URL (RFC 3986): scheme http or https, a host name, IPv4 or [IPv6] address, perhaps
 * a port and a path prefix, whose trailing slashes are all dropped (wire contract 1.1). User
 * information, query, fragment, white space, control and non-ASCII bytes are refused. Replaces what
 * url held. 0, or -1 with DM_HTTP1_INVALID or DM_HTTP1_NO_MEMORY in error and url empty; messages
 * never show user information or a query. Any thread. */
int dm_url_parse(dm_url *url, dm_span text, dm_http1_error *error);

/* Appends the origin-form target: the prefix, exactly one slash, and the path without its leading
 * slashes. The path may have a query, but no fragment, white space, control or non-ASCII byte, and
 * no dot segment, so that it stays under the base. 0, or -1 with the error set. */
int dm_url_join(const dm_url *url, dm_span path, dm_bytes *out, dm_http1_error *error);

/* Gives the memory back; the URL is empty. */
void dm_url_free(dm_url *url);

#endif
