/* SPDX-License-Identifier: BSD-3-Clause
 * Saves by walk: which data of one moment go to the scribe, and when.
 *
 * The frontier (store/frontier.h) hands on keys, each as it was at the save's moment; the walk
 * copies them into blocks, and the scribe (scribe.h) writes. The main thread only copies, in slices
 * between which commands run, and only for its share of time (snapshot-cpu-budget).
 *
 * A large value's copy takes several steps. Keys that commands cause to be handed on meanwhile wait
 * aside, because the bytes of a key stand together in the file.
 */
#ifndef EVENKEEL_SAVE_WALK_H
#define EVENKEEL_SAVE_WALK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "save/saver_job.h"

/* Registers options and metrics. Once, at start. */
void walk_register(void);

/* Begins to save the data of this moment. No walk may be under way (walk_is_under_way), no unit be
 * in the midst of its changes, and frontier_may_begin must hold. `id` is for the job's `open`.
 * `wake` is called from another thread when walk_end should be asked. O(databases). */
void walk_begin(const struct saver_job *job, int id, void (*wake)(void));
/* Whether another job of the same format may share this walk: no key was copied yet. The caller
 * knows that no data has changed since the walk began. */
MUST_USE bool walk_may_join(void);
/* Adds a job, where walk_may_join; at most SAVER_JOBS_MAX jobs. */
void walk_join(const struct saver_job *job);
/* Ends the walk for the job with this argument (scribe_leave). A walk must be under way. */
void walk_leave(const void *argument);
/* Returns true until walk_end has told the walk's end. */
FOR_TESTS bool walk_is_under_way(void);
/* Whether keys are still being copied. */
bool walk_is_copying(void);
/* Whether writers cause more to be copied than is written: more waits than the walk would copy by
 * itself. */
bool walk_is_pressed(void);
/* Called when a turn of the loop begins: the time that the walk may use in it is counted anew. */
void walk_turn(void);
/* Goes on copying for as long as this turn allows. Returns true if the loop should not sleep. False
 * with walk_is_copying: call it again within some milliseconds. */
bool walk_step(void);
/* Gives the save up: nothing more is copied or written. walk_end tells the end as usual. Harmless
 * where no walk is under way. */
void walk_give_up(void);
/* Whether the walk has ended; `good` says how for each job. True once; then no walk is under
 * way. */
MUST_USE bool walk_end(bool *good);
/* Waits for the end, at most `msec`. */
void walk_await_end(int64_t msec);

/* How many keys have come to the encoder, and how many there were when the walk began. */
void walk_progress(uint64_t *done, uint64_t *total);
/* Holds two kinds of calls: those whose row says that they change a large value that is still to be
 * copied, unless they change only members of a hash, a set or a sorted set; and, while the scribe
 * is far behind, every call that writes. EXEC is held if a call that it would run is of such a
 * kind. */
extern struct gate walk_gate;

/* Called in a forked child: the walk is the parent's. */
void walk_forget(void);
#endif
