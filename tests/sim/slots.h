/* SPDX-License-Identifier: BSD-3-Clause
 * A cluster of simulated nodes: its slots, its ids, and the nodes.conf that each node finds.
 *
 * Each node is a primary with an equal part of all slots. A few slots are hot: only they are moved,
 * and all keys are theirs, by hash tags.
 */
#ifndef EVENKEEL_TESTS_SIM_SLOTS_H
#define EVENKEEL_TESTS_SIM_SLOTS_H

#define HOT_SLOTS 6
#define NODE_ID_CHARS 40
/* Keys of hot slot I begin with this. */
#define HOT_KEY "{slot-%d}"

/* The number of a hot slot. */
unsigned slots_number(int hot);
/* The node's id. The text is valid until the next call. */
const char *slots_node_id(int node);
/* The node of this id, or at this "10.0.0.N:port"; -1: none. */
int slots_node_of_id(const char *id);
int slots_node_at(const char *address);
/* Writes each node's nodes.conf, before the first start. */
void slots_write_files(void);
/* The node that owns the hot slot at first. */
int slots_first_owner(int hot);
#endif
