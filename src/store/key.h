/* SPDX-License-Identifier: BSD-3-Clause
 * A key: its database, its bytes, and their hash, which is computed once.
 *
 * In a partitioned keyspace (keyspace_partition) the hash contains the key's slot (base/key_slot.h)
 * in place of KEY_SLOT_BITS of its bits. So whatever carries a key's hash carries its slot, too,
 * and each is computed once a call. The bits are those from KEY_HASH_SLOT_SHIFT on, which
 * ds/table.c uses neither for buckets, of which a table has at most 2^32, nor for tags nor
 * fingerprints.
 */
#ifndef EVENKEEL_STORE_KEY_H
#define EVENKEEL_STORE_KEY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/key_slot.h"
#include "base/string.h"

struct keyspace;

struct key {
    struct keyspace *keyspace;
    struct slice name; /* borrowed */
    uint64_t hash;     /* key_hash_of(name) */
};

#define KEY_HASH_SLOT_SHIFT 32

/* Whether hashes contain slots from now on. For keyspace_partition. */
void key_hash_set_slots(bool on);
/* Whether hashes contain slots. O(1). */
bool key_hash_has_slots(void);

/* The hash of a key's name: hash_bytes(name), in a partitioned keyspace with the name's slot in it.
 * O(length). Any thread, once keyspace_open was called. */
uint64_t key_hash_of(struct slice name);

/* The slot that a hash of key_hash_of contains. Only in a partitioned keyspace. O(1). */
static inline unsigned key_hash_slot(uint64_t hash) {
    return (unsigned)(hash >> KEY_HASH_SLOT_SHIFT) % KEY_SLOTS;
}

/* The key's slot. Only in a partitioned keyspace. O(1). */
static inline unsigned key_slot(const struct key *key) { return key_hash_slot(key->hash); }
#endif
