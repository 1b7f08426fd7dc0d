/* SPDX-License-Identifier: BSD-3-Clause
 * Keys with a deadline that clients of a writable replica have made, of which its primary knows
 * nothing: nobody but this server can delete them when their time has come.
 *
 * A key is the replica's own from the moment at which one of its clients gives it a deadline until
 * the primary changes it, it loses the deadline, or it goes.
 */
#ifndef EVENKEEL_REPLICATION_OWN_KEYS_H
#define EVENKEEL_REPLICATION_OWN_KEYS_H
#include <stdbool.h>

struct keyspace_observer;

void own_keys_register(void); /* slave_expires_tracked_keys */
/* For server/wiring. */
extern const struct keyspace_observer own_keys_observer;

/* Whether new ones are noticed: a replica that clients may write to. */
void own_keys_notice(bool notice);
/* None is any more: a primary deletes all that is due, and a full copy has none of them. */
void own_keys_forget(void);
/* Several times a second: deletes those that are due, a bounded number. */
void own_keys_cron(void);
#endif
