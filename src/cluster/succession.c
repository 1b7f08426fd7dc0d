/* SPDX-License-Identifier: BSD-3-Clause
 * Succession. succession.h has the idea.
 *
 * Messages come in nested turns, too, in the midst of a script or a load. So they only change the
 * states, and vote; the step at the end of the turn does what concerns keys and replication.
 *
 * Invariants
 *  1. Writes are held exactly while this primary hands over to a replica, or doubts its role in a
 *     cluster that is ok (where it is not, writes are refused). `holds` says that they are held.
 *  2. A replica has an offset, and an age of its data, only where a stream of its present primary
 *     has been applied since it follows it, and the data is still that stream's.
 *  3. A vote, and the epoch of an election, leave this node when they are on disk: bus/compose.h
 *     waits.
 */
#include "cluster/succession.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "bus/bus.h"
#include "bus/compose.h"
#include "cluster/follow.h"
#include "cluster/options.h"
#include "exec/pause.h"
#include "io/loop.h"
#include "net/client.h"
#include "replication/history.h"
#include "replication/link.h"
#include "replication/primary.h"
#include "topology/election.h"
#include "topology/epochs.h"
#include "topology/manual_failover.h"
#include "topology/nodes.h"
#include "topology/nodes_file.h"
#include "topology/replica_migration.h"
#include "topology/slots.h"
#include "topology/standstill.h"
#include "topology/vote.h"

#define NSEC_PER_MSEC 1000000
#define MSEC_PER_SEC 1000

static struct cluster *view; /* NULL: cluster mode is off */
static struct {
    struct cluster_election election;
    struct cluster_manual manual;
    struct cluster_standstill standstill;
    bool holds; /* writes */
    bool due;   /* something has come that the step must look at */
} own;

/* ---- facts of replication ---- */

static bool is_replica(void) { return view->self->primary != NULL; }

static bool is_in_step(void) {
    return is_replica() && cluster_follow_is_current() && link_may_continue() &&
           link_data_age_sec() >= 0;
}

/* The place in the stream for others and for elections; 0: this replica's data is not its
 * primary's. */
static uint64_t own_offset(void) {
    return cluster_node_is_primary(view->self) || is_in_step() ? (uint64_t)history_place() : 0;
}

/* -1: no offset of the primary's is reached. */
static int64_t reached_offset(void) { return is_in_step() ? history_place() : -1; }

/* For how long nothing has come from the primary. A replica that has slept through the end of its
 * link has old data, too. */
static int64_t data_age_msec(void) {
    return is_in_step() ? link_data_age_sec() * MSEC_PER_SEC : CLUSTER_DATA_AGE_NEVER;
}

static void fill_facts(struct cluster_own_facts *facts) {
    facts->offset = own_offset();
    /* A call that is running within which this turn is nested may still write. A replica has
     * handed over, though its state is left with the next step only. */
    if (own.manual.state == CLUSTER_MANUAL_PAUSES && cluster_node_is_primary(view->self) &&
        loop_depth(client_loop()) <= 1)
        facts->marks |= CLUSTER_MARK_PAUSED;
}

/* ---- writes ---- */

static void hold_as_needed(void) {
    bool hands_over = own.manual.state == CLUSTER_MANUAL_PAUSES;
    bool holds = hands_over || (own.standstill.doubts && view->ok);
    primary_stand_still(hands_over);
    if (holds == own.holds) return;
    own.holds = holds;
    pause_hold_writes(holds);
}

static void ping_all_anew(void) {
    for (size_t i = 0; i < view->count; i++) {
        struct cluster_node *node = view->nodes[i];
        if (cluster_node_votes(node) && node->link) cluster_link_close(node->link);
    }
}

/* What came while this node stood still lies in the sockets and must not count as an answer. So the
 * links to the voters are opened anew. A primary that hands over is replaced within less than the
 * node timeout: for it the shortest gap counts. */
void cluster_succession_turn(void) {
    if (!view) return;
    int64_t now_msec = loop_wake_nsec(client_loop()) / NSEC_PER_MSEC;
    int64_t timeout_msec =
        own.manual.state == CLUSTER_MANUAL_PAUSES ? 0 : cluster_options()->node_timeout_ms;
    if (!cluster_standstill_turn(&own.standstill, view, now_msec, clock_cached_msec(),
                                 timeout_msec))
        return;
    hold_as_needed();
    ping_all_anew();
}

/* ---- the place of the primary ---- */

/* Becomes a primary with all slots of the former one. This node's epoch is the new one already. */
static void take_place(void) {
    struct cluster_node *self = view->self, *former = self->primary;
    cluster_set_primary(view, self);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        if (view->owners[slot] == former) cluster_slot_assign(view, slot, self);
    cluster_changed(view);
    cluster_follow();
    cluster_say_pong_to_all(view);
    cluster_succession_role_changed();
}

static void become_elected(uint64_t epoch) {
    view->self->config_epoch = epoch;
    log_notice("configEpoch set to %" PRIu64 " after successful failover", epoch);
    take_place();
}

