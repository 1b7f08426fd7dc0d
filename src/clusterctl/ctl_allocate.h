/* SPDX-License-Identifier: BSD-3-Clause
 * The plan of a new cluster: which nodes are primaries, their slots, and whose replicas the other
 * nodes are. Pure: nothing here talks to a node.
 *
 * Anti-affinity means that a primary and its replicas run on different hosts. A plan's score is 0
 * where that holds everywhere; CTL_SCORE_PRIMARY for each replica on its primary's host, and 1 for
 * each further replica of a primary on the host of a sibling.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_ALLOCATE_H
#define EVENKEEL_CLUSTERCTL_CTL_ALLOCATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTL_PRIMARIES_MIN 3
#define CTL_SCORE_PRIMARY 10000

/* A node of the plan. */
struct ctl_seat {
    const char *host;     /* borrowed */
    int primary;          /* index of the seat whose replica this is; -1 = a primary */
    unsigned first, last; /* a primary's slots */
};

/* Chooses among so many seats the primaries, which are count / (replicas + 1), by turns from all
 * hosts, and gives each its part of the slots. `order` gets the indices of the primaries, then of
 * the other seats in the order in which they become replicas. Returns the number of primaries,
 * which may be too few (CTL_PRIMARIES_MIN): then nothing else is set. O(count * hosts). */
size_t ctl_allocate_primaries(struct ctl_seat *seats, size_t count, size_t replicas, size_t *order);
/* Gives each primary `replicas` replicas, from another host where there is one, and the seats that
 * are left to the primaries in turn. `assigned` is called for each, in order; `extra` is true from
 * the first seat that is left over. O(count^2). */
void ctl_allocate_replicas(
    struct ctl_seat *seats, size_t count, size_t replicas, const size_t *order,
    void (*assigned)(void *context, size_t replica, size_t primary, bool extra), void *context);
/* Returns the plan's score. `offenders` (or NULL) gets the indices of the replicas that raise it,
 * and `*offending` their number. O(count^2). */
unsigned ctl_allocate_score(const struct ctl_seat *seats, size_t count, size_t *offenders,
                            size_t *offending);
/* Exchanges primaries of replicas at random as long as the score is above 0, at most so many times
 * as a bound on the number of seats says. The score never rises. Returns the score. */
unsigned ctl_allocate_improve(struct ctl_seat *seats, size_t count,
                              uint64_t (*draw_below)(uint64_t bound));
#endif
