/* SPDX-License-Identifier: BSD-3-Clause
 * I/O threads: jobs that the main thread gives away and waits for.
 *
 *   threads_give --> done in the order of giving, by whoever is free --> threads_wait
 *
 * `io-threads` counts the main thread: one less is started, once. They sleep while nothing is given
 * (nobody ever spins), and so does the main thread while it waits: what a job does is a thread's,
 * never the giver's.
 *
 * Who touches what: from threads_give until threads_wait or threads_rest returns, a job and all
 * that it names are its thread's. The giver reads and changes none of it meanwhile.
 *
 * A job should be ten system calls or more, because giving it and waiting for it costs about as
 * much as two.
 */
#ifndef EVENKEEL_IO_THREADS_H
#define EVENKEEL_IO_THREADS_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/attributes.h"

/* First in its owner's struct. */
struct threads_job {
    void (*work)(struct threads_job *job); /* in a thread, not the giver's */
    struct threads_job *next;
    atomic_bool done;
};

/* Options io-threads..., and INFO. Once, at start. */
void threads_register(void);
/* Whether io-threads is above 1. */
bool threads_are_wanted(void);
/* Starts io-threads less one, once all that they use (the log) is set up. False, with a line of the
 * log, where the system refuses one. */
MUST_USE bool threads_start(void);
/* Ends the threads; all jobs must be done. Harmless where there are no threads. */
void threads_stop(void);
/* The number of threads beside the main one; 0 in a forked child. */
unsigned threads_count(void);
/* io-threads-do-reads, where there are threads. */
bool threads_do_reads(void);
/* io-threads-clients-min: the fewest clients ready at once whose reads are given away. */
unsigned threads_clients_min(void);
/* For INFO: whether the last turn that served clients has given jobs. */
void threads_note_active(bool active);

/* Gives a job to the threads. In a forked child the job is done at once. This function and all that
 * follow are for the main thread only. */
void threads_give(struct threads_job *job);
/* Returns when the job, which was given, is done. */
void threads_wait(struct threads_job *job);
/* Returns when all given jobs are done. */
void threads_rest(void);
/* To be called in a forked child, whose parent gave no job: the child has no threads. */
void threads_in_child(void);
#endif
