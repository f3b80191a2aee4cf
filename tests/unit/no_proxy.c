#include "transport/no_proxy.h"

#include <criterion/criterion.h>

/* One row: list, host, port, whether it goes past the proxy. */
static const struct {
    const char *list, *host;
    uint16_t port;
    int past;
} rows[] = {
    /* lists */
    {"", "example.com", 80, 0},
    {" , ,, ", "example.com", 80, 0},
    {"example.com", "example.com", 80, 1},
    {"127.0.0.1,localhost", "127.0.0.1", 80, 1},
    {"127.0.0.1,localhost", "localhost", 80, 1},
    {"127.0.0.1,localhost", "127.0.0.2", 80, 0},
    {"a.com,b.com,c.com", "a.com", 80, 1},
    {"a.com,b.com,c.com", "b.com", 80, 1},
    {"a.com,b.com,c.com", "c.com", 80, 1},
    {"a.com b.com\tc.com\r\n", "b.com", 80, 1},
    {"a.com b.com\tc.com\r\n", "c.com", 80, 1},
    {" a.com , b.com ", "a.com", 80, 1},
    {" a.com , b.com ", "b.com", 80, 1},
    {",,b.com,,", "b.com", 80, 1},
    /* everything */
    {"*", "example.com", 80, 1},
    {"*", "10.0.0.1", 80, 1},
    {"*", "::1", 80, 1},
    {"a.com,*", "b.com", 80, 1},
    {" * ", "b.com", 80, 1},
    {"*:8080", "b.com", 8080, 1},
    {"*:8080", "b.com", 80, 0},
    {"**", "b.com", 80, 0},
    /* names and suffixes */
    {"example.com", "a.example.com", 80, 1},
    {"example.com", "a.b.example.com", 80, 1},
    {"example.com", "notexample.com", 80, 0},
    {"example.com", "example.com.evil.net", 80, 0},
    {"example.com", "com", 80, 0},
    {".example.com", "example.com", 80, 1},
    {".example.com", "a.example.com", 80, 1},
    {".example.com", "notexample.com", 80, 0},
    {"*.example.com", "a.example.com", 80, 1},
    {"*.example.com", "example.com", 80, 1},
    {"*.example.com", "notexample.com", 80, 0},
    {"*example.com", "notexample.com", 80, 0},
    {"a.example.com", "example.com", 80, 0},
    {".", "example.com", 80, 0},
    {"*.", "example.com", 80, 0},
    {"local", "printer.local", 80, 1},
    /* case and trailing dots */
    {"EXAMPLE.com", "example.COM", 80, 1},
    {"example.com.", "example.com", 80, 1},
    {"example.com", "example.com.", 80, 1},
    {".example.com.", "a.example.com.", 80, 1},
    /* ports */
    {"example.com:8080", "example.com", 8080, 1},
    {"example.com:8080", "a.example.com", 8080, 1},
    {"example.com:8080", "example.com", 80, 0},
    {"example.com:", "example.com", 80, 0},
    {"example.com:http", "example.com", 80, 0},
    {"example.com:65616", "example.com", 80, 0},
    {"10.0.0.1:81", "10.0.0.1", 81, 1},
    {"10.0.0.1:81", "10.0.0.1", 80, 0},
    {"[::1]:81", "::1", 81, 1},
    {"[::1]:81", "::1", 80, 0},
    {"10.0.0.0/8:81", "10.9.9.9", 81, 1},
    {"10.0.0.0/8:81", "10.9.9.9", 80, 0},
    {"[fd00::]/8:81", "fd12::1", 81, 1},
    {"[fd00::]/8:81", "fd12::1", 82, 0},
    /* addresses */
    {"10.0.0.1", "10.0.0.1", 80, 1},
    {"10.0.0.1", "10.0.0.10", 80, 0},
    {"0.0.1", "10.0.0.1", 80, 0},
    {".0.0.1", "10.0.0.1", 80, 0},
    {"10.0.0.1", "a.10.0.0.1", 80, 0},
    {"::1", "::1", 80, 1},
    {"::1", "0:0:0:0:0:0:0:1", 80, 1},
    {"[::1]", "::1", 80, 1},
    {"0:0::1", "::1", 80, 1},
    {"2001:DB8::A", "2001:db8::a", 80, 1},
    {"2001:db8::a", "2001:db8::b", 80, 0},
    {"::ffff:10.0.0.1", "10.0.0.1", 80, 1},
    {"10.0.0.1", "::ffff:10.0.0.1", 80, 1},
    {"fe80::1", "fe80::1%eth0", 80, 1},
    {"fe80::1%lo", "fe80::1%eth0", 80, 1},
    {"[::1", "::1", 80, 0},
    {"[::1]x", "::1", 80, 0},
    {"[localhost]", "localhost", 80, 1},
    {"1.2.3.4.5", "1.2.3.4", 80, 0},
    /* ranges */
    {"10.0.0.0/8", "10.255.0.1", 80, 1},
    {"10.0.0.0/8", "11.0.0.1", 80, 0},
    {"192.168.0.0/16", "192.168.9.9", 80, 1},
    {"192.168.0.0/16", "192.169.0.0", 80, 0},
    {"192.168.16.0/20", "192.168.31.255", 80, 1},
    {"192.168.16.0/20", "192.168.32.0", 80, 0},
    {"192.168.16.77/20", "192.168.17.1", 80, 1},
    {"10.0.0.1/32", "10.0.0.1", 80, 1},
    {"10.0.0.1/32", "10.0.0.2", 80, 0},
    {"10.0.0.0/31", "10.0.0.1", 80, 1},
    {"0.0.0.0/0", "8.8.8.8", 80, 1},
    {"0.0.0.0/0", "::1", 80, 0},
    {"0.0.0.0/0", "example.com", 80, 0},
    {"10.0.0.0/33", "10.0.0.0", 80, 0},
    {"10.0.0.0/", "10.0.0.0", 80, 0},
    {"10.0.0.0/-1", "10.0.0.0", 80, 0},
    {"10.0.0.0/8x", "10.0.0.0", 80, 0},
    {"10.0.0.0/99999999999999999999", "10.0.0.0", 80, 0},
    {"example.com/8", "example.com", 80, 0},
    {"::1/64", "::1", 80, 1},
    {"::1/64", "::ffff", 80, 1},
    {"::1/64", "0:0:0:1::1", 80, 0},
    {"fe80::/10", "fe80::1%eth0", 80, 1},
    {"fe80::/10", "febf::1", 80, 1},
    {"fe80::/10", "fec0::1", 80, 0},
    {"[fe80::]/10", "fe80::9", 80, 1},
    {"[fe80::/10]", "fe80::9", 80, 1},
    {"2001:db8::/33", "2001:db8:7fff::1", 80, 1},
    {"2001:db8::/33", "2001:db8:8000::1", 80, 0},
    {"2001:db8::5/128", "2001:db8::5", 80, 1},
    {"2001:db8::5/128", "2001:db8::4", 80, 0},
    {"2001:db8::/129", "2001:db8::", 80, 0},
    {"::/0", "2001:db8::4", 80, 1},
    {"::/0", "10.0.0.1", 80, 0},
    {"::ffff:10.0.0.0/104", "10.1.2.3", 80, 1},
    {"::ffff:10.0.0.0/104", "11.1.2.3", 80, 0},
    {"10.0.0.0/8", "::ffff:10.1.2.3", 80, 1},
    {"a.com,::1/64,b.com", "::2", 80, 1},
};

Test(no_proxy, table) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dm_span list = dm_span_of(rows[i].list, strlen(rows[i].list));
        dm_span host = dm_span_of(rows[i].host, strlen(rows[i].host));
        int past = dm_no_proxy_matches(list, host, rows[i].port);
        cr_expect_eq(past, rows[i].past, "NO_PROXY '%s', host '%s', port %u: %d", rows[i].list,
                     rows[i].host, rows[i].port, past);
    }
    cr_expect_eq(dm_no_proxy_matches(dm_span_of(NULL, 0), DM_LITERAL("a"), 80), 0);
}

/* The list is read by length: nothing behind it counts. */
Test(no_proxy, length) {
    cr_expect_eq(dm_no_proxy_matches(dm_span_of("a.com,b.com", 6), DM_LITERAL("b.com"), 80), 0);
    cr_expect_eq(dm_no_proxy_matches(dm_span_of("10.0.0.0/8", 9), DM_LITERAL("10.0.0.0"), 80), 0);
}
