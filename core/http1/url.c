#include "http1/url.h"

#include <arpa/inet.h>

#include "http1/chars.h"

/* More than any real base URL needs. */
enum { LONGEST = 4096 };

static int invalid(dm_http1_error *error, const char *what) {
    return dm_http1_error_set(error, DM_HTTP1_INVALID, "the base URL %s", what);
}

static int no_memory(dm_http1_error *error) {
    return dm_http1_error_set(error, DM_HTTP1_NO_MEMORY, "no memory for a URL");
}

/* Refuses bytes that may stand nowhere in a URL, with their offset. */
static int check_bytes(dm_span text, const char *subject, dm_http1_error *error) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte <= 0x20 || byte >= 0x7F || memchr("\"<>\\^`{|}", byte, 9) != NULL) {
            return dm_http1_error_set(
                error, DM_HTTP1_INVALID,
                "%s holds the byte 0x%02X at offset %zu, which must be percent-encoded", subject,
                byte, i);
        }
    }
    return 0;
}

static int is_hex(char byte) {
    int letter = byte | 0x20;
    return (byte >= '0' && byte <= '9') || (letter >= 'a' && letter <= 'f');
}

static int check_percents(dm_span text, const char *subject, dm_http1_error *error) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '%' &&
            (text.len - i < 3 || !is_hex(text.data[i + 1]) || !is_hex(text.data[i + 2]))) {
            return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                      "%s holds a %% without two hexadecimal digits at offset %zu",
                                      subject, i);
        }
    }
    return 0;
}

static int starts_with(dm_span text, dm_span lower) {
    return text.len >= lower.len && dm_http1_is(dm_span_of(text.data, lower.len), lower);
}

static dm_span skip(dm_span text, size_t count) {
    return dm_span_of(text.data + count, text.len - count);
}

static int check_host(const dm_url *url, dm_http1_error *error) {
    dm_span host = url->host;
    if (host.len == 0) {
        return invalid(error, "has no host");
    }
    if (url->ipv6) {
        char text[INET6_ADDRSTRLEN];
        unsigned char address[16];
        if (host.len >= sizeof text) {
            return invalid(error, "holds a bad IPv6 address in its brackets");
        }
        memcpy(text, host.data, host.len);
        text[host.len] = '\0';
        return inet_pton(AF_INET6, text, address) == 1
                   ? 0
                   : invalid(error, "holds a bad IPv6 address in its brackets");
    }
    if (host.len > 253) {
        return invalid(error, "has a host of more than 253 bytes");
    }
    int label = 0;
    for (size_t i = 0; i < host.len; i++) {
        char byte = host.data[i];
        int good = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                   (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
        if (!good && (byte != '.' || label == 0)) {
            return invalid(error, "has a host with a byte or an empty label that no host name has");
        }
        label = good ? label + 1 : 0;
    }
    return 0;
}

/* Splits host and port of an authority; the host may be empty. */
static int split_authority(dm_url *url, dm_span authority, dm_http1_error *error) {
    dm_span port;
    if (authority.len != 0 && authority.data[0] == '[') {
        const char *close = memchr(authority.data, ']', authority.len);
        if (close == NULL) {
            return invalid(error, "has a [ without ] in its host");
        }
        url->ipv6 = 1;
        url->host = dm_span_of(authority.data + 1, (size_t)(close - authority.data) - 1);
        port = skip(authority, url->host.len + 2);
    } else {
        const char *colon = authority.len == 0 ? NULL : memchr(authority.data, ':', authority.len);
        size_t len = colon == NULL ? authority.len : (size_t)(colon - authority.data);
        url->host = dm_span_of(authority.data, len);
        port = skip(authority, len);
    }
    if (check_host(url, error) != 0) {
        return -1;
    }
    url->port = url->https ? 443 : 80;
    if (port.len == 0) {
        return 0;
    }
    unsigned value = 0;
    int good = port.data[0] == ':' && port.len >= 2;
    for (size_t i = 1; good && i < port.len; i++) {
        good = port.data[i] >= '0' && port.data[i] <= '9';
        value = value * 10 + (unsigned)(port.data[i] - '0');
        good = good && value <= 65535;
    }
    if (!good || value == 0) {
        return invalid(error, "has a bad port: it must be a number from 1 to 65535");
    }
    url->port = (uint16_t)value;
    return 0;
}

/* Writes the normal form into url->text and lets the spans lie there. */
static int store(dm_url *url, dm_http1_error *error) {
    dm_bytes text = {0};
    char port[8];
    size_t port_len = 0;
    if (url->port != (url->https ? 443 : 80)) {
        char digits[5];
        size_t count = 0;
        for (unsigned rest = url->port; rest != 0; rest /= 10) {
            digits[count++] = (char)('0' + rest % 10);
        }
        port[port_len++] = ':';
        while (count != 0) {
            port[port_len++] = digits[--count];
        }
    }
    const char *scheme = url->https ? "https://" : "http://";
    size_t scheme_len = url->https ? 8 : 7;
    /* One reservation, so that nothing moves below. */
    if (dm_bytes_reserve(&text, scheme_len + url->host.len + 2 + port_len + url->prefix.len) != 0) {
        return no_memory(error);
    }
    dm_bytes_append(&text, scheme, scheme_len);
    dm_bytes_append(&text, "[", url->ipv6 ? 1 : 0);
    size_t host = text.len;
    dm_bytes_append(&text, url->host.data, url->host.len);
    for (size_t i = host; i < text.len; i++) {
        char byte = text.data[i];
        text.data[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte;
    }
    dm_bytes_append(&text, "]", url->ipv6 ? 1 : 0);
    dm_bytes_append(&text, port, port_len);
    size_t prefix = text.len;
    dm_bytes_append(&text, url->prefix.data, url->prefix.len);
    url->host = dm_span_of(text.data + host, url->host.len);
    url->authority = dm_span_of(text.data + scheme_len, prefix - scheme_len);
    url->origin = dm_span_of(text.data, prefix);
    url->prefix = dm_span_of(text.data + prefix, text.len - prefix);
    url->text = text;
    return 0;
}

static int split(dm_url *url, dm_span text, dm_http1_error *error) {
    if (text.len == 0) {
        return invalid(error, "is empty");
    }
    if (text.len > LONGEST) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                  "the base URL is %zu bytes long; the limit is %d", text.len,
                                  LONGEST);
    }
    if (starts_with(text, DM_LITERAL("https://"))) {
        url->https = 1;
        text = skip(text, 8);
    } else if (starts_with(text, DM_LITERAL("http://"))) {
        text = skip(text, 7);
    } else {
        return invalid(error, "must start with https:// or http://");
    }
    size_t len = 0;
    while (len < text.len && memchr("/?#", text.data[len], 3) == NULL) {
        len++;
    }
    dm_span authority = dm_span_of(text.data, len);
    dm_span path = skip(text, len);
    if (len != 0 && memchr(authority.data, '@', len) != NULL) {
        return invalid(error, "holds a user name or password (before an @), which is not accepted; "
                              "give the key by its own option");
    }
    if (path.len != 0 && memchr(path.data, '?', path.len) != NULL) {
        return invalid(error, "has a query (?), which is not accepted");
    }
    if (path.len != 0 && memchr(path.data, '#', path.len) != NULL) {
        return invalid(error, "has a fragment (#), which is not accepted");
    }
    if (split_authority(url, authority, error) != 0 ||
        check_percents(path, "the path of the base URL", error) != 0) {
        return -1;
    }
    while (path.len != 0 && path.data[path.len - 1] == '/') {
        path.len--;
    }
    url->prefix = path;
    return store(url, error);
}

