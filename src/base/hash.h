/* SPDX-License-Identifier: BSD-3-Clause
 * The keyed hash of every table: SipHash-1-3 (Aumasson and Bernstein, 2012), 64 bits.
 *
 * The secret key is drawn at random at start, so that a client that chooses keys cannot choose
 * their buckets.
 */
#ifndef EVENKEEL_BASE_HASH_H
#define EVENKEEL_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

void hash_set_key(const uint8_t key[16]);
uint64_t hash_bytes(const void *bytes, size_t length);
#endif
