/* SHA-256 (FIPS 180-4), by libmd. */
#ifndef DM_BASE_SHA256_H
#define DM_BASE_SHA256_H

#include "base/bytes.h"

/* Writes the digest of the bytes as 64 lower-case hexadecimal digits and a NUL. Any thread. */
void dm_sha256_hex(dm_span bytes, char hex[65]);

#endif
