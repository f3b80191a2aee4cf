#include <criterion/criterion.h>
#include <stdio.h>

#include "deemster.h"
#include "transport/proxy.h"
#include "transport/transport.h"

static dm_span text_of(const char *text) {
    return dm_span_of(text, text != NULL ? strlen(text) : 0);
}

/* An environment as "NAME=value;NAME=value". */
static const char *environment(const char *name, void *user) {
    static char values[16][300];
    static unsigned next;
    size_t len = strlen(name);
    for (const char *at = *(const char **)user; at != NULL && *at != '\0';) {
        size_t size = strcspn(at, ";");
        if (size > len && strncmp(at, name, len) == 0 && at[len] == '=') {
            char *value = values[next++ % 16];
            snprintf(value, sizeof values[0], "%.*s", (int)(size - len - 1), at + len + 1);
            return value;
        }
        at += size + (at[size] == ';');
    }
    return NULL;
}

static const struct {
    const char *url;
    const char *shown; /* NULL: refused, and then `user` is a part of the message */
    const char *user, *password;
    int scheme;
} urls[] = {
    {"http://proxy:3128", "http://proxy:3128", NULL, NULL, DM_PROXY_HTTP},
    {"proxy:3128", "http://proxy:3128", NULL, NULL, DM_PROXY_HTTP},
    {"proxy", "http://proxy:80", NULL, NULL, DM_PROXY_HTTP},
    {"proxy:", "http://proxy:80", NULL, NULL, DM_PROXY_HTTP},
    {"http://proxy/", "http://proxy:80", NULL, NULL, DM_PROXY_HTTP},
    {"  http://proxy:1 \n", "http://proxy:1", NULL, NULL, DM_PROXY_HTTP},
    {"HTTPS://proxy", "https://proxy:443", NULL, NULL, DM_PROXY_HTTPS},
    {"socks4://p", "socks4://p:1080", NULL, NULL, DM_PROXY_SOCKS4},
    {"socks4a://p", "socks4a://p:1080", NULL, NULL, DM_PROXY_SOCKS4A},
    {"socks5://p:9", "socks5://p:9", NULL, NULL, DM_PROXY_SOCKS5},
    {"socks5h://p", "socks5h://p:1080", NULL, NULL, DM_PROXY_SOCKS5H},
    {"http://[::1]:8080", "http://[::1]:8080", NULL, NULL, DM_PROXY_HTTP},
    {"http://[fe80::1%25]", "http://[fe80::1%25]:80", NULL, NULL, DM_PROXY_HTTP},
    {"http://u:p@h:1", "http://***@h:1", "u", "p", DM_PROXY_HTTP},
    {"u:p@h:1", "http://***@h:1", "u", "p", DM_PROXY_HTTP},
    {"http://u@h:1", "http://***@h:1", "u", "", DM_PROXY_HTTP},
    {"http://:p@h:1", "http://***@h:1", "", "p", DM_PROXY_HTTP},
    {"http://@h:1", "http://***@h:1", "", "", DM_PROXY_HTTP},
    {"http://us%65r:p%40ss%3a%2F@h:1", "http://***@h:1", "user", "p@ss:/", DM_PROXY_HTTP},
    {"http://u:p:q@h:1", "http://***@h:1", "u", "p:q", DM_PROXY_HTTP},
    {"http://u:p@q@h:1", "http://***@h:1", "u", "p@q", DM_PROXY_HTTP},
    {"http://u:s3cr%zz@h:1", NULL, "percent", NULL, 0},
    {"http://u:s3cr%4@h:1", NULL, "percent", NULL, 0},
    {"http://u:s3cr%00@h:1", NULL, "NUL", NULL, 0},
    {"http://u%3Ax:s3cr@h:1", NULL, "colon", NULL, 0},
    {"ftp://u:s3cr@h:1", NULL, "scheme", NULL, 0},
    {"://h", NULL, "scheme", NULL, 0},
    {"", NULL, "no host", NULL, 0},
    {"http://", NULL, "no host", NULL, 0},
    {"http://u:s3cr@", NULL, "no host", NULL, 0},
    {"http://:3128", NULL, "no host", NULL, 0},
    {"http://[]:3128", NULL, "no host", NULL, 0},
    {"http://[::1", NULL, "bracket", NULL, 0},
    {"http://h:0", NULL, "port", NULL, 0},
    {"http://h:65536", NULL, "port", NULL, 0},
    {"http://h:99999999999999999999", NULL, "port", NULL, 0},
    {"http://h:12x", NULL, "port", NULL, 0},
    {"http://[::1]9", NULL, "port", NULL, 0},
    {"http://u:s3cr@h/path", NULL, "character", NULL, 0},
    {"http://h h", NULL, "character", NULL, 0},
    {"http://h?x", NULL, "character", NULL, 0},
    {"http://h\x01", NULL, "character", NULL, 0},
    {"http://h\xc3\xa9", NULL, "character", NULL, 0},
};

