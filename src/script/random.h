/* SPDX-License-Identifier: BSD-3-Clause
 * math.random and math.randomseed, the same for the same seed on every machine.
 *
 * A script that a replica or the log's loader runs again must draw the same numbers, so each script
 * begins with the seed 0. The numbers are those of 6.2: POSIX' lrand48.
 */
#ifndef EVENKEEL_SCRIPT_RANDOM_H
#define EVENKEEL_SCRIPT_RANDOM_H
#include <stdint.h>

struct lua_State;

/* Seeds the generator: later numbers depend on the seed alone. */
void script_random_seed(uint32_t seed);
/* Sets both functions in the table on top of the stack. */
void script_random_open(struct lua_State *L);
#endif
