/* SPDX-License-Identifier: BSD-3-Clause
 * Quantiles and printing of histograms in powers of two; adding is inline in metric.h.
 */
#include <inttypes.h>
#include <math.h>

#include "base/panic.h"
#include "metric/metric.h"

void histogram_clear(struct histogram *h) { *h = (struct histogram){0}; }

void metric_sample_histogram(struct metric_sample *s, const struct histogram *h) {
    s->value = h->sum_usec;
    s->counts = h->counts;
    s->buckets = HISTOGRAM_BUCKETS;
    s->first_bound = 2;
}

uint64_t histogram_quantile_usec(const struct histogram *h, double quantile) {
    ASSERT(quantile >= 0 && quantile <= 1);
    if (h->total == 0) return 0;
    double exact_rank = ceil(quantile * (double)h->total);
    uint64_t rank = exact_rank < 1 ? 1 : (uint64_t)exact_rank, seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
        seen += h->counts[i];
        if (seen >= rank) return UINT64_C(2) << i;
    }
    return h->maximum_usec;
}

void histogram_print(const struct histogram *h, struct buffer *out) {
    const char *separator = "";
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (h->counts[i] == 0) continue;
        buffer_printf(out, "%s%" PRIu64 "=%" PRIu64, separator, UINT64_C(1) << i, h->counts[i]);
        separator = ",";
    }
}
