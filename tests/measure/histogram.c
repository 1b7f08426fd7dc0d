/* SPDX-License-Identifier: BSD-3-Clause
 * A histogram of latencies in slots of about 3 %: values below 32 have a slot each, and each
 * doubling above has 32.
 */
#include "histogram.h"

void histogram_note(struct histogram *h, uint64_t value, uint64_t times) {
    uint64_t slot = value;
    if (value >= HISTOGRAM_OCTAVE_SLOTS) {
        unsigned shift = 63u - (unsigned)__builtin_clzll(value) - 5u;
        slot = (shift + 1u) * HISTOGRAM_OCTAVE_SLOTS + (value >> shift) - HISTOGRAM_OCTAVE_SLOTS;
    }
    if (slot >= HISTOGRAM_SLOTS) slot = HISTOGRAM_SLOTS - 1;
    h->slots[slot] += times;
    h->count += times;
    if (value > h->most) h->most = value;
}

double histogram_at(const struct histogram *h, double share) {
    if (!h->count) return 0;
    if (share >= 1) return (double)h->most;
    uint64_t target = (uint64_t)(share * (double)(h->count - 1)), sum = 0, slot = 0;
    while (slot < HISTOGRAM_SLOTS - 1 && sum + h->slots[slot] <= target) sum += h->slots[slot++];
    if (slot < HISTOGRAM_OCTAVE_SLOTS) return (double)slot;
    uint64_t shift = slot / HISTOGRAM_OCTAVE_SLOTS - 1;
    double step = (double)(UINT64_C(1) << shift);
    double middle = ((double)(slot % HISTOGRAM_OCTAVE_SLOTS) + HISTOGRAM_OCTAVE_SLOTS + 0.5) * step;
    return middle < (double)h->most ? middle : (double)h->most;
}
