/* SPDX-License-Identifier: BSD-3-Clause
 * Which node of a cluster owns which slot, and hash tags by which a key gets into a slot.
 *
 * All threads of a load share one map. A redirection (-MOVED) that a thread gets changes it, and
 * the other threads see that with their next batch. Each thread draws slots from lists of its own,
 * which it makes from the map again after a change.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_SLOTS_H
#define EVENKEEL_BENCHMARK_BENCHMARK_SLOTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/key_slot.h"

#define BENCHMARK_TAG_CHARS 3
/* Primaries of a cluster, at most; also the owner of a slot that no node of the map owns. */
#define BENCHMARK_OWNERS_MAX UINT16_MAX

struct benchmark_slots;
/* Lists of a thread; all zero before the first draw. */
struct benchmark_slot_lists {
    uint32_t version;
    uint16_t *slots;  /* by owner */
    uint32_t *begins; /* of each owner's list, and the end of the last */
};

/* Creates a map of so many nodes, in which no node owns a slot. `names` ("host:port") is borrowed.
 */
MUST_USE struct benchmark_slots *benchmark_slots_create(const char *const *names, unsigned nodes);
/* NULL is harmless. */
void benchmark_slots_free(struct benchmark_slots *s);
/* Before the load begins. */
void benchmark_slots_set(struct benchmark_slots *s, unsigned slot, unsigned node);
/* Takes the text of an error reply. Returns true if it is a redirection, MOVED or ASK; MOVED
 * changes the map. Any thread. */
MUST_USE bool benchmark_slots_take_error(struct benchmark_slots *s, const char *error);
/* Writes the tag of a slot of the node to `to`, BENCHMARK_TAG_CHARS characters; of any slot if the
 * node has none left. `chance` is a random number. */
void benchmark_slots_draw(struct benchmark_slots *s, struct benchmark_slot_lists *lists,
                          unsigned node, uint64_t chance, char *to);
void benchmark_slot_lists_free(struct benchmark_slot_lists *lists);
#endif
