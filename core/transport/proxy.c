#include "transport/proxy.h"

#include <string.h>

#include "base/text.h"
#include "transport/failure.h"

static const struct {
    const char *name;
    uint16_t port;
} schemes[] = {
    [DM_PROXY_HTTP] = {"http", 80},       [DM_PROXY_HTTPS] = {"https", 443},
    [DM_PROXY_SOCKS4] = {"socks4", 1080}, [DM_PROXY_SOCKS4A] = {"socks4a", 1080},
    [DM_PROXY_SOCKS5] = {"socks5", 1080}, [DM_PROXY_SOCKS5H] = {"socks5h", 1080},
};

static int refuse(dm_error *error, const char *source, const char *problem) {
    dm_fail(error, DM_FAIL_PROXY_SETTING, "%s is no usable proxy URL: %s", source, problem);
    return -1;
}

static int no_memory(dm_error *error) {
    dm_fail(error, DM_FAIL_MEMORY, "no memory for the proxy setting");
    return -1;
}

static int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* 0, 1 (malformed) or -1 (no memory). */
static int percent_decode(dm_span text, dm_bytes *out) {
    if (dm_bytes_reserve(out, text.len) != 0) {
        return -1;
    }
    for (size_t i = 0; i < text.len; i++) {
        int byte = (unsigned char)text.data[i];
        if (byte == '%') {
            int high = i + 2 < text.len ? hex_value(text.data[i + 1]) : -1;
            int low = i + 2 < text.len ? hex_value(text.data[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return 1;
            }
            byte = high * 16 + low;
            i += 2;
        }
        if (byte == 0) {
            return 1;
        }
        if (dm_bytes_append_char(out, (char)byte) != 0) {
            return -1;
        }
    }
    return 0;
}

static dm_span skip(dm_span text, size_t count) {
    return dm_span_of(text.data + count, text.len - count);
}

/* Cuts the text at the first `mark`: returns what stands before and leaves what stands behind. */
static dm_span cut(dm_span *text, const char *mark_at) {
    dm_span before = dm_span_of(text->data, (size_t)(mark_at - text->data));
    *text = skip(*text, before.len + 1);
    return before;
}

static int parse_user(dm_span info, const char *source, dm_proxy *proxy, dm_error *error) {
    const char *colon = info.len > 0 ? memchr(info.data, ':', info.len) : NULL;
    dm_span user = info;
    dm_span password = {NULL, 0};
    if (colon != NULL) {
        password = info;
        user = cut(&password, colon);
    }
    int bad_user = percent_decode(user, &proxy->user);
    int bad_password = bad_user == 0 ? percent_decode(password, &proxy->password) : 0;
    if (bad_user < 0 || bad_password < 0) {
        return no_memory(error);
    }
    if (bad_user > 0 || bad_password > 0) {
        return refuse(error, source, "user or password has a broken percent sequence or a NUL");
    }
    if (proxy->user.len > 0 && memchr(proxy->user.data, ':', proxy->user.len) != NULL) {
        return refuse(error, source, "the user holds a colon, which Basic cannot carry");
    }
    proxy->has_user = 1;
    return 0;
}

static int parse_port(dm_span text, uint16_t *port) {
    unsigned value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return -1;
        }
        value = value * 10 + (unsigned)(text.data[i] - '0');
        if (value > 65535) {
            return -1;
        }
    }
    *port = (uint16_t)value;
    return value > 0 ? 0 : -1;
}

static int parse_host(dm_span rest, const char *source, dm_proxy *proxy, dm_error *error) {
    dm_span host = rest;
    dm_span after = {NULL, 0};
    if (rest.len > 0 && rest.data[0] == '[') {
        const char *end = memchr(rest.data, ']', rest.len);
        if (end == NULL) {
            return refuse(error, source, "the bracket of its IPv6 address is not closed");
        }
        after = skip(rest, 1);
        host = cut(&after, end);
    } else {
        const char *colon = rest.len > 0 ? memchr(rest.data, ':', rest.len) : NULL;
        if (colon != NULL) {
            host.len = (size_t)(colon - rest.data);
            after = skip(rest, host.len);
        }
    }
    if (host.len == 0) {
        return refuse(error, source, "it has no host");
    }
    for (size_t i = 0; i < host.len; i++) {
        unsigned char byte = (unsigned char)host.data[i];
        if (byte <= ' ' || byte >= 0x7f || strchr("/?#@\\<>\"", byte) != NULL) {
            return refuse(error, source, "its host holds a character that no host name has");
        }
    }
    if (after.len > 0 && (after.data[0] != ':' ||
                          (after.len > 1 && parse_port(skip(after, 1), &proxy->port) != 0))) {
        return refuse(error, source, "its port is not a number from 1 to 65535");
    }
    return dm_bytes_append(&proxy->host, host.data, host.len) == 0 ? 0 : no_memory(error);
}