Test(proxy, urls) {
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        dm_proxy proxy = {0};
        dm_error error = {0};
        int result = dm_proxy_parse(text_of(urls[i].url), "HTTPS_PROXY", &proxy, &error);
        cr_assert_eq(result, urls[i].shown != NULL ? 0 : -1, "%s: %s", urls[i].url,
                     error.message.data);
        if (result != 0) {
            cr_expect_eq(error.code, DEEM_E_CONFIG_PROXY, "%s", urls[i].url);
            cr_expect(strstr(error.message.data, urls[i].user) != NULL, "%s: %s", urls[i].url,
                      error.message.data);
            cr_expect(strstr(error.message.data, "HTTPS_PROXY") != NULL);
            cr_expect(strstr(error.message.data, "s3cr") == NULL, "secret shown: %s",
                      error.message.data);
        } else {
            cr_expect_str_eq(proxy.shown.data, urls[i].shown, "%s", urls[i].url);
            cr_expect_eq((int)proxy.scheme, urls[i].scheme, "%s", urls[i].url);
            cr_expect_eq(proxy.has_user, urls[i].user != NULL, "%s", urls[i].url);
            cr_expect(strchr(proxy.url.data, '@') == NULL);
            if (urls[i].user != NULL) {
                cr_expect(dm_span_equal(dm_bytes_span(&proxy.user), text_of(urls[i].user)));
                cr_expect(dm_span_equal(dm_bytes_span(&proxy.password), text_of(urls[i].password)));
            }
        }
        dm_proxy_free(&proxy);
        dm_error_free(&error);
    }
}

