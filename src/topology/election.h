/* SPDX-License-Identifier: BSD-3-Clause
 * The candidate's side of an election: a replica that wants to take the place of its primary.
 *
 *              its primary has failed            its time has come          a majority votes for it
 *     NONE ----------------------> DELAYED ----------------------> ASKS ----------------> won: NONE
 *      ^                              ^  a manual failover is ready  | no majority within the
 *      |                              |  (from NONE, DELAYED, RESTS: | election's time
 *      |                              |  to ASKS at once)            v
 *      |                              '---------------------------- RESTS
 *      '---- from any state: the primary works again, another is followed, the data is too old
 *
 *   | time                  | milliseconds                                                  |
 *   | --------------------- | ------------------------------------------------------------- |
 *   | delay                 | 500, so that all voters learn of the failure; 0 to 499 drawn, |
 *   |                       | so that replicas do not ask together; 1,000 a rank            |
 *   | the election's time   | 2 node timeouts, at least 2,000, from the end of the delay    |
 *   | the end of RESTS      | 2 such times after the end of the delay                       |
 *
 * The rank is the number of siblings that have more of the primary's stream. A sibling with as much
 * has the better rank where its id is the smaller one.
 *
 * An election ends with its cause: nothing of an old election delays the next.
 */
#ifndef EVENKEEL_TOPOLOGY_ELECTION_H
#define EVENKEEL_TOPOLOGY_ELECTION_H
#include <stdbool.h>
#include <stdint.h>

#include "topology/view.h"

enum cluster_election_state {
    CLUSTER_ELECTION_NONE,
    CLUSTER_ELECTION_DELAYED,
    CLUSTER_ELECTION_ASKS,
    CLUSTER_ELECTION_RESTS
};

/* Why an election does not go on: the operator is told when the reason changes. */
enum cluster_election_obstacle {
    CLUSTER_OBSTACLE_NONE,
    CLUSTER_OBSTACLE_DATA_AGE,
    CLUSTER_OBSTACLE_DELAY,
    CLUSTER_OBSTACLE_EXPIRED,
    CLUSTER_OBSTACLE_VOTES
};

/* What the candidate remembers; zeroed at start. Times are monotonic. */
struct cluster_election {
    enum cluster_election_state state;
    bool is_manual;            /* it began for a manual failover */
    struct cluster_id primary; /* whose place it is about */
    int64_t due_msec;          /* the end of the delay */
    unsigned rank;
    uint64_t epoch; /* ASKS, RESTS: the election's */
    enum cluster_election_obstacle said;
    int64_t said_msec;
};

/* The manual failover, as the election sees it. */
enum cluster_manual_progress {
    CLUSTER_MANUAL_NONE,
    CLUSTER_MANUAL_UNDER_WAY, /* if the primary fails now, no delay is needed */
    CLUSTER_MANUAL_READY,     /* the election is to begin although the primary works */
};

#define CLUSTER_DATA_AGE_NEVER INT64_MAX /* no data of this primary yet */

struct cluster_election_facts {
    int64_t now_msec;          /* monotonic */
    int64_t timeout_msec;      /* cluster-node-timeout */
    int64_t failed_for_msec;   /* how long the primary has failed; -1 = it works */
    int64_t data_age_msec;     /* for how long nothing has come from the primary */
    int64_t data_age_max_msec; /* cluster_data_age_max */
    uint64_t offset;           /* place in the primary's stream; 0 = not in step with it */
    bool no_failover;          /* cluster-replica-no-failover */
    enum cluster_manual_progress manual;
    unsigned drawn; /* at random, anew for each call */
};
/* What the caller has to do. */
struct cluster_election_orders {
    bool tell_siblings; /* PONG: they compare their ranks */
    bool ask;           /* AUTH_REQUEST to all, in the current epoch, which is new */
    bool won;           /* take the primary's place in the election's epoch */
};

/* How old data may be in an election: the node timeout times the factor, plus the period of the
 * primary's pings; INT64_MAX for factor 0. */
int64_t cluster_data_age_max(int64_t timeout_msec, int64_t factor, int64_t ping_period_sec);
/* Goes on with the election, or ends it. To be called on each tick, and when a vote has come or
 * the manual failover has made progress. Takes the next epoch of the cluster where it says `ask`.
 * O(nodes + siblings). */
struct cluster_election_orders cluster_election_step(struct cluster_election *election,
                                                     struct cluster *c,
                                                     const struct cluster_election_facts *facts);
/* Takes note of a vote that was sent in this epoch. True: it counts. */
bool cluster_election_count(const struct cluster_election *election, struct cluster_node *voter,
                            uint64_t epoch);
#endif
