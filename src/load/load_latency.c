/* SPDX-License-Identifier: BSD-3-Clause
 * Latencies of a run, in slots.
 *
 * Slot s below 2048 is s microseconds. The octave from 2^(10+o) on, o = 1 ... 21, has 1024 slots of
 * 2^o microseconds each.
 */
#include "load/load_latency.h"

#include <math.h>

#define FINE_SLOTS 2048
#define OCTAVE_SLOTS 1024
#define USEC_MAX ((UINT64_C(1) << 32) - 1)

static unsigned slot_of(uint64_t usec) {
    if (usec < FINE_SLOTS) return (unsigned)usec;
    if (usec > USEC_MAX) return LOAD_LATENCY_SLOTS - 1;
    unsigned octave = 63 - (unsigned)__builtin_clzll(usec) - 10;
    return FINE_SLOTS + (octave - 1) * OCTAVE_SLOTS + (unsigned)(usec >> octave) - OCTAVE_SLOTS;
}

static uint64_t greatest_of(unsigned slot) {
    if (slot < FINE_SLOTS) return slot;
    unsigned octave = (slot - FINE_SLOTS) / OCTAVE_SLOTS + 1;
    uint64_t place = (slot - FINE_SLOTS) % OCTAVE_SLOTS + OCTAVE_SLOTS;
    return ((place + 1) << octave) - 1;
}

static uint64_t least_of(unsigned slot) { return slot ? greatest_of(slot - 1) + 1 : 0; }

void load_latency_note(struct load_latency *l, int64_t nsec, unsigned times) {
    if (nsec < 0) nsec = 0; /* the clocks of two processors may differ by some nanoseconds */
    uint64_t usec = (uint64_t)nsec / 1000;
    if (!l->count || usec < l->least_usec) l->least_usec = usec;
    if (usec > l->most_usec) l->most_usec = usec;
    l->count += times;
    l->sum_nsec += (uint64_t)nsec * times;
    l->slots[slot_of(usec)] += times;
}

void load_latency_add(struct load_latency *to, const struct load_latency *from) {
    if (!from->count) return;
    if (!to->count || from->least_usec < to->least_usec) to->least_usec = from->least_usec;
    if (from->most_usec > to->most_usec) to->most_usec = from->most_usec;
    to->count += from->count;
    to->sum_nsec += from->sum_nsec;
    for (unsigned i = 0; i < LOAD_LATENCY_SLOTS; i++) to->slots[i] += from->slots[i];
}

uint64_t load_latency_usec_at(const struct load_latency *l, double share) {
    uint64_t wanted = (uint64_t)ceil(share * (double)l->count), seen = 0;
    if (!wanted) wanted = 1;
    for (unsigned i = 0; i < LOAD_LATENCY_SLOTS; i++) {
        seen += l->slots[i];
        if (seen < wanted) continue;
        uint64_t usec = greatest_of(i);
        return usec < l->most_usec ? usec : l->most_usec;
    }
    return l->most_usec;
}

uint64_t load_latency_count_to(const struct load_latency *l, uint64_t usec) {
    uint64_t count = 0;
    unsigned last = slot_of(usec);
    for (unsigned i = 0; i <= last; i++) count += l->slots[i];
    return count;
}

uint64_t load_latency_next_usec(const struct load_latency *l, uint64_t usec) {
    for (unsigned i = slot_of(usec) + 1; i < LOAD_LATENCY_SLOTS; i++)
        if (l->slots[i]) return least_of(i);
    return 0;
}

double load_latency_average_msec(const struct load_latency *l) {
    return l->count ? (double)l->sum_nsec / (double)l->count / 1e6 : 0;
}
