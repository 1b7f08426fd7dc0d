/* SPDX-License-Identifier: BSD-3-Clause
 * Keys with a deadline that clients of a writable replica have set. Its primary does not know them,
 * so only this server can delete them when they are due.
 *
 * A key is the replica's own from the moment when one of its clients gives it a deadline, until the
 * primary changes it, it loses the deadline, or it is deleted.
 */
#ifndef EVENKEEL_REPLICATION_OWN_KEYS_H
#define EVENKEEL_REPLICATION_OWN_KEYS_H
#include <stdbool.h>

struct keyspace_observer;

void own_keys_register(void); /* slave_expires_tracked_keys */
/* For server/wiring. */
extern const struct keyspace_observer own_keys_observer;

/* Sets whether new own keys are noticed: on a replica that clients may write to. */
void own_keys_notice(bool notice);
/* Forgets all own keys: a primary deletes all due keys anyway, and a full copy replaces them
 * all. */
void own_keys_forget(void);
/* Called several times a second: deletes own keys that are due, a bounded number. */
void own_keys_cron(void);
#endif
