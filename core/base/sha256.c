#include "base/sha256.h"

#include <sha2.h>

void dm_sha256_hex(dm_span bytes, char hex[65]) {
    SHA2_CTX context;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)bytes.data, bytes.len);
    SHA256Final(digest, &context);
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    hex[64] = '\0';
}
