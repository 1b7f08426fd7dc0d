/* SPDX-License-Identifier: BSD-3-Clause
 * The operator's scripts: the one that is told of warnings, and the one that is told when clients
 * must use another primary.
 *
 * A call of a script waits in a queue until it may run beside the others. A call that fails is
 * repeated, later each time; one that lasts too long is killed. All figures are those of Redis 6.2.
 */
#ifndef EVENKEEL_SENTINEL_SCRIPT_H
#define EVENKEEL_SENTINEL_SCRIPT_H
#include <stdbool.h>
#include <stddef.h>

struct client;
struct primary;
struct sentinel_address;

/* Has warnings call the notification scripts of their primaries from now on. */
void sentinel_script_open(void);
/* Queues a call of the primary's script for clients, if it has one: `leads` says whether this
 * Sentinel made the failover or has heard of it. */
void sentinel_script_reconfigure(const struct primary *p, bool leads,
                                 const struct sentinel_address *from,
                                 const struct sentinel_address *to);
/* Part of the tick: starts the calls that are due, and kills the scripts that run for too long.
 * O(calls in the queue), which has a bound. */
void sentinel_script_step(void);
/* How many scripts run, and how many calls are in the queue, with those that run. */
size_t sentinel_script_running(void);
size_t sentinel_script_queued(void);
/* Replies with the queue, as SENTINEL PENDING-SCRIPTS shows it. */
void sentinel_script_reply_pending(struct client *c);
#endif
