/* SPDX-License-Identifier: BSD-3-Clause
 * Moving a slot with its keys from one node to another.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_MOVE_H
#define EVENKEEL_CLUSTERCTL_CTL_MOVE_H
#include <stdbool.h>

#include "base/attributes.h"
#include "clusterctl/ctl_run.h"

enum ctl_moved {
    CTL_MOVED,
    CTL_MOVE_STOPPED, /* by an interrupt; the slot is open between the two nodes */
    CTL_MOVE_FAILED,  /* said why; the slot may be open */
};

/* How a slot is moved; flags. */
#define CTL_MOVE_COLD 1u   /* only the keys: no node is told who owns the slot */
#define CTL_MOVE_FIXING 2u /* a slot without an owner is given to the source first */
#define CTL_MOVE_SILENT 4u /* no line and no dots; errors are said */

/* Moves a slot, and updates what the two nodes say of themselves. Keys that the target has already
 * are overwritten where both values are equal, or with --cluster-replace; else the move fails and
 * names them. Looks for an interrupt (ctl_talk_interrupted) between two MIGRATEs. */
enum ctl_moved ctl_move_slot(struct ctl_run *r, struct ctl_node *from, struct ctl_node *to,
                             unsigned slot, unsigned how);
/* Makes `owner` the slot's owner, in one transaction that also closes the slot there if `closes`
 * is set, and gives it a new epoch, so that the other nodes believe it. */
MUST_USE bool ctl_move_set_owner(struct ctl_node *owner, unsigned slot, bool closes);
#endif
