/* SPDX-License-Identifier: BSD-3-Clause
 * The operator. operator.h has the idea.
 *
 * There is a client for each node. In each round it says whom the node has to follow, which changes
 * nothing where that is so already, and asks what it has. What a promoted node must have is asked
 * in one go with the promotion (promise.h).
 */
#include "sim/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/load.h"
#include "sim/network.h"
#include "sim/player.h"
#include "sim/scheduler.h"
#include "sim/world.h"

#define ROUND_NSEC NSEC_PER_SEC
#define LIMIT_NSEC (10 * NSEC_PER_SEC)
#define LOOK_NSEC (400 * NSEC_PER_MSEC)
#define FAILOVER_MSEC 2000
#define DIGEST_CHARS 40

static struct minder {
    struct client client; /* first */
    int node;
    int follows;       /* what it is told: a node, or itself: nobody */
    int fails_over_to; /* what it is told once, as a primary; -1: nothing */
    char digest[DIGEST_CHARS + 1];
    int step;       /* of the answers in this round */
    char said[160]; /* to the command to follow */
} minders[NODES_MAX];

static struct actor promoter;
static int primary;
static int64_t promote_nsec, change_nsec;
/* Until then nobody is told whom to follow: two nodes change places by themselves, to `successor`,
 * who is the primary then; -1: none do. */
static int64_t hands_off_nsec;
static int successor = -1;
static unsigned promotions;
static bool settled;

int operator_primary(void) { return primary; }
unsigned operator_promotions(void) { return promotions; }

/* ---- Rounds ---- */

static void ask(struct minder *m) {
    struct client *c = &m->client;
    if (m->fails_over_to >= 0)
        client_say(c, "FAILOVER TO 10.0.0.%d %d TIMEOUT %d", m->fails_over_to + 1,
                   network_port(m->fails_over_to), 1 + (int)draw(FAILOVER_MSEC));
    else if (world->now_nsec < hands_off_nsec)
        client_say(c, "PING");
    else if (m->follows == m->node)
        client_say(c, "REPLICAOF NO ONE");
    else
        client_say(c, "REPLICAOF 10.0.0.%d %d", m->follows + 1, network_port(m->follows));
    client_say(c, "DEBUG DIGEST");
    m->fails_over_to = -1;
    m->step = 0;
    c->limit_nsec = world->now_nsec + LIMIT_NSEC;
}

static void work(struct client *c) {
    struct minder *m = (struct minder *)c;
    if (client_round(c, m->node, ROUND_NSEC, LIMIT_NSEC)) ask(m);
}

static void connected(struct client *c) { ask((struct minder *)c); }

static void replied(struct client *c, const struct reply *r) {
    struct minder *m = (struct minder *)c;
    if (m->step++ == 0) {
        if (strcmp(m->said, r->text) != 0) tell("node %d: %s", m->node, r->text);
        snprintf(m->said, sizeof(m->said), "%s", r->text);
        return;
    }
    snprintf(m->digest, sizeof(m->digest), "%s", r->type == '+' ? r->text : "");
    c->limit_nsec = NEVER;
}

static void failed(struct client *c) {
    struct minder *m = (struct minder *)c;
    m->digest[0] = '\0';
}

static const struct client_events events = {connected, replied, failed};

/* ---- Changes ---- */

static void tell_now(int node) {
    struct client *c = &minders[node].client;
    c->wanted_nsec = world->now_nsec + draw_scale(50 * NSEC_PER_MSEC);
    c->actor.due_nsec = c->wanted_nsec < c->limit_nsec ? c->wanted_nsec : c->limit_nsec;
}

static void promote(int node) {
    note("promotes", node, primary, 0);
    promotions++;
    primary = node;
    for (int i = 0; i < nodes_count(); i++) {
        minders[i].follows = node;
        tell_now(i);
    }
    load_promote(node);
    player_turn_to(node);
}

/* Below another replica: a chain. */
static void move_below(int node, int other) {
    if (node == primary || other == node || other == primary) return;
    if (minders[other].follows == node) return; /* a circle */
    note("moves below", node, other, 0);
    minders[node].follows = other;
    tell_now(node);
}

/* The primary and another change places by FAILOVER. Whatever comes of it, the other is told to be
 * the primary afterwards. */
static void fail_over(int node) {
    note("fails over", primary, node, 0);
    successor = node;
    hands_off_nsec = world->now_nsec + FAILOVER_MSEC * 2 * NSEC_PER_MSEC;
    minders[primary].fails_over_to = node;
    tell_now(primary);
}

static void change_now(void) {
    int node = (int)draw((uint64_t)nodes_count());
    if (node == primary) return;
    if (once_in(3))
        move_below(node, (int)draw((uint64_t)nodes_count()));
    else if (node_runs(node) && node_runs(primary) && chance(40))
        fail_over(node);
    else if (node_runs(node))
        promote(node);
}

/* Also soon after the primary has ended, often before it is there again. */
static void look(struct actor *a) {
    a->due_nsec = world->now_nsec + 1 + (int64_t)draw((uint64_t)LOOK_NSEC);
    if (settled || world->now_nsec < hands_off_nsec) return;
    if (successor >= 0 && node_runs(successor)) promote(successor);
    successor = -1;
    if (world->now_nsec < change_nsec && (node_runs(primary) || !once_in(4))) return;
    change_nsec = world->now_nsec + (int64_t)draw((uint64_t)promote_nsec * 2);
    change_now();
}

void operator_start(int64_t every_nsec) {
    primary = 0;
    promote_nsec = every_nsec;
    for (int i = 0; i < nodes_count(); i++) {
        struct minder *m = &minders[i];
        client_make(&m->client, &events, work);
        m->node = i;
        m->follows = 0;
        m->fails_over_to = -1;
        tell_now(i);
    }
    if (!every_nsec) return;
    change_nsec = world->now_nsec + (int64_t)draw((uint64_t)every_nsec * 2);
    promoter = (struct actor){.due_nsec = world->now_nsec, .act = look};
    scheduler_add(&promoter);
}

void operator_settle(void) {
    settled = true;
    hands_off_nsec = 0;
    if (successor >= 0) promote(successor);
    for (int i = 0; i < nodes_count(); i++) {
        minders[i].follows = primary;
        minders[i].digest[0] = '\0';
        tell_now(i);
    }
}

bool operator_sees_equal(void) {
    for (int i = 0; i < nodes_count(); i++)
        if (!minders[i].digest[0] || strcmp(minders[i].digest, minders[0].digest) != 0)
            return false;
    return true;
}

void operator_describe(char *out, unsigned long size) {
    size_t used = 0;
    for (int i = 0; i < nodes_count() && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%d: %.8s", i ? ", " : "", i,
                                 minders[i].digest[0] ? minders[i].digest : minders[i].said);
}
