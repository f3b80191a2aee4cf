#include <criterion/criterion.h>

#include "base/alloc.h"
#include "http1/url.h"

static dm_span text(const char *of) {
    return dm_span_of(of, strlen(of));
}

static void same(dm_span got, const char *want, const char *url) {
    cr_assert(dm_span_equal(got, text(want)), "%s: got %.*s, want %s", url, (int)got.len, got.data,
              want);
}

Test(url, base_urls_in_parts) {
    static const struct {
        const char *url;
        int https;
        int ipv6;
        int port;
        const char *host;
        const char *origin;
        const char *prefix;
    } rows[] = {
        {"https://api.typesafe.ai", 1, 0, 443, "api.typesafe.ai", "https://api.typesafe.ai", ""},
        {"https://api.typesafe.ai/", 1, 0, 443, "api.typesafe.ai", "https://api.typesafe.ai", ""},
        {"https://host/typesafe///", 1, 0, 443, "host", "https://host", "/typesafe"},
        {"https://host///", 1, 0, 443, "host", "https://host", ""},
        {"https://h/api/v1/", 1, 0, 443, "h", "https://h", "/api/v1"},
        {"HTTP://LocalHost:8080/A", 0, 0, 8080, "localhost", "http://localhost:8080", "/A"},
        {"http://h:80", 0, 0, 80, "h", "http://h", ""},
        {"https://h:80", 1, 0, 80, "h", "https://h:80", ""},
        {"https://h:0443/x", 1, 0, 443, "h", "https://h", "/x"},
        {"http://h:65535", 0, 0, 65535, "h", "http://h:65535", ""},
        {"http://h:1", 0, 0, 1, "h", "http://h:1", ""},
        {"http://127.0.0.1:9/a%20b", 0, 0, 9, "127.0.0.1", "http://127.0.0.1:9", "/a%20b"},
        {"http://[::1]", 0, 1, 80, "::1", "http://[::1]", ""},
        {"https://[2001:DB8::A]:8443/p/", 1, 1, 8443, "2001:db8::a", "https://[2001:db8::a]:8443",
         "/p"},
        {"http://a_b-c.d.", 0, 0, 80, "a_b-c.d.", "http://a_b-c.d.", ""},
        {"http://h/a@b:c", 0, 0, 80, "h", "http://h", "/a@b:c"},
    };
    dm_url url = {0};
    dm_http1_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(dm_url_parse(&url, text(rows[i].url), &error), 0, "%s", rows[i].url);
        cr_assert_eq(url.https, rows[i].https, "%s", rows[i].url);
        cr_assert_eq(url.ipv6, rows[i].ipv6, "%s", rows[i].url);
        cr_assert_eq(url.port, rows[i].port, "%s", rows[i].url);
        same(url.host, rows[i].host, rows[i].url);
        same(url.origin, rows[i].origin, rows[i].url);
        same(url.authority, strstr(rows[i].origin, "//") + 2, rows[i].url);
        same(url.prefix, rows[i].prefix, rows[i].url);
    }
    dm_url_free(&url);
}

