/* SPDX-License-Identifier: BSD-3-Clause
 * Saves in the background: of the data of one moment, written by another than who serves clients.
 *
 * snapshot-method says how. `fork`: a child sees the memory of the moment and writes it out, as
 * Redis 6.2 does. `walk`: the server copies its keys bit by bit, each before it changes, to a
 * thread that writes (save/walk.h); no page is copied, and nothing stops for the fork. One save
 * at a time, whatever the method, and none beside a child of another kind that saves; but a walk's
 * may be for several (saver_join).
 */
#ifndef EVENKEEL_SAVE_SAVER_H
#define EVENKEEL_SAVE_SAVER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "save/saver_job.h"

struct loop;

/* Options and metrics. Once, at start. */
void saver_register(void);
/* NULL: closes. */
void saver_open(struct loop *loop);

/* Between two units. The job is copied. False with errno set; EBUSY: one is under way. */
MUST_USE bool saver_start(const struct saver_job *job);
/* Who begins now walks. */
bool saver_walks(void);
/* The save that was begun in this unit, before anything has changed, is for this job, too: of the
 * same kind and format, with an argument of its own. The job is copied; its `open` and `close` run
 * after those of the first. Whoever of them fails does not end it for the others; but they go on
 * only as fast as the slowest takes what is written. False where that cannot be: a child saves, or
 * the first key is copied. */
MUST_USE bool saver_join(const struct saver_job *job);
/* Whether it can be now. */
bool saver_may_join(void);
/* Ends the save for the job of this argument, and as a whole where no other shares it. Its `ended`
 * is told later. Harmless where there is none. */
void saver_leave(const void *argument);
/* The save under way is for the job of this argument and for another one, which has not left. */
bool saver_is_shared(const void *argument);
/* Writers hand more over to the walk under way than is written: some megabytes wait. A job that is
 * not a file must take what is written to it now, whether its peers read it or not, because
 * otherwise writers would come to wait for those peers. */
bool saver_is_pressed(void);
/* A save is under way, or another child that is in its way. */
bool saver_is_busy(void);
/* The kind of a save that writes a snapshot, to a file or to replicas. */
extern const struct child_kind saver_snapshot;
/* The kind of the save, or child, under way; NULL where there is none. */
const struct child_kind *saver_kind(void);
/* Of the save under way: as its `open` has it. */
int saver_id(void);
/* It is a child: descriptors that its job's `open` gives stay open in this process as well. */
bool saver_is_a_process(void);
/* Ends a save of this kind; `ended` is told later. On purpose: no error. */
void saver_kill(const struct child_kind *kind);
/* The same, and returns when `ended` was told. What a disk holds up beyond CHILD_PATIENCE_MSEC goes
 * on by itself: until then saver_is_busy. */
void saver_kill_and_wait(const struct child_kind *kind);
/* Before all data is set aside, which a walk cannot follow: one that is under way is ended. */
void saver_end_walk(void);

/* After waking, and before the loop sleeps: true where it should not. */
void saver_turn(void);
bool saver_step(void);

/* In a forked child nothing of a walk is to be done. */
extern const struct child_observer saver_child_observer;
#endif
