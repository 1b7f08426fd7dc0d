/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-1 (FIPS 180-4): for digests that must be equal here and there, not for secrets.
 */
#ifndef EVENKEEL_BASE_SHA1_H
#define EVENKEEL_BASE_SHA1_H
#include <stddef.h>
#include <stdint.h>

#include "base/sha_blocks.h"

#define SHA1_BYTES 20

struct sha1 {
    uint32_t state[5];
    struct sha_blocks blocks;
};

void sha1_begin(struct sha1 *s);
/* Any number of pieces; they may be empty. */
void sha1_add(struct sha1 *s, const void *bytes, size_t length);
/* The digest of all that was added; `s` must be begun anew afterwards. */
void sha1_end(struct sha1 *s, unsigned char digest[SHA1_BYTES]);
#endif
