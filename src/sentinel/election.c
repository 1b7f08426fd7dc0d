/* SPDX-License-Identifier: BSD-3-Clause
 * The election. election.h has the idea.
 *
 *   asked for a vote in epoch E, by candidate C
 *
 *     E > current epoch ------> current epoch := E (also where no vote follows)
 *     E > epoch of our vote, and E >= current epoch?
 *       yes --> vote for C in E: to disk, then answered
 *       no ---> the vote that we gave is answered again
 *
 * Invariants
 *  1. The epoch of our vote never falls, and of an epoch we give one vote, over restarts, because
 *     the epoch of the vote is on disk before the answer leaves.
 *  2. After a restart we know the epoch of our vote but not its candidate: it counts for nobody.
 *  3. All known Sentinels count for the majority, those that are down too.
 */
#include "sentinel/election.h"

#include <stdio.h>
#include <string.h>

#include "base/panic.h"
#include "base/string.h"
#include "sentinel/foreign_text.h"
#include "sentinel/judge.h"

struct sentinel_vote sentinel_election_vote(const struct primary *p, uint64_t current_epoch,
                                            uint64_t epoch, const char *candidate,
                                            const char *my_id) {
    struct sentinel_vote vote = {.current_epoch = current_epoch, .leader_epoch = p->leader_epoch};
    memcpy(vote.leader, p->leader, sizeof(vote.leader));
    if (epoch > SENTINEL_EPOCH_MAX || !sentinel_foreign_is_id(slice_of(candidate))) return vote;
    if (epoch > current_epoch) vote.current_epoch = epoch;
    if (epoch <= p->leader_epoch || epoch < vote.current_epoch) return vote;
    vote.is_new = true;
    vote.is_for_another = !slice_is(slice_of(candidate), my_id);
    vote.leader_epoch = epoch;
    snprintf(vote.leader, sizeof(vote.leader), "%s", candidate);
    return vote;
}

void sentinel_election_take(struct primary *p, const struct sentinel_vote *vote) {
    ASSERT(vote->leader_epoch >= p->leader_epoch);
    memcpy(p->leader, vote->leader, sizeof(p->leader));
    p->leader_epoch = vote->leader_epoch;
}

/* ---- Counting ---- */

static bool has_voted(const struct voter *v, uint64_t epoch, int64_t now) {
    return v->leader[0] && v->leader_epoch == epoch && sentinel_judge_said_holds(v, now);
}

static int votes_for(const struct primary *p, uint64_t epoch, const char *id, int64_t now) {
    int votes = 0;
    LIST_FOR_EACH (link, next, &p->voters) {
        const struct voter *v = voter_at(link);
        votes += has_voted(v, epoch, now) && slice_is(slice_of(v->leader), id);
    }
    return votes;
}

static int id_compare(const char *a, const char *b) {
    return slice_compare(slice_of(a), slice_of(b));
}

const char *sentinel_election_favourite(const struct primary *p, uint64_t epoch, const char *my_id,
                                        int64_t now) {
    const char *best = my_id;
    int most = 0;
    LIST_FOR_EACH (link, next, &p->voters) {
        const struct voter *v = voter_at(link);
        if (!has_voted(v, epoch, now)) continue;
        int votes = votes_for(p, epoch, v->leader, now);
        if (votes < most || (votes == most && id_compare(v->leader, best) >= 0)) continue;
        most = votes;
        best = v->leader;
    }
    return best;
}

bool sentinel_election_is_won(const struct primary *p, uint64_t epoch, const char *my_id,
                              int64_t now) {
    int known = 1, votes = votes_for(p, epoch, my_id, now);
    LIST_FOR_EACH (link, next, &p->voters) known++;
    votes += p->leader_epoch == epoch && slice_is(slice_of(p->leader), my_id);
    return votes > known / 2 && votes >= p->quorum;
}

/* ---- Two configurations ---- */

/* The order of addresses: any that all Sentinels agree on will do. */
static int address_compare(const struct sentinel_address *a, const struct sentinel_address *b) {
    int order = id_compare(a->ip, b->ip);
    return order ? order : a->port - b->port;
}

uint64_t sentinel_election_settle(const struct sentinel_address *ours,
                                  const struct sentinel_address *theirs, uint64_t config_epoch,
                                  uint64_t current_epoch) {
    if (!config_epoch || !ours->ip[0] || !theirs->ip[0]) return 0;
    int order = address_compare(ours, theirs);
    uint64_t step = order > 0 ? 2 : 1;
    uint64_t highest = current_epoch > config_epoch ? current_epoch : config_epoch;
    return order == 0 || highest > SENTINEL_EPOCH_MAX - step ? 0 : highest + step;
}
