/* SPDX-License-Identifier: BSD-3-Clause
 * The plan of a reshard: which slots leave which node. Pure: nothing here talks to a node.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_SHARES_H
#define EVENKEEL_CLUSTERCTL_CTL_SHARES_H
#include <stddef.h>

#include "clusterctl/ctl_slots.h"

/* A slot that leaves the source `source`, an index. */
struct ctl_share {
    size_t source;
    unsigned slot;
};

/* Takes about `wanted` slots from the sources, from each by its part of all their slots: the
 * largest source's part is rounded up, the others' are rounded down, as 6.2 does, so fewer than
 * `wanted` may come out. Of each source its lowest slots go. `shares` has room for `wanted`.
 * Returns their number, the largest source's first. O(sources^2 + slots). */
size_t ctl_shares_plan(const struct ctl_slots *const *sources, size_t count, size_t wanted,
                       struct ctl_share *shares);
#endif
