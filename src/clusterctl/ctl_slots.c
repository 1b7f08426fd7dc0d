/* SPDX-License-Identifier: BSD-3-Clause
 * Sets of slots.
 */
#include "clusterctl/ctl_slots.h"

#include <string.h>

#include "base/number.h"
#include "base/panic.h"

bool ctl_slots_has(const struct ctl_slots *s, unsigned slot) {
    ASSERT(slot < KEY_SLOTS);
    return s->bits[slot / 64] >> slot % 64 & 1;
}

void ctl_slots_add(struct ctl_slots *s, unsigned slot) {
    ASSERT(slot < KEY_SLOTS);
    s->bits[slot / 64] |= UINT64_C(1) << slot % 64;
}

void ctl_slots_remove(struct ctl_slots *s, unsigned slot) {
    ASSERT(slot < KEY_SLOTS);
    s->bits[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

unsigned ctl_slots_count(const struct ctl_slots *s) {
    unsigned count = 0;
    for (size_t i = 0; i < KEY_SLOTS / 64; i++) count += (unsigned)__builtin_popcountll(s->bits[i]);
    return count;
}

int ctl_slots_next(const struct ctl_slots *s, unsigned from) {
    for (; from < KEY_SLOTS; from++)
        if (ctl_slots_has(s, from)) return (int)from;
    return -1;
}

void ctl_slots_format(const struct ctl_slots *s, char dash, struct buffer *out) {
    const char *before = "";
    for (int first = ctl_slots_next(s, 0); first >= 0;) {
        unsigned last = (unsigned)first;
        while (last + 1 < KEY_SLOTS && ctl_slots_has(s, last + 1)) last++;
        buffer_printf(out, "%s[%d", before, first);
        if (last > (unsigned)first) buffer_printf(out, "%c%u", dash, last);
        buffer_append_char(out, ']');
        before = ",";
        first = ctl_slots_next(s, last + 1);
    }
}

static bool parse_slot(struct slice text, unsigned *slot) {
    int64_t number;
    if (!number_parse_int64(text.bytes, text.length, &number)) return false;
    *slot = (unsigned)number;
    return number >= 0 && number < KEY_SLOTS;
}

bool ctl_slots_parse(struct ctl_slots *s, struct slice text) {
    const char *dash = text.length ? memchr(text.bytes, '-', text.length) : NULL;
    struct slice begin = text, end = text;
    unsigned first, last;
    if (dash) {
        begin.length = (size_t)(dash - text.bytes);
        end = (struct slice){dash + 1, text.length - begin.length - 1};
    }
    if (!parse_slot(begin, &first) || !parse_slot(end, &last) || first > last) return false;
    while (first <= last) ctl_slots_add(s, first++);
    return true;
}
