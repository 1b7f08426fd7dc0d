/* SPDX-License-Identifier: BSD-3-Clause
 * A crew: one thread gives jobs, several do them, and they come back to it in the order in which
 * they were given.
 *
 *   giver --jobs--> done by whoever is free --in order--> the giver
 *
 * The giver works too, while the job that it wants back is not done: so it is never idle while
 * there is work, and all goes on, if slower, where no further thread can be had. Threads are
 * started with the second job: what is small costs none.
 *
 * Bounds: crew_room jobs that were given and have not come back. A job is a piece of work of a
 * hundred microseconds or so, beside which handing it over is nothing; it stays its owner's, who
 * touches none between giving it and having it back.
 */
#ifndef EVENKEEL_IO_CREW_H
#define EVENKEEL_IO_CREW_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct crew;

/* Does a job. In any thread, several at once; what it reads besides must not change meanwhile:
 * crew_rest says when nobody works. */
typedef void crew_work(void *job);

#define CREW_THREADS_MAX 16

/* `threads` more than the giver's are to work. */
MUST_USE struct crew *crew_create(crew_work *work, unsigned threads);
/* How many jobs may be given and not have come back. */
size_t crew_room(const struct crew *c);
/* How many are. */
size_t crew_given(const struct crew *c);
/* There must be room. */
void crew_give(struct crew *c, void *job);
/* The oldest that was given, done: works, or waits until it is. NULL where none is given. */
MUST_USE void *crew_take(struct crew *c);
/* Returns when all that was given is done, so that nobody works until the next is given. */
void crew_rest(struct crew *c);
/* All have come back. Ends the threads and frees the crew. */
void crew_free(struct crew *c);
#endif
