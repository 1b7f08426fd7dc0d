/* SPDX-License-Identifier: BSD-3-Clause
 * A full copy of the data that our primary sends, received and put in the place of ours.
 *
 *   "$<bytes>", or "$EOF:<40 characters>" and these again behind it
 *       to a file, which becomes the snapshot (dbfilename), and is loaded when it is whole
 *       straight into the databases, by repl-diskless-load; the old data may be kept until all is
 *       there, and comes back where it is not (swapdb)
 *
 * While it comes clients are served, and while it is loaded they are answered (rdb/loading.h).
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
    RECEIVE_COMES,  /* more is to come before anything is to be done */
    RECEIVE_DUE,    /* receive_load is to be called; the client is driven by turns from here on */
    RECEIVE_FAILED, /* the log says why; what was received is gone */
};

/* Options and metrics. Once, at start. */
void receive_register(void);

/* A copy is to come over this client, which has left the protocol: its input follows the reply that
 * said so. False after a line in the log: it can't be received. */
MUST_USE bool receive_begin(struct peer_client *client);
/* Takes what there is of the client's input. Once more where some is left and some was taken. */
MUST_USE enum receive_state receive_take(void);
/* What came of it. */
enum receive_loaded {
    RECEIVE_LOADED,
    RECEIVE_LOST_NOTHING, /* it failed, and the data is as it was */
    RECEIVE_LOST_DATA,    /* it failed, and the databases are empty */
};
/* Puts the copy in the place of all data, in turns (run_turn_within): outside of any call. The log
 * has ended by then, where one was kept: see aof_suspend. What came behind the copy already is in
 * `early`, valid until the next copy begins. */
MUST_USE enum receive_loaded receive_load(struct slice *early);
/* Ends it, also within the turns of receive_load, which then fails. Harmless where there is none.
 */
void receive_stop(void);

/* While a copy is loaded the primary hears of this server: for server/wiring. */
extern const struct loading_observer receive_loading_observer;

/* When anything of it came last: monotonic, in seconds. */
int64_t receive_heard_sec(void);
#endif
