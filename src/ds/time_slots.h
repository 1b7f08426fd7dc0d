/* SPDX-License-Identifier: BSD-3-Clause
 * The slots of a timing wheel: which slot a deadline belongs to, and when a slot begins and ends.
 *
 * Time is counted in milliseconds. Relative to `base` a deadline's slot is given by the highest
 * group of six bits in which the two differ: that group is the level, the deadline's bits there are
 * the slot. Level 0 holds single milliseconds, level 1 spans of 64 ms, level 2 of 4 s, and so on:
 * eleven levels hold every int64. Deadlines before base have a place of their own.
 *
 *   base  ...|level 2|level 1|level 0|       the deadline's first difference from base decides
 *
 * Slots are numbered through: level * 64 + slot. `used` has a bit for each slot of a level that
 * holds something.
 */
#ifndef EVENKEEL_DS_TIME_SLOTS_H
#define EVENKEEL_DS_TIME_SLOTS_H
#include <stdint.h>

#define TIME_LEVEL_BITS 6
#define TIME_SLOTS 64
#define TIME_LEVELS 11
#define TIME_EARLY (TIME_LEVELS * TIME_SLOTS)
#define TIME_PLACES (TIME_EARLY + 1)

static inline unsigned time_level_of(uint64_t difference) {
    return difference ? (63 - (unsigned)__builtin_clzll(difference)) / TIME_LEVEL_BITS : 0;
}

/* A time's own slot on a level. */
static inline unsigned time_slot_at(int64_t time, unsigned level) {
    return (unsigned)((uint64_t)time >> (level * TIME_LEVEL_BITS)) & (TIME_SLOTS - 1);
}

static inline int time_place_for(int64_t base, int64_t deadline) {
    if (deadline < base) return TIME_EARLY;
    unsigned level = time_level_of((uint64_t)deadline ^ (uint64_t)base);
    return (int)(level * TIME_SLOTS + time_slot_at(deadline, level));
}

/* The first slot that is used, from `from` on; TIME_SLOTS where there is none. */
static inline unsigned time_first_used(uint64_t used, unsigned from) {
    if (from >= TIME_SLOTS) return TIME_SLOTS;
    uint64_t bits = used >> from << from;
    return bits ? (unsigned)__builtin_ctzll(bits) : TIME_SLOTS;
}

/* The earliest time of a slot. */
static inline int64_t time_slot_start(int64_t base, unsigned level, unsigned slot) {
    unsigned shift = level * TIME_LEVEL_BITS, above = shift + TIME_LEVEL_BITS;
    uint64_t high = above < 64 ? (uint64_t)base >> above << above : 0;
    return (int64_t)(high | (uint64_t)slot << shift);
}

static inline uint64_t time_slot_span(unsigned level) {
    return level * TIME_LEVEL_BITS < 63 ? UINT64_C(1) << (level * TIME_LEVEL_BITS) : INT64_MAX;
}

/* The latest time of a slot. */
static inline int64_t time_slot_end(int64_t base, unsigned level, unsigned slot) {
    uint64_t end = (uint64_t)time_slot_start(base, level, slot) + time_slot_span(level) - 1;
    return end < INT64_MAX ? (int64_t)end : INT64_MAX;
}

/* How many of the `held` members of a slot are due at `now` if they are spread evenly over the
 * slot's time. */
static inline uint64_t time_slot_due(int64_t base, unsigned level, unsigned slot, uint64_t held,
                                     int64_t now) {
    int64_t start = time_slot_start(base, level, slot);
    if (start > now) return 0;
    uint64_t span = time_slot_span(level), passed = (uint64_t)now - (uint64_t)start + 1;
    return passed >= span ? held : (uint64_t)((double)held * (double)passed / (double)span);
}
#endif
