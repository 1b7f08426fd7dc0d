/* SPDX-License-Identifier: BSD-3-Clause
 * What the failover's rules decide (failover.h) is carried out: requests, records, events, scripts.
 */
#ifndef EVENKEEL_SENTINEL_CARRY_OUT_H
#define EVENKEEL_SENTINEL_CARRY_OUT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "sentinel/instance.h"

/* Ways in which a Sentinel ends in the midst of a failover, for tests: SENTINEL SIMULATE-FAILURE.
 */
enum sentinel_simulated_failure {
    SENTINEL_CRASH_AFTER_ELECTION = 1 << 0,
    SENTINEL_CRASH_AFTER_PROMOTION = 1 << 1,
};
void sentinel_simulate_failures(unsigned failures);
unsigned sentinel_simulated_failures(void);

/* Carries out all moves of the primary's failover that are due. Returns true if the primary is to
 * be switched to the promoted replica: by sentinel_carry_out_switch, once a tick at most. */
MUST_USE bool sentinel_carry_out(struct primary *p, bool tilt, int64_t now);
/* Ends the failover: the promoted replica is the primary from now on. */
void sentinel_carry_out_switch(struct primary *p);
/* Forgets the replicas, the other Sentinels and the failover of the primary (SENTINEL RESET). A
 * failover that has promoted its replica is ended first, because its configuration has been told to
 * others, and the former address must not be told with that epoch. */
void sentinel_carry_out_reset(struct primary *p);

/* Begins a failover that needs no election. Returns false with the answer of SENTINEL FAILOVER if
 * there can be none now. */
MUST_USE bool sentinel_carry_out_forced(struct primary *p, const char **refusal, int64_t now);

/* Votes for `candidate` in the epoch, if this Sentinel may. A new vote counts only when it is on
 * disk: otherwise the former vote holds. Returns whether the vote of the primary is now one for the
 * epoch. */
bool sentinel_cast_vote(struct primary *p, uint64_t epoch, const char *candidate, int64_t now);

/* Asks the other Sentinels about a primary that is subjectively down, each once a second;
 * `at_once`: all of them now. */
void sentinel_ask_others(struct primary *p, bool at_once, int64_t now);
#endif
