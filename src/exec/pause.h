/* SPDX-License-Identifier: BSD-3-Clause
 * CLIENT PAUSE: for a time no command runs, or no command that writes. FAILOVER pauses writes, too.
 *
 * A client whose request may not run is held (batch_hold_request). When the pause ends, the held
 * clients are resumed in the order in which they were held. Keys do not expire during a pause.
 */
#ifndef EVENKEEL_EXEC_PAUSE_H
#define EVENKEEL_EXEC_PAUSE_H
#include <stdbool.h>
#include <stdint.h>

struct gate;

enum pause_mode { PAUSE_NONE, PAUSE_WRITES, PAUSE_ALL };

/* Pauses from now on for `msec`. A running pause can only be extended: the later end and the
 * stronger mode hold. */
void pause_start(enum pause_mode mode, int64_t msec);
/* Ends the pause before its time; harmless without a pause. */
void pause_end(void);
/* Pauses writes until this is called with false, whatever CLIENT PAUSE and UNPAUSE do, because this
 * server is about to hand over to a replica. */
void pause_hold_writes(bool hold);
enum pause_mode pause_mode(void);
/* For server/wiring: holds the client of a request that may not run. */
extern struct gate pause_gate;
#endif
