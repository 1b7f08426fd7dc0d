/* SPDX-License-Identifier: BSD-3-Clause
 * Latencies of a run: each counted, so that any percentile can be told.
 *
 * Slots are a microsecond wide up to 2 ms and a thousandth of the value above, as percentiles with
 * three decimals of a millisecond want it; the server's own histogram (metric/metric.h) has a slot
 * a power of two.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_LATENCY_H
#define EVENKEEL_BENCHMARK_BENCHMARK_LATENCY_H
#include <stdint.h>

/* 2048 slots of a microsecond, then 1024 an octave up to 2^32 us, more than an hour. */
#define BENCHMARK_LATENCY_SLOTS (2048 + 21 * 1024)

/* Begins zeroed. */
struct benchmark_latency {
    uint64_t count, sum_nsec, least_usec, most_usec;
    uint64_t slots[BENCHMARK_LATENCY_SLOTS];
};

void benchmark_latency_note(struct benchmark_latency *l, int64_t nsec, unsigned times);
void benchmark_latency_add(struct benchmark_latency *to, const struct benchmark_latency *from);
/* The greatest latency of the slot in which that share (0 to 1) of all is reached; 0 where there
 * are none. O(slots). */
uint64_t benchmark_latency_usec_at(const struct benchmark_latency *l, double share);
/* How many took that long or less, by slots. O(slots). */
uint64_t benchmark_latency_count_to(const struct benchmark_latency *l, uint64_t usec);
/* The least latency of the first slot behind that of `usec` in which any is counted; 0 where none
 * is. O(slots). */
uint64_t benchmark_latency_next_usec(const struct benchmark_latency *l, uint64_t usec);
double benchmark_latency_average_msec(const struct benchmark_latency *l);
#endif
