/* SPDX-License-Identifier: BSD-3-Clause
 * Background threads: what would hold up the event loop (closing, syncing, freeing) is done there.
 *
 * One thread a kind, so that a slow disk delays no freeing. Jobs of a kind run one at a time, in
 * the order in which they were submitted; kinds do not wait for each other. A job tells that it is
 * done by itself (an atomic, loop_wake).
 *
 * A forked child has no such threads, whatever the parent had: there jobs run at once, in the
 * caller, and none is ever pending (background_in_child).
 */
#ifndef EVENKEEL_IO_BACKGROUND_H
#define EVENKEEL_IO_BACKGROUND_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

enum background_kind {
    BACKGROUND_CLOSE,
    BACKGROUND_SYNC,    /* the log's file: writes and syncs */
    BACKGROUND_REWRITE, /* a file that is to take its place */
    BACKGROUND_SAVE,    /* a save that walks: what it writes */
    BACKGROUND_FREE,
    BACKGROUND_KINDS
};

/* Starts the threads now instead of each at its first job. False, errno set, where the system
 * gives no thread. */
FOR_TESTS MUST_USE bool background_start(void);
/* Runs `function(argument)` on the kind's thread; `argument` is the job's from now on. From any
 * thread. Where no thread can be had the job runs at once, in the caller. */
void background_submit(enum background_kind kind, void (*function)(void *argument), void *argument);
/* Jobs submitted and not yet finished (the running one counts). No lock. */
size_t background_pending(enum background_kind kind);
/* Waits until all jobs submitted before this call are finished and what they freed is published
 * (base/memory). Not from a job of the same kind. */
void background_drain(enum background_kind kind);
/* Finishes all jobs and ends the threads; a later submit starts them again. Not while another
 * thread may submit. */
void background_stop(void);
/* In a forked child, before anything else here: forgets the parent's threads and jobs. */
void background_in_child(void);
#endif
