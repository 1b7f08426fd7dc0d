/* SPDX-License-Identifier: BSD-3-Clause
 * math.random and math.randomseed, the same for the same seed on every machine.
 *
 * Scripts that are repeated elsewhere must draw the same numbers, so each begins with the seed 0.
 * The numbers are those of 6.2: POSIX' lrand48.
 */
#ifndef EVENKEEL_SCRIPT_RANDOM_H
#define EVENKEEL_SCRIPT_RANDOM_H
#include <stdint.h>

struct lua_State;

/* The numbers after this follow from the seed alone. */
void script_random_seed(uint32_t seed);
/* Sets both in the table on top of the stack. */
void script_random_open(struct lua_State *L);
#endif
