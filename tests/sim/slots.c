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
#define BUS_PORTS_ABOVE 10000

static char node_id[NODE_ID_CHARS + 1]; /* slots_node_id */

unsigned slots_number(int hot) {
    char key[32];
    snprintf(key, sizeof(key), HOT_KEY, hot);
    return key_slot_of((struct slice){key, strlen(key)});
}

const char *slots_node_id(int node) {
    memset(node_id, 'a' + node, NODE_ID_CHARS);
    if (node >= 6) memset(node_id, '0' + node - 6, NODE_ID_CHARS);
    return node_id;
}

int slots_node_of_id(const char *id) {
    for (int node = 0; node < nodes_count(); node++)
        if (strncmp(id, slots_node_id(node), NODE_ID_CHARS) == 0) return node;
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

static unsigned first_slot(int node) {
    return KEY_SLOTS * (unsigned)node / (unsigned)nodes_count();
}

int slots_first_owner(int hot) {
    int node = 0;
    while (node + 1 < nodes_count() && first_slot(node + 1) <= slots_number(hot)) node++;
    return node;
}

static void write_file(int own) {
    char text[FILE_BYTES];
    size_t used = 0;
    for (int node = 0; node < nodes_count(); node++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s 10.0.0.%d:%d@%d %smaster - 0 0 %d connected %u-%u\n",
                                 slots_node_id(node), node + 1, network_port(node),
                                 network_port(node) + BUS_PORTS_ABOVE, node == own ? "myself," : "",
                                 node + 1, first_slot(node), first_slot(node + 1) - 1);
    used += (size_t)snprintf(text + used, sizeof(text) - used,
                             "vars currentEpoch %d lastVoteEpoch 0\n", nodes_count());
    if (used >= sizeof(text)) abort();
    node_add_file(own, "nodes.conf", text);
}

void slots_write_files(void) {
    for (int node = 0; node < nodes_count(); node++) write_file(node);
}
