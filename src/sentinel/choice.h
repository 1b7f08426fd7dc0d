/* SPDX-License-Identifier: BSD-3-Clause
 * The choice of the replica that a failover promotes.
 *
 * A replica is fit where it is up, was heard of lately, may be promoted (its priority is not 0),
 * and was not without its primary for too long. Of the fit ones the best is the one with, in this
 * order, the lowest priority, the highest offset, the smallest run id.
 */
#ifndef EVENKEEL_SENTINEL_CHOICE_H
#define EVENKEEL_SENTINEL_CHOICE_H
#include <stdint.h>

#include "sentinel/instance.h"

/* Returns the best replica that is fit at the monotonic time `now`, or NULL where none is.
 * O(replicas). */
struct replica *sentinel_choice_best(const struct primary *p, int64_t now);
#endif
