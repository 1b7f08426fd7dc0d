/* SPDX-License-Identifier: BSD-3-Clause
 * The candidate. election.h has the states.
 *
 * Invariants
 *  1. A voter counts once: its node remembers the last election in which it voted for this node.
 *  2. Each request has an epoch of its own, so that a late vote for an older one does not count.
 *  3. Only a replica whose primary has slots is in another state than NONE.
 */
#include "topology/election.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "topology/epochs.h"
#include "topology/nodes.h"

#define DELAY_MSEC 500
#define DRAWN_MSEC 500
#define RANK_MSEC 1000
#define ELECTION_TIMEOUTS 2
#define ELECTION_MSEC_MIN 2000
/* Greater timeouts would overflow; 35 years are as good. */
#define TIMEOUT_MSEC_MAX (INT64_C(1) << 40)

/* An obstacle is not logged while an election may well succeed: for so long after the primary has
 * failed, beyond the node timeout. */
#define QUIET_MSEC 5000
/* An obstacle that stays is logged again after so long. */
#define REPEAT_MSEC 10000

/* ---- Times ---- */

static int64_t bounded_timeout(int64_t timeout_msec) {
    return timeout_msec < TIMEOUT_MSEC_MAX ? timeout_msec : TIMEOUT_MSEC_MAX;
}

/* How long an election may take from the end of its delay. */
static int64_t election_msec(const struct cluster_election_facts *facts) {
    int64_t msec = ELECTION_TIMEOUTS * bounded_timeout(facts->timeout_msec);
    return msec > ELECTION_MSEC_MIN ? msec : ELECTION_MSEC_MIN;
}

int64_t cluster_data_age_max(int64_t timeout_msec, int64_t factor, int64_t ping_period_sec) {
    int64_t timeouts, sum;
    if (!factor || __builtin_mul_overflow(timeout_msec, factor, &timeouts) ||
        __builtin_add_overflow(timeouts, ping_period_sec * 1000, &sum))
        return INT64_MAX;
    return sum;
}

/* The time until the primary was found to have failed does not count. */
static bool is_too_old(const struct cluster_election_facts *facts) {
    int64_t age = facts->data_age_msec;
    if (facts->data_age_max_msec == INT64_MAX || facts->manual == CLUSTER_MANUAL_READY)
        return false;
    if (age == CLUSTER_DATA_AGE_NEVER) return true;
    if (age > facts->timeout_msec) age -= facts->timeout_msec;
    return age > facts->data_age_max_msec;
}

/* ---- Ranks and votes ---- */

/* A sibling that has failed cannot ask, and need not be waited for. */
static unsigned own_rank(const struct cluster *c, uint64_t offset) {
    const struct cluster_node *self = c->self, *primary = self->primary;
    unsigned rank = 0;
    for (size_t i = 0; i < primary->replica_count; i++) {
        const struct cluster_node *sibling = primary->replicas[i];
        if (sibling == self ||
            cluster_node_has(sibling, CLUSTER_NODE_NO_FAILOVER | CLUSTER_NODE_FAILED))
            continue;
        rank += sibling->offset > offset ||
                (sibling->offset == offset && strcmp(sibling->id.text, self->id.text) < 0);
    }
    return rank;
}

bool cluster_election_count(const struct cluster_election *election, struct cluster_node *voter,
                            uint64_t epoch) {
    if (election->state != CLUSTER_ELECTION_ASKS || epoch != election->epoch ||
        !cluster_node_votes(voter) || voter->vote_epoch == epoch)
        return false;
    voter->vote_epoch = epoch;
    return true;
}

static bool is_majority_for(const struct cluster *c, uint64_t epoch) {
    size_t votes = 0;
    for (size_t i = 0; i < c->count; i++)
        votes += cluster_node_votes(c->nodes[i]) && c->nodes[i]->vote_epoch == epoch;
    return votes >= cluster_size(c) / 2 + 1;
}

/* ---- The log ---- */

static void say_obstacle(struct cluster_election *e, const struct cluster_election_facts *facts,
                         enum cluster_election_obstacle obstacle) {
    static const char *const texts[] = {
        [CLUSTER_OBSTACLE_DATA_AGE] =
            "Disconnected from master for longer than allowed. Please check the "
            "'cluster-replica-validity-factor' configuration option.",
        [CLUSTER_OBSTACLE_DELAY] = "Waiting the delay before I can start a new failover.",
        [CLUSTER_OBSTACLE_EXPIRED] = "Failover attempt expired.",
        [CLUSTER_OBSTACLE_VOTES] = "Waiting for votes, but majority still not reached.",
    };
    if (obstacle == e->said && facts->now_msec - e->said_msec < REPEAT_MSEC) return;
    e->said = obstacle;
    if (facts->failed_for_msec >= 0 &&
        facts->failed_for_msec - QUIET_MSEC < bounded_timeout(facts->timeout_msec))
        return;
    e->said_msec = facts->now_msec;
    log_warning("Currently unable to failover: %s", texts[obstacle]);
}

/* ---- States ---- */