Test(url, bad_base_urls_are_refused_in_words) {
    static const struct {
        const char *url;
        const char *message;
    } rows[] = {
        {"", "the base URL is empty"},
        {"api.typesafe.ai", "the base URL must start with https:// or http://"},
        {"ftp://h", "the base URL must start with https:// or http://"},
        {"https:/h", "the base URL must start with https:// or http://"},
        {"https://", "the base URL has no host"},
        {"https:///v1", "the base URL has no host"},
        {"https://:443", "the base URL has no host"},
        {"https://user:secret@h/",
         "the base URL holds a user name or password (before an @), which "
         "is not accepted; give the key by its own option"},
        {"https://secret@h", "the base URL holds a user name or password (before an @), which is "
                             "not accepted; give the key by its own option"},
        {"https://h?key=secret", "the base URL has a query (?), which is not accepted"},
        {"https://h/a?key=secret", "the base URL has a query (?), which is not accepted"},
        {"https://h/#f", "the base URL has a fragment (#), which is not accepted"},
        {"https://h#f", "the base URL has a fragment (#), which is not accepted"},
        {" https://h", "the base URL holds the byte 0x20 at offset 0, which must be "
                       "percent-encoded"},
        {"https://h/a b", "the base URL holds the byte 0x20 at offset 11, which must be "
                          "percent-encoded"},
        {"https://h\r\nX: y", "the base URL holds the byte 0x0D at offset 9, which must be "
                              "percent-encoded"},
        {"https://h\\@x", "the base URL holds the byte 0x5C at offset 9, which must be "
                          "percent-encoded"},
        {"https://h\xC3\xA9", "the base URL holds the byte 0xC3 at offset 9, which must be "
                              "percent-encoded"},
        {"https://h/%4", "the path of the base URL holds a % without two hexadecimal digits at "
                         "offset 1"},
        {"https://h/a%zz", "the path of the base URL holds a % without two hexadecimal digits at "
                           "offset 2"},
        {"https://h%41", "the base URL has a host with a byte or an empty label that no host name "
                         "has"},
        {"https://a..b", "the base URL has a host with a byte or an empty label that no host name "
                         "has"},
        {"https://.a", "the base URL has a host with a byte or an empty label that no host name "
                       "has"},
        {"https://h:", "the base URL has a bad port: it must be a number from 1 to 65535"},
        {"https://h:0", "the base URL has a bad port: it must be a number from 1 to 65535"},
        {"https://h:65536", "the base URL has a bad port: it must be a number from 1 to 65535"},
        {"https://h:99999999999", "the base URL has a bad port: it must be a number from 1 to "
                                  "65535"},
        {"https://h:8a", "the base URL has a bad port: it must be a number from 1 to 65535"},
        {"https://h:-1", "the base URL has a bad port: it must be a number from 1 to 65535"},
        {"https://::1", "the base URL has no host"},
        {"https://a:b:1", "the base URL has a bad port: it must be a number from 1 to 65535"},
        {"https://[::1", "the base URL has a [ without ] in its host"},
        {"https://[::g]", "the base URL holds a bad IPv6 address in its brackets"},
        {"https://[]", "the base URL has no host"},
        {"https://[1.2.3.4]", "the base URL holds a bad IPv6 address in its brackets"},
        {"https://[fe80::1%25lo]", "the base URL holds a bad IPv6 address in its brackets"},
        {"https://[::1]x", "the base URL has a bad port: it must be a number from 1 to 65535"},
    };
    dm_url url = {0};
    dm_http1_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(dm_url_parse(&url, text("http://before"), &error), 0);
        cr_assert_eq(dm_url_parse(&url, text(rows[i].url), &error), -1, "%s", rows[i].url);
        cr_assert_eq(error.problem, DM_HTTP1_INVALID);
        cr_assert_str_eq(error.message.data, rows[i].message, "%s: %s", rows[i].url,
                         error.message.data);
        cr_assert_null(url.text.data);
    }
    char longest[5000];
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "https://h/", 10);
    cr_assert_eq(dm_url_parse(&url, dm_span_of(longest, 4096), &error), 0);
    cr_assert_eq(dm_url_parse(&url, dm_span_of(longest, 4097), &error), -1);
    memset(longest + 8, 'a', sizeof longest - 8);
    cr_assert_eq(dm_url_parse(&url, dm_span_of(longest, 8 + 253), &error), 0);
    cr_assert_eq(dm_url_parse(&url, dm_span_of(longest, 8 + 254), &error), -1);
    cr_assert_eq(dm_url_parse(&url, dm_span_of("https://h\0x", 11), &error), -1);
    cr_assert_str_eq(error.message.data, "the base URL holds the byte 0x00 at offset 9, which must "
                                         "be percent-encoded");
    dm_http1_error_free(&error);
}

Test(url, paths_are_joined_with_one_slash) {
    static const struct {
        const char *base;
        const char *path;
        const char *target; /* NULL: refused */
    } rows[] = {
        {"https://h", "/v1/systemone", "/v1/systemone"},
        {"https://h/", "v1/models", "/v1/models"},
        {"https://h/typesafe/", "/v1/systemone", "/typesafe/v1/systemone"},
        {"https://h/api/v1", "/api/alpha/decisions", "/api/v1/api/alpha/decisions"},
        {"https://h/p", "//evil.example/x", "/p/evil.example/x"},
        {"https://h", "", "/"},
        {"https://h/p", "/", "/p/"},
        {"https://h", "a?b=../c&d=%20", "/a?b=../c&d=%20"},
        {"https://h", "...", "/..."},
        {"https://h", "a/.b/..c/%2ed", "/a/.b/..c/%2ed"},
        {"https://h", "../x", NULL},
        {"https://h", "a/..", NULL},
        {"https://h", "a/./b", NULL},
        {"https://h", "a/%2E%2e/b", NULL},
        {"https://h", "a/.%2e", NULL},
        {"https://h", "%2e?x", NULL},
        {"https://h", "a#b", NULL},
        {"https://h", "a b", NULL},
        {"https://h", "a\r\nb", NULL},
        {"https://h", "\xC3\xA9", NULL},
        {"https://h", "%", NULL},
    };
    dm_url url = {0};
    dm_http1_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dm_bytes out = {0};
        cr_assert_eq(dm_url_parse(&url, text(rows[i].base), &error), 0);
        int result = dm_url_join(&url, text(rows[i].path), &out, &error);
        cr_assert_eq(result, rows[i].target == NULL ? -1 : 0, "%s", rows[i].path);
        if (rows[i].target != NULL) {
            same(dm_bytes_span(&out), rows[i].target, rows[i].path);
        } else {
            cr_assert_eq(error.problem, DM_HTTP1_INVALID);
            cr_assert_eq(out.len, 0);
        }
        dm_bytes_free(&out);
    }
    dm_url_free(&url);
    dm_http1_error_free(&error);
}

static int never(size_t size, void *user) {
    (void)size;
    (void)user;
    return 0;
}

Test(url, missing_memory_is_reported) {
    dm_url url = {0};
    dm_http1_error error = {0};
    dm_bytes out = {0};
    dm_alloc_set_gate(never, NULL);
    cr_assert_eq(dm_url_parse(&url, text("https://h"), &error), -1);
    cr_assert_eq(error.problem, DM_HTTP1_NO_MEMORY);
    cr_assert_eq(dm_url_join(&url, text("x"), &out, &error), -1);
    cr_assert_eq(error.problem, DM_HTTP1_NO_MEMORY);
    dm_alloc_set_gate(NULL, NULL);
}
