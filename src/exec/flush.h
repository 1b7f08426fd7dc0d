/* SPDX-License-Identifier: BSD-3-Clause
 * FLUSHALL and FLUSHDB SYNC of much data: the database is empty at once, the client has its answer
 * when what was there is freed, and all others are served meanwhile. Within EXEC or a script nobody
 * waits, for nobody else may be served there: what was there is freed behind it.
 */
#ifndef EVENKEEL_EXEC_FLUSH_H
#define EVENKEEL_EXEC_FLUSH_H
#include <stdbool.h>
#include <stddef.h>

struct call;

/* For flush observers: all databases (FLUSHALL), and not one of them (FLUSHDB). */
#define FLUSH_ALL (-1)

/* What hears that a client empties one database, by its number, or all of them (FLUSH_ALL). */
struct flush_observer {
    void (*begins)(int database); /* before any key goes */
    void (*done)(int database);   /* all are gone, and may still be freed; the client is answered */
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void flush_set_observers(const struct flush_observer *const *observers);
/* FLUSHDB and FLUSHALL tell the observers. */
void flush_begins(int database);
void flush_done(int database);

/* Whether freeing so many keys of so many bytes takes so long that the client should wait for it.
 */
bool flush_is_long(size_t keys, size_t bytes);
/* Whether it can: a call within EXEC, a script or a module has its answer before all is freed. */
bool flush_can_wait(const struct call *call);
/* Holds the call's client until all that was handed to the background before is freed, and then
 * answers OK. The command must not have replied. */
void flush_wait(struct call *call);
#endif
