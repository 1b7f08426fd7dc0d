/* SPDX-License-Identifier: BSD-3-Clause
 * Applying the primary's stream: it is read, its commands run and count, and its bytes are passed
 * on to our own replicas.
 *
 * history_place says what is applied: it moves behind a command when that has run, and behind a
 * transaction as a whole. So after any end of the link the next link can continue from there; bytes
 * that were read but not applied are dropped.
 *
 * The primary is a client of its own kind (CLIENT_PRIMARY): CLIENT LIST shows it, CLIENT KILL ends
 * it, and CLIENT PAUSE or a slow log holds it. Its commands have the origin CALL_PRIMARY and get no
 * replies.
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

/* How a stream ended. */
enum apply_end {
    APPLY_LOST, /* the connection is gone, or the primary was killed as a client */
    APPLY_BAD,  /* the bytes were no stream of commands: this history must not be continued */
};

/* Begins to apply a stream. The connection's next byte is the stream's at history_place; the
 * connection leaves `link`, which must be ready to release it. `early` has bytes that came before
 * and are taken first. Commands are about `database` until a SELECT comes. `ended` is called once,
 * unless apply_stop was called, and never within apply_begin. False, with a line in the log, where
 * the connection cannot be watched. */
MUST_USE bool apply_begin(struct peer_client *link, struct slice early, int database,
                          void (*ended)(enum apply_end how));
/* Ends the stream and closes its connection. Harmless where there is none. */
void apply_stop(void);
bool apply_is_under_way(void);

/* When the primary last sent something: monotonic, in seconds. */
int64_t apply_heard_sec(void);
/* The place behind the last byte that was read, applied or not; history_place where no stream is
 * under way. */
int64_t apply_read_place(void);
/* The database that the stream is in; where none is under way, that of the last stream. */
int apply_database(void);
/* Asks that the primary be told our place, when our log has all up to there (apply_tell). Nothing
 * happens where there is no stream, or after apply_set_mute. */
void apply_acknowledge(void);
/* Called each second: acknowledges as apply_acknowledge does. While the log is behind, it repeats
 * the last acknowledged place, so that the primary knows that this server lives. */
void apply_keep_alive(void);
/* Called before the loop sleeps, after the log's work: sends the acknowledgements that the log
 * allows. */
void apply_tell(void);
/* Sends no acknowledgements: the primary was asked by SYNC and does not know them. */
void apply_set_mute(bool mute);
/* Called before the loop sleeps: runs the commands that have come, for about BATCH_TURN_USEC. True
 * where more can be run at once. */
MUST_USE bool apply_step(void);
/* Whether commands that have come can be run at once. To be asked before the loop sleeps, because
 * the end of FLUSHALL's wait lets the stream continue after apply_step. O(1). */
bool apply_may_go_on(void);
#endif