/* RFC 4648 vectors and RFC 7617's own example. */
Test(proxy, basic) {
    static const char *const cases[][2] = {
        {"Aladdin:open sesame@h", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
        {"u:p@h", "Basic dTpw"},
        {"u:@h", "Basic dTo="},
        {"@h", "Basic Og=="},
        {"test:123%C2%A3@h", "Basic dGVzdDoxMjPCow=="},
        {"a:%ff%fe%fd@h", "Basic YTr//v0="},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_proxy proxy = {0};
        dm_error error = {0};
        dm_bytes value = {0};
        cr_assert_eq(dm_proxy_parse(text_of(cases[i][0]), "x", &proxy, &error), 0);
        cr_assert_eq(dm_proxy_basic(&proxy, &value), 0);
        cr_expect_str_eq(value.data, cases[i][1]);
        dm_bytes_free(&value);
        dm_proxy_free(&proxy);
        dm_error_free(&error);
    }
}

/* One row: the target, the environment, and the way that must be taken. */
static struct { /* NOLINT(clang-analyzer-optin.performance.Padding): in reading order */
    int tls;
    const char *host;
    int mode;
    const char *setting, *no_proxy, *environment;
    int route, uses_curl;
    const char *shown, *authorization;
} ways[] = {
    /* no proxy */
    {0, "127.0.0.1", 0, "", NULL, "", DM_ROUTE_SOCKET, 0, "", ""},
    {0, "::1", 0, "", NULL, "", DM_ROUTE_SOCKET, 0, "", ""},
    {0, "fe80::1%lo", 0, "", NULL, "", DM_ROUTE_SOCKET, 0, "", ""},
    {0, "LocalHost", 0, "", NULL, "", DM_ROUTE_SOCKET, 0, "", ""},
    {0, "localhost.", 0, "", NULL, "", DM_ROUTE_SOCKET, 0, "", ""},
    {0, "127.1", 0, "", NULL, "", DM_ROUTE_CURL, 1, "", ""},
    {0, "example.com", 0, "", NULL, "", DM_ROUTE_CURL, 1, "", ""},
    {1, "127.0.0.1", 0, "", NULL, "", DM_ROUTE_CURL, 1, "", ""},
    {1, "localhost", 0, "", NULL, "", DM_ROUTE_CURL, 1, "", ""},
    /* an explicit proxy */
    {0, "e.com", DM_PROXY_URL, "http://127.0.0.1:1", NULL, "", DM_ROUTE_ABSOLUTE, 0,
     "http://127.0.0.1:1", ""},
    {0, "e.com", DM_PROXY_URL, "http://p:1", NULL, "", DM_ROUTE_ABSOLUTE, 1, "http://p:1", ""},
    {0, "127.0.0.1", DM_PROXY_URL, "http://u:p@[::1]:1", NULL, "", DM_ROUTE_ABSOLUTE, 0,
     "http://***@[::1]:1", "Basic dTpw"},
    {0, "e.com", DM_PROXY_URL, "https://127.0.0.1:1", NULL, "", DM_ROUTE_ABSOLUTE, 1,
     "https://127.0.0.1:1", ""},
    {1, "e.com", DM_PROXY_URL, "http://u:p@127.0.0.1:1", NULL, "", DM_ROUTE_TUNNEL, 1,
     "http://***@127.0.0.1:1", ""},
    {0, "127.0.0.1", DM_PROXY_URL, "socks5h://127.0.0.1:1", NULL, "", DM_ROUTE_TUNNEL, 1,
     "socks5h://127.0.0.1:1", ""},
    /* an explicit proxy is not undone by the environment, but by the setting */
    {0, "e.com", DM_PROXY_URL, "http://p:1", NULL, "NO_PROXY=*", DM_ROUTE_ABSOLUTE, 1, "http://p:1",
     ""},
    {0, "e.com", DM_PROXY_URL, "http://p:1", "e.com", "", DM_ROUTE_CURL, 1, "", ""},
    {0, "e.com", DM_PROXY_URL, "http://p:1", "", "NO_PROXY=*", DM_ROUTE_ABSOLUTE, 1, "http://p:1",
     ""},
    {0, "e.com", DM_PROXY_NONE, "", NULL, "http_proxy=http://p:1", DM_ROUTE_CURL, 1, "", ""},
    /* the environment: both cases, lower first, blank is unset */
    {1, "e.com", 0, "", NULL, "https_proxy=http://a:1;HTTPS_PROXY=http://b:1", DM_ROUTE_TUNNEL, 1,
     "http://a:1", ""},
    {1, "e.com", 0, "", NULL, "https_proxy= ;HTTPS_PROXY=http://b:1", DM_ROUTE_TUNNEL, 1,
     "http://b:1", ""},
    {1, "e.com", 0, "", NULL, "http_proxy=http://a:1;HTTP_PROXY=http://b:1", DM_ROUTE_CURL, 1, "",
     ""},
    {1, "e.com", 0, "", NULL, "ALL_PROXY=http://c:1", DM_ROUTE_TUNNEL, 1, "http://c:1", ""},
    {1, "e.com", 0, "", NULL, "all_proxy=http://d:1;ALL_PROXY=http://c:1", DM_ROUTE_TUNNEL, 1,
     "http://d:1", ""},
    {1, "e.com", 0, "", NULL, "HTTPS_PROXY=http://b:1;all_proxy=http://d:1", DM_ROUTE_TUNNEL, 1,
     "http://b:1", ""},
    {0, "e.com", 0, "", NULL, "http_proxy=a:1;HTTP_PROXY=b:1", DM_ROUTE_ABSOLUTE, 1, "http://a:1",
     ""},
    {0, "e.com", 0, "", NULL, "HTTP_PROXY=b:1", DM_ROUTE_ABSOLUTE, 1, "http://b:1", ""},
    {0, "e.com", 0, "", NULL, "HTTP_PROXY=b:1;REQUEST_METHOD=GET", DM_ROUTE_CURL, 1, "", ""},
    {0, "e.com", 0, "", NULL, "http_proxy=b:1;REQUEST_METHOD=GET", DM_ROUTE_ABSOLUTE, 1,
     "http://b:1", ""},
    {1, "e.com", 0, "", NULL, "HTTPS_PROXY=b:1;REQUEST_METHOD=GET", DM_ROUTE_TUNNEL, 1,
     "http://b:1", ""},
    {0, "e.com", 0, "", NULL, "https_proxy=a:1", DM_ROUTE_CURL, 1, "", ""},
    /* exceptions */
    {0, "127.0.0.1", 0, "", NULL, "http_proxy=a:1;NO_PROXY=127.0.0.1,localhost", DM_ROUTE_SOCKET, 0,
     "", ""},
    {0, "localhost", 0, "", NULL, "http_proxy=a:1;no_proxy=127.0.0.1,localhost", DM_ROUTE_SOCKET, 0,
     "", ""},
    {0, "::1", 0, "", NULL, "http_proxy=a:1;NO_PROXY=::1/64", DM_ROUTE_SOCKET, 0, "", ""},
    {0, "e.com", 0, "", NULL, "http_proxy=a:1;NO_PROXY=e.com:81", DM_ROUTE_ABSOLUTE, 1,
     "http://a:1", ""},
    {0, "e.com", 0, "", NULL, "http_proxy=a:1;NO_PROXY=e.com:80", DM_ROUTE_CURL, 1, "", ""},
    {0, "e.com", 0, "", NULL, "http_proxy=a:1;no_proxy=x.com;NO_PROXY=e.com", DM_ROUTE_ABSOLUTE, 1,
     "http://a:1", ""},
    {0, "e.com", 0, "", NULL, "http_proxy=a:1;no_proxy=;NO_PROXY=e.com", DM_ROUTE_CURL, 1, "", ""},
    {0, "e.com", 0, "", "x.com", "http_proxy=a:1;NO_PROXY=e.com", DM_ROUTE_ABSOLUTE, 1,
     "http://a:1", ""},
    /* a broken proxy that is not needed does no harm */
    {0, "e.com", 0, "", NULL, "http_proxy=ftp://a:1;NO_PROXY=e.com", DM_ROUTE_CURL, 1, "", ""},
};

Test(proxy, ways) {
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        dm_transport_settings settings = {0};
        settings.tls = ways[i].tls;
        settings.host = text_of(ways[i].host);
        settings.port = 80;
        settings.proxy_mode = (dm_proxy_mode)ways[i].mode;
        settings.proxy_url = text_of(ways[i].setting);
        settings.no_proxy = text_of(ways[i].no_proxy);
        settings.environment = environment;
        settings.environment_user = &ways[i].environment;
        settings.ca_file = DM_LITERAL(__FILE__);
        dm_transport *transport = NULL;
        dm_error error = {0};
        cr_assert_eq(dm_transport_new(&settings, &transport, &error), 0, "row %zu: %s", i,
                     error.message.data);
        cr_expect_eq((int)dm_transport_route(transport), ways[i].route, "row %zu: %d", i,
                     (int)dm_transport_route(transport));
        cr_expect_eq(dm_transport_uses_curl(transport), ways[i].uses_curl, "row %zu", i);
        cr_expect_eq(dm_transport_absolute_form(transport), ways[i].route == DM_ROUTE_ABSOLUTE);
        cr_expect(dm_span_equal(dm_transport_proxy_text(transport), text_of(ways[i].shown)),
                  "row %zu: %s", i, dm_transport_proxy_text(transport).data);
        cr_expect(dm_span_equal(dm_transport_proxy_authorization(transport),
                                text_of(ways[i].authorization)),
                  "row %zu", i);
        dm_transport_unref(dm_transport_ref(transport));
        dm_transport_unref(transport);
        dm_error_free(&error);
    }
}

