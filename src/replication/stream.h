/* SPDX-License-Identifier: BSD-3-Clause
 * The write stream: what calls have changed, as the bytes that replicas are sent after their copy.
 *
 * No byte leaves before its record (net/reply.h): what has no place in the log yet may be lost with
 * this server, and must not be known to replicas that then take over, or come back to it.
 *
 * A primary writes effects to it; a replica hands on what its primary sends, byte for byte, so that
 * places are the same everywhere. Without a backlog nothing is written.
 */
#ifndef EVENKEEL_REPLICATION_STREAM_H
#define EVENKEEL_REPLICATION_STREAM_H
#include <stdbool.h>

#include "base/string.h"
#include "exec/effects.h"

extern const struct effect_sink stream_sink; /* for server/wiring */

/* The backlog is opened, and effects are written to it where this server makes them. */
void stream_open(void);
/* The backlog is closed: nobody follows it. */
void stream_close(void);
/* Whether effects are written (a primary), or only what stream_pass_on gets (a replica). At first
 * they are. What an open unit has done before is in the history when this returns. */
void stream_take_effects(bool take);
bool stream_is_own(void);

/* The history's place behind the last effect: pings and the like come after it, and tell nothing.
 */
int64_t stream_written(void);
/* The database that a primary's stream is in: what comes without another SELECT is about it. */
int stream_database(void);
/* A copy of the data begins here: the next command is to name its database. */
void stream_begin_copy(void);
/* A command that is about no key: PING, REPLCONF GETACK. Only for a primary, with a backlog. */
void stream_command(int argc, const struct slice *argv);
/* Replicas may be sent what the log has by now. With a backlog; true where that is more, or less,
 * than at the last time. O(1). */
bool stream_look_at_log(void);
/* On a replica: bytes as they came. */
void stream_pass_on(struct slice bytes);
#endif
