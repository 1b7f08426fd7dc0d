/* SPDX-License-Identifier: BSD-3-Clause
 * An operator who moves slots between the nodes of a cluster, as redis-cli does: IMPORTING,
 * MIGRATING, GETKEYSINSLOT and MIGRATE until no key is left, NODE at each node.
 *
 * Now and then the operator gives up in the midst, or wants the slot elsewhere, also back where it
 * was. What is to be done next is found out by asking all nodes then, as `redis-cli --cluster fix`
 * does. While a node owns a slot and has a key of it, its copy is the key: another copy is what a
 * MIGRATE without an answer has left.
 */
#ifndef EVENKEEL_TESTS_SIM_RESHARD_H
#define EVENKEEL_TESTS_SIM_RESHARD_H
#include <stdbool.h>
#include <stdint.h>

/* Each `every_nsec` on average a hot slot is wanted at another node. */
void reshard_start(int64_t every_nsec);
/* Nodes have replicas, and may be none of the cluster: only those that `takes_part` names (NULL:
 * all) and that say that they are primaries are asked to change a slot, and where two claim it, or
 * nobody does, the operator waits for what the nodes agree on. */
void reshard_trust_nodes(bool (*takes_part)(int node));
/* No slot is wanted elsewhere any more; what was begun is brought to its end. */
void reshard_settle(void);
/* Each hot slot has one owner, which all nodes name, no marks, and no keys at other nodes. */
bool reshard_rests(void);
/* Reads the hot slots' keys at their owners, and tells roam_see_key of each. */
void reshard_read_keys(void);
bool reshard_has_read(void);
/* Says where each hot slot stands. */
void reshard_describe(char *out, unsigned long size);
uint64_t reshard_moves(void);
#endif
