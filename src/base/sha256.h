/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-256 (FIPS 180-4): under it passwords are kept (access/acl).
 */
#ifndef EVENKEEL_BASE_SHA256_H
#define EVENKEEL_BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

#include "base/sha_blocks.h"

#define SHA256_BYTES 32

struct sha256 {
    uint32_t state[8];
    struct sha_blocks blocks;
};

void sha256_begin(struct sha256 *s);
/* Any number of pieces; they may be empty. */
void sha256_add(struct sha256 *s, const void *bytes, size_t length);
/* The digest of all that was added. `s` is cleared, and must be begun anew. */
void sha256_end(struct sha256 *s, unsigned char digest[SHA256_BYTES]);
#endif