static bool is_wanted(const struct cluster *c, const struct cluster_election_facts *facts) {
    const struct cluster_node *primary = c->self->primary;
    if (cluster_node_is_primary(c->self) || !primary || !primary->slot_count) return false;
    if (facts->manual == CLUSTER_MANUAL_READY) return true;
    return cluster_node_has(primary, CLUSTER_NODE_FAILED) && !facts->no_failover;
}

static void become_none(struct cluster_election *e) {
    e->state = CLUSTER_ELECTION_NONE;
    e->is_manual = false;
}

/* A new primary is a new cause. The end of a manual failover is one, too, unless votes are on their
 * way, which an election about the failed primary can use. */
static void note_causes(struct cluster_election *e, const struct cluster *c,
                        const struct cluster_election_facts *facts) {
    const struct cluster_node *primary = c->self->primary;
    if (strcmp(e->primary.text, primary ? primary->id.text : "") != 0) {
        become_none(e);
        e->primary = primary ? primary->id : (struct cluster_id){""};
    }
    if (!e->is_manual || facts->manual == CLUSTER_MANUAL_READY) return;
    if (e->state == CLUSTER_ELECTION_ASKS)
        e->is_manual = false;
    else
        become_none(e);
}

static struct cluster_election_orders election_delay(struct cluster_election *e,
                                                     const struct cluster *c,
                                                     const struct cluster_election_facts *facts) {
    bool at_once = facts->manual != CLUSTER_MANUAL_NONE;
    e->state = CLUSTER_ELECTION_DELAYED;
    e->is_manual = facts->manual == CLUSTER_MANUAL_READY;
    e->rank = at_once ? 0 : own_rank(c, facts->offset);
    int64_t msec =
        at_once ? 0 : DELAY_MSEC + facts->drawn % DRAWN_MSEC + (int64_t)e->rank * RANK_MSEC;
    e->due_msec = facts->now_msec + msec;
    log_warning("Start of election delayed for %" PRId64 " milliseconds (rank #%u, offset %" PRIu64
                ").",
                msec, e->rank, facts->offset);
    return (struct cluster_election_orders){.tell_siblings = true};
}

/* A sibling may have said since that it has more. */
static void rank_may_worsen(struct cluster_election *e, const struct cluster *c,
                            const struct cluster_election_facts *facts) {
    unsigned rank = own_rank(c, facts->offset);
    if (facts->manual != CLUSTER_MANUAL_NONE || rank <= e->rank) return;
    int64_t added = (int64_t)(rank - e->rank) * RANK_MSEC;
    e->rank = rank;
    e->due_msec += added;
    log_warning("Replica rank updated to #%u, added %" PRId64 " milliseconds of delay.", rank,
                added);
}

static void ask_if_due(struct cluster_election *e, struct cluster *c,
                       const struct cluster_election_facts *facts,
                       struct cluster_election_orders *orders) {
    if (facts->now_msec < e->due_msec) {
        say_obstacle(e, facts, CLUSTER_OBSTACLE_DELAY);
        return;
    }
    e->epoch = cluster_epoch_next(c);
    e->state = e->epoch ? CLUSTER_ELECTION_ASKS : CLUSTER_ELECTION_RESTS;
    orders->ask = e->epoch != 0;
    if (orders->ask) log_warning("Starting a failover election for epoch %" PRIu64 ".", e->epoch);
}

static void look_at_votes(struct cluster_election *e, const struct cluster *c,
                          const struct cluster_election_facts *facts,
                          struct cluster_election_orders *orders) {
    if (facts->now_msec - e->due_msec > election_msec(facts)) {
        e->state = CLUSTER_ELECTION_RESTS;
        say_obstacle(e, facts, CLUSTER_OBSTACLE_EXPIRED);
    } else if (is_majority_for(c, e->epoch)) {
        orders->won = true;
        become_none(e);
        log_warning("Failover election won: I'm the new master.");
    } else {
        say_obstacle(e, facts, CLUSTER_OBSTACLE_VOTES);
    }
}

struct cluster_election_orders cluster_election_step(struct cluster_election *e, struct cluster *c,
                                                     const struct cluster_election_facts *facts) {
    struct cluster_election_orders orders = {0};
    note_causes(e, c, facts);
    if (!is_wanted(c, facts)) {
        become_none(e);
        e->said = CLUSTER_OBSTACLE_NONE;
        return orders;
    }
    if (is_too_old(facts)) {
        become_none(e);
        say_obstacle(e, facts, CLUSTER_OBSTACLE_DATA_AGE);
        return orders;
    }
    bool preempts = facts->manual == CLUSTER_MANUAL_READY && !e->is_manual;
    bool rested = e->state == CLUSTER_ELECTION_RESTS &&
                  (facts->now_msec - e->due_msec) / 2 > election_msec(facts);
    if (e->state == CLUSTER_ELECTION_NONE || rested ||
        (preempts && e->state != CLUSTER_ELECTION_ASKS))
        orders = election_delay(e, c, facts);
    if (e->state == CLUSTER_ELECTION_DELAYED) {
        rank_may_worsen(e, c, facts);
        ask_if_due(e, c, facts, &orders);
    } else if (e->state == CLUSTER_ELECTION_ASKS) {
        look_at_votes(e, c, facts, &orders);
    } else {
        say_obstacle(e, facts, CLUSTER_OBSTACLE_EXPIRED);
    }
    return orders;
}
