#include "transport/transport.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "transport/lifecycle.h"
#include "transport/no_proxy.h"
#include "transport/parts.h"

static const char *process_environment(const char *name, void *user) {
    (void)user;
    return getenv(name);
}

static int no_memory(dm_error *error) {
    dm_fail(error, DM_FAIL_MEMORY, "no memory for a transport");
    return -1;
}

static void add_address(dm_transport *transport, const void *address, size_t len) {
    memcpy(&transport->addresses[transport->address_count].address, address, len);
    transport->addresses[transport->address_count].len = (socklen_t)len;
    transport->address_count++;
}

static void add_ipv4(dm_transport *transport, struct in_addr address, uint16_t port) {
    struct sockaddr_in full;
    memset(&full, 0, sizeof full);
    full.sin_family = AF_INET;
    full.sin_port = htons(port);
    full.sin_addr = address;
    add_address(transport, &full, sizeof full);
}

static void add_ipv6(dm_transport *transport, struct in6_addr address, uint32_t scope,
                     uint16_t port) {
    struct sockaddr_in6 full;
    memset(&full, 0, sizeof full);
    full.sin6_family = AF_INET6;
    full.sin6_port = htons(port);
    full.sin6_addr = address;
    full.sin6_scope_id = scope;
    add_address(transport, &full, sizeof full);
}

static uint32_t zone_number(const char *zone) {
    uint32_t number = if_nametoindex(zone);
    return number > 0 ? number : (uint32_t)strtoul(zone, NULL, 10);
}

/* Fills the addresses of an IP literal or of localhost; any other name leaves them empty. */
static void find_addresses(dm_transport *transport, dm_span host, uint16_t port) {
    char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
    if (dm_text_equal_nocase(host, DM_LITERAL("localhost")) ||
        dm_text_equal_nocase(host, DM_LITERAL("localhost."))) {
        struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
        add_ipv4(transport, loopback, port);
        add_ipv6(transport, in6addr_loopback, 0, port);
        return;
    }
    if (host.len >= sizeof text) {
        return;
    }
    memcpy(text, host.data, host.len);
    text[host.len] = '\0';
    char *zone = strchr(text, '%');
    if (zone != NULL) {
        *zone++ = '\0';
    }
    struct in_addr ipv4;
    struct in6_addr ipv6;
    if (zone == NULL && inet_pton(AF_INET, text, &ipv4) == 1) {
        add_ipv4(transport, ipv4, port);
    } else if (inet_pton(AF_INET6, text, &ipv6) == 1) {
        add_ipv6(transport, ipv6, zone != NULL ? zone_number(zone) : 0, port);
    }
}

/* Appends host:port with brackets around an IPv6 literal. */
static int append_authority(dm_bytes *out, dm_span host, uint16_t port) {
    int bare = memchr(host.data, ':', host.len) == NULL;
    return dm_bytes_append_text(out, bare ? "" : "[") != 0 ||
                   dm_bytes_append(out, host.data, host.len) != 0 ||
                   dm_bytes_append_format(out, bare ? ":%u" : "]:%u", (unsigned)port) != 0
               ? -1
               : 0;
}

/* Finds the proxy and whether it is used for this host: 1, 0, or -1 with error. */
static int find_proxy(dm_transport *transport, const dm_transport_settings *settings,
                      dm_error *error) {
    dm_span text = settings->proxy_url;
    dm_span exceptions = settings->no_proxy;
    const char *source = "the proxy setting";
    if (settings->proxy_mode == DM_PROXY_NONE) {
        return 0;
    }
    if (settings->proxy_mode == DM_PROXY_ENVIRONMENT) {
        const char *value = dm_proxy_from_environment(settings->tls, settings->environment,
                                                      settings->environment_user, &source);
        if (value == NULL) {
            return 0;
        }
        text = dm_span_of(value, strlen(value));
        static const char *const names[] = {"no_proxy", "NO_PROXY"};
        for (size_t i = 0; i < 2 && exceptions.data == NULL; i++) {
            value = settings->environment(names[i], settings->environment_user);
            if (value != NULL && value[0] != '\0') {
                exceptions = dm_span_of(value, strlen(value));
            }
        }
    }
    if (dm_no_proxy_matches(exceptions, settings->host, settings->port)) {
        return 0;
    }
    return dm_proxy_parse(text, source, &transport->proxy, error) == 0 ? 1 : -1;
}