/* What is refused when a transport is made. */
Test(proxy, refused) {
    static const struct { /* NOLINT(clang-analyzer-optin.performance.Padding): in reading order */
        const char *host;
        uint16_t port;
        const char *proxy;
        int32_t code;
    } cases[] = {
        {"", 80, NULL, DEEM_E_CONFIG_URL},         {"a b", 80, NULL, DEEM_E_CONFIG_URL},
        {"a/b", 80, NULL, DEEM_E_CONFIG_URL},      {"a@b", 80, NULL, DEEM_E_CONFIG_URL},
        {"a\r\nb", 80, NULL, DEEM_E_CONFIG_URL},   {"a", 0, NULL, DEEM_E_CONFIG_URL},
        {"a", 80, "ftp://x", DEEM_E_CONFIG_PROXY}, {"a", 80, "", DEEM_E_CONFIG_PROXY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_transport_settings settings = {0};
        settings.host = text_of(cases[i].host);
        settings.port = cases[i].port;
        settings.proxy_mode = cases[i].proxy != NULL ? DM_PROXY_URL : DM_PROXY_NONE;
        settings.proxy_url = text_of(cases[i].proxy);
        dm_transport *transport = NULL;
        dm_error error = {0};
        cr_expect_eq(dm_transport_new(&settings, &transport, &error), -1, "case %zu", i);
        cr_expect_eq(error.code, cases[i].code, "case %zu: %d", i, error.code);
        cr_expect_null(transport);
        dm_error_free(&error);
    }
}
