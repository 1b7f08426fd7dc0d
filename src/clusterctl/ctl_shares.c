/* SPDX-License-Identifier: BSD-3-Clause
 * The plan of a reshard.
 */
#include "clusterctl/ctl_shares.h"

#include "base/memory.h"

/* Returns the index of the source with the most slots among those that are not taken; the first of
 * several. */
static size_t largest_source(const unsigned *counts, const bool *taken, size_t count) {
    size_t largest = count;
    for (size_t i = 0; i < count; i++)
        if (!taken[i] && (largest == count || counts[i] > counts[largest])) largest = i;
    return largest;
}

size_t ctl_shares_plan(const struct ctl_slots *const *sources, size_t count, size_t wanted,
                       struct ctl_share *shares) {
    unsigned *counts = memory_alloc((count + 1) * sizeof(*counts), MEMORY_OTHER);
    bool *taken = memory_zalloc((count + 1) * sizeof(*taken), MEMORY_OTHER);
    size_t all = 0, planned = 0;
    for (size_t i = 0; i < count; i++) all += counts[i] = ctl_slots_count(sources[i]);
    if (wanted > all) wanted = all;
    for (size_t turn = 0; turn < count && all; turn++) {
        size_t source = largest_source(counts, taken, count);
        size_t product = wanted * counts[source];
        size_t part = turn ? product / all : (product + all - 1) / all;
        taken[source] = true;
        int slot = ctl_slots_next(sources[source], 0);
        for (; part && slot >= 0 && planned < wanted; part--) {
            shares[planned++] = (struct ctl_share){source, (unsigned)slot};
            slot = ctl_slots_next(sources[source], (unsigned)slot + 1);
        }
    }
    memory_free(counts, MEMORY_OTHER);
    memory_free(taken, MEMORY_OTHER);
    return planned;
}
