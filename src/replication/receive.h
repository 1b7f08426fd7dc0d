/* SPDX-License-Identifier: BSD-3-Clause
 * A full copy of the data from the primary: it is received and replaces our data.
 *
 *   "$<bytes>", or "$EOF:<40 characters>" and these again behind it
 *       to a file, which is loaded when it is whole, and becomes the snapshot (dbfilename)
 *       straight into the databases, by repl-diskless-load; the old data may be kept until all is
 *       there, and comes back where it is not (swapdb)
 *
 * Clients are served while a file is received, and answered while a copy is loaded (rdb/loading.h).
 */
#ifndef EVENKEEL_REPLICATION_RECEIVE_H
#define EVENKEEL_REPLICATION_RECEIVE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct loading_observer;
struct peer_client;

enum receive_state {
    RECEIVE_NONE,
    RECEIVE_COMES,  /* the copy is being received */
    RECEIVE_DUE,    /* receive_load must be called; from here on it drives the client by turns */
    RECEIVE_FAILED, /* the log says why; the received bytes were dropped */
};

/* Registers options and metrics. Once, at start. */
void receive_register(void);

/* Begins to receive a copy over this client, which has left the protocol: its input follows the
 * reply that announced the copy. False after a line in the log where a copy cannot be received. */
MUST_USE bool receive_begin(struct peer_client *client);
/* Takes the client's input. Call it again where some is left and some was taken. */
MUST_USE enum receive_state receive_take(void);
/* The result of receive_load. */
enum receive_loaded {
    RECEIVE_LOADED,
    RECEIVE_LOST_NOTHING, /* loading failed, and the data is as it was */
    RECEIVE_LOST_DATA,    /* loading failed, and the databases are empty */
};
/* Replaces all data by the copy, in turns (run_turn_within); called outside of any call. A log must
 * have been ended before (aof_suspend). Sets `early` to the bytes that came behind the copy, valid
 * until receive_stop. */
MUST_USE enum receive_loaded receive_load(struct slice *early);
/* Ends the copy, also within the turns of receive_load, which then fails. Harmless where there is
 * none.
 */
void receive_stop(void);

/* Keeps the link to the primary alive while a copy is loaded: for server/wiring. */
extern const struct loading_observer receive_loading_observer;

/* When bytes of the copy last came: monotonic, in seconds. */
int64_t receive_heard_sec(void);
#endif
