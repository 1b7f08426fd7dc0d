/* SPDX-License-Identifier: BSD-3-Clause
 * Effects: what calls have changed, as commands, for who repeats them: the log and the replicas.
 *
 * A unit is what stands or falls together: an outermost call with what ran within it, one client
 * served, one key that expired by itself. Its effects are collected while it runs and handed to the
 * sinks when it ends, in order. A call that changed something (keyspace_written) and says nothing
 * else has the effect of its request as it was sent; one that adds effects of its own has these
 * instead.
 *
 * The log and the stream of replicas may have different forms of one effect: SET k v EX 10 is
 * logged with the time at which the key expires, and sent to replicas as it is.
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

/* Who takes effects. MULTI and EXEC around those of one unit come as commands of their own. */
struct effect_sink {
    unsigned reader; /* one of effect_reader */
    /* `database` is the one that the command is about. The slices are valid during the call. */
    void (*take)(int database, int argc, const struct slice *argv);
    /* The same for a request whose bytes are what anybody would write for it as an array of bulks
     * (request_is_canonical); they are valid during the call. NULL: `take`. */
    void (*take_bytes)(int database, struct slice bytes);
    /* Replies wait until it has called reply_allow(effects_record_ended()), or a later one: when
     * its record is where it must be. */
    bool holds_replies;
    /* All only while this is true; NULL: whenever anybody wants what it reads. It changes before
     * the effects_add_interest that goes with it. */
    const bool *on;
};

/* Who takes, EFFECT_SINKS_MAX at most, ended by NULL; the array lives as long as the process.
 * server/wiring.c has it. */
#define EFFECT_SINKS_MAX 8
void effects_set_sinks(const struct effect_sink *const *sinks);
/* A sink begins or ends to want effects: while none does, they cost a test a call. Who is the first
 * or the last to want any within a unit gets nothing of what the unit has done before. Not while a
 * sink takes. */
void effects_add_interest(enum effect_reader reader, int delta);
/* A bit for each reader that anybody wants. */
unsigned effects_wanted(void);
/* Rises whenever somebody begins to want any who did not: he knows nothing of what came before. */
uint64_t effects_audience(void);

/* The server is to stop. Where that is decided within a turn in the midst of a unit (SHUTDOWN
 * NOSAVE while a script is busy), the unit will never be whole: neither it nor anything that comes
 * after it is handed on, and what waits for such a record does not leave. */
void effects_stop(void);

/* ---- within a call, or while a client is served ---- */

/* One effect for these readers, instead of the request as it was sent. The slices are copied. */
void effect_add(const struct keyspace *ks, unsigned readers, int argc, const struct slice *argv);
/* The same, but it stands before the others of the unit, and is not framed with them. */
void effect_add_alone(const struct keyspace *ks, unsigned readers, int argc,
                      const struct slice *argv);
/* The key is deleted: DEL, or UNLINK with `lazily`. */
void effect_add_delete(const struct key *key, bool lazily);
/* The request as it was sent is an effect for these readers: where others get another form, or
 * where nothing was counted. */
void effect_add_as_sent(const struct call *call, unsigned readers);
/* What the call has changed is nobody else's matter. */
void effect_none(void);
/* From here on only these readers get what calls do; keys that go by themselves are not meant. All
 * do until then: who sets it puts EFFECT_BOTH back within the unit. */
void effects_limit(unsigned readers);
/* The unit is framed by MULTI and EXEC even if it has one effect only: EXEC, scripts that
 * write. */
void effects_frame(void);

/* ---- for who runs calls, while anybody wants effects ---- */

/* A unit begins: an outermost call, or a client is served. What anybody is sent from here on does
 * not leave before the unit's record (net/reply.h). */
void effects_unit_begin(void);
/* The number of the unit that was begun last. */
FOR_TESTS uint64_t effects_record(void);
/* The same of the one that ended last: sinks have been given all up to it. */
uint64_t effects_record_ended(void);
/* Whether the open unit has effects that sinks have not been given yet. */
bool effects_are_pending(void);

/* Before the handler of a call that is not an outermost one. */
void effects_call_begin(const struct call *call);
/* After the handler: adds the request as sent where it is called for. After an outermost call the
 * unit ends. */
void effects_call_end(const struct call *call, bool outermost);
/* After each client that was served: hands on what was collected. */
void effects_unit_end(void);
/* What the open unit has done so far is handed to the sinks of this reader now, as a unit of its
 * own: they are to end, and what comes is not for them. Nothing happens between units. */
void effects_cut(enum effect_reader reader);

/* A turn is made within a call or a load. What is changed in it while a unit is open becomes part
 * of that unit, since it happens in the midst of it; and who is told of that waits for the unit.
 * All others need not: the record that their replies depend on at most is returned. */
struct effects_nesting {
    bool said, changed;
    unsigned beginnings;
};
MUST_USE uint64_t effects_nest_begin(struct effects_nesting *outer);
void effects_nest_end(const struct effects_nesting *outer);

/* Keys that expire or are evicted: DEL, or UNLINK where the key was freed in the background. */
extern const struct keyspace_observer effects_observer; /* for server/wiring */
/* A forked child hands nothing on, whatever runs in it. */
extern const struct child_observer effects_child_observer; /* the same */
#endif
