/* SPDX-License-Identifier: BSD-3-Clause
 * The tick. tick.h has the order of its steps.
 *
 * Invariants
 *  1. Instances are created and dropped by answers and commands, never within the walk of a tick,
 *     except by the switch at its end.
 *  2. In tilt nothing is judged and no failover moves.
 */
#include "sentinel/tick.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "io/loop.h"
#include "sentinel/address.h"
#include "sentinel/carry_out.h"
#include "sentinel/event.h"
#include "sentinel/intake.h"
#include "sentinel/judge.h"
#include "sentinel/monitor_command.h"
#include "sentinel/record.h"
#include "sentinel/script.h"
#include "sentinel/watch_link.h"
#include "sentinel/watched.h"

#define HZ_MIN 10
#define HZ_DRAWN 10 /* so many values from HZ_MIN on */

static struct loop *tick_loop;
static struct loop_timer tick_timer;
static struct sentinel_tilt tilt;
static int64_t hz = HZ_MIN;

bool sentinel_is_tilted(void) { return tilt.since != 0; }
int64_t sentinel_hz(void) { return hz; }

/* ---- judging ---- */

static void judge_instance(struct instance *i, int64_t now) {
    bool was = i->flags & INSTANCE_S_DOWN, is = sentinel_judge_s_down(i, now);
    watch_link_drop_silent(i, now);
    if (is == was) return;
    if (is) {
        i->flags |= INSTANCE_S_DOWN;
        i->s_down_since = now;
    } else {
        i->flags &= ~(unsigned)(INSTANCE_S_DOWN | INSTANCE_SCRIPT_KILL_SENT);
    }
    sentinel_event(is ? EVENT_SDOWN : EVENT_SDOWN_END, i, NULL);
}

static void judge_primary(struct primary *p, int64_t now) {
    struct instance *i = &p->instance;
    int agreeing = i->flags & INSTANCE_S_DOWN ? sentinel_judge_agreeing(p, now) : 0;
    bool was = i->flags & INSTANCE_O_DOWN, is = agreeing >= p->quorum;
    if (is == was) return;
    if (is) {
        i->flags |= INSTANCE_O_DOWN;
        i->o_down_since = now;
        sentinel_event(EVENT_ODOWN, i, "#quorum %d/%d", agreeing, p->quorum);
    } else {
        i->flags &= ~(unsigned)INSTANCE_O_DOWN;
        sentinel_event(EVENT_ODOWN_END, i, NULL);
    }
}

/* ---- a tick ---- */

static void serve_instance(struct instance *i, int64_t now) {
    watch_link_connect(i, now);
    watch_link_ask_periodic(i, now);
    if (!sentinel_is_tilted()) judge_instance(i, now);
}

/* Returns true if the primary is to be switched. */
static bool serve_primary(struct primary *p, int64_t now) {
    bool switches = false;
    serve_instance(&p->instance, now);
    if (!sentinel_is_tilted()) {
        judge_primary(p, now);
        switches = sentinel_carry_out(p, false, now);
        sentinel_ask_others(p, false, now);
    }
    LIST_FOR_EACH (r, next, &p->replicas) serve_instance(&replica_at(r)->instance, now);
    LIST_FOR_EACH (v, following, &p->voters) {
        struct voter *voter = voter_at(v);
        if (!sentinel_judge_said_holds(voter, now)) {
            voter->instance.flags &= ~(unsigned)INSTANCE_SAYS_DOWN;
            voter->leader[0] = '\0';
        }
        serve_instance(&voter->instance, now);
    }
    return switches;
}

static void note_tilt(int64_t now) {
    switch (sentinel_tilt_step(&tilt, now)) {
    case SENTINEL_TILT_ENTERED: sentinel_event(EVENT_TILT, NULL, "#tilt mode entered"); break;
    case SENTINEL_TILT_LEFT: sentinel_event(EVENT_TILT_END, NULL, "#tilt mode exited"); break;
    case SENTINEL_TILT_SAME: break;
    }
}

static int64_t make_tick(struct loop_timer *timer) {
    struct primary *switches = NULL;
    int64_t now = clock_monotonic_msec();
    note_tilt(now);
    LIST_FOR_EACH (link, next, sentinel_primaries()) {
        struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        if (serve_primary(p, now)) switches = p;
    }
    if (switches) sentinel_carry_out_switch(switches);
    sentinel_script_step();
    hz = HZ_MIN + (int64_t)random_below(HZ_DRAWN);
    return 1000 / hz;
}

/* ---- what comes over links ---- */

/* A replica that is not what the configuration says is told to follow the primary. */
static void set_replica_right(struct replica *r, int64_t now) {
    struct instance *i = &r->instance;
    enum sentinel_replica_move move = sentinel_judge_replica(r, sentinel_is_tilted(), now);
    if (move == SENTINEL_REPLICA_RESTS) return;
    if (watch_link_send_follow(i, &i->primary->instance.address))
        sentinel_event(
            move == SENTINEL_REPLICA_CONVERT ? EVENT_CONVERT_TO_SLAVE : EVENT_FIX_SLAVE_CONFIG, i,
            NULL);
}

static void take_info(struct instance *i, struct slice text) {
    sentinel_intake_info(i, text);
    if (i->kind == INSTANCE_REPLICA) set_replica_right(replica_entry(i), clock_monotonic_msec());
}

static void name_answered(const char *host) {
    sentinel_watched_note_name(host);
    sentinel_monitor_note_name(host);
}

/* ---- life ---- */

void sentinel_open(struct loop *loop, const struct connection_transport *(*transport)(void)) {
    static const struct watch_link_events events = {
        .info = take_info, .hello = sentinel_intake_hello, .opinion = sentinel_intake_opinion};
    tick_loop = loop;
    sentinel_address_open(loop, name_answered);
    watch_link_open(loop, &events, transport);
}

void sentinel_begin(void) {
    struct sentinel_settings *s = sentinel_settings_change();
    if (!s->id[0]) random_hex(s->id, SENTINEL_ID_CHARS);
    if (!sentinel_record_write()) sentinel_record_later();
    log_warning("Sentinel ID is %s", s->id);
    LIST_FOR_EACH (link, next, sentinel_primaries()) {
        const struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        sentinel_event(EVENT_MONITOR, &p->instance, "quorum %d", p->quorum);
    }
    tick_timer.callback = make_tick;
    loop_timer_start(tick_loop, &tick_timer, 0);
}
