/* SPDX-License-Identifier: BSD-3-Clause
 * --cluster rebalance.
 */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "clusterctl/ctl_balance.h"
#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_move.h"
#include "clusterctl/ctl_resume.h"
#include "clusterctl/ctl_shares.h"
#include "clusterctl/ctl_talk.h"

/* Greater weights are taken for a typing mistake. */
#define WEIGHT_MAX 1000000

static size_t index_of(const struct ctl_cluster *c, const struct ctl_node *node) {
    size_t i = 0;
    while (c->nodes[i] != node) i++;
    return i;
}

/* Takes "id=weight", where the id may be cut. False, said why, where it is wrong. */
static bool take_weight(const struct ctl_cluster *c, const char *word, struct ctl_scale *scales) {
    char id[CTL_ID_CHARS + 1];
    size_t length = strcspn(word, "=");
    double weight;
    struct ctl_node *node = NULL;
    if (length <= CTL_ID_CHARS) {
        memcpy(id, word, length);
        id[length] = '\0';
        node = ctl_cluster_find_primary(c, id);
    }
    if (!node) {
        ctl_say(CTL_BAD, "*** No such master node %.*s\n", (int)length, word);
        return false;
    }
    const char *number = word + length + 1;
    if (!word[length] || !number_parse_double(number, strlen(number), &weight) || weight < 0 ||
        weight > WEIGHT_MAX) {
        ctl_say(CTL_BAD, "*** --cluster-weight wants id=number, from 0 to %d: %s\n", WEIGHT_MAX,
                word);
        return false;
    }
    scales[index_of(c, node)].weight = weight;
    return true;
}

/* Sets slots and weights of all nodes. False, said why, where a weight is wrong. */
static bool set_scales(const struct ctl_run *r, struct ctl_scale *scales) {
    const struct ctl_cluster *c = &r->cluster;
    for (size_t i = 0; i < c->count; i++) {
        scales[i].weight = 1;
        scales[i].slots = ctl_slots_count(&c->nodes[i]->self.slots);
        scales[i].takes_part = ctl_node_is_primary(c->nodes[i]) &&
                               (scales[i].slots || r->options->use_empty_primaries);
    }
    for (int i = 0; i < r->options->weights.count; i++)
        if (!take_weight(c, r->options->weights.words[i], scales)) return false;
    return true;
}

/* Moves the lowest slots of a transfer, a '#' for each. `*moved` counts them. */
static bool move_transfer(struct ctl_run *r, const struct ctl_transfer *transfer, size_t *moved,
                          size_t planned) {
    struct ctl_node *from = r->cluster.nodes[transfer->from];
    struct ctl_node *to = r->cluster.nodes[transfer->to];
    ctl_say(CTL_PLAIN, "Moving %u slots from %s to %s\n", transfer->slots, from->name, to->name);
    struct ctl_slots slots = from->self.slots;
    int slot = ctl_slots_next(&slots, 0);
    for (unsigned i = 0; i < transfer->slots && slot >= 0; i++) {
        if (!r->options->simulate &&
            ctl_move_slot(r, from, to, (unsigned)slot, CTL_MOVE_SILENT) != CTL_MOVED) {
            ctl_say(CTL_PLAIN, "\n");
            ctl_resume_say_stop(*moved, planned, (unsigned)slot, from, to);
            return false;
        }
        ++*moved;
        ctl_say(CTL_PLAIN, "#");
        ctl_talk_flush();
        slot = ctl_slots_next(&slots, (unsigned)slot + 1);
    }
    ctl_say(CTL_PLAIN, "\n");
    return true;
}

static bool move_all(struct ctl_run *r, const struct ctl_scale *scales) {
    struct ctl_transfer *transfers =
        memory_alloc((r->cluster.count + 1) * sizeof(*transfers), MEMORY_OTHER);
    size_t count = ctl_balance_plan(scales, r->cluster.count, transfers), moved = 0, planned = 0;
    bool good = true;
    for (size_t i = 0; i < count; i++) planned += transfers[i].slots;
    for (size_t i = 0; i < count && good; i++)
        good = move_transfer(r, &transfers[i], &moved, planned);
    memory_free(transfers, MEMORY_OTHER);
    return good;
}

static bool rebalance_scales(struct ctl_run *r, struct ctl_scale *scales) {
    double weights = 0;
    unsigned nodes = 0;
    for (size_t i = 0; i < r->cluster.count; i++) {
        weights += scales[i].takes_part ? scales[i].weight : 0;
        nodes += scales[i].takes_part;
    }
    if (weights <= 0) {
        ctl_say(CTL_BAD, "*** The weights must not all be 0: the slots would have no owner\n");
        return false;
    }
    if (!ctl_balance_weigh(scales, r->cluster.count, r->options->threshold_percent)) {
        ctl_say(CTL_WARNING,
                "*** No rebalancing needed! All nodes are within the %.2f%% threshold.\n",
                r->options->threshold_percent);
        return true;
    }
    ctl_say(CTL_INFO, ">>> Rebalancing across %u nodes. Total weight = %.2f\n", nodes, weights);
    return move_all(r, scales);
}

int ctl_rebalance(struct ctl_run *r) {
    size_t unused;
    if (!ctl_cluster_load(&r->cluster, r->host, r->port)) return 1;
    struct ctl_scale *scales = memory_zalloc(r->cluster.count * sizeof(*scales), MEMORY_OTHER);
    bool good = set_scales(r, scales);
    if (good) {
        struct ctl_findings found = ctl_check_cluster(r, CTL_CHECK_QUIET);
        good = ctl_resume_moves(r, &found, "rebalancing", NULL, &unused);
    }
    if (good) good = set_scales(r, scales) && rebalance_scales(r, scales);
    memory_free(scales, MEMORY_OTHER);
    return !good;
}
