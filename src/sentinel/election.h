/* SPDX-License-Identifier: BSD-3-Clause
 * The election of the Sentinel that carries a failover out.
 *
 * A Sentinel has one vote an epoch and primary. It gives the vote to the first that asks for it
 * with an epoch that is new to it. A Sentinel that wants to lead takes a new epoch and asks the
 * others for their votes; it leads where more than half of all known Sentinels, and at least
 * `quorum`, voted for it in that epoch.
 *
 * Votes count by the epoch of the failover that they were asked for, not by the current epoch,
 * which may have risen meanwhile: so two majorities of one epoch share a voter, and an epoch has
 * one leader at most.
 */
#ifndef EVENKEEL_SENTINEL_ELECTION_H
#define EVENKEEL_SENTINEL_ELECTION_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "sentinel/instance.h"

/* What a request for a vote changes, and its answer. */
struct sentinel_vote {
    /* To be adopted, and on disk before the answer leaves. */
    uint64_t current_epoch;
    bool is_new; /* `leader` and `leader_epoch` are to be put into the primary */
    /* The vote is for another Sentinel: the next failover of this one is delayed. */
    bool is_for_another;
    char leader[SENTINEL_ID_CHARS + 1]; /* "" = the vote is not known any more: `*` */
    uint64_t leader_epoch;
};

/* Returns this Sentinel's vote about the primary for `candidate` in `epoch`. Where the vote is new,
 * it counts once the caller has written it to disk; where that fails, the caller drops it and
 * answers the old vote. A candidate that is no id, and an epoch above SENTINEL_EPOCH_MAX, change
 * nothing. `my_id` is this Sentinel's. */
MUST_USE struct sentinel_vote sentinel_election_vote(const struct primary *p,
                                                     uint64_t current_epoch, uint64_t epoch,
                                                     const char *candidate, const char *my_id);

/* Puts the vote into the primary. The caller writes it to disk after that, and puts the old leader
 * and epoch back where it cannot. */
void sentinel_election_take(struct primary *p, const struct sentinel_vote *vote);

/* Returns the Sentinel that this one votes for in `epoch` by itself: the one that most others have
 * voted for, the smallest id among several; `my_id` where none has voted. Lives as long as the
 * voters and `my_id`. O(voters squared). */
const char *sentinel_election_favourite(const struct primary *p, uint64_t epoch, const char *my_id,
                                        int64_t now);
/* Returns whether this Sentinel leads in `epoch`: with its own vote, which must be in the primary
 * and on disk, it has more than half of all known Sentinels, and at least the quorum. O(voters). */
bool sentinel_election_is_won(const struct primary *p, uint64_t epoch, const char *my_id,
                              int64_t now);

/* Two configurations of one epoch can come of two failovers that were forced at once. Returns the
 * configuration epoch that this Sentinel takes for its own address, `ours`, when it hears of
 * another, `theirs`, with its own configuration epoch; or 0: it takes none, because the addresses
 * are the same or cannot be compared, or no failover has made them. The greater address gets the
 * higher epoch, so that one of them wins where both sides take a new epoch at once. */
uint64_t sentinel_election_settle(const struct sentinel_address *ours,
                                  const struct sentinel_address *theirs, uint64_t config_epoch,
                                  uint64_t current_epoch);
#endif
