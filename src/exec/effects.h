/* SPDX-License-Identifier: BSD-3-Clause
 * Effects (propagation): the changes of calls, as commands for the log and the replicas.
 *
 * A unit is what is propagated whole or not at all: an outermost call with the calls within it, one
 * blocked client that was served, one key that expired by itself. Effects are collected while the
 * unit runs, and handed to the sinks in order when it ends. The effect of a call that changed
 * something (keyspace_written) is its request as it was sent, unless the call adds effects of its
 * own: these replace the request.
 *
 * The log and the replicas may get different forms of one effect: SET k v EX 10 is logged with the
 * time at which the key expires, and sent to replicas as it is.
 */
#ifndef EVENKEEL_EXEC_EFFECTS_H
#define EVENKEEL_EXEC_EFFECTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct child_observer;
struct key;
struct keyspace;
struct keyspace_observer;

enum effect_reader {
    EFFECT_LOG = 1 << 0,
    EFFECT_STREAM = 1 << 1,
    EFFECT_BOTH = EFFECT_LOG | EFFECT_STREAM,
};

/* A taker of effects. MULTI and EXEC around the effects of one unit come as commands of their own.
 */
struct effect_sink {
    unsigned reader; /* one of effect_reader */
    /* Takes one command, which runs in `database`. The slices are valid during the call. */
    void (*take)(int database, int argc, const struct slice *argv);
    /* Takes a request by its bytes, which are its canonical form as an array of bulks
     * (request_is_canonical) and valid during the call. NULL: `take` is called instead. */
    void (*take_bytes)(int database, struct slice bytes);
    /* Replies wait until this sink has called reply_allow with effects_record_ended() or a later
     * record, which it does when the record is as safe as it must be. */
    bool holds_replies;
    /* The sink takes effects only while this is true; NULL: while any interest in its reader is
     * noted. It must change before the effects_add_interest that belongs to the change. */
    const bool *on;
};

/* Sets the sinks, EFFECT_SINKS_MAX at most; NULL ends the array, which is borrowed for good.
 * server/wiring.c has the array. */
#define EFFECT_SINKS_MAX 8
void effects_set_sinks(const struct effect_sink *const *sinks);
/* A sink begins (delta 1) or ceases (-1) to want effects for this reader; while no sink does,
 * effects cost a call one test. If that happens within a unit and is the first interest, or ends
 * the last one, the effects that the unit has had so far are dropped. Not to be called by a sink
 * that is just taking. */
void effects_add_interest(enum effect_reader reader, int delta);
/* The readers that some sink wants effects for: bits of enum effect_reader. */
unsigned effects_wanted(void);
/* A count that grows whenever a sink begins to want effects: that sink does not know what came
 * before. */
uint64_t effects_audience(void);

/* Called when the server is to stop. If that is decided in a nested turn within a unit (SHUTDOWN
 * NOSAVE while a script is busy), the unit will never end: then neither it nor anything after it is
 * handed to the sinks, and replies that wait for these records are not sent. */
void effects_stop(void);

/* ---- within a call, or while a client is served ---- */

/* Adds one effect for these readers, which replaces the request as it was sent. The slices are
 * copied. */
void effect_add(const struct keyspace *ks, unsigned readers, int argc, const struct slice *argv);
/* Adds one effect as effect_add does, but before the other effects of the unit and outside of their
 * frame. */
void effect_add_alone(const struct keyspace *ks, unsigned readers, int argc,
                      const struct slice *argv);
/* Adds the effect that deletes the key: DEL, or UNLINK with `lazily`. */
void effect_add_delete(const struct key *key, bool lazily);
/* Adds the request as it was sent as an effect for these readers: if other readers get another
 * form, or no change was counted. */
void effect_add_as_sent(const struct call *call, unsigned readers);
/* The call has no effect, although it may have changed something. */
void effect_none(void);
/* From here on only these readers get the effects of calls; the effects of keys that expire or are
 * evicted are not limited. The caller must set EFFECT_BOTH again before the unit ends. */
void effects_limit(unsigned readers);
/* The effects of this unit are framed by MULTI and EXEC even if there is only one: for EXEC, and
 * for scripts that write. */
void effects_frame(void);

/* ---- for the code that runs calls, while some sink wants effects ---- */

/* Begins a unit: before an outermost call, or before a blocked client is served. Replies that are
 * made from here on are not sent before the unit's record is safe (net/reply.h). */
void effects_unit_begin(void);
/* The record (number) of the unit that was begun last. */
FOR_TESTS uint64_t effects_record(void);
/* The record of the unit that ended last: the sinks have been given all effects up to it. */
uint64_t effects_record_ended(void);
/* Whether the open unit has effects that were not handed to the sinks yet. */
bool effects_are_pending(void);

/* Called before the handler of a call within another one. */
void effects_call_begin(const struct call *call);
/* Called after the handler: adds the request as it was sent, if that is the effect. Ends the unit
 * if the call is an outermost one. */
void effects_call_end(const struct call *call, bool outermost);
/* Ends a unit, after a blocked client was served: hands the collected effects to the sinks. */
void effects_unit_end(void);
/* Hands the effects that the open unit has had so far to the sinks of this reader, as a unit of its
 * own, because these sinks will end before the unit does. Does nothing between units. */
void effects_cut(enum effect_reader reader);

/* Around a nested turn of the loop within a call or a load. Changes that are made in the turn while
 * a unit is open become part of that unit, and replies that tell of them wait for the unit. Other
 * replies need not wait for it: effects_nest_begin returns the last record that they depend on. */
struct effects_nesting {
    bool said, changed;
    unsigned beginnings;
};
MUST_USE uint64_t effects_nest_begin(struct effects_nesting *outer);
void effects_nest_end(const struct effects_nesting *outer);

/* Adds DEL for keys that expire or are evicted, or UNLINK if they are freed in the background, and
 * UNLINK for keys that are dropped with their slot. */
extern const struct keyspace_observer effects_observer; /* for server/wiring */
/* Makes a forked child hand no effects to the sinks. */
extern const struct child_observer effects_child_observer; /* for server/wiring */
#endif
