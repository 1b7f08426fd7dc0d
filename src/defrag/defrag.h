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
 * value by a cursor of its own, then the index by deadline; and then at the blocks of higher
 * folders (defrag_set_parts). While a child saves, a save by walk is under way, a call is running,
 * or memory is taken faster than the pass gives back (but for a load), a pass rests.
 *
 * Not moved: what Lua and clients hold, consumers with more than 1,000 pending entries, and blocks
 * of more than RELOCATION_BYTES_MAX, which have no slab.
 */
#ifndef EVENKEEL_DEFRAG_DEFRAG_H
#define EVENKEEL_DEFRAG_DEFRAG_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/relocation.h"

struct buffer;
struct loop;

/* Sets the functions that move blocks of higher folders, in their order, ended by NULL. Once, at
 * start. */
void defrag_set_parts(relocation_part *const *all);

/* Registers options, metrics and the cause. Once, at start. */
void defrag_register(void);
/* Hands over the loop, whose timers wake it for a pass. Once, at start. */
void defrag_open(struct loop *loop);
/* A slice of a pass that is running, of DEFRAG_SLICE_USEC at most; to be called before the loop
 * sleeps. True if the loop should not sleep. */
bool defrag_step(void);
#define DEFRAG_SLICE_USEC 250
/* To be called between the commands of a load, in whose turns no timer runs: looks ten times
 * a second whether a pass is to begin, and does a slice. Turns are far between, so that the slice
 * is as long as what the budget gathers: with less, a pass does not end before a fast load. */
void defrag_step_of_load(void);
#define DEFRAG_LOAD_SLICE_USEC 10000
/* For tests of a whole server: with activedefrag, passes follow one another without an end, and
 * move this percentage of all blocks, drawn by chance, whatever the allocator says. 0 ends that. */
void defrag_move_by_chance(unsigned percent);
bool defrag_is_on(void);
/* Appends a sentence that says what it does, and why. */
void defrag_append_state(struct buffer *out);
/* Looks whether a pass is to begin, as the timer does once a second. */
FOR_TESTS void defrag_look(void);
#endif
