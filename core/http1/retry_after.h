/* How long a server asks us to wait: `retry-after-ms` and `Retry-After`. Pure functions, any
 * thread, no locale. */
#ifndef DM_HTTP1_RETRY_AFTER_H
#define DM_HTTP1_RETRY_AFTER_H

#include <stdint.h>

#include "base/bytes.h"

/* No usable hint. */
#define DM_RETRY_AFTER_ABSENT INT64_C(-1)

/* A `retry-after-ms` value: a plain decimal number of milliseconds, a fraction rounded up. Anything
 * else (blank, a sign, an exponent, hex, words) is DM_RETRY_AFTER_ABSENT; what is too large for 64
 * bits is INT64_MAX. */
int64_t dm_retry_after_millis(dm_span value);

/* A `Retry-After` value (RFC 9110, 10.2.3) as milliseconds from wall_ms (milliseconds since 1970
 * UTC): a plain decimal number of seconds, a fraction of a millisecond rounded up, or a date in one
 * of the three forms of RFC 9110, 5.6.7, a past one being 0. Else as above. */
int64_t dm_retry_after_value(dm_span value, int64_t wall_ms);

/* The hint of a reply in milliseconds: `retry-after-ms` when it is usable, else `Retry-After` (wire
 * contract 4.3). A span with data NULL means that the header did not come. */
int64_t dm_retry_after(dm_span retry_after_ms, dm_span retry_after, int64_t wall_ms);

/* An HTTP date as seconds since 1970 UTC in *seconds: 0, or -1 when it is none. A two-digit year is
 * the latest one that does not lie more than 50 years after wall_ms. */
int dm_http_date(dm_span text, int64_t wall_ms, int64_t *seconds);

#endif