int dm_proxy_parse(dm_span text, const char *source, dm_proxy *proxy, dm_error *error) {
    dm_proxy_free(proxy);
    while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text = skip(text, 1);
    }
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL) {
        text.len--;
    }
    const char *mark = memmem(text.data, text.len, "://", 3);
    if (mark != NULL) {
        dm_span name = dm_span_of(text.data, (size_t)(mark - text.data));
        size_t i = 0;
        size_t count = sizeof schemes / sizeof schemes[0];
        while (i < count &&
               !dm_text_equal_nocase(name, dm_span_of(schemes[i].name, strlen(schemes[i].name)))) {
            i++;
        }
        if (i == count) {
            return refuse(error, source,
                          "its scheme is none of http, https, socks4, socks4a, socks5, socks5h");
        }
        proxy->scheme = (dm_proxy_scheme)i;
        text = skip(text, name.len + 3);
    }
    proxy->port = schemes[proxy->scheme].port;
    /* The last @ ends the user part: an unescaped one in a password is common. */
    const char *at = text.len > 0 ? memrchr(text.data, '@', text.len) : NULL;
    if (at != NULL && parse_user(cut(&text, at), source, proxy, error) != 0) {
        return -1;
    }
    if (text.len > 0 && text.data[text.len - 1] == '/') {
        text.len--;
    }
    if (parse_host(text, source, proxy, error) != 0) {
        return -1;
    }
    int bare = memchr(proxy->host.data, ':', proxy->host.len) == NULL;
    const char *open = bare ? "" : "[";
    const char *close = bare ? "" : "]";
    const char *scheme = schemes[proxy->scheme].name;
    if (dm_bytes_append_format(&proxy->url, "%s://%s%s%s:%u", scheme, open, proxy->host.data, close,
                               (unsigned)proxy->port) != 0 ||
        dm_bytes_append_format(&proxy->shown, "%s://%s%s%s%s:%u", scheme,
                               proxy->has_user ? "***@" : "", open, proxy->host.data, close,
                               (unsigned)proxy->port) != 0) {
        return no_memory(error);
    }
    return 0;
}

const char *dm_proxy_from_environment(int tls, const char *(*environment)(const char *, void *),
                                      void *user, const char **name) {
    static const char *const for_tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const for_plain[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
    const char *const *names = tls ? for_tls : for_plain;
    for (size_t i = 0; i < 4; i++) {
        /* In a CGI program HTTP_PROXY may be the request's own "Proxy:" header. */
        if (names == for_plain && i == 1 && environment("REQUEST_METHOD", user) != NULL) {
            continue;
        }
        const char *value = environment(names[i], user);
        if (value != NULL && value[strspn(value, " \t\r\n")] != '\0') {
            *name = names[i];
            return value;
        }
    }
    return NULL;
}

int dm_proxy_basic(const dm_proxy *proxy, dm_bytes *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    dm_bytes plain = {0};
    int result = -1;
    if (dm_bytes_append(&plain, proxy->user.data, proxy->user.len) == 0 &&
        dm_bytes_append_char(&plain, ':') == 0 &&
        dm_bytes_append(&plain, proxy->password.data, proxy->password.len) == 0 &&
        dm_bytes_append_text(out, "Basic ") == 0 &&
        dm_bytes_reserve(out, (plain.len + 2) / 3 * 4) == 0) {
        for (size_t i = 0; i < plain.len; i += 3) {
            uint32_t group = 0;
            for (size_t j = 0; j < 3; j++) {
                group = group << 8 | (i + j < plain.len ? (unsigned char)plain.data[i + j] : 0);
            }
            for (size_t j = 0; j < 4; j++) {
                char digit = i + j <= plain.len ? digits[group >> (18 - 6 * j) & 63] : '=';
                dm_bytes_append_char(out, digit);
            }
        }
        result = 0;
    }
    dm_bytes_free(&plain);
    return result;
}

void dm_proxy_free(dm_proxy *proxy) {
    dm_bytes_free(&proxy->host);
    dm_bytes_free(&proxy->user);
    dm_bytes_free(&proxy->password);
    dm_bytes_free(&proxy->url);
    dm_bytes_free(&proxy->shown);
    memset(proxy, 0, sizeof *proxy);
}
