/* SPDX-License-Identifier: BSD-3-Clause
 * A shadow: the members of a large value as they were when a save in steps began, while the value
 * goes on changing.
 *
 * The save walks over the value's table in the order of its scan (ds/table.h), in which each member
 * has a place. Before a writer changes, adds or removes a member whose place is still ahead of the
 * walk, it notes the member, once: as it was, or that it was not there. The walk skips noted
 * members, and visits those that were there at its end, as they were. Members behind the walk are
 * not noted.
 *
 * So each member that was there at the beginning is visited exactly once, as it was then, and no
 * other member is. A writer pays for the members that it changes only, and never waits.
 *
 * A value has one shadow at most. Its table is watched (table_watch) while it has a shadow; without
 * a shadow this costs a writer one test. Noted members are of class MEMORY_SAVES. Main thread only.
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

/* ---- for the save ---- */

/* Whether a value of this kind and encoding may have a shadow. O(1). */
bool shadow_is_possible(enum value_kind kind, struct value v);
/* Gives the value a shadow of its present members; a shadow that it has already stays. Neither the
 * value nor its table may be freed before shadow_take. O(1). */
void shadow_open(enum value_kind kind, struct value v);
/* The value's shadow; NULL if it has none. */
struct shadow *shadow_of(enum value_kind kind, struct value v);
/* Takes the shadow from its value; the caller frees it. Returns NULL if the value has none.
 * O(1). */
MUST_USE struct shadow *shadow_take(enum value_kind kind, struct value v);
/* How many members are noted. O(1). */
size_t shadow_noted(const struct shadow *s);
/* Frees a shadow that was taken. Any thread. O(noted): half a million members take some 20 ms. */
void shadow_free(struct shadow *s);
/* Bytes of memory of all shadows that have not been taken from their values. O(1). */
size_t shadow_bytes(void);

/* ---- for the types: saving ---- */

/* The number of members when the shadow was opened. */
size_t shadow_count(const struct shadow *s);
/* Visits further members until the budget is spent (value_spend); skipped members spend it, too.
 * True when all have been visited. From the first call until then the table must neither split nor
 * merge (table_rest). `visit` may change nothing. */
MUST_USE bool shadow_step(struct shadow *s, size_t *budget, value_visit *visit, void *context);

/* ---- for the types: changing ---- */

/* Called by shadow_note. */
void shadow_note_watched(const struct table *t, uint64_t hash, struct slice text,
                         const void *element);
/* To be called before the member of this text is changed, added (`element` is NULL) or freed. */
static inline void shadow_note(const struct table *t, uint64_t hash, struct slice text,
                               const void *element) {
    if (__builtin_expect(table_is_watched(t), 0)) shadow_note_watched(t, hash, text, element);
}
#endif
