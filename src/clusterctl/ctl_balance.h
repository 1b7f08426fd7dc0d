/* SPDX-License-Identifier: BSD-3-Clause
 * The plan of a rebalance: how many slots go from which node to which, so that each has its part by
 * weight. Pure: nothing here talks to a node.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_BALANCE_H
#define EVENKEEL_CLUSTERCTL_CTL_BALANCE_H
#include <stdbool.h>
#include <stddef.h>

/* A primary. */
struct ctl_scale {
    unsigned slots;
    double weight; /* at least 0 */
    bool takes_part;
    int balance; /* out: slots above its part; below 0 = slots that it lacks */
};
/* So many slots from one scale to another, by index. */
struct ctl_transfer {
    size_t from, to;
    unsigned slots;
};

/* Sets the balances. A part is the floor of its share by weight; slots that the floors leave over
 * are added to the parts of those that lack slots, one each in turn. Returns whether a scale is
 * farther from its part than `threshold_percent` of its slots (with slots to its part and none
 * there: always). The sum of the weights of those that take part must be above 0. */
bool ctl_balance_weigh(struct ctl_scale *scales, size_t count, double threshold_percent);
/* Plans transfers from those with the greatest balance to those with the least, until one of the
 * sides is level. `transfers` has room for `count`. Returns their number. */
size_t ctl_balance_plan(const struct ctl_scale *scales, size_t count,
                        struct ctl_transfer *transfers);
#endif
