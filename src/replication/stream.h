/* SPDX-License-Identifier: BSD-3-Clause
 * The replication stream: the effects of calls, as the bytes that replicas are sent after their
 * copy.
 *
 * No byte is sent before its record is allowed (net/reply.h): a write that is not in the log yet
 * may be lost with this server, and must not be known to replicas that then take over, or come back
 * to it.
 *
 * A primary writes effects to the stream; a replica passes on its primary's bytes unchanged, so
 * that places are the same everywhere. Without a backlog nothing is written.
 */
#ifndef EVENKEEL_REPLICATION_STREAM_H
#define EVENKEEL_REPLICATION_STREAM_H
#include <stdbool.h>

#include "base/string.h"
#include "exec/effects.h"

extern const struct effect_sink stream_sink; /* for server/wiring */

/* Opens the backlog; effects are written to it where this server makes them. */
void stream_open(void);
/* Closes the backlog, which must have no readers. */
void stream_close(void);
/* Sets whether effects are written (a primary, and the initial state), or only the bytes of
 * stream_pass_on (a replica). The effects that an open unit has had so far are in the history when
 * this returns. */
void stream_take_effects(bool take);
bool stream_is_own(void);

/* The history's place behind the last effect, without later pings and the like, which change no
 * data. */
int64_t stream_written(void);
/* The database that a primary's stream is in: a command without another SELECT is about it. */
int stream_database(void);
/* A copy of the data begins here: the next command is preceded by a SELECT. */
void stream_begin_copy(void);
/* Writes a command that is about no key: PING, REPLCONF GETACK. Only for a primary, with a
 * backlog. */
void stream_command(int argc, const struct slice *argv);
/* Lets replicas be sent what the log has by now; only with a backlog. Returns true if that is more,
 * or less, than at the last call. O(1). */
bool stream_look_at_log(void);
/* On a replica: appends the primary's bytes unchanged. */
void stream_pass_on(struct slice bytes);
#endif
