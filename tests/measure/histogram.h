/* SPDX-License-Identifier: BSD-3-Clause
 * A histogram of latencies in slots of about 3 %.
 */
#ifndef EVENKEEL_MEASURE_HISTOGRAM_H
#define EVENKEEL_MEASURE_HISTOGRAM_H
#include <stdint.h>

#define HISTOGRAM_OCTAVE_SLOTS 32
#define HISTOGRAM_OCTAVES 40 /* half an hour in nanoseconds; what is longer stands in the last */
#define HISTOGRAM_SLOTS (HISTOGRAM_OCTAVES * HISTOGRAM_OCTAVE_SLOTS)

/* Begins zeroed. */
struct histogram {
    uint64_t slots[HISTOGRAM_SLOTS], count, most;
};

void histogram_note(struct histogram *h, uint64_t value, uint64_t times);
/* The middle of the slot in which that share (0 to 1) of the values lies; of share 1 the greatest
 * value itself. 0 where there is none. */
double histogram_at(const struct histogram *h, double share);

#endif
