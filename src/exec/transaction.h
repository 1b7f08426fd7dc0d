/* SPDX-License-Identifier: BSD-3-Clause
 * Transactions: what clients have queued since MULTI, and the keys that they WATCH.
 *
 * What others look at of a client's state is its flags: exec/client_flags.h. EXEC, which runs the
 * queue, is exec/execute's.
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

/* MULTI. The client must not be in a transaction. */
void transaction_begin(struct client *c);
/* A command was refused: EXEC will run nothing. Harmless where there is no transaction. */
void transaction_fail(struct client *c);
/* DISCARD, RESET, an EXEC that runs nothing: drops the queue and the watched keys. Harmless where
 * there is nothing. O(commands queued + keys watched). */
void transaction_end(struct client *c);
/* Copies the request behind what is queued, and replies QUEUED; arguments that have a block of
 * their own are taken over. The client must be in a transaction. */
void transaction_queue(struct request *request);

/* Visits the queued commands in the order in which EXEC runs them, each as the call that EXEC would
 * make of it (CALL_QUEUED); nothing runs. `visit` must not change the queue. Every call is made in
 * the database that the client has selected now, so a visitor looks up the keys behind a queued
 * SELECT in that database, too. Without a transaction nothing is visited. O(commands visited). */
void transaction_each_call(struct client *c, call_visit *visit, void *context);
/* Flags (enum command_flags) that any queued command has. */
unsigned transaction_flags(const struct client *c);
/* Those flags that any of these commands lacks. */
unsigned transaction_flags_lacking(const struct client *c);
/* Commands queued, or being run by EXEC; -1: no transaction. */
int64_t transaction_count(const struct client *c);
/* Bytes of the class MEMORY_CLIENTS that its queue and its links to watched keys take. O(1). */
FOR_TESTS size_t transaction_bytes(const struct client *c);

/* WATCH of a key: TRANSACTION_WATCH_FAILED is set when it changes.
 * Watching it twice, or after another watched key has changed, does nothing. O(1) but for keys that
 * many clients watch each of which watches many: see transaction.c. */
void transaction_watch(struct client *c, const struct key *key);
/* UNWATCH: forgets the keys, and that one has changed. O(keys watched). */
void transaction_unwatch(struct client *c);
/* Whether a watched key has changed, or is due without being deleted yet. O(keys watched). */
bool transaction_watch_failed(const struct client *c);

/* Asserts the invariants; walks everything. */
void transaction_check(void);
#endif
