#include "transport/no_proxy.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/text.h"

/* An address as bits: 4 or 16 bytes. Size 0: not an address. */
typedef struct address {
    unsigned char bytes[16];
    int size;
} address;

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static address parse_address(dm_span text) {
    address parsed = {{0}, 0};
    const char *zone = text.len > 0 ? memchr(text.data, '%', text.len) : NULL;
    if (zone != NULL) {
        text.len = (size_t)(zone - text.data);
    }
    char copy[INET6_ADDRSTRLEN + 1];
    if (text.len == 0 || text.len >= sizeof copy) {
        return parsed;
    }
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (zone == NULL && inet_pton(AF_INET, copy, parsed.bytes) == 1) {
        parsed.size = 4;
    } else if (inet_pton(AF_INET6, copy, parsed.bytes) == 1) {
        parsed.size = 16;
    }
    return parsed;
}

static int is_mapped(const address *value) {
    return value->size == 16 && memcmp(value->bytes, mapped_prefix, sizeof mapped_prefix) == 0;
}

/* Whether the first `bits` bits are the same. */
static int bits_equal(const unsigned char *a, const unsigned char *b, unsigned bits) {
    unsigned whole = bits / 8;
    if (memcmp(a, b, whole) != 0) {
        return 0;
    }
    unsigned rest = bits % 8;
    return rest == 0 || (a[whole] >> (8 - rest)) == (b[whole] >> (8 - rest));
}

static int address_matches(address rule, unsigned bits, address host) {
    if (is_mapped(&rule) && bits >= 96) {
        memmove(rule.bytes, rule.bytes + 12, 4);
        rule.size = 4;
        bits -= 96;
    }
    if (rule.size == 4 && is_mapped(&host)) {
        memmove(host.bytes, host.bytes + 12, 4);
        host.size = 4;
    }
    return rule.size == host.size && bits_equal(rule.bytes, host.bytes, bits);
}

/* Reads a whole decimal number of at most `most`; -1 when it is none. */
static long parse_number(dm_span text, long most) {
    long value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return -1;
        }
        value = value * 10 + (text.data[i] - '0');
        if (value > most) {
            return -1;
        }
    }
    return text.len > 0 ? value : -1;
}

static dm_span without_dot(dm_span name) {
    if (name.len > 0 && name.data[name.len - 1] == '.') {
        name.len--;
    }
    return name;
}

static int name_matches(dm_span rule, dm_span host) {
    if (rule.len > 1 && rule.data[0] == '*' && rule.data[1] == '.') {
        rule = dm_span_of(rule.data + 2, rule.len - 2);
    } else if (rule.len > 0 && rule.data[0] == '.') {
        rule = dm_span_of(rule.data + 1, rule.len - 1);
    }
    rule = without_dot(rule);
    if (rule.len == 0 || rule.len > host.len) {
        return 0;
    }
    size_t before = host.len - rule.len;
    return dm_text_equal_nocase(rule, dm_span_of(host.data + before, rule.len)) &&
           (before == 0 || host.data[before - 1] == '.');
}

/* Takes the part behind the last `mark` off the entry when there is one; tail.data says so. */
static dm_span take_tail(dm_span *entry, char mark) {
    const char *at = entry->len > 0 ? memrchr(entry->data, mark, entry->len) : NULL;
    if (at == NULL) {
        return dm_span_of(NULL, 0);
    }
    size_t before = (size_t)(at - entry->data);
    dm_span tail = dm_span_of(at + 1, entry->len - before - 1);
    entry->len = before;
    return tail;
}

static int entry_matches(dm_span entry, dm_span host, uint16_t port) {
    dm_span port_text = {NULL, 0};
    dm_span bits_text = {NULL, 0};
    if (entry.data[0] == '[') {
        const char *end = memchr(entry.data, ']', entry.len);
        if (end == NULL) {
            return 0;
        }
        dm_span rest = dm_span_of(end + 1, (size_t)(entry.data + entry.len - end - 1));
        port_text = take_tail(&rest, ':');
        bits_text = take_tail(&rest, '/');
        if (rest.len > 0) {
            return 0;
        }
        entry = dm_span_of(entry.data + 1, (size_t)(end - entry.data - 1));
    } else if (memchr(entry.data, ':', entry.len) == memrchr(entry.data, ':', entry.len)) {
        port_text = take_tail(&entry, ':');
    }
    if (port_text.data != NULL && parse_number(port_text, 65535) != port) {
        return 0;
    }
    if (bits_text.data == NULL) {
        bits_text = take_tail(&entry, '/');
    }
    address rule = parse_address(entry);
    if (rule.size == 0) {
        return bits_text.data == NULL &&
               (dm_span_equal(entry, DM_LITERAL("*")) ||
                (parse_address(host).size == 0 && name_matches(entry, host)));
    }
    long bits = rule.size * 8L;
    if (bits_text.data != NULL) {
        bits = parse_number(bits_text, bits);
    }
    address target = parse_address(host);
    return bits >= 0 && target.size > 0 && address_matches(rule, (unsigned)bits, target);
}

int dm_no_proxy_matches(dm_span list, dm_span host, uint16_t port) {
    static const char separators[] = ", \t\r\n\v\f";
    host = without_dot(host);
    size_t at = 0;
    while (at < list.len) {
        size_t start = at;
        while (at < list.len && memchr(separators, list.data[at], sizeof separators - 1) == NULL) {
            at++;
        }
        dm_span entry = dm_span_of(list.data + start, at - start);
        if (entry.len > 0 && entry_matches(entry, host, port)) {
            return 1;
        }
        at++;
    }
    return 0;
}
