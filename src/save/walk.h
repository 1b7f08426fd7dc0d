/* SPDX-License-Identifier: BSD-3-Clause
 * Saves that walk: what of the data of one moment goes to the scribe, and when.
 *
 * The frontier (store/frontier.h) hands keys on, each as it was at the save's moment; the walk
 * copies them into blocks, and the scribe (scribe.h) writes. The main thread only copies, and only
 * for its share of time (snapshot-cpu-budget), in slices between which commands run.
 *
 * A large value's copy takes several steps. What others cause to be handed on meanwhile waits
 * aside, since what the file has of a key stands together.
 */
#ifndef EVENKEEL_SAVE_WALK_H
#define EVENKEEL_SAVE_WALK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "save/saver_job.h"

/* Options and metrics. Once, at start. */
void walk_register(void);

/* This moment's data is saved. None is under way (walk_is_under_way), no unit is in the midst of
 * its changes, and frontier_may_begin. `id` is for the job's `open`; `wake` is called from another
 * thread: walk_end is worth asking. O(databases). */
void walk_begin(const struct saver_job *job, int id, void (*wake)(void));
/* Another job, of the same format, may have what this walk copies: no key was copied yet. That
 * nothing has changed since it began is for the caller to know. */
MUST_USE bool walk_may_join(void);
/* It may; at most SAVER_JOBS_MAX jobs. */
void walk_join(const struct saver_job *job);
/* As scribe_leave. One is under way. */
void walk_leave(const void *argument);
/* Until walk_end has told of its end. */
FOR_TESTS bool walk_is_under_way(void);
/* Its data is still being copied. */
bool walk_is_copying(void);
/* Writers hand over more than is written: more waits than the walk copies by itself. */
bool walk_is_pressed(void);
/* A turn begins: what may be spent in it is counted anew. */
void walk_turn(void);
/* Copies on as long as this turn may. True where the loop should not sleep; where it may, but there
 * is more to copy, walk_step is to be called again within some milliseconds. */
bool walk_step(void);
/* Nothing more is copied or written; the end comes as ever. Harmless where none is under way. */
void walk_give_up(void);
/* Whether it has ended, and how for each job: told once, and then none is under way. */
MUST_USE bool walk_end(bool *good);
/* Waits up to so long for the end. */
void walk_await_end(int64_t msec);

/* Keys that came to the encoder, and keys there were. */
void walk_progress(uint64_t *done, uint64_t *total);
/* A call waits whose row says that it changes a large value that is still to be copied, unless all
 * that it changes is members of a hash, a set or a sorted set. While the scribe is far behind every
 * call that writes waits. */
extern struct gate walk_gate;

/* In a forked child: the walk is the parent's. */
void walk_forget(void);
#endif
