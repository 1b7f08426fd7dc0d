/* SPDX-License-Identifier: BSD-3-Clause
 * Effects. effects.h has the idea.
 *
 *   nothing --a call begins, or a client is served--> unit open --effects_unit_end--> nothing
 *
 * What the sinks of each reader are given, as Redis 6.2 writes it:
 *   a call with one effect                 the effect
 *   a call with several effects            MULTI, the effects, EXEC
 *   EXEC and scripts                       MULTI, the effects, EXEC, if there is any effect
 *   keys that expired or were evicted,     DEL or UNLINK, and XCLAIM ..., before the other effects
 *   XREADGROUP, XCLAIM, XAUTOCLAIM         of the unit; within EXEC and scripts in their place
 *
 * Invariants
 *  1. `pending` is empty between units, and while no sink wants effects.
 *  2. A unit is open exactly while a call runs (call_running). A key that expires outside of a call
 *     is a unit by itself.
 *  3. An effect is not kept for readers that no sink wants.
 *  4. No sink gets a part of a unit, even if the server stops in the midst of it, and no sink gets
 *     anything behind a unit that it did not get.
 */
#include "exec/effects.h"

#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "command/call.h"
#include "command/command.h"
#include "io/child.h"
#include "net/batch.h"
#include "net/reply.h"
#include "net/request.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

struct effect {
    struct effect *next;
    unsigned readers;
    int database, argc;
    bool alone;               /* stands before the others, outside of the frame */
    const struct slice *argv; /* `copied`, or the arguments of the outermost call */
    struct slice bytes;       /* the request of that call, if it is canonical; else empty */
    struct slice copied[];
};

static const struct effect_sink *const no_sinks[] = {NULL};
static const struct effect_sink *const *sinks = no_sinks;
static const struct effect_sink *active[EFFECT_SINKS_MAX + 1]; /* the sinks that take now */
static bool holding;                                           /* an active sink holds replies */
static unsigned log_wanted, stream_wanted;                     /* how many sinks want each reader */
static unsigned wanted;                   /* bits of the readers that are wanted */
static unsigned limited_to = EFFECT_BOTH; /* readers that calls have effects for: effects_limit */
static uint64_t audience;

static struct effect *pending, **pending_end = &pending;
static struct effect spare; /* for an effect that copies nothing; free while `pending` is empty */
static bool said;           /* the running call has added its effects itself */
static uint64_t
    seen;           /* keyspace_written() at the last end of a call: the running call adds to it */
static bool framed; /* the unit is EXEC or a script */
static unsigned nested;     /* how many nested turns there are */
static bool stopped;        /* the server stops in the midst of a unit: effects_stop */
static unsigned beginnings; /* how often the first interest came or the last one went */
static uint64_t record;     /* number of the last unit that was begun while effects were wanted */
static uint64_t ended;      /* number of the last unit that ended */

static bool is_on(const struct effect_sink *sink) {
    return sink->reader & wanted && (!sink->on || *sink->on);
}

static void find_active(void) {
    size_t count = 0;
    holding = false;
    for (const struct effect_sink *const *sink = sinks; *sink; sink++) {
        if (!is_on(*sink)) continue;
        ASSERT(count < EFFECT_SINKS_MAX);
        active[count++] = *sink;
        holding |= (*sink)->holds_replies;
    }
    active[count] = NULL;
}

void effects_set_sinks(const struct effect_sink *const *list) {
    sinks = list;
    find_active();
}

/* Drops what was collected; changes from here on belong to the running call or the next one. */
static void begin_anew(void) {
    while (pending) {
        struct effect *e = pending;
        pending = e->next;
        if (e != &spare) memory_free(e, MEMORY_OTHER);
    }
    pending_end = &pending;
    framed = said = false;
    seen = keyspace_written();
}

void effects_add_interest(enum effect_reader reader, int delta) {
    if (delta > 0) audience++;
    if (reader & EFFECT_LOG) log_wanted += (unsigned)delta;
    if (reader & EFFECT_STREAM) stream_wanted += (unsigned)delta;
    bool before = wanted != 0;
    wanted = (log_wanted ? EFFECT_LOG : 0) | (stream_wanted ? EFFECT_STREAM : 0);
    find_active();
    keyspace_add_interest(KEYSPACE_REMOVALS, (int)(wanted != 0) - (int)before);
    /* While no sink wanted effects, the ends of calls were not noted. */
    if (before != (wanted != 0)) {
        begin_anew();
        beginnings++;
    }
    if (!wanted) reply_allow(record);
}

unsigned effects_wanted(void) { return wanted; }
uint64_t effects_audience(void) { return audience; }

/* ---- records ---- */

uint64_t effects_record(void) { return record; }
uint64_t effects_record_ended(void) { return ended; }
bool effects_are_pending(void) { return pending != NULL; }

void effects_unit_begin(void) {
    if (wanted) reply_depend(++record);
}

/* In a nested turn within a unit: replies that are made from now on may tell of the unit's changes,
 * so they wait for the unit's record if a sink holds replies. */
