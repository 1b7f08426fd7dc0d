/* SPDX-License-Identifier: BSD-3-Clause
 * --cluster create.
 *
 * Nothing is changed before the user has agreed. Then: slots, epochs (each primary another one, so
 * that none has to be settled by the bus), MEET, and once all nodes agree, REPLICATE.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "clusterctl/ctl_allocate.h"
#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_talk.h"

/* What assigned_replica needs. */
struct naming {
    const struct ctl_cluster *cluster;
    bool has_extra;
};

static bool is_known(const struct ctl_cluster *c, const struct ctl_node *node) {
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->nodes[i]->self.id, node->self.id)) return true;
    return false;
}

/* Connects to a node and adds it. False, said why, where it cannot be part of a new cluster. */
static bool take_node(struct ctl_run *r, const char *word) {
    char host[CTL_HOST_CHARS];
    int port;
    if (!ctl_address_parse(slice_of(word), host, &port)) {
        ctl_complain("Invalid address format: %s\n", word);
        return false;
    }
    struct ctl_node *node = ctl_node_create(host, port, r->cluster.login);
    bool good = ctl_node_connect(node, "") && ctl_node_check_mode(node) && ctl_node_load(node) &&
                ctl_node_check_empty(node);
    if (good && is_known(&r->cluster, node)) {
        ctl_say(CTL_BAD, "[ERR] Node %s is given twice.\n", node->name);
        good = false;
    }
    if (good) {
        ctl_cluster_add(&r->cluster, node);
    } else {
        ctl_node_free(node);
    }
    return good;
}

static void say_too_few(size_t nodes, size_t replicas) {
    ctl_say(CTL_BAD,
            "*** ERROR: Invalid configuration for cluster creation.\n"
            "*** Redis Cluster requires at least %d master nodes.\n"
            "*** This is not possible with %zu nodes and %zu replicas per node.",
            CTL_PRIMARIES_MIN, nodes, replicas);
    ctl_say(CTL_BAD, "\n*** At least %zu nodes are required.\n",
            CTL_PRIMARIES_MIN * (replicas + 1));
}

static void assigned_replica(void *context, size_t replica, size_t primary, bool extra) {
    struct naming *naming = context;
    if (extra && !naming->has_extra) ctl_say(CTL_PLAIN, "Adding extra replicas...\n");
    naming->has_extra = extra;
    ctl_say(CTL_PLAIN, "Adding replica %s to %s\n", naming->cluster->nodes[replica]->name,
            naming->cluster->nodes[primary]->name);
}

/* Moves replicas away from their primaries' hosts, and says how far that went. */
static void improve_plan(struct ctl_seat *seats, size_t count) {
    size_t unused;
    if (!ctl_allocate_score(seats, count, NULL, &unused)) return;
    ctl_say(CTL_INFO, ">>> Trying to optimize slaves allocation for anti-affinity\n");
    unsigned score = ctl_allocate_improve(seats, count, random_below);
    if (!score) {
        ctl_say(CTL_GOOD, "[OK] Perfect anti-affinity obtained!\n");
    } else if (score >= CTL_SCORE_PRIMARY) {
        ctl_say(CTL_WARNING, "[WARNING] Some slaves are in the same host as their master\n");
    } else {
        ctl_say(CTL_WARNING, "[WARNING] Some slaves of the same master are in the same host\n");
    }
}

static void say_plan(const struct ctl_cluster *c, const struct ctl_seat *seats) {
    for (size_t i = 0; i < c->count; i++) {
        const struct ctl_node *node = c->nodes[i];
        if (seats[i].primary < 0) {
            struct ctl_node shown = *node;
            shown.self.slots = (struct ctl_slots){0};
            for (unsigned slot = seats[i].first; slot <= seats[i].last; slot++)
                ctl_slots_add(&shown.self.slots, slot);
            ctl_cluster_say_node(&shown, "");
        } else {
            ctl_say(CTL_PLAIN, "S: %s %s\n   replicates %s\n", node->self.id, node->name,
                    c->nodes[seats[i].primary]->self.id);
        }
    }
}

