/* SPDX-License-Identifier: BSD-3-Clause
 * Closing open slots: those that are migrating or importing although nobody moves them any more.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_FIX_H
#define EVENKEEL_CLUSTERCTL_CTL_FIX_H
#include <stdbool.h>

#include "base/attributes.h"
#include "clusterctl/ctl_run.h"

/* Closes a slot so that it has one owner with all its keys. Returns false, having said why, if it
 * cannot. */
MUST_USE bool ctl_fix_slot(struct ctl_run *r, unsigned slot);
/* Returns whether slots may be repaired although primaries cannot be reached; says so if not.
 * `what` is what would be repaired: "open slots". */
MUST_USE bool ctl_fix_may(const struct ctl_run *r, const char *what);
/* Returns the primary that has the most keys in the slot, the first of several; NULL, having said
 * why, if one does not answer. `most` gets the number. */
struct ctl_node *ctl_fix_find_richest(const struct ctl_cluster *c, unsigned slot, int64_t *most);
#endif
