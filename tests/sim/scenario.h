/* SPDX-License-Identifier: BSD-3-Clause
 * What happens in a run: servers with options of the seed, load, faults, and what must hold.
 */
#ifndef EVENKEEL_TESTS_SIM_SCENARIO_H
#define EVENKEEL_TESTS_SIM_SCENARIO_H
#include <stdbool.h>

/* Runs it; what is wrong is in world->finding. With `sentinels`, so many of the nodes are such;
 * with `in_cluster` all nodes are primaries of one cluster. */
void scenario_run(int sentinels, bool in_cluster);
#endif
