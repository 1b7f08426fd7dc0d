/* SPDX-License-Identifier: BSD-3-Clause
 * The tick of the bus. heartbeat.h has the idea; T is cluster-node-timeout.
 *
 *   | each tick, of each node                                       | then                     |
 *   | ------------------------------------------------------------- | ------------------------ |
 *   | a handshake older than T, and than a second                   | ends                     |
 *   | no link, and an address                                       | connect; a ping pends    |
 *   | a link older than T; a ping pends and nothing came for T/2    | close it                 |
 *   | no ping pends, and the last answer is older than T/2, in a    | PING                     |
 *   | small cluster than T/4                                        |                          |
 *   | a ping pends, and nothing came for T                          | it is suspected, and     |
 *   |                                                               | some voters are told     |
 *   | suspected, and a majority says so                             | FAIL to all              |
 *
 * Besides, each second the node with the oldest answer of some that are drawn is pinged.
 *
 * Invariant: a node that has no link, although its address is known, has a ping pending, so that
 * its silence is noticed even where no link ever stands.
 */
#include "bus/heartbeat.h"

#include "base/log.h"
#include "base/random.h"
#include "bus/bus.h"
#include "bus/compose.h"
#include "bus/meet.h"
#include "topology/failure.h"
#include "topology/nodes.h"

/* 6.2's numbers: so many nodes are drawn, each so many ticks. */
#define DRAWN_NODES 5
#define DRAW_TICKS 10

/* A suspicion is told to so many voters at once, in one message for all suspicions of a tick; the
 * others hear of it by pings. In a cluster with fewer primaries all hear of it, so that the
 * majority is there as soon as enough of them suspect; in a larger one a failure of many nodes,
 * which all others notice, must not make a message from each to each. */
#define SUSPICION_VOTERS_MAX 16

/* A silence counts from the first ping that has no answer, so that a shorter time between pings
 * finds a failure sooner. Up to so many nodes the pings cost nothing that matters. */
#define SMALL_CLUSTER_NODES 16

static struct cluster *view;
static unsigned tick_count;
static size_t connect_from; /* where the next tick begins to connect */

void cluster_heartbeat_open(struct cluster *c) { view = c; }

/* ---- Links ---- */

void cluster_heartbeat_connected(struct cluster_link *link) {
    bool meets = cluster_node_has(cluster_link_node(link), CLUSTER_NODE_MEET);
    cluster_say_ping(view, link, meets ? CLUSTER_MEET : CLUSTER_PING);
}

static bool wants_link(const struct cluster *c, const struct cluster_node *node) {
    return node != c->self && !node->link && !cluster_node_has(node, CLUSTER_NODE_NO_ADDRESS) &&
           *node->address.host && node->address.bus_port;
}

/* Goes round over the ticks, because connecting to all of a large cluster takes long. */
static void connect_some(struct cluster *c, int64_t now_msec) {
    size_t from = connect_from < c->count ? connect_from : 0;
    unsigned opened = 0;
    for (size_t i = 0; i < c->count && opened < CLUSTER_CONNECTS_MAX; i++) {
        size_t at = (from + i) % c->count;
        struct cluster_node *node = c->nodes[at];
        if (!wants_link(c, node)) continue;
        if (!node->ping_sent_msec) node->ping_sent_msec = now_msec;
        cluster_link_open(node);
        opened++;
        connect_from = at + 1;
    }
}

static void end_handshakes(struct cluster *c, int64_t now_msec, int64_t timeout_msec) {
    for (size_t i = c->count; i-- > 0;) {
        struct cluster_node *node = c->nodes[i];
        if (cluster_node_has(node, CLUSTER_NODE_HANDSHAKE) &&
            cluster_handshake_is_over(node, now_msec, timeout_msec))
            cluster_drop(c, node);
    }
}

/* Whether the link may be broken in a way that only another one shows. */
static bool is_stuck(const struct cluster_node *node, int64_t now_msec, int64_t timeout_msec) {
    return node->link && now_msec - cluster_link_opened_msec(node->link) > timeout_msec &&
           node->ping_sent_msec && now_msec - node->ping_sent_msec > timeout_msec / 2 &&
           now_msec - node->data_received_msec > timeout_msec / 2;
}

/* ---- Pings ---- */

static bool can_ping(const struct cluster *c, const struct cluster_node *node) {
    return node != c->self && node->link && cluster_link_is_up(node->link) &&
           !node->ping_sent_msec && !cluster_node_has(node, CLUSTER_NODE_HANDSHAKE);
}

/* How old the last answer of a node may become. */
static int64_t answer_age_msec(const struct cluster *c, int64_t timeout_msec) {
    return timeout_msec / (c->count <= SMALL_CLUSTER_NODES ? 4 : 2);
}

static void ping_oldest_drawn(struct cluster *c) {
    struct cluster_node *oldest = NULL;
    for (int i = 0; i < DRAWN_NODES; i++) {
        struct cluster_node *node = c->nodes[random_below(c->count)];
        if (can_ping(c, node) && (!oldest || node->pong_received_msec < oldest->pong_received_msec))
            oldest = node;
    }
    if (oldest) cluster_say_ping(c, oldest->link, CLUSTER_PING);
}

/* Whether the node is suspected from now on, and not enough others suspect it. */
static bool judge_node(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                       int64_t timeout_msec) {
    bool suspected = cluster_failure_suspect(c, node, now_msec, timeout_msec);
    if (!cluster_failure_judge(c, node, now_msec, timeout_msec)) return suspected;
    cluster_say_fail(c, node);
    return false;
}

static bool tend_node(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                      int64_t timeout_msec) {
    if (is_stuck(node, now_msec, timeout_msec)) cluster_link_close(node->link);
    if (!can_ping(c, node) ||
        now_msec - node->pong_received_msec <= answer_age_msec(c, timeout_msec))
        return judge_node(c, node, now_msec, timeout_msec);
    cluster_say_ping(c, node->link, CLUSTER_PING);
    return false;
}

/* Only what a voter suspects counts, and only voters judge. */
static void tell_suspicion(struct cluster *c) {
    if (!cluster_node_votes(c->self)) return;
    size_t from = random_below(c->count);
    unsigned told = 0;
    for (size_t i = 0; i < c->count && told < SUSPICION_VOTERS_MAX; i++) {
        const struct cluster_node *node = c->nodes[(from + i) % c->count];
        if (!cluster_node_votes(node) || !node->link || !cluster_link_is_up(node->link) ||
            cluster_node_has(node, CLUSTER_NODE_SUSPECTED | CLUSTER_NODE_FAILED))
            continue;
        cluster_say_ping(c, node->link, CLUSTER_PONG);
        told++;
    }
}

static void grant_lateness(struct cluster *c, int64_t late_msec) {
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i]->ping_sent_msec) c->nodes[i]->ping_sent_msec += late_msec;
}

void cluster_heartbeat_tick(struct cluster *c, int64_t now_msec, int64_t late_msec,
                            int64_t timeout_msec) {
    if (late_msec > 0) grant_lateness(c, late_msec);
    end_handshakes(c, now_msec, timeout_msec);
    connect_some(c, now_msec);
    if (++tick_count % DRAW_TICKS == 0) ping_oldest_drawn(c);
    bool suspects = false;
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i] != c->self) suspects |= tend_node(c, c->nodes[i], now_msec, timeout_msec);
    if (suspects) tell_suspicion(c);
}
