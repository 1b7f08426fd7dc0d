/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-1 and SHA-256 (FIPS 180-4) of a text, by libcrypto.
 *
 * SHA-1 names scripts and makes DEBUG DIGEST's sums, as in Redis 6.2; it protects no secret.
 * Passwords are stored as their SHA-256.
 */
#ifndef EVENKEEL_BASE_SHA_H
#define EVENKEEL_BASE_SHA_H
#include "base/string.h"

#define SHA1_BYTES 20
#define SHA256_BYTES 32

/* Both may be called from any thread, and do not allocate. */
void sha1_of(struct slice text, unsigned char digest[SHA1_BYTES]);
/* Leaves no byte of the text behind in memory, because the text is a password. */
void sha256_of(struct slice text, unsigned char digest[SHA256_BYTES]);
#endif
