/* SPDX-License-Identifier: BSD-3-Clause
 * CLIENT PAUSE: for a time no command runs, or none that writes. FAILOVER pauses writes, too.
 *
 * A request that may not run holds its client (batch_hold_request); when the pause ends all of them
 * go on, in the order in which they were stopped. Meanwhile keys do not expire.
 */
#ifndef EVENKEEL_EXEC_PAUSE_H
#define EVENKEEL_EXEC_PAUSE_H
#include <stdbool.h>
#include <stdint.h>

struct gate;

enum pause_mode { PAUSE_NONE, PAUSE_WRITES, PAUSE_ALL };

/* Pauses from now on for so long. While a pause runs only more is taken: a later end, the stronger
 * mode. */
void pause_start(enum pause_mode mode, int64_t msec);
/* Ends it before its time; harmless where there is none. */
void pause_end(void);
/* Writes are paused, whatever clients say, until this is called with false: this server is about to
 * hand over to a replica. */
void pause_hold_writes(bool hold);
enum pause_mode pause_mode(void);
/* For server/wiring: holds the client of a request that may not run. */
extern struct gate pause_gate;
#endif
