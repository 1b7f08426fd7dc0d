/* SPDX-License-Identifier: BSD-3-Clause
 * Transactions: the commands that clients have queued since MULTI, and the keys that they WATCH.
 *
 * exec/client_flags.h has the flags by which other files ask for a client's transaction. EXEC,
 * which runs the queue, is in exec/execute.c.
 */
#ifndef EVENKEEL_EXEC_TRANSACTION_H
#define EVENKEEL_EXEC_TRANSACTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "command/call.h"

struct client;
struct key;
struct keyspace_observer;
struct request;

/* For server/wiring. */
extern const struct keyspace_observer transaction_observer;

/* MULTI: begins a transaction. The client must not be in one. */
void transaction_begin(struct client *c);
/* Notes that a command was refused: EXEC will run nothing. Harmless without a transaction. */
void transaction_fail(struct client *c);
/* DISCARD, RESET, an EXEC that runs nothing: drops the queue and the watched keys. Harmless without
 * a transaction and watched keys. O(commands queued + keys watched). */
void transaction_end(struct client *c);
/* Copies the request to the end of its client's queue, and replies QUEUED. Arguments that have a
 * block of their own are not copied but taken over. The client must be in a transaction. */
void transaction_queue(struct request *request);

/* Visits the queued commands in the order in which EXEC runs them, each as the call that EXEC would
 * make of it (CALL_QUEUED); nothing runs. `visit` must not change the queue. Every call is made in
 * the database that the client has selected now, so a visitor looks up the keys behind a queued
 * SELECT in that database, too. Without a transaction nothing is visited. O(commands visited). */
void transaction_each_call(struct client *c, call_visit *visit, void *context);
/* Flags (enum command_flags) that any queued command has. */
unsigned transaction_flags(const struct client *c);
/* Flags (enum command_flags) that any queued command lacks. */
unsigned transaction_flags_lacking(const struct client *c);
/* Number of commands that are queued, or that EXEC runs; -1: the client is in no transaction. */
int64_t transaction_count(const struct client *c);
/* Bytes of the class MEMORY_CLIENTS that the client's queue and its links to watched keys take.
 * O(1). */
FOR_TESTS size_t transaction_bytes(const struct client *c);

/* WATCH: TRANSACTION_WATCH_FAILED is set when the key changes. Does nothing if the client watches
 * the key already, or if another watched key has changed. O(smaller of the number of keys that the
 * client watches and of clients that watch the key). */
void transaction_watch(struct client *c, const struct key *key);
/* UNWATCH: forgets the watched keys, and that one of them has changed. O(keys watched). */
void transaction_unwatch(struct client *c);
/* Whether a watched key has changed, or is due without being deleted yet. O(keys watched). */
bool transaction_watch_failed(const struct client *c);

/* Asserts the invariants; walks everything. */
void transaction_check(void);
#endif
