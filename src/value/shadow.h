/* SPDX-License-Identifier: BSD-3-Clause
 * A shadow: the members of a large value as they were at one moment, while it goes on changing. For
 * a save in steps.
 *
 * The steps walk over the value's table in the order of its scan (ds/table.h), in which each member
 * has a place. Who is about to change, add or take away a member whose place is still ahead notes
 * it first, once: as it was, or that it was not there. The walk passes over what is noted, and ends
 * with the noted members as they were. Behind the place that was reached nothing is noted.
 *
 * So each member of the moment is visited exactly once, as it was then, and no other; a writer pays
 * for the member that it changes, and nobody waits for the rest.
 *
 * A value has one shadow at most; its table is watched (table_watch) while there is one, which is
 * one test for a writer where there is none. What is noted is of class MEMORY_SAVES. Main thread
 * only.
 */
#ifndef EVENKEEL_VALUE_SHADOW_H
#define EVENKEEL_VALUE_SHADOW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "ds/table.h"
#include "value/value.h"

struct shadow;

/* ---- for who saves ---- */

/* Whether a value of this kind and encoding may have one. O(1). */
bool shadow_is_possible(enum value_kind kind, struct value v);
/* This moment's members. Where it has a shadow already, that one. The value does not go before
 * shadow_take, nor its table. O(1). */
void shadow_open(enum value_kind kind, struct value v);
/* NULL where it has none. */
struct shadow *shadow_of(enum value_kind kind, struct value v);
/* Takes the shadow from its value: the caller's to free. NULL where the value has none. O(1). */
MUST_USE struct shadow *shadow_take(enum value_kind kind, struct value v);
/* How many members of it are noted. O(1). */
size_t shadow_noted(const struct shadow *s);
/* Frees a shadow that was taken. From any thread. O(noted): half a million members take some twenty
 * milliseconds. */
void shadow_free(struct shadow *s);
/* What all shadows take but those that were taken from their values. O(1). */
size_t shadow_bytes(void);

/* ---- for the types: saving ---- */

/* Members at that moment. */
size_t shadow_count(const struct shadow *s);
/* Visits further members until the budget is spent (value_spend), which also those
 * spend that are passed over. True when all have been visited; from the first call to that the
 * table neither splits nor merges (table_rest). `visit` may change nothing. */
MUST_USE bool shadow_step(struct shadow *s, size_t *budget, value_visit *visit, void *context);

/* ---- for the types: changing ---- */

/* Called by shadow_note. */
void shadow_note_watched(const struct table *t, uint64_t hash, struct slice text,
                         const void *element);
/* Before the member of this text changes, comes (`element` is NULL), or is freed. */
static inline void shadow_note(const struct table *t, uint64_t hash, struct slice text,
                               const void *element) {
    if (__builtin_expect(table_is_watched(t), 0)) shadow_note_watched(t, hash, text, element);
}
#endif