/* Plans the cluster and says the plan. False, said why, where the nodes are too few. */
static bool plan_cluster(struct ctl_run *r, struct ctl_seat *seats) {
    struct ctl_cluster *c = &r->cluster;
    size_t replicas = (size_t)r->options->replicas;
    size_t *order = memory_alloc((c->count + 1) * sizeof(*order), MEMORY_OTHER);
    for (size_t i = 0; i < c->count; i++) seats[i].host = c->nodes[i]->host;
    size_t primaries = ctl_allocate_primaries(seats, c->count, replicas, order);
    bool good = primaries >= CTL_PRIMARIES_MIN;
    if (!good) say_too_few(c->count, replicas);
    if (good) {
        struct naming naming = {.cluster = c};
        ctl_say(CTL_INFO, ">>> Performing hash slots allocation on %zu nodes...\n", c->count);
        for (size_t i = 0; i < primaries; i++)
            ctl_say(CTL_PLAIN, "Master[%zu] -> Slots %u - %u\n", i, seats[order[i]].first,
                    seats[order[i]].last);
        ctl_allocate_replicas(seats, c->count, replicas, order, assigned_replica, &naming);
        improve_plan(seats, c->count);
        say_plan(c, seats);
    }
    memory_free(order, MEMORY_OTHER);
    return good;
}

/* --- making it -------------------------------------------------------------------------------- */

static bool add_slots(struct ctl_node *node, const struct ctl_seat *seat) {
    struct buffer line = {.class = MEMORY_OTHER};
    size_t count = 2 + seat->last - seat->first + 1;
    struct slice *words = memory_alloc(count * sizeof(*words), MEMORY_OTHER);
    words[0] = SLICE("CLUSTER");
    words[1] = SLICE("ADDSLOTS");
    for (unsigned slot = seat->first; slot <= seat->last; slot++) buffer_printf(&line, "%u ", slot);
    ASSERT_SLOW(line.bytes);
    const char *at = line.bytes;
    for (size_t i = 2; i < count; i++) {
        words[i] = (struct slice){at, strcspn(at, " ")};
        at += words[i].length + 1;
    }
    bool good = ctl_node_ask(node, words, count) != NULL;
    if (!good) ctl_node_say_error(node);
    memory_free(words, MEMORY_OTHER);
    buffer_free(&line);
    return good;
}

static bool assign_all_slots(const struct ctl_cluster *c, const struct ctl_seat *seats) {
    for (size_t i = 0; i < c->count; i++)
        if (seats[i].primary < 0 && !add_slots(c->nodes[i], &seats[i])) return false;
    ctl_say(CTL_INFO, ">>> Nodes configuration updated\n");
    return true;
}

/* A node that refuses keeps the epoch that it has, which the bus settles later. */
static void set_epochs(const struct ctl_cluster *c) {
    ctl_say(CTL_INFO, ">>> Assign a different config epoch to each node\n");
    for (size_t i = 0; i < c->count; i++)
        (void)ctl_node_ask_line(c->nodes[i], "CLUSTER SET-CONFIG-EPOCH %zu", i + 1);
}

static bool meet_all(const struct ctl_cluster *c) {
    const struct ctl_node *first = c->nodes[0];
    ctl_say(CTL_INFO, ">>> Sending CLUSTER MEET messages to join the cluster\n");
    for (size_t i = 1; i < c->count; i++)
        if (!ctl_node_order(c->nodes[i], "CLUSTER MEET %s %d", first->host, first->port)) {
            ctl_complain("Failed to send CLUSTER MEET command.\n");
            return false;
        }
    return true;
}

static bool make_replicas(const struct ctl_cluster *c, const struct ctl_seat *seats) {
    bool any = false;
    for (size_t i = 0; i < c->count; i++) {
        if (seats[i].primary < 0) continue;
        any = true;
        if (!ctl_node_order(c->nodes[i], "CLUSTER REPLICATE %s",
                            c->nodes[seats[i].primary]->self.id))
            return false;
    }
    if (any) ctl_talk_pause();
    return true;
}

static bool make_cluster(struct ctl_run *r, const struct ctl_seat *seats) {
    struct ctl_cluster *c = &r->cluster;
    char host[CTL_HOST_CHARS];
    int port = c->nodes[0]->port;
    if (!assign_all_slots(c, seats)) return false;
    set_epochs(c);
    if (!meet_all(c)) return false;
    ctl_talk_pause(); /* the nodes begin to shake hands, so that the first look finds them joined */
    if (!ctl_cluster_await_join(c) || !make_replicas(c, seats)) return false;
    snprintf(host, sizeof(host), "%s", c->nodes[0]->host);
    return ctl_cluster_load(c, host, port) && ctl_check_cluster(r, 0).good;
}

int ctl_create(struct ctl_run *r) {
    for (int i = 0; i < r->count; i++)
        if (!take_node(r, r->words[i])) return 1;
    struct ctl_seat *seats = memory_zalloc(r->cluster.count * sizeof(*seats), MEMORY_OTHER);
    int status = 1;
    if (plan_cluster(r, seats)) {
        bool agreed = r->yes || ctl_talk_confirm(
                                    "Can I set the above configuration? (type 'yes' to accept): ");
        status = agreed && !make_cluster(r, seats);
    }
    memory_free(seats, MEMORY_OTHER);
    return status;
}
