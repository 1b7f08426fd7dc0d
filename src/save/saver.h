/* SPDX-License-Identifier: BSD-3-Clause
 * Saves in the background: the data of one moment, written without stopping the service of clients.
 *
 * snapshot-method says how. `fork`: a child sees the memory of the moment and writes it, as in
 * Redis 6.2. `walk`: the main thread copies keys in slices, each key before it changes, to a thread
 * that writes (save/walk.h); no page is copied, and the server does not stop for a fork. One save
 * is under way at a time, by whichever method, and none beside another child that saves; several
 * jobs may share a walk (saver_join).
 */
#ifndef EVENKEEL_SAVE_SAVER_H
#define EVENKEEL_SAVE_SAVER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "save/saver_job.h"

struct loop;

/* Registers options and metrics. Once, at start. */
void saver_register(void);
/* Gives the saver its loop, which a walk needs. NULL: closes. */
void saver_open(struct loop *loop);

/* Starts a save; called between two units. The job is copied. False with errno set; EBUSY: a save
 * is under way. */
MUST_USE bool saver_start(const struct saver_job *job);
/* Whether a save that starts now walks. */
bool saver_walks(void);
/* Lets this job share the save that was begun in this unit, before any data changed: of the same
 * kind and format, with an argument of its own. The job is copied; its `open` and `close` run after
 * those of the first. A job that fails does not end the save for the others, but all go on only as
 * fast as the slowest takes the bytes. Returns false if sharing is impossible: a child saves, or
 * the first key is copied. */
MUST_USE bool saver_join(const struct saver_job *job);
/* Whether saver_join is possible now. */
bool saver_may_join(void);
/* Ends the save for the job of this argument, and the whole save where no other job shares it. The
 * job's `ended` is called later. Harmless where there is no such job. */
void saver_leave(const void *argument);
/* Whether the save under way is for the job of this argument and for another one, which has not
 * left. */
bool saver_is_shared(const void *argument);
/* Whether writers make the walk copy more than is written, so that some megabytes wait. A job that
 * does not write to a file must then take the bytes without regard to its peers, because otherwise
 * writers would have to wait for those peers. */
bool saver_is_pressed(void);
/* Whether a save is under way, or another child that must end first. */
bool saver_is_busy(void);
/* The kind of a save that writes a snapshot, to a file or to replicas. */
extern const struct child_kind saver_snapshot;
/* The kind of the save, or child, under way; NULL if there is none. */
const struct child_kind *saver_kind(void);
/* The id of the save under way, as its job's `open` gets it. */
int saver_id(void);
/* Whether the save is done by a child. Descriptors that its job's `open` returns then stay open in
 * this process as well. */
bool saver_is_a_process(void);
/* Ends a save of this kind; `ended` is called later, and is told that this is no error
 * (`on_purpose`). */
void saver_kill(const struct child_kind *kind);
/* Ends a save of this kind as saver_kill does, and returns after `ended` was called. A writing
 * thread that the disk blocks for more than CHILD_PATIENCE_MSEC goes on alone; saver_is_busy until
 * it is done. */
void saver_kill_and_wait(const struct child_kind *kind);
/* Ends a walk that is under way: called before all data is set aside, because a walk cannot follow
 * that. */
void saver_end_walk(void);

/* Called after the loop wakes, and before it sleeps. saver_step returns true where the loop should
 * not sleep. */
void saver_turn(void);
bool saver_step(void);

/* Makes a forked child forget the walk, which is its parent's. */
extern const struct child_observer saver_child_observer;
#endif
