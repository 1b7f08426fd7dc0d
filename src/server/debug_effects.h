/* SPDX-License-Identifier: BSD-3-Clause
 * DEBUG EFFECTS: records the effects that commands hand to the log and to replicas, for inspection.
 */
#ifndef EVENKEEL_SERVER_DEBUG_EFFECTS_H
#define EVENKEEL_SERVER_DEBUG_EFFECTS_H

struct call;
struct effect_sink;

extern const struct effect_sink debug_log_sink, debug_stream_sink; /* for server/wiring */

/* DEBUG EFFECTS <START|STOP|LOG|STREAM>. */
void debug_effects(struct call *call);
#endif
