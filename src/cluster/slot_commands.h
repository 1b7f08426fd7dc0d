/* SPDX-License-Identifier: BSD-3-Clause
 * Handlers of CLUSTER's subcommands about slots and their keys.
 */
#ifndef EVENKEEL_CLUSTER_SLOT_COMMANDS_H
#define EVENKEEL_CLUSTER_SLOT_COMMANDS_H

struct call;

void cluster_keyslot(struct call *call);
void cluster_count_keys_in_slot(struct call *call);
void cluster_get_keys_in_slot(struct call *call);
void cluster_addslots(struct call *call);
void cluster_delslots(struct call *call);
void cluster_flushslots(struct call *call);
void cluster_setslot(struct call *call);
#endif
