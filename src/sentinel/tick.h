/* SPDX-License-Identifier: BSD-3-Clause
 * The tick: what a Sentinel does some ten times a second.
 *
 *   each primary, its replicas, its Sentinels:
 *     connections that are missing; PING, INFO, hello messages that are due
 *     not in tilt: is it down? of a primary also: do the others say so, the failover's moves
 *   one switch of a primary to its promoted replica
 *   scripts that are due, or run for too long
 *
 * The time between two ticks is drawn anew each time, so that Sentinels that were started together
 * do not stay in step, and their elections do not meet for ever.
 */
#ifndef EVENKEEL_SENTINEL_TICK_H
#define EVENKEEL_SENTINEL_TICK_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct connection_transport;
struct loop;

/* Sets what the links need: the loop, and what says which transport connections to other servers
 * have (it returns NULL for plain sockets). */
void sentinel_open(struct loop *loop, const struct connection_transport *(*transport)(void));
/* Begins: draws an id where the file has none, writes the record, logs the id, makes an event of
 * each primary, starts the tick. Called when the configuration is loaded and the listeners are
 * open. */
void sentinel_begin(void);

/* Whether this Sentinel does not trust its own time, and judges nothing. */
bool sentinel_is_tilted(void);
/* Ticks a second, as INFO's hz shows it: drawn anew in each tick. */
int64_t sentinel_hz(void);
#endif
