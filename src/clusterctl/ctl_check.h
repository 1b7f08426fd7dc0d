/* SPDX-License-Identifier: BSD-3-Clause
 * Is the cluster sound? Do its nodes agree, is no slot open, has each slot one owner?
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_CHECK_H
#define EVENKEEL_CLUSTERCTL_CTL_CHECK_H
#include <stdbool.h>

#include "base/attributes.h"
#include "clusterctl/ctl_run.h"

/* How a check is made; flags. */
#define CTL_CHECK_QUIET 1u /* does not say what each node is */
#define CTL_CHECK_FIX 2u   /* repairs what it finds */

struct ctl_findings {
    bool good;       /* all is sound, or was repaired */
    bool half_moved; /* nothing is wrong but slots that are open as a move leaves them */
    unsigned faults;
    struct ctl_slots open; /* slots that are migrating or importing anywhere */
};

/* Says for each primary how many keys, slots and replicas it has, and the sums. Returns false,
 * having said why, if a node does not tell its keys. */
MUST_USE bool ctl_check_say_info(const struct ctl_cluster *c);
/* Checks the cluster, says what it finds, and repairs it with CTL_CHECK_FIX. */
struct ctl_findings ctl_check_cluster(struct ctl_run *r, unsigned how);
/* Finds the two ends of a slot that is open as a move leaves it: its owner, which may already be
 * migrating it to the other, and a primary that is importing it from the owner. Returns false if
 * the slot's marks are any others. */
MUST_USE bool ctl_check_find_move(const struct ctl_cluster *c, unsigned slot,
                                  struct ctl_node **from, struct ctl_node **to);
#endif
