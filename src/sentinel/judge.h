/* SPDX-License-Identifier: BSD-3-Clause
 * Judging: who is down, whether this Sentinel may trust its own time, which replica is set right.
 *
 * All are functions of data and of the monotonic time `now`, in milliseconds. They change nothing
 * but the struct sentinel_tilt that they are given.
 */
#ifndef EVENKEEL_SENTINEL_JUDGE_H
#define EVENKEEL_SENTINEL_JUDGE_H
#include <stdbool.h>
#include <stdint.h>

#include "sentinel/instance.h"

/* Periods that rules and the links keep, as in 6.2. */
#define SENTINEL_PING_PERIOD_MSEC 1000
#define SENTINEL_HELLO_PERIOD_MSEC 2000
#define SENTINEL_INFO_PERIOD_MSEC 10000
#define SENTINEL_ASK_PERIOD_MSEC 1000
/* The largest down-after-milliseconds and failover-timeout: the rules multiply and add them. */
#define SENTINEL_LIMIT_MSEC_MAX (INT64_MAX / 64)

/* Returns whether the instance is subjectively down: its limit is down-after-milliseconds of its
 * primary. */
bool sentinel_judge_s_down(const struct instance *i, int64_t now);

/* Returns whether what the voter said about the primary (INSTANCE_SAYS_DOWN, its leader) still
 * counts: its last answer is at most five periods of asking old. */
bool sentinel_judge_said_holds(const struct voter *v, int64_t now);
/* Returns how many Sentinels, this one included, say that the primary is down. The primary is
 * objectively down while this Sentinel is one of them and they are at least `quorum`. O(voters). */
int sentinel_judge_agreeing(const struct primary *p, int64_t now);

/* Whether this Sentinel was stopped, or too slow, and so must not judge others. Zeroed at first. */
struct sentinel_tilt {
    int64_t last_step; /* 0 = none yet */
    int64_t since;     /* 0 = not in tilt */
};
enum sentinel_tilt_change { SENTINEL_TILT_SAME, SENTINEL_TILT_ENTERED, SENTINEL_TILT_LEFT };
/* Called once a tick. The mode begins where two ticks are more than two seconds apart, and ends 30
 * seconds after the last such pair. Each such pair is ENTERED, also within the mode. */
enum sentinel_tilt_change sentinel_tilt_step(struct sentinel_tilt *tilt, int64_t now);

/* Returns whether the replica reports that it follows the address. A name that it reports counts by
 * the number that is known for it (address.h). */
bool sentinel_judge_follows(const struct replica *r, const struct sentinel_address *address);

/* Returns how often INFO is asked of the instance, in milliseconds: each second of a replica whose
 * primary is down or in a failover, that reports a broken link, or that is not what the
 * configuration says; else each SENTINEL_INFO_PERIOD_MSEC. */
int64_t sentinel_judge_info_period(const struct instance *i);

enum sentinel_replica_move {
    SENTINEL_REPLICA_RESTS,
    SENTINEL_REPLICA_CONVERT,    /* it is a primary: SLAVEOF, +convert-to-slave */
    SENTINEL_REPLICA_FIX_CONFIG, /* it follows another address: SLAVEOF, +fix-slave-config */
};
/* Returns what is to be done with a replica that is not what the configuration says. Called when
 * its INFO has come, so that a request is not repeated before its effect can be seen. */
enum sentinel_replica_move sentinel_judge_replica(const struct replica *r, bool tilt, int64_t now);
#endif
