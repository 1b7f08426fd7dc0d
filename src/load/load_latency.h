/* SPDX-License-Identifier: BSD-3-Clause
 * The histogram of a run's latencies, from which any percentile can be computed.
 *
 * A slot is one microsecond wide up to 2 ms, and about a thousandth of its value above, because
 * percentiles are printed with three decimals of a millisecond. The server's own histogram
 * (metric/metric.h) is coarser: one slot for each power of two.
 */
#ifndef EVENKEEL_LOAD_LOAD_LATENCY_H
#define EVENKEEL_LOAD_LOAD_LATENCY_H
#include <stdint.h>

/* 2048 slots of a microsecond, then 1024 slots for each octave up to 2^32 us (over an hour). */
#define LOAD_LATENCY_SLOTS (2048 + 21 * 1024)

/* A zeroed struct is an empty histogram. */
struct load_latency {
    uint64_t count, sum_nsec, least_usec, most_usec;
    uint64_t slots[LOAD_LATENCY_SLOTS];
};

void load_latency_note(struct load_latency *l, int64_t nsec, unsigned times);
void load_latency_add(struct load_latency *to, const struct load_latency *from);
/* The percentile for `share` (0 to 1) of all latencies: the greatest latency of the slot in which
 * that share is reached; 0 where nothing is counted. O(slots). */
uint64_t load_latency_usec_at(const struct load_latency *l, double share);
/* The number of latencies up to the end of the slot of `usec`. O(slots). */
uint64_t load_latency_count_to(const struct load_latency *l, uint64_t usec);
/* The least latency of the first non-empty slot after that of `usec`; 0 where all slots after it
 * are empty. O(slots). */
uint64_t load_latency_next_usec(const struct load_latency *l, uint64_t usec);
double load_latency_average_msec(const struct load_latency *l);
#endif
