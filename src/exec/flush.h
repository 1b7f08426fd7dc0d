/* SPDX-License-Identifier: BSD-3-Clause
 * FLUSHALL and FLUSHDB SYNC of much data: the database is empty at once, the client is answered
 * when the old data is freed, and other clients are served meanwhile. Within EXEC or a script the
 * call does not wait, because no other client may be served there: the data is freed later.
 */
#ifndef EVENKEEL_EXEC_FLUSH_H
#define EVENKEEL_EXEC_FLUSH_H
#include <stdbool.h>
#include <stddef.h>

struct call;

/* For flush observers: all databases (FLUSHALL), and not one of them (FLUSHDB). */
#define FLUSH_ALL (-1)

/* Is told when a client empties one database, by its number, or all databases (FLUSH_ALL). */
struct flush_observer {
    void (*begins)(int database); /* before any key is deleted */
    void (*done)(int database);   /* no key is left, the client is answered; freeing may go on */
};
/* Sets the observers, which are told in this order; NULL ends the array, which is borrowed for
 * good. server/wiring.c has the array. */
void flush_set_observers(const struct flush_observer *const *observers);
/* Registers lazyfree-lazy-user-flush. Once, at start. */
void flush_register(void);
/* Whether lazyfree-lazy-user-flush is on: FLUSHALL, FLUSHDB and SCRIPT FLUSH free in the background
 * if they are given neither SYNC nor ASYNC. */
bool flush_is_lazy(void);

/* Called by FLUSHDB and FLUSHALL: tells the observers. */
void flush_begins(int database);
void flush_done(int database);

/* Whether freeing so many keys of so many bytes takes so long that it is handed to the background,
 * and the client waits for it. */
bool flush_is_long(size_t keys, size_t bytes);
/* Whether the client of this call can wait. A call within EXEC, a script or a module cannot: it is
 * answered before all is freed. */
bool flush_can_wait(const struct call *call);
/* Blocks the call's client until the background thread has freed all that it was given before, and
 * then replies OK. The command must not have replied. */
void flush_wait(struct call *call);
#endif
