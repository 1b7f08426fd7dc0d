/* SPDX-License-Identifier: BSD-3-Clause
 * Faults: what strikes nodes and links, at moments drawn at random, each with its end.
 */
#ifndef EVENKEEL_TESTS_SIM_FAULTS_H
#define EVENKEEL_TESTS_SIM_FAULTS_H
#include <stdbool.h>
#include <stdint.h>

/* Nodes are a cluster with replicas, which take the places of primaries (headers.h). Before
 * faults_start. */
void faults_expect_elections(void);
/* Each `every_nsec` on average something strikes. */
void faults_start(int64_t every_nsec);
/* Nothing strikes any more, and all is mended: disks, cuts between nodes; nodes run again. */
void faults_end(void);
/* When the node was stopped or had a slow disk last: the moment of its end; 0 = never. */
int64_t faults_slow_until(int node);
#endif
