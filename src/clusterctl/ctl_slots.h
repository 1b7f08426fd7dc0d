/* SPDX-License-Identifier: BSD-3-Clause
 * A set of hash slots, as a bitmap.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_SLOTS_H
#define EVENKEEL_CLUSTERCTL_CTL_SLOTS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/key_slot.h"
#include "base/string.h"

/* All zero is the empty set. */
struct ctl_slots {
    uint64_t bits[KEY_SLOTS / 64];
};

bool ctl_slots_has(const struct ctl_slots *s, unsigned slot);
void ctl_slots_add(struct ctl_slots *s, unsigned slot);
void ctl_slots_remove(struct ctl_slots *s, unsigned slot);
unsigned ctl_slots_count(const struct ctl_slots *s);
/* Returns the least slot that is at least `from` and in the set; -1 = there is none. */
int ctl_slots_next(const struct ctl_slots *s, unsigned from);
/* Appends the ranges in order: "[0-5460],[7]", with `dash` between the ends of a range. */
void ctl_slots_format(const struct ctl_slots *s, char dash, struct buffer *out);
/* Reads "5" or "5-9" and adds the slots. Returns false, with nothing added, if the text is no slot
 * or no range. */
MUST_USE bool ctl_slots_parse(struct ctl_slots *s, struct slice text);
#endif
