/* SPDX-License-Identifier: BSD-3-Clause
 * Giving an owner to slots that have none, and a single one to slots that have several.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_COVER_H
#define EVENKEEL_CLUSTERCTL_CTL_COVER_H
#include <stdbool.h>

#include "base/attributes.h"
#include "clusterctl/ctl_run.h"

/* Gives an owner to each slot that is not in `covered`: a primary at random where no primary has
 * keys in it, else the primary that has the most, to which the others' keys are moved. Asks first,
 * in three groups. Returns whether slots were given and none failed. */
MUST_USE bool ctl_cover_slots(struct ctl_run *r, const struct ctl_slots *covered);
/* Says the owners of a slot that has several; returns whether it has. */
bool ctl_cover_say_owners(const struct ctl_cluster *c, unsigned slot);
/* Leaves one owner to the slot: that with the most keys. Returns false, having said why, if that
 * fails. */
MUST_USE bool ctl_cover_fix_owners(struct ctl_run *r, unsigned slot);
#endif
