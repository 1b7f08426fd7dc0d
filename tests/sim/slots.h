/* SPDX-License-Identifier: BSD-3-Clause
 * A cluster of simulated nodes: its slots, its ids, and the nodes.conf that each node finds.
 *
 * The first nodes are primaries, each with an equal part of all slots; the others are their
 * replicas in turn. A few slots are hot: only they are moved, and all keys are theirs, by hash
 * tags.
 */
#ifndef EVENKEEL_TESTS_SIM_SLOTS_H
#define EVENKEEL_TESTS_SIM_SLOTS_H

#define HOT_SLOTS 6
#define NODE_ID_CHARS 40
/* Keys of hot slot I begin with this. */
#define HOT_KEY "{slot-%d}"

/* So many nodes are primaries at first; else all are. */
void slots_set_shards(int count);
int slots_shards(void);
/* The primary that the node follows at first; a primary: itself. */
int slots_first_primary(int node);
/* The number of a hot slot. */
unsigned slots_number(int hot);
/* The node's id. */
const char *slots_node_id(int node);
/* The node has another id from now on. */
void slots_set_node_id(int node, const char *id);
/* The node that has, or has had, this id; or that is at this "10.0.0.N:port"; -1: none. */
int slots_node_of_id(const char *id);
int slots_node_at(const char *address);
/* Writes each node's nodes.conf, before the first start. */
void slots_write_files(void);
/* The node that owns the hot slot at first. */
int slots_first_owner(int hot);
#endif
