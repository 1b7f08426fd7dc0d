/* SPDX-License-Identifier: BSD-3-Clause
 * Moves that were interrupted: how they are finished, and what the user is told.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_RESUME_H
#define EVENKEEL_CLUSTERCTL_CTL_RESUME_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_run.h"

/* Whether the cluster may be changed: all is sound, or nothing is wrong but slots that an earlier
 * move has left open. Those are moved to their end, after a question; `finished` gets the number of
 * them that went to `to` (NULL = it does not matter where). Says why not, with `what` as the
 * purpose: "resharding". */
MUST_USE bool ctl_resume_moves(struct ctl_run *r, const struct ctl_findings *found,
                               const char *what, const struct ctl_node *to, size_t *finished);
/* Says that `moved` of `planned` slots were moved before the work stopped at `slot`. */
void ctl_resume_say_stop(size_t moved, size_t planned, unsigned slot, const struct ctl_node *from,
                         const struct ctl_node *to);
#endif
