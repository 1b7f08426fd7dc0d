/* SPDX-License-Identifier: BSD-3-Clause
 * Digests of values and of all data: equal where the contents are equal, in whatever encoding, and
 * equal to those of Redis 6.2.
 */
#ifndef EVENKEEL_STORE_DIGEST_H
#define EVENKEEL_STORE_DIGEST_H
#include "base/sha.h"

struct entry;

/* The digest of a value, and of whether the key has a deadline; not of the key. */
void digest_value(const struct entry *e, unsigned char digest[SHA1_BYTES]);
/* The digest of all databases: their numbers, keys and values. Keys that are due do not count. All
 * zero where there are no keys. O(bytes of all data). */
void digest_all(unsigned char digest[SHA1_BYTES]);
#endif
