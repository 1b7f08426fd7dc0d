/* SPDX-License-Identifier: BSD-3-Clause
 * Names of hosts, looked up beside the main thread: the resolver may wait for seconds.
 *
 * A lookup is a descriptor that becomes readable when the answer is there, so its asker waits for
 * it as for a socket: in the loop, or by itself. Up to LOOKUP_THREADS_MAX threads look names up at
 * once, so that one name whose servers are silent does not delay the others; further names wait
 * their turn. The threads end when no name waits. Nothing waits for them when the process ends,
 * because the resolver cannot be interrupted.
 *
 * A forked child has no threads: there, and where the system gives none, lookup_begin itself waits
 * for the resolver.
 */
#ifndef EVENKEEL_IO_LOOKUP_H
#define EVENKEEL_IO_LOOKUP_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "io/socket.h"

#define LOOKUP_THREADS_MAX 4

struct lookup;

/* Begins to look `name` up (copied). NULL with a reason where there is no descriptor left for it.
 * Main thread only, as all functions here. */
MUST_USE struct lookup *lookup_begin(const char *name, char *reason, size_t reason_size);
/* Readable as soon as lookup_take may be called. The lookup's: it is closed with it. */
int lookup_fd(const struct lookup *lookup);
/* After the descriptor was readable (asserted): the name's first address, as a number. False with
 * the resolver's reason. Frees the lookup. */
MUST_USE bool lookup_take(struct lookup *lookup, char address[SOCKET_ADDRESS_CHARS], char *reason,
                          size_t reason_size);
/* Gives a lookup up: its answer is dropped. Frees the lookup, in the calling thread or in the one
 * that looks the name up. NULL is harmless. */
void lookup_drop(struct lookup *lookup);
/* In a forked child, before anything else here: forgets the parent's threads. */
void lookup_in_child(void);
#endif
