/* SPDX-License-Identifier: BSD-3-Clause
 * The stream of our primary, applied: read, run as its commands, counted, handed on to our own
 * replicas.
 *
 * What counts as applied is what history_place says: it moves behind a command when that has run,
 * and behind a transaction as a whole. So whatever ends the link, the next one can go on from
 * there; what was read and not applied is dropped with it.
 *
 * The primary is a client of its own kind (CLIENT_PRIMARY): CLIENT LIST shows it and CLIENT KILL
 * ends it, CLIENT PAUSE holds it, and a slow log does. Its commands have the origin CALL_PRIMARY,
 * and no replies.
 */
#ifndef EVENKEEL_REPLICATION_APPLY_H
#define EVENKEEL_REPLICATION_APPLY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct client;
struct client_state;
struct peer_client;

/* For server/wiring: the primary's client closes. */
extern struct client_state apply_client_state;

/* How the stream has ended. */
enum apply_end {
    APPLY_LOST, /* the connection is gone, or the primary was killed as a client */
    APPLY_BAD, /* what came is no stream of commands: nothing more is to be asked of this history */
};

/* The connection's next byte is the stream's, at history_place; it leaves `link`, which may release
 * it. `early` came before it was asked for, and is taken first. Commands are about `database` until
 * a SELECT comes. `ended` is told once, unless apply_stop was called; never within this. False,
 * with a line in the log, where the connection cannot be watched. */
MUST_USE bool apply_begin(struct peer_client *link, struct slice early, int database,
                          void (*ended)(enum apply_end how));
/* The connection is closed. Harmless where there is none. */
void apply_stop(void);
bool apply_is_under_way(void);

/* When the primary was heard of last: monotonic, in seconds. */
int64_t apply_heard_sec(void);
/* The place behind what has come of the stream, applied or not; history_place where none is under
 * way. */
int64_t apply_read_place(void);
/* The database that the stream is in; of the last one where none is under way. */
int apply_database(void);
/* The primary is to be told how far we are, when our log has that (apply_tell). Nothing where there
 * is no stream, or `mute`. */
void apply_acknowledge(void);
/* The same, each second; what it was told last meanwhile, so that it knows that we live. */
void apply_keep_alive(void);
/* Behind the log's work, before the loop sleeps: tells it what may be told. */
void apply_tell(void);
/* It knows nothing of acknowledgements: it was asked by SYNC. */
void apply_set_mute(bool mute);
/* Before the loop sleeps: runs what has come, for BATCH_TURN_USEC or so. True where more is there
 * to be run at once. */
MUST_USE bool apply_step(void);
#endif
