/* SPDX-License-Identifier: BSD-3-Clause
 * A crew: one thread gives jobs, several threads do them, and the jobs come back to the giver in
 * the order in which they were given.
 *
 *   giver --jobs--> done by whoever is free --in order--> the giver
 *
 * The giver works, too, while the job that it wants back is not done; so it is never idle while
 * there is work, and the crew works, if slower, where no thread can be started. Threads are started
 * with the second job, so that a single job costs no thread.
 *
 * Bound: crew_room jobs are given and not back. A job should be about 100 us of work, beside which
 * handing it over costs nothing. The owner keeps a job, and must not touch it between giving it and
 * getting it back.
 */
#ifndef EVENKEEL_IO_CREW_H
#define EVENKEEL_IO_CREW_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct crew;

/* Does a job. Called in any thread, several at once. Other data that it reads must not change
 * meanwhile; after crew_rest no thread works. */
typedef void crew_work(void *job);

#define CREW_THREADS_MAX 16

/* Creates a crew of `threads` threads beside the giver's. */
MUST_USE struct crew *crew_create(crew_work *work, unsigned threads);
/* The most jobs that may be given and not back. */
size_t crew_room(const struct crew *c);
/* How many jobs are given and not back. */
size_t crew_given(const struct crew *c);
/* Gives a job; there must be room. */
void crew_give(struct crew *c, void *job);
/* Takes back the oldest job that was given; works, or waits, until it is done. Returns NULL if none
 * is given. */
MUST_USE void *crew_take(struct crew *c);
/* Returns when all given jobs are done, so that no thread works until the next one is given. */
void crew_rest(struct crew *c);
/* Ends the threads and frees the crew. All jobs must be back. */
void crew_free(struct crew *c);
#endif
