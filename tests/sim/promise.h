/* SPDX-License-Identifier: BSD-3-Clause
 * What WAIT has promised: a number of a writer is in these nodes, as long as they are neither
 * started anew nor given another copy.
 *
 * WAIT tells how many have acknowledged, not who. So a promise is taken only where all that could
 * have been counted were: replicas that had a link to the primary at any time between the question
 * and its answer, each with one link that is the node's still; and none came in between.
 */
#ifndef EVENKEEL_TESTS_SIM_PROMISE_H
#define EVENKEEL_TESTS_SIM_PROMISE_H
#include <stdint.h>

#include "sim/world.h"

#define PROMISE_WRITERS_MAX 80

/* Who could be counted by a WAIT that is asked now. */
struct candidates {
    bool clear;
    uint64_t links_made;
    unsigned nodes; /* a bit each */
    int links;
    struct {
        unsigned starts, full_syncs;
    } then[NODES_MAX];
};
struct candidates promise_candidates(int primary);
/* The answer has come: `counted` have the writer's number. */
void promise_take(const struct candidates *asked, long long counted, int writer, long long number);
/* What the node is to have of the writer's; 0: nothing. */
long long promise_of(int node, int writer);
/* Nothing is promised of the writer any more. */
void promise_forget(int writer);
/* How many promises were taken. */
uint64_t promises(void);
#endif
