/* SPDX-License-Identifier: BSD-3-Clause
 * A set of keys that a trace has named, by their hashes.
 *
 * It takes 8 to 16 bytes a key. Two keys of one hash (of 64 bits) count as one.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_KEYS_H
#define EVENKEEL_REPLAY_REPLAY_KEYS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* A zeroed struct is an empty set. */
struct replay_keys {
    uint64_t *slots; /* 0 = free */
    size_t count, room;
};

/* The hash of a key of a database: the same in every run of the tool. */
uint64_t replay_key_hash(uint32_t database, struct slice key);
/* Adds the hash. Returns whether it is new. O(1). */
bool replay_keys_add(struct replay_keys *keys, uint64_t hash);
void replay_keys_free(struct replay_keys *keys);
#endif