void cluster_succession_take_over(void) {
    log_warning("Taking over the master (user request).");
    (void)cluster_epoch_bump(view);
    take_place();
}

static struct cluster_election_facts election_facts(int64_t now_msec) {
    const struct cluster_options *o = cluster_options();
    const struct cluster_node *primary = view->self->primary;
    bool failed = primary && cluster_node_has(primary, CLUSTER_NODE_FAILED);
    return (struct cluster_election_facts){
        .now_msec = now_msec,
        .timeout_msec = o->node_timeout_ms,
        .failed_for_msec = failed ? clock_wall_msec() - primary->failed_msec : -1,
        .data_age_msec = data_age_msec(),
        .data_age_max_msec =
            cluster_data_age_max(o->node_timeout_ms, o->validity_factor, primary_ping_period_sec()),
        .offset = own_offset(),
        .no_failover = o->no_failover,
        .manual = cluster_manual_progress(&own.manual),
        .drawn = (unsigned)random_below(UINT32_MAX),
    };
}

static void go_on(void) {
    int64_t now_msec = clock_monotonic_msec();
    (void)cluster_manual_step(&own.manual, view, reached_offset(), now_msec);
    cluster_standstill_judge(&own.standstill, view, now_msec);
    const struct cluster_election_facts facts = election_facts(now_msec);
    struct cluster_election_orders orders = cluster_election_step(&own.election, view, &facts);
    if (orders.tell_siblings) cluster_say_pong_to_shard(view);
    if (orders.ask) cluster_say_auth_request(view, facts.manual != CLUSTER_MANUAL_NONE);
    if (orders.won) become_elected(own.election.epoch);
    hold_as_needed();
}

void cluster_succession_step(void) {
    if (!view) return;
    const struct cluster_node *primary = view->self->primary;
    bool waits = own.manual.state == CLUSTER_MANUAL_CATCHES_UP || own.standstill.doubts ||
                 (primary && cluster_node_has(primary, CLUSTER_NODE_FAILED));
    if (!own.due && !waits) return;
    own.due = false;
    go_on();
}

static void move_to(struct cluster_node *orphan) {
    log_warning("Migrating to orphaned master %s", orphan->id.text);
    cluster_set_replica(view, view->self, orphan);
    cluster_follow();
    cluster_succession_role_changed();
}

void cluster_succession_tick(int64_t now_msec) {
    if (own.manual.state == CLUSTER_MANUAL_PAUSES) {
        const struct cluster_node *replica = cluster_find(view, slice_of(own.manual.other.text));
        if (replica && replica->link) cluster_say_ping(view, replica->link, CLUSTER_PING);
    }
    go_on();
    if (!is_replica() || !cluster_options()->replica_migration) return;
    struct cluster_node *orphan =
        cluster_migration_target(view, cluster_options()->migration_barrier, now_msec);
    if (orphan) move_to(orphan);
}

/* ---- messages ---- */

void cluster_succession_header(struct cluster_node *sender, const struct cluster_message *m,
                               bool answers) {
    if (answers) cluster_standstill_hear(&own.standstill, sender);
    if (m->marks & CLUSTER_MARK_PAUSED) cluster_manual_hear(&own.manual, sender, m->offset);
}

void cluster_succession_request(struct cluster_node *candidate, const struct cluster_message *m) {
    const struct cluster_vote_request request = {
        .candidate = candidate,
        .epoch = m->current_epoch,
        .config_epoch = m->config_epoch,
        .slots = m->slots,
        .is_forced = m->marks & CLUSTER_MARK_FORCE_ACK,
    };
    struct cluster_vote vote =
        cluster_vote_decide(view, &request, clock_wall_msec(), cluster_options()->node_timeout_ms);
    if (vote.is_given) {
        log_warning("Failover auth granted to %s for epoch %" PRIu64, candidate->id.text,
                    request.epoch);
        cluster_say_auth_ack(view, candidate, cluster_file_later());
    } else if (*vote.refusal) {
        log_warning("Failover auth denied to %s: %s", candidate->id.text, vote.refusal);
        if (vote.unknown_owner && candidate->link)
            cluster_say_update(view, candidate->link, vote.unknown_owner);
    }
}

void cluster_succession_ack(struct cluster_node *voter, const struct cluster_message *m) {
    own.due |= cluster_election_count(&own.election, voter, m->current_epoch);
}

void cluster_succession_mfstart(const struct cluster_node *replica) {
    if (!cluster_manual_pause(&own.manual, view, replica, clock_monotonic_msec())) return;
    hold_as_needed();
    if (replica->link) cluster_say_ping(view, replica->link, CLUSTER_PING);
}

void cluster_succession_role_changed(void) { own.due = true; }

void cluster_succession_begin(bool force) {
    cluster_manual_begin(&own.manual, view, force, clock_monotonic_msec());
    if (!force) cluster_say_mfstart(view, view->self->primary);
    own.due = true;
}

void cluster_succession_open(struct cluster *c) {
    view = c;
    memset(&own, 0, sizeof(own));
    cluster_compose_set_facts(fill_facts);
}
