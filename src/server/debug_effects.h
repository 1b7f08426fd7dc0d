/* SPDX-License-Identifier: BSD-3-Clause
 * DEBUG EFFECTS: what commands hand on to the log and to replicas, recorded to be looked at.
 */
#ifndef EVENKEEL_SERVER_DEBUG_EFFECTS_H
#define EVENKEEL_SERVER_DEBUG_EFFECTS_H

struct call;
struct effect_sink;

extern const struct effect_sink debug_log_sink, debug_stream_sink; /* for server/wiring */

/* DEBUG EFFECTS <START|STOP|LOG|STREAM>. */
void debug_effects(struct call *call);
#endif