static void depend_on_open_unit(void) {
    if (holding) reply_depend(record);
}

/* ---- collecting ---- */

static size_t bytes_of(int argc, const struct slice *argv) {
    size_t bytes = 0;
    for (int i = 0; i < argc; i++) bytes += argv[i].length;
    return bytes;
}

static struct effect *effect_copy(int argc, const struct slice *argv) {
    size_t head = sizeof(struct effect) + (size_t)argc * sizeof(struct slice);
    struct effect *e = memory_alloc(head + bytes_of(argc, argv), MEMORY_OTHER);
    char *text = (char *)e + head;
    for (int i = 0; i < argc; i++) {
        e->copied[i] = (struct slice){text, argv[i].length};
        if (argv[i].length) memcpy(text, argv[i].bytes, argv[i].length);
        text += argv[i].length;
    }
    e->argv = e->copied;
    e->bytes = SLICE("");
    return e;
}

static void collect_effect(struct effect *e, const struct keyspace *ks, unsigned readers, int argc,
                           bool alone) {
    if (nested) depend_on_open_unit();
    e->next = NULL;
    e->readers = readers;
    e->database = keyspace_index(ks);
    e->argc = argc;
    e->alone = alone;
    *pending_end = e;
    pending_end = &e->next;
}

static void collect_copy(const struct keyspace *ks, unsigned readers, int argc,
                         const struct slice *argv, bool alone) {
    readers &= wanted;
    if (readers) collect_effect(effect_copy(argc, argv), ks, readers, argc, alone);
}

void effect_add(const struct keyspace *ks, unsigned readers, int argc, const struct slice *argv) {
    said = true;
    collect_copy(ks, readers & limited_to, argc, argv, false);
}

void effect_add_alone(const struct keyspace *ks, unsigned readers, int argc,
                      const struct slice *argv) {
    said = true;
    collect_copy(ks, readers & limited_to, argc, argv, true);
}

static void collect_delete(const struct key *key, unsigned readers, bool lazily, bool alone) {
    const struct slice argv[] = {lazily ? SLICE("UNLINK") : SLICE("DEL"), key->name};
    collect_copy(key->keyspace, readers, 2, argv, alone);
}

void effect_add_delete(const struct key *key, bool lazily) {
    said = true;
    collect_delete(key, limited_to, lazily, false);
}

/* The request's bytes; empty if they are not there any more, or not in canonical form. */
static inline struct slice canonical_bytes(const struct request *r) {
    if (!r || !r->start) return SLICE("");
    struct slice bytes = {r->start, (size_t)(r->end - r->start)};
    return request_is_canonical(bytes, r->argc, r->argv) ? bytes : SLICE("");
}

void effect_add_as_sent(const struct call *call, unsigned readers) {
    said = true;
    readers &= wanted & limited_to;
    if (!readers) return;
    if (!call->request || nested) { /* the arguments may go before the unit ends */
        collect_copy(call->keyspace, readers, call->argc, call->argv, false);
        return;
    }
    struct effect *e = pending ? memory_alloc(sizeof(*e), MEMORY_OTHER) : &spare;
    e->argv = call->argv;
    e->bytes = canonical_bytes(call->request);
    collect_effect(e, call->keyspace, readers, call->argc, false);
}

void effect_none(void) { said = true; }

void effects_limit(unsigned readers) { limited_to = readers; }

void effects_frame(void) { framed = wanted != 0; }

/* ---- handing effects to sinks ---- */

static void take_word(const struct effect_sink *sink, int database, struct slice word) {
    sink->take(database, 1, &word);
}

static inline void sink_give(const struct effect_sink *sink, int database, int argc,
                             const struct slice *argv, struct slice bytes) {
    if (bytes.length && sink->take_bytes)
        sink->take_bytes(database, bytes);
    else
        sink->take(database, argc, argv);
}

static inline void hand_effect(const struct effect_sink *sink, const struct effect *e) {
    sink_give(sink, e->database, e->argc, e->argv, e->bytes);
}

/* Hands on, in order, the effects that stand alone, the others, or both. */
static void take_all(const struct effect_sink *sink, bool alone, bool others) {
    for (const struct effect *e = pending; e; e = e->next)
        if (e->readers & sink->reader && (e->alone ? alone : others)) hand_effect(sink, e);
}

/* EXEC is written for the database of the last effect, so that it needs no SELECT of its own. */
static void take_framed(const struct effect_sink *sink, int first_database, int last_database) {
    take_word(sink, first_database, SLICE("MULTI"));
    take_all(sink, framed, true);
    take_word(sink, last_database, SLICE("EXEC"));
}

static void hand_to(const struct effect_sink *sink) {
    size_t alone = 0, others = 0;
    int first_database = 0, last_database = 0;
    for (const struct effect *e = pending; e; e = e->next) {
        if (!(e->readers & sink->reader)) continue;
        bool within = framed || !e->alone;
        if (within && !others) first_database = e->database;
        if (within) last_database = e->database;
        others += within;
        alone += !within;
    }
    if (alone) take_all(sink, true, false);
    if (others > (framed ? 0 : 1))
        take_framed(sink, first_database, last_database);
    else if (others)
        take_all(sink, false, true);
}

