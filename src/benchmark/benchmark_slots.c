/* SPDX-License-Identifier: BSD-3-Clause
 * Slots of a cluster under load.
 *
 * Invariants
 *  1. tags[slot] hashes to the slot. Three characters out of 62 suffice for each of them.
 *  2. `version` rises after each change of an owner, so that a thread whose lists have the present
 *     version has seen all changes before it.
 */
#include "benchmark/benchmark_slots.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"

struct benchmark_slots {
    const char *const *names;
    unsigned nodes;
    _Atomic uint32_t version; /* never 0 */
    _Atomic uint16_t owners[KEY_SLOTS];
    char tags[KEY_SLOTS][BENCHMARK_TAG_CHARS];
};

static void find_tags(struct benchmark_slots *s) {
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t base = sizeof(letters) - 1, found = 0;
    for (size_t i = 0; i < base * base * base && found < KEY_SLOTS; i++) {
        char tag[BENCHMARK_TAG_CHARS] = {letters[i / base / base], letters[i / base % base],
                                         letters[i % base]};
        unsigned slot = key_slot_of((struct slice){tag, BENCHMARK_TAG_CHARS});
        if (s->tags[slot][0]) continue;
        memcpy(s->tags[slot], tag, BENCHMARK_TAG_CHARS);
        found++;
    }
    ASSERT(found == KEY_SLOTS);
}

struct benchmark_slots *benchmark_slots_create(const char *const *names, unsigned nodes) {
    ASSERT(nodes < BENCHMARK_OWNERS_MAX);
    struct benchmark_slots *s = memory_zalloc(sizeof(*s), MEMORY_OTHER);
    s->names = names;
    s->nodes = nodes;
    atomic_store(&s->version, 1);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        atomic_store_explicit(&s->owners[slot], BENCHMARK_OWNERS_MAX, memory_order_relaxed);
    find_tags(s);
    return s;
}

void benchmark_slots_free(struct benchmark_slots *s) { memory_free(s, MEMORY_OTHER); }

void benchmark_slots_set(struct benchmark_slots *s, unsigned slot, unsigned node) {
    ASSERT(slot < KEY_SLOTS && node < s->nodes);
    atomic_store_explicit(&s->owners[slot], (uint16_t)node, memory_order_relaxed);
    atomic_fetch_add(&s->version, 1);
}

/* The node with this name; BENCHMARK_OWNERS_MAX where it is none of the map's. */
static unsigned find_name(const struct benchmark_slots *s, const char *name) {
    for (unsigned i = 0; i < s->nodes; i++)
        if (!strcmp(s->names[i], name)) return i;
    return BENCHMARK_OWNERS_MAX;
}

bool benchmark_slots_take_error(struct benchmark_slots *s, const char *error) {
    static const char moved[] = "MOVED ", ask[] = "ASK ";
    if (!strncmp(error, ask, sizeof(ask) - 1)) return true;
    if (strncmp(error, moved, sizeof(moved) - 1) != 0) return false;
    char *end;
    unsigned long slot = strtoul(error + sizeof(moved) - 1, &end, 10);
    if (slot >= KEY_SLOTS || *end != ' ') return false;
    uint16_t owner = (uint16_t)find_name(s, end + 1);
    if (atomic_exchange(&s->owners[slot], owner) != owner) atomic_fetch_add(&s->version, 1);
    return true;
}

/* Makes the lists from the map. O(slots). */
static void make_lists(struct benchmark_slots *s, struct benchmark_slot_lists *lists,
                       uint32_t version) {
    uint16_t owners[KEY_SLOTS];
    if (!lists->slots) {
        lists->slots = memory_alloc(KEY_SLOTS * sizeof(*lists->slots), MEMORY_OTHER);
        lists->begins = memory_alloc((s->nodes + 2) * sizeof(*lists->begins), MEMORY_OTHER);
    }
    memset(lists->begins, 0, (s->nodes + 2) * sizeof(*lists->begins));
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        owners[slot] = atomic_load_explicit(&s->owners[slot], memory_order_relaxed);
        if (owners[slot] < s->nodes) lists->begins[owners[slot] + 2]++;
    }
    for (unsigned i = 2; i < s->nodes + 2; i++) lists->begins[i] += lists->begins[i - 1];
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        if (owners[slot] < s->nodes)
            lists->slots[lists->begins[owners[slot] + 1]++] = (uint16_t)slot;
    lists->version = version;
}

void benchmark_slots_draw(struct benchmark_slots *s, struct benchmark_slot_lists *lists,
                          unsigned node, uint64_t chance, char *to) {
    uint32_t version = atomic_load(&s->version);
    if (lists->version != version) make_lists(s, lists, version);
    uint32_t begin = lists->begins[node], count = lists->begins[node + 1] - begin;
    unsigned slot = count ? lists->slots[begin + (chance >> 32) % count]
                          : (unsigned)((chance >> 32) % KEY_SLOTS);
    memcpy(to, s->tags[slot], BENCHMARK_TAG_CHARS);
}

void benchmark_slot_lists_free(struct benchmark_slot_lists *lists) {
    memory_free(lists->slots, MEMORY_OTHER);
    memory_free(lists->begins, MEMORY_OTHER);
    *lists = (struct benchmark_slot_lists){0};
}
