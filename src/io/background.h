/* SPDX-License-Identifier: BSD-3-Clause
 * Background threads: they close, sync and free what would hold up the event loop.
 *
 * Each kind of job has a thread of its own, so that a slow disk does not delay freeing. A module
 * whose jobs must not wait for those of other modules declares a kind of its own. Jobs of one
 * kind run one at a time, in the order in which they were submitted; kinds do not wait for each
 * other. A job itself tells its owner that it is done (by an atomic, by loop_wake).
 *
 * A forked child has no background threads, whatever the parent had. In a child background_submit
 * runs the job before it returns, and no job is ever pending (background_in_child).
 */
#ifndef EVENKEEL_IO_BACKGROUND_H
#define EVENKEEL_IO_BACKGROUND_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct background_worker;

/* A kind of job. A module declares one, static, with its name alone; kinds are told apart by their
 * addresses, so that this header need not list those modules. */
struct background_kind {
    const char *name; /* "sync": the thread is called bg-sync; at most 12 bytes */
    _Atomic(struct background_worker *) worker; /* private; NULL before the first job */
};
/* A process has at most so many kinds (asserted at the first job of a kind). */
#define BACKGROUND_KINDS_MAX 8

/* The kinds that several modules share: closing of descriptors, freeing of memory. */
extern struct background_kind background_close, background_free;

/* Starts the thread of this kind now; otherwise it starts with its first job. Returns false, errno
 * set, if the system refuses a thread. */
FOR_TESTS MUST_USE bool background_start(struct background_kind *kind);
/* Runs `function(argument)` on the thread of this kind; the job owns `argument` from now on. May be
 * called from any thread. If the thread cannot be started, the job runs in the caller before this
 * returns. */
void background_submit(struct background_kind *kind, void (*function)(void *argument),
                       void *argument);
/* Returns the number of jobs that were submitted and are not finished, the running job included.
 * Takes no lock. */
size_t background_pending(const struct background_kind *kind);
/* Waits until all jobs that were submitted before this call are finished and the memory that they
 * freed is published (base/memory). Must not be called from a job of the same kind. */
void background_drain(struct background_kind *kind);
/* Finishes all jobs and ends the threads; a later background_submit starts them again. No other
 * thread may submit a job during the call. */
void background_stop(void);
/* Forgets the parent's threads and jobs. Call it in a forked child before any other function of
 * this header. */
void background_in_child(void);
#endif