void effects_stop(void) { stopped = nested != 0; }

void effects_unit_end(void) {
    bool held = holding;
    for (const struct effect_sink *const *sink = active; *sink && !stopped; sink++) hand_to(*sink);
    begin_anew();
    ended = record;
    if (!held) reply_allow(record);
}

void effects_cut(enum effect_reader reader) {
    if (!pending || stopped) return;
    for (const struct effect_sink *const *sink = active; *sink; sink++)
        if ((*sink)->reader & reader) hand_to(*sink);
    for (struct effect *e = pending; e; e = e->next) e->readers &= ~(unsigned)reader;
}

/* ---- calls ---- */

/* The readers that get the request as it was sent, if the call has added no effect itself. */
static inline unsigned readers_as_sent(const struct call *call) {
    enum command_propagation how = call->command->propagation;
    bool changed = keyspace_written() != seen;
    if (how == COMMAND_PROPAGATES_ALWAYS || (how == COMMAND_PROPAGATES_CHANGES && changed))
        return EFFECT_BOTH;
    return how == COMMAND_PROPAGATES_TO_REPLICAS ? EFFECT_STREAM : 0;
}

/* Whether the unit is as most are: one call that has added no effect itself, so that its request is
 * the only effect, if there is any. Such an effect need not be collected. */
static inline bool is_plain(void) {
    return !pending && !said && !framed && !nested && !stopped && limited_to == EFFECT_BOTH;
}

static inline void end_plain_unit(const struct call *call) {
    bool held = holding;
    unsigned readers = readers_as_sent(call) & wanted;
    if (readers) {
        struct slice bytes = canonical_bytes(call->request);
        int database = keyspace_index(call->keyspace);
        for (const struct effect_sink *const *sink = active; *sink; sink++)
            if ((*sink)->reader & readers)
                sink_give(*sink, database, call->argc, call->argv, bytes);
    }
    seen = keyspace_written();
    ended = record;
    if (!held) reply_allow(record);
}

static __attribute__((noinline)) void end_call(const struct call *call, bool outermost) {
    if (!said) {
        unsigned readers = readers_as_sent(call);
        if (readers) effect_add_as_sent(call, readers);
    }
    said = false;
    seen = keyspace_written();
    if (outermost) effects_unit_end();
}

void effects_call_end(const struct call *call, bool outermost) {
    if (__builtin_expect(outermost && is_plain(), 1))
        end_plain_unit(call);
    else
        end_call(call, outermost);
}

/* Whether the reply of a call in a nested turn may tell of the open unit's changes, so that it must
 * wait for the unit. A call that adds its effects itself waits when it adds one (collect). SCRIPT
 * KILL adds none and must not wait, because the script may never end. */
static bool may_tell_of_open_unit(const struct command *command) {
    if (command->flags & COMMAND_WRITE) return true;
    return command->flags & COMMAND_MAY_REPLICATE &&
           command->propagation != COMMAND_PROPAGATES_NOTHING;
}

void effects_call_begin(const struct call *call) {
    if (nested && may_tell_of_open_unit(call->command)) depend_on_open_unit();
}

/* ---- nested turns ---- */

uint64_t effects_nest_begin(struct effects_nesting *outer) {
    *outer = (struct effects_nesting){said, keyspace_written() != seen, beginnings};
    said = false;
    seen = keyspace_written();
    nested++;
    return wanted && call_running() ? record - 1 : UINT64_MAX;
}

void effects_nest_end(const struct effects_nesting *outer) {
    bool same = outer->beginnings == beginnings;
    said = outer->said && same;
    seen = keyspace_written() - (outer->changed && same);
    nested--;
}

/* ---- keys that expire, are evicted or dropped ---- */

static void key_changed(const struct key *key, enum keyspace_cause cause) {
    if (cause == KEYSPACE_WRITTEN || !wanted) return;
    if (!call_running()) effects_unit_begin();
    bool expired = cause == KEYSPACE_EXPIRED, dropped = cause == KEYSPACE_DROPPED;
    bool lazily = dropped || lazyfree_wanted(expired ? LAZYFREE_EXPIRE : LAZYFREE_EVICTION);
    collect_delete(key, EFFECT_BOTH, lazily, true);
    if (!call_running()) effects_unit_end();
}

/* ---- in a forked child ---- */

/* A child's changes are only in its own copy of the data. */
static void end_in_child(const struct child_job *job) {
    effects_set_sinks(no_sinks);
    if (!wanted) return;
    log_wanted = stream_wanted = 1;
    effects_add_interest(EFFECT_BOTH, -1);
}

const struct child_observer effects_child_observer = {.in_child = end_in_child};

const struct keyspace_observer effects_observer = {.changed = key_changed};
