/* SPDX-License-Identifier: BSD-3-Clause
 * Dropping slots.
 *
 * Which slots are dropped is known by the database's tables (a hidden slot, store/key_map.h), not
 * here. So an emptied database drops nothing any more, and contents that are set aside during a
 * full synchronization go on being dropped if they come back.
 */
#include "store/slot_drop.h"

#include "base/clock.h"
#include "ds/table.h"
#include "metric/cause.h"
#include "store/key_map.h"
#include "store/keyspace.h"
#include "store/limbo.h"

/* Keys removed between two looks at the clock: with their effects some tens of microseconds. */
#define STEP_KEYS 32

struct step {
    bool enough;
    size_t count;
    struct entry *entries[STEP_KEYS];
};

static bool in_use; /* a slot has been dropped since start */

static void step_collect(void *element, void *context) {
    struct step *s = context;
    if (s->enough) return;
    s->entries[s->count++] = element;
    s->enough = s->count == STEP_KEYS;
}

/* A slot whose keys are to be removed and may be removed now; KEY_SLOTS where there is none. */
static unsigned next_slot(void) {
    return keyspace_may_expire() ? key_map_hidden_slot(keyspace_map(keyspace_at(0))) : KEY_SLOTS;
}

static void drop_some(unsigned slot) {
    struct keyspace *ks = keyspace_at(0);
    struct step s = {0};
    table_each_until(key_map_slot_table(keyspace_map(ks), slot), &s.enough, step_collect, &s);
    for (size_t i = 0; i < s.count; i++)
        keyspace_drop(ks, s.entries[i], key_map_hash(s.entries[i]));
}

__attribute__((noinline)) static bool drop_slice(void) {
    int64_t begin_nsec = clock_monotonic_nsec(), now_nsec = begin_nsec;
    unsigned slot = next_slot();
    if (slot == KEY_SLOTS) return false;
    const struct cause *before = cause_enter(&freeing_cause, begin_nsec);
    while (slot != KEY_SLOTS && now_nsec - begin_nsec < (int64_t)SLOT_DROP_SLICE_USEC * 1000) {
        drop_some(slot);
        slot = next_slot();
        now_nsec = clock_monotonic_nsec();
    }
    cause_leave(before, now_nsec);
    return slot != KEY_SLOTS;
}

bool slot_drop_step(void) { return in_use && drop_slice(); }

void slot_drop(unsigned slot) {
    key_map_hide_slot(keyspace_map(keyspace_at(0)), slot);
    in_use = true;
}

void slot_drop_cancel(void) {
    const struct key_map *map = keyspace_map(keyspace_at(0));
    if (!in_use) return;
    for (unsigned slot; (slot = key_map_hidden_slot(map)) != KEY_SLOTS;)
        key_map_show_slot(map, slot);
}

bool slot_is_dropping(unsigned slot) {
    return key_map_is_hidden(keyspace_map(keyspace_at(0)), slot);
}
