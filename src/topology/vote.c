/* SPDX-License-Identifier: BSD-3-Clause
 * The voter. vote.h has the idea.
 *
 *   | in this order, a vote is refused where                         |                         |
 *   | -------------------------------------------------------------- | ----------------------- |
 *   | this node is no voter                                          | silently                |
 *   | the election's epoch is not the current one                    |                         |
 *   | this node has voted in this epoch, or a later one              | over restarts           |
 *   | the candidate is a primary, or its primary is not known        |                         |
 *   | its primary works                                              | but a manual failover's |
 *   | this node has voted about its primary within two timeouts      |                         |
 *   | any of the slots has an owner with a greater epoch             | it is told of the owner |
 */
#include "topology/vote.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "topology/nodes.h"

/* Node timeouts between two votes about the same primary: the first candidate has so long to win
 * before a sibling can take votes away from it. */
#define VOTE_TIMEOUTS 2

static void vote_refuse(struct cluster_vote *vote, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void vote_refuse(struct cluster_vote *vote, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(vote->refusal, sizeof(vote->refusal), format, arguments);
    va_end(arguments);
}

/* Milliseconds until this node may vote about the primary again; 0 = it may. A clock that was set
 * back does not lengthen the wait: it would end in hours, and one vote an epoch is given anyway. */
static int64_t wait_msec(const struct cluster_node *primary, int64_t now_msec,
                         int64_t timeout_msec) {
    int64_t age = now_msec - primary->voted_msec;
    if (!primary->voted_msec || age < 0) return 0;
    if (timeout_msec > INT64_MAX / VOTE_TIMEOUTS) timeout_msec = INT64_MAX / VOTE_TIMEOUTS;
    return age < VOTE_TIMEOUTS * timeout_msec ? VOTE_TIMEOUTS * timeout_msec - age : 0;
}

/* The first claimed slot that has an owner with a greater epoch; KEY_SLOTS = none. */
static unsigned newer_slot(const struct cluster *c, const struct cluster_vote_request *request) {
    unsigned slot = 0;
    while (slot < KEY_SLOTS && !(cluster_bitmap_has(request->slots, slot) && c->owners[slot] &&
                                 c->owners[slot]->config_epoch > request->config_epoch))
        slot++;
    return slot;
}

static bool is_timely(const struct cluster *c, uint64_t epoch, struct cluster_vote *vote) {
    if (epoch != c->current_epoch)
        vote_refuse(vote, "reqEpoch (%" PRIu64 ") %c curEpoch(%" PRIu64 ")", epoch,
                    epoch < c->current_epoch ? '<' : '>', c->current_epoch);
    else if (c->last_vote_epoch >= epoch)
        vote_refuse(vote, "already voted for epoch %" PRIu64, c->last_vote_epoch);
    return !*vote->refusal;
}

static bool is_successor(const struct cluster_vote_request *request, int64_t now_msec,
                         int64_t timeout_msec, struct cluster_vote *vote) {
    const struct cluster_node *candidate = request->candidate, *primary = candidate->primary;
    if (cluster_node_is_primary(candidate))
        vote_refuse(vote, "it is a master node");
    else if (!primary)
        vote_refuse(vote, "I don't know its master");
    else if (!cluster_node_has(primary, CLUSTER_NODE_FAILED) && !request->is_forced)
        vote_refuse(vote, "its master is up");
    else if (wait_msec(primary, now_msec, timeout_msec))
        vote_refuse(vote, "can't vote about this master before %" PRId64 " milliseconds",
                    wait_msec(primary, now_msec, timeout_msec));
    return !*vote->refusal;
}

static bool is_up_to_date(const struct cluster *c, const struct cluster_vote_request *request,
                          struct cluster_vote *vote) {
    unsigned slot = newer_slot(c, request);
    if (slot == KEY_SLOTS) return true;
    vote->unknown_owner = c->owners[slot];
    vote_refuse(vote, "slot %u epoch (%" PRIu64 ") > reqEpoch (%" PRIu64 ")", slot,
                vote->unknown_owner->config_epoch, request->config_epoch);
    return false;
}

struct cluster_vote cluster_vote_decide(struct cluster *c,
                                        const struct cluster_vote_request *request,
                                        int64_t now_msec, int64_t timeout_msec) {
    struct cluster_vote vote = {0};
    if (!cluster_node_votes(c->self) || !is_timely(c, request->epoch, &vote) ||
        !is_successor(request, now_msec, timeout_msec, &vote) || !is_up_to_date(c, request, &vote))
        return vote;
    vote.is_given = true;
    c->last_vote_epoch = request->epoch;
    request->candidate->primary->voted_msec = now_msec;
    cluster_changed(c);
    return vote;
}