/* Sets route, peer, addresses and the URL for libcurl. 0 or -1 (no memory). */
static int decide(dm_transport *transport, const dm_transport_settings *settings) {
    const dm_proxy *proxy = &transport->proxy;
    int http_proxy = proxy->scheme == DM_PROXY_HTTP || proxy->scheme == DM_PROXY_HTTPS;
    dm_span host = settings->host;
    uint16_t port = settings->port;
    int tls = settings->tls;
    transport->route = DM_ROUTE_CURL;
    if (transport->has_proxy) {
        transport->route = DM_ROUTE_TUNNEL;
        if (!settings->tls && http_proxy) {
            transport->route = DM_ROUTE_ABSOLUTE;
            host = dm_bytes_span(&proxy->host);
            port = proxy->port;
            tls = proxy->scheme == DM_PROXY_HTTPS;
            if (proxy->has_user && dm_proxy_basic(proxy, &transport->authorization) != 0) {
                return -1;
            }
        }
    }
    if (!tls && transport->route != DM_ROUTE_TUNNEL && !settings->always_curl) {
        find_addresses(transport, host, port);
    }
    transport->uses_curl = transport->address_count == 0;
    if (!transport->uses_curl && transport->route == DM_ROUTE_CURL) {
        transport->route = DM_ROUTE_SOCKET;
    }
    transport->tls = tls;
    return dm_bytes_append_text(&transport->url, tls ? "https://" : "http://") != 0 ||
                   append_authority(&transport->url, host, port) != 0 ||
                   dm_bytes_append_char(&transport->url, '/') != 0 ||
                   append_authority(&transport->peer, host, port) != 0
               ? -1
               : 0;
}

static int check_host(const dm_transport_settings *settings, dm_error *error) {
    int good = settings->host.len > 0 && settings->host.len <= 255 && settings->port != 0;
    for (size_t i = 0; good && i < settings->host.len; i++) {
        unsigned char byte = (unsigned char)settings->host.data[i];
        good = byte > ' ' && byte < 0x7f && strchr("/?#@[]\\", byte) == NULL;
    }
    if (!good) {
        dm_fail(error, DM_FAIL_URL_SETTING,
                "the host to connect to is empty, too long, or holds a character that no host has");
    }
    return good ? 0 : -1;
}

static int set_up(dm_transport *transport, const dm_transport_settings *settings, dm_error *error) {
    if (check_host(settings, error) != 0) {
        return -1;
    }
    transport->has_proxy = find_proxy(transport, settings, error);
    if (transport->has_proxy < 0) {
        return -1;
    }
    if (decide(transport, settings) != 0) {
        return no_memory(error);
    }
    int proxy_tls = transport->has_proxy && transport->proxy.scheme == DM_PROXY_HTTPS;
    if (!transport->tls && !proxy_tls) {
        return 0;
    }
    dm_ca_query query = {settings->ca_file,          settings->ca_dir,  settings->environment,
                         settings->environment_user, dm_ca_known_files, dm_ca_known_dirs};
    return dm_ca_find(&query, &transport->ca, error);
}

static void destroy(dm_transport *transport) {
    dm_shards_free(transport);
    dm_proxy_free(&transport->proxy);
    dm_ca_found_free(&transport->ca);
    dm_bytes_free(&transport->authorization);
    dm_bytes_free(&transport->peer);
    dm_bytes_free(&transport->url);
    pthread_mutex_destroy(&transport->lock);
    dm_free(transport);
}

int dm_transport_new(const dm_transport_settings *settings, dm_transport **out, dm_error *error) {
    *out = NULL;
    dm_fork_watch();
    dm_transport *transport = dm_alloc_zero(sizeof *transport);
    if (transport == NULL) {
        return no_memory(error);
    }
    atomic_init(&transport->references, 1);
    transport->generation = dm_fork_generation();
    pthread_mutex_init(&transport->lock, NULL);
    dm_transport_settings own = *settings;
    if (own.environment == NULL) {
        own.environment = process_environment;
    }
    if (set_up(transport, &own, error) != 0) {
        destroy(transport);
        return -1;
    }
    *out = transport;
    return 0;
}

dm_transport *dm_transport_ref(dm_transport *transport) {
    atomic_fetch_add_explicit(&transport->references, 1, memory_order_relaxed);
    return transport;
}

void dm_transport_unref(dm_transport *transport) {
    if (transport != NULL &&
        atomic_fetch_sub_explicit(&transport->references, 1, memory_order_acq_rel) == 1) {
        destroy(transport);
    }
}

void dm_transport_after_fork(dm_transport *transport) {
    if (transport->generation != dm_fork_generation()) {
        pthread_mutex_init(&transport->lock, NULL);
        transport->shards = NULL;
        transport->generation = dm_fork_generation();
    }
}

dm_route dm_transport_route(const dm_transport *transport) {
    return transport->route;
}

int dm_transport_uses_curl(const dm_transport *transport) {
    return transport->uses_curl;
}

int dm_transport_absolute_form(const dm_transport *transport) {
    return transport->route == DM_ROUTE_ABSOLUTE;
}

dm_span dm_transport_proxy_authorization(const dm_transport *transport) {
    return dm_bytes_span(&transport->authorization);
}

dm_span dm_transport_proxy_text(const dm_transport *transport) {
    return dm_bytes_span(&transport->proxy.shown);
}
