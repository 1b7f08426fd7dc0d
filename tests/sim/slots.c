/* SPDX-License-Identifier: BSD-3-Clause
 * Slots of a simulated cluster. slots.h has the idea.
 */
#include "sim/slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_slot.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/world.h"

#define FILE_BYTES 4096

#define IDS_MAX 256 /* of all nodes in a run */

static int shards; /* 0: each node is one */

/* Ids in the order in which they were taken; `last` says which is the node's. */
static struct {
    char text[NODE_ID_CHARS + 1];
    int node;
} ids[IDS_MAX];
static int ids_count, last_id[NODES_MAX];

void slots_set_shards(int count) { shards = count; }
int slots_shards(void) { return shards ? shards : nodes_count(); }
int slots_first_primary(int node) { return node % slots_shards(); }

unsigned slots_number(int hot) {
    char key[32];
    snprintf(key, sizeof(key), HOT_KEY, hot);
    return key_slot_of((struct slice){key, strlen(key)});
}

void slots_set_node_id(int node, const char *id) {
    if (ids_count == IDS_MAX) abort();
    snprintf(ids[ids_count].text, sizeof(ids[ids_count].text), "%s", id);
    ids[ids_count].node = node;
    last_id[node] = ids_count++;
}

/* The ids that the nodes have at first. */
static void make_ids(void) {
    for (int node = 0; node < nodes_count(); node++) {
        char id[NODE_ID_CHARS + 1] = "";
        memset(id, node < 6 ? 'a' + node : '0' + node - 6, NODE_ID_CHARS);
        slots_set_node_id(node, id);
    }
}

const char *slots_node_id(int node) {
    if (!ids_count) make_ids();
    return ids[last_id[node]].text;
}

int slots_node_of_id(const char *id) {
    if (!ids_count) make_ids();
    for (int i = 0; i < ids_count; i++)
        if (strncmp(id, ids[i].text, NODE_ID_CHARS) == 0) return ids[i].node;
    return -1;
}

int slots_node_at(const char *address) {
    char wanted[32];
    for (int node = 0; node < nodes_count(); node++) {
        snprintf(wanted, sizeof(wanted), "10.0.0.%d:%d", node + 1, network_port(node));
        if (strcmp(address, wanted) == 0) return node;
    }
    return -1;
}

static unsigned first_slot(int shard) {
    return KEY_SLOTS * (unsigned)shard / (unsigned)slots_shards();
}

int slots_first_owner(int hot) {
    int node = 0;
    while (node + 1 < slots_shards() && first_slot(node + 1) <= slots_number(hot)) node++;
    return node;
}

/* The end of a node's line: whom it follows, and its slots. */
static size_t print_role(char *out, size_t size, int node) {
    if (node >= slots_shards())
        return (size_t)snprintf(out, size, "slave %s 0 0 0 connected\n",
                                slots_node_id(slots_first_primary(node)));
    return (size_t)snprintf(out, size, "master - 0 0 %d connected %u-%u\n", node + 1,
                            first_slot(node), first_slot(node + 1) - 1);
}

static void write_file(int own) {
    char text[FILE_BYTES];
    size_t used = 0;
    for (int node = 0; node < nodes_count(); node++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s 10.0.0.%d:%d@%d %s",
                                 slots_node_id(node), node + 1, network_port(node),
                                 network_port(node) + NETWORK_BUS_PORTS_ABOVE,
                                 node == own ? "myself," : "");
        used += print_role(text + used, sizeof(text) - used, node);
    }
    used += (size_t)snprintf(text + used, sizeof(text) - used,
                             "vars currentEpoch %d lastVoteEpoch 0\n", slots_shards());
    if (used >= sizeof(text)) abort();
    node_add_file(own, "nodes.conf", text);
}

void slots_write_files(void) {
    for (int node = 0; node < nodes_count(); node++) write_file(node);
}