int dm_url_parse(dm_url *url, dm_span text, dm_http1_error *error) {
    dm_url_free(url);
    if (check_bytes(text, "the base URL", error) != 0 || split(url, text, error) != 0) {
        dm_url_free(url);
        return -1;
    }
    return 0;
}

/* Whether a path has a segment "." or "..", also with its dots percent-encoded. */
static int has_dot_segment(dm_span path) {
    size_t dots = 0;
    int other = 0;
    for (size_t i = 0; i <= path.len; i++) {
        if (i == path.len || path.data[i] == '/') {
            if (!other && (dots == 1 || dots == 2)) {
                return 1;
            }
            dots = 0;
            other = 0;
        } else if (path.data[i] == '.') {
            dots++;
        } else if (path.len - i >= 3 && path.data[i] == '%' && path.data[i + 1] == '2' &&
                   (path.data[i + 2] | 0x20) == 'e') {
            dots++;
            i += 2;
        } else {
            other = 1;
        }
    }
    return 0;
}

int dm_url_join(const dm_url *url, dm_span path, dm_bytes *out, dm_http1_error *error) {
    if (check_bytes(path, "the path", error) != 0 || check_percents(path, "the path", error) != 0) {
        return -1;
    }
    while (path.len != 0 && path.data[0] == '/') {
        path = skip(path, 1);
    }
    if (path.len != 0 && memchr(path.data, '#', path.len) != NULL) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                  "the path has a fragment (#), which is not sent to servers");
    }
    const char *query = path.len == 0 ? NULL : memchr(path.data, '?', path.len);
    size_t plain = query == NULL ? path.len : (size_t)(query - path.data);
    if (has_dot_segment(dm_span_of(path.data, plain))) {
        return dm_http1_error_set(error, DM_HTTP1_INVALID,
                                  "the path has a dot segment (. or ..), which could leave the "
                                  "base URL");
    }
    if (dm_bytes_reserve(out, url->prefix.len + 1 + path.len) != 0) {
        return no_memory(error);
    }
    dm_bytes_append(out, url->prefix.data, url->prefix.len);
    dm_bytes_append(out, "/", 1);
    dm_bytes_append(out, path.data, path.len);
    return 0;
}

void dm_url_free(dm_url *url) {
    dm_bytes_free(&url->text);
    *url = (dm_url){0};
}
