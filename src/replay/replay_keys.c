/* SPDX-License-Identifier: BSD-3-Clause
 * Open addressing with linear probes; the room is a power of two and never more than half used.
 */
#include "replay/replay_keys.h"

#include "base/hash.h"
#include "base/memory.h"

#define ROOM_FIRST 1024

uint64_t replay_key_hash(uint32_t database, struct slice key) {
    uint64_t hash = hash_bytes(key.bytes, key.length) + database * UINT64_C(0x9e3779b97f4a7c15);
    return hash ? hash : 1;
}

/* Where the hash is, or where it belongs. */
static size_t find_slot(const struct replay_keys *keys, uint64_t hash) {
    size_t at = hash & (keys->room - 1);
    while (keys->slots[at] && keys->slots[at] != hash) at = (at + 1) & (keys->room - 1);
    return at;
}

static void grow_slots(struct replay_keys *keys) {
    struct replay_keys grown = {.room = keys->room ? 2 * keys->room : ROOM_FIRST,
                                .count = keys->count};
    grown.slots = memory_zalloc(grown.room * sizeof(*grown.slots), MEMORY_OTHER);
    for (size_t i = 0; i < keys->room; i++)
        if (keys->slots[i]) grown.slots[find_slot(&grown, keys->slots[i])] = keys->slots[i];
    memory_free(keys->slots, MEMORY_OTHER);
    *keys = grown;
}

bool replay_keys_add(struct replay_keys *keys, uint64_t hash) {
    if (2 * keys->count >= keys->room) grow_slots(keys);
    size_t at = find_slot(keys, hash);
    if (keys->slots[at]) return false;
    keys->slots[at] = hash;
    keys->count++;
    return true;
}

void replay_keys_free(struct replay_keys *keys) {
    memory_free(keys->slots, MEMORY_OTHER);
    *keys = (struct replay_keys){0};
}
