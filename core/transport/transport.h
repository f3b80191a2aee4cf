/* How one client reaches its server: decided once, when the client is made.
 *
 * Four routes (design: plain sockets are the cheapest, everything that needs names, TLS or tunnels
 * is libcurl's): socket    plain http to an IP literal or `localhost` curl      https, or plain
 * http to a name absolute  plain http through an HTTP(S) proxy: the proxy is the peer, the request
 * target is the whole URL (RFC 9112 3.2.2) tunnel    https through an HTTP(S) proxy by CONNECT (RFC
 * 9110 9.3.6), anything through SOCKS
 */
#ifndef DM_TRANSPORT_TRANSPORT_H
#define DM_TRANSPORT_TRANSPORT_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

typedef enum dm_route {
    DM_ROUTE_SOCKET = 0,
    DM_ROUTE_CURL,
    DM_ROUTE_ABSOLUTE,
    DM_ROUTE_TUNNEL
} dm_route;

typedef enum dm_proxy_mode {
    /* https_proxy, HTTPS_PROXY, then all_proxy, ALL_PROXY for https; http_proxy, HTTP_PROXY, then
     * all_proxy, ALL_PROXY for http. Blank counts as unset. HTTP_PROXY is not read when
     * REQUEST_METHOD is set: in a CGI program a caller could have set it by a "Proxy:" header. */
    DM_PROXY_ENVIRONMENT = 0,
    DM_PROXY_NONE, /* straight, whatever the environment says */
    DM_PROXY_URL   /* proxy_url */
} dm_proxy_mode;

/* All zero but host and port is valid. Everything is copied. */
typedef struct dm_transport_settings {
    int tls;       /* 1: https */
    dm_span host;  /* a name, IPv4 or IPv6 literal (without brackets; a zone as fe80::1%eth0) */
    uint16_t port; /* never 0 */
    dm_proxy_mode proxy_mode;
    /* [scheme://][user:password@]host[:port], scheme http (default, port 80), https (443), socks4,
     * socks4a, socks5, socks5h (1080). User and password are percent-decoded. */
    dm_span proxy_url;
    /* Rules of no_proxy.h. data NULL: taken from no_proxy, then NO_PROXY, in environment mode;
     * empty in URL mode (an explicit proxy is not undone by the environment). */
    dm_span no_proxy;
    dm_span ca_file; /* PEM bundle; empty: searched, see ca_search.h */
    dm_span ca_dir;  /* folder of hashed certificates; empty: none unless SSL_CERT_DIR is set */
    int always_curl; /* 1: libcurl also where a plain socket would do (comparison, tests) */
    /* How the environment is read; NULL: getenv. Called only inside dm_transport_new; its texts
     * must stay valid until that returns. */
    const char *(*environment)(const char *name, void *user);
    void *environment_user;
} dm_transport_settings;

typedef struct dm_transport dm_transport;

/* Makes a transport with one reference. Reads the environment and looks for CA files, opens no
 * connection and no libcurl. 0, or -1 with error filled (setting, memory). Any thread. */
int dm_transport_new(const dm_transport_settings *settings, dm_transport **out, dm_error *error);

/* One reference more. Any thread. */
dm_transport *dm_transport_ref(dm_transport *transport);

/* One reference less; the last one frees it. Connections hold a reference of their own. NULL is
 * allowed. Any thread. In the child of a fork libcurl's part is leaked, not freed. */
void dm_transport_unref(dm_transport *transport);

/* In the child of a fork, before any other use there: forgets libcurl's part (it is the parent's
 * and is leaked), so that the child can open connections of its own. One thread. */
void dm_transport_after_fork(dm_transport *transport);

/* The decision. Constant for the transport's life; any thread. */
dm_route dm_transport_route(const dm_transport *transport);

/* 1 when a connection is libcurl's (its handshakes cost CPU: a stepping engine opens at most
 * DM_HANDSHAKES_PER_STEP of them in one step). Constant; any thread. */
int dm_transport_uses_curl(const dm_transport *transport);

#define DM_HANDSHAKES_PER_STEP 4

/* 1 when the request target must be the absolute URL. Constant; any thread. */
int dm_transport_absolute_form(const dm_transport *transport);

/* The value of Proxy-Authorization ("Basic …") to send with every request of the absolute route;
 * empty when there is none (in a tunnel libcurl sends it). Secret: never print it. Borrowed from
 * the transport. */
dm_span dm_transport_proxy_authorization(const dm_transport *transport);

/* The proxy as text for people: scheme, host and port, with *** for user and password; empty
 * without one. Borrowed from the transport, NUL-terminated. */
dm_span dm_transport_proxy_text(const dm_transport *transport);

#endif
