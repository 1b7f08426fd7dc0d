/* SPDX-License-Identifier: BSD-3-Clause
 * What happens in a run: servers with options of the seed, load, faults, and what must hold.
 */
#ifndef EVENKEEL_TESTS_SIM_SCENARIO_H
#define EVENKEEL_TESTS_SIM_SCENARIO_H

/* Runs it; what is wrong is in world->finding. */
void scenario_run(int sentinels);
#endif
