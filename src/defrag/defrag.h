/* SPDX-License-Identifier: BSD-3-Clause
 * Active defragmentation: moves blocks out of the allocator's sparse slabs while the server runs,
 * so that it gives their pages back to the system.
 *
 *      activedefrag no ---------------------------------> off <--- CONFIG SET activedefrag no
 *      off      -- CONFIG SET activedefrag yes ---------> watching
 *      watching -- once a second: much is wasted -------> running, a pass begins
 *      running  -- a pass ends, still much is wasted ---> running, the next pass begins
 *      running  -- a pass ends, little is wasted -------> watching
 *      running  -- a pass ends, and gained little ------> settled
 *      settled  -- the waste has grown, or is gone -----> watching
 *
 * A pass looks at all blocks of all databases once: keys and small values by buckets, each large
 * value by a cursor of its own, then the index by deadline. While a child saves, a save by walk
 * is under way, or a call is running, a pass rests.
 *
 * Not moved: consumer groups of streams, what scripts and clients hold, the tables' directories and
 * chunks of more than RELOCATION_BYTES_MAX, which have no slab.
 */
#ifndef EVENKEEL_DEFRAG_DEFRAG_H
#define EVENKEEL_DEFRAG_DEFRAG_H
#include <stdbool.h>

#include "base/attributes.h"

struct loop;

/* Registers options, metrics and the cause. Once, at start. */
void defrag_register(void);
/* Hands over the loop, whose timers wake it for a pass. Once, at start. */
void defrag_open(struct loop *loop);
/* A slice of a pass that is running, of DEFRAG_SLICE_USEC at most; to be called before the loop
 * sleeps. True if the loop should not sleep. */
bool defrag_step(void);
#define DEFRAG_SLICE_USEC 500
/* To be called between the commands of a load, in whose turns no timer runs: looks once a second
 * whether a pass is to begin, and does a slice. It may be longer, because turns are far between. */
void defrag_step_of_load(void);
#define DEFRAG_LOAD_SLICE_USEC 5000
/* Looks whether a pass is to begin, as the timer does once a second. */
FOR_TESTS void defrag_look(void);
#endif
