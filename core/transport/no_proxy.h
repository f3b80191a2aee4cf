/* Which hosts go past the proxy: the NO_PROXY list.
 *
 * There is no standard; these are the rules of this library, a union of what curl, Python and Go do
 * where they agree or where only one has an opinion:
 *   list        entries are separated by commas and white space; empty entries are skipped
 *   *           alone as an entry: every host
 *   name        the host itself and every host below it: example.com also means a.example.com, and
 *               never notexample.com
 *   .name, *.name   the same as name
 *   trailing dot    ignored on both sides; case is ignored (ASCII)
 *   address     an IPv4 or IPv6 literal, compared as an address (::1 is 0:0:0:0:0:0:0:1); brackets
 *               are allowed around IPv6
 *   address/n   the range of n leading bits; ::ffff:a.b.c.d hosts are compared as a.b.c.d as well;
 * n out of range makes the entry match nothing entry:port  any of these for that port only; an IPv6
 * address with a port needs brackets Names are never resolved, so an address range never matches a
 * name. A zone (fe80::1%eth0) is ignored. */
#ifndef DM_TRANSPORT_NO_PROXY_H
#define DM_TRANSPORT_NO_PROXY_H

#include <stdint.h>

#include "base/bytes.h"

/* 1 when a connection to host (name or literal, without brackets) and port goes past the proxy.
 * Pure; any thread. */
int dm_no_proxy_matches(dm_span list, dm_span host, uint16_t port);

#endif
