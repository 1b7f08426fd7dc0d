/* SPDX-License-Identifier: BSD-3-Clause
 * Hashes of keys.
 *
 * Whether they contain slots is decided before the first hash is computed and does not change, so
 * any thread may read it.
 */
#include "store/key.h"

#include "base/hash.h"

#define SLOT_MASK ((uint64_t)(KEY_SLOTS - 1) << KEY_HASH_SLOT_SHIFT)

static bool with_slots;

void key_hash_set_slots(bool on) { with_slots = on; }
bool key_hash_has_slots(void) { return with_slots; }

__attribute__((noinline)) static uint64_t hash_with_slot(struct slice name) {
    uint64_t hash = hash_bytes(name.bytes, name.length);
    return (hash & ~SLOT_MASK) | (uint64_t)key_slot_of(name) << KEY_HASH_SLOT_SHIFT;
}

uint64_t key_hash_of(struct slice name) {
    if (__builtin_expect(with_slots, 0)) return hash_with_slot(name);
    return hash_bytes(name.bytes, name.length);
}
