/* SPDX-License-Identifier: BSD-3-Clause
 * Moves of the failover. carry_out.h has the idea; failover.h says what a move asks for.
 *
 * Invariants
 *  1. A vote, our own one included, is in the primary only when it is on disk.
 *  2. A move whose request could not be sent is not applied: it is decided again in the next tick.
 */
#include "sentinel/carry_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/random.h"
#include "sentinel/choice.h"
#include "sentinel/election.h"
#include "sentinel/event.h"
#include "sentinel/failover.h"
#include "sentinel/foreign_text.h"
#include "sentinel/intake.h"
#include "sentinel/judge.h"
#include "sentinel/record.h"
#include "sentinel/script.h"
#include "sentinel/watch_link.h"
#include "sentinel/watched.h"

/* Rules end after a dozen moves and five for each replica; more are a fault of ours. */
#define MOVES_MAX (16 + 6 * SENTINEL_REPLICAS_MAX)
#define VOTE_AGAIN_MSEC 1000
#define SIMULATED_STATUS 99
#define TIME_CHARS 32

static unsigned failures;

void sentinel_simulate_failures(unsigned wanted) { failures = wanted; }
unsigned sentinel_simulated_failures(void) { return failures; }

static void fail_as_told(enum sentinel_simulated_failure failure) {
    if (!(failures & failure)) return;
    log_warning("Sentinel CRASH because of SENTINEL simulate-failure");
    exit(SIMULATED_STATUS);
}

static struct sentinel_failover_view view_of(bool tilt, int64_t now) {
    return (struct sentinel_failover_view){
        .now = now,
        .current_epoch = sentinel_settings()->epoch,
        .my_id = sentinel_settings()->id,
        .tilt = tilt,
        .delay_msec = (int64_t)random_below(SENTINEL_START_DELAY_MSEC)};
}

/* ---- votes ---- */

bool sentinel_cast_vote(struct primary *p, uint64_t epoch, const char *candidate, int64_t now) {
    const char *id = sentinel_settings()->id;
    struct sentinel_vote vote =
        sentinel_election_vote(p, sentinel_settings()->epoch, epoch, candidate, id);
    if (vote.current_epoch > sentinel_settings()->epoch) {
        sentinel_adopt_epoch(p, vote.current_epoch);
        sentinel_record_later();
    }
    if (!vote.is_new) return p->leader_epoch == epoch;
    uint64_t former_epoch = p->leader_epoch;
    char former[SENTINEL_ID_CHARS + 1];
    memcpy(former, p->leader, sizeof(former));
    sentinel_election_take(p, &vote);
    if (!sentinel_record_write()) {
        memcpy(p->leader, former, sizeof(former));
        p->leader_epoch = former_epoch;
        p->vote_failed = now;
        return false;
    }
    sentinel_event(EVENT_VOTE_FOR_LEADER, &p->instance, "%s %" PRIu64, p->leader, p->leader_epoch);
    struct sentinel_failover_view view = view_of(false, now);
    if (vote.is_for_another) sentinel_failover_note_vote(p, &view);
    return true;
}

void sentinel_ask_others(struct primary *p, bool at_once, int64_t now) {
    bool candidate = p->state != FAILOVER_NONE;
    uint64_t epoch = candidate ? p->failover_epoch : sentinel_settings()->epoch;
    if (!(p->instance.flags & INSTANCE_S_DOWN)) return;
    LIST_FOR_EACH (link, next, &p->voters) {
        struct voter *v = voter_at(link);
        bool lately = now - v->said_at < SENTINEL_ASK_PERIOD_MSEC ||
                      now - v->asked_at < SENTINEL_ASK_PERIOD_MSEC;
        if (!at_once && lately) continue;
        if (watch_link_ask_opinion(v, epoch, candidate ? sentinel_settings()->id : "*"))
            v->asked_at = now;
    }
}

/* ---- moves ---- */

static void log_delay(const struct primary *p, int64_t now) {
    char text[TIME_CHARS] = "";
    time_t at = (time_t)((clock_wall_msec() + sentinel_failover_next_start(p) - now) / 1000);
    struct tm parts;
    if (localtime_r(&at, &parts)) strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &parts);
    log_warning("Next failover delay: I will not start a failover before %s", text);
}

static void tell_promoted(struct primary *p, struct replica *r) {
    bool recorded = sentinel_record_write(); /* the promotion has happened all the same */
    if (!recorded) sentinel_record_later();
    sentinel_event(EVENT_PROMOTED_SLAVE, &r->instance, NULL);
    fail_as_told(SENTINEL_CRASH_AFTER_PROMOTION);
    sentinel_event(EVENT_STATE_RECONF_SLAVES, &p->instance, NULL);
    sentinel_script_reconfigure(p, true, &p->instance.address, &r->instance.address);
    watch_link_hello_is_due(p);
}

/* Tells a replica of a failover whom to follow. The failover goes on when INFO shows that the
 * replica obeys, so INFO is asked at once: clients cannot write until the promotion is seen. Only a
 * failover's moves do so, because each is sent once; a replica that is set right is told again by
 * each answer that shows it wrong. Returns false if the link does not take the requests. */
static bool send_follow(struct instance *i, const struct sentinel_address *address, int64_t now) {
    if (!watch_link_send_follow(i, address)) return false;
    watch_link_ask_info(i, now);
    return true;
}

/* Sends what the move asks for. Returns false if it could not be sent. */
static bool send_move(struct primary *p, const struct sentinel_failover_move *move, int64_t now) {
    switch (move->kind) {
    case FAILOVER_MOVE_SEND_PROMOTION: return send_follow(&move->replica->instance, NULL, now);
    case FAILOVER_MOVE_RECONF_SEND:
    case FAILOVER_MOVE_RECONF_LAST:
        return send_follow(&move->replica->instance, &p->promoted->instance.address, now);
    case FAILOVER_MOVE_VOTE:
        /* Each try syncs the file in the loop, and a full disk is not mended within a second. */
        return (!p->vote_failed || now - p->vote_failed >= VOTE_AGAIN_MSEC) &&
               sentinel_cast_vote(p, p->failover_epoch, move->candidate, now);
    case FAILOVER_MOVE_LOG_DELAY: log_delay(p, now); return true;
    default: return true;
    }
}

struct move_event {
    enum sentinel_failover_move_kind kind;
    enum sentinel_event_name event;
    bool of_replica; /* the event is about the replica, not the primary */
};

/* The events of moves, made after the move is applied, in this order. */
static const struct move_event move_events[] = {
    {FAILOVER_MOVE_TRY, EVENT_TRY_FAILOVER, false},
    {FAILOVER_MOVE_ELECTED, EVENT_STATE_SELECT_SLAVE, false},
    {FAILOVER_MOVE_SELECTED, EVENT_SELECTED_SLAVE, true},
    {FAILOVER_MOVE_SELECTED, EVENT_STATE_SEND_SLAVEOF_NOONE, true},
    {FAILOVER_MOVE_SEND_PROMOTION, EVENT_STATE_WAIT_PROMOTION, true},
    {FAILOVER_MOVE_RECONF_TIMEOUT, EVENT_SLAVE_RECONF_SENT_TIMEOUT, true},
    {FAILOVER_MOVE_RECONF_IN_PROGRESS, EVENT_SLAVE_RECONF_INPROG, true},
    {FAILOVER_MOVE_RECONF_DONE, EVENT_SLAVE_RECONF_DONE, true},
    {FAILOVER_MOVE_RECONF_SEND, EVENT_SLAVE_RECONF_SENT, true},
    {FAILOVER_MOVE_RECONF_LAST, EVENT_SLAVE_RECONF_SENT_BE, true},
    {FAILOVER_MOVE_END_LATE, EVENT_FAILOVER_END_FOR_TIMEOUT, false},
    {FAILOVER_MOVE_END_LATE, EVENT_FAILOVER_END, false},
    {FAILOVER_MOVE_END, EVENT_FAILOVER_END, false},
    {FAILOVER_MOVE_ABORT_NOT_ELECTED, EVENT_ABORT_NOT_ELECTED, false},
    {FAILOVER_MOVE_ABORT_NO_REPLICA, EVENT_ABORT_NO_GOOD_SLAVE, false},
    {FAILOVER_MOVE_ABORT_SLOW_REPLICA, EVENT_ABORT_SLAVE_TIMEOUT, false},
};

static void tell_move(struct primary *p, const struct sentinel_failover_move *move) {
    for (size_t k = 0; k < sizeof(move_events) / sizeof(move_events[0]); k++) {
        const struct move_event *e = &move_events[k];
        if (e->kind == move->kind)
            sentinel_event(e->event, e->of_replica ? &move->replica->instance : &p->instance, NULL);
    }
}

/* Returns false if the move has to wait for the next tick. */
static bool carry_out_move(struct primary *p, const struct sentinel_failover_move *move,
                           const struct sentinel_failover_view *view) {
    if (!send_move(p, move, view->now)) return false;
    if (move->kind == FAILOVER_MOVE_VOTE) return true; /* it is in the primary */
    if (move->kind == FAILOVER_MOVE_ELECTED) {
        sentinel_event(EVENT_ELECTED_LEADER, &p->instance, NULL);
        fail_as_told(SENTINEL_CRASH_AFTER_ELECTION);
    }
    sentinel_failover_apply(p, move, view);
    if (move->kind == FAILOVER_MOVE_TRY) {
        sentinel_adopt_epoch(p, p->failover_epoch);
        sentinel_record_later();
    }
    tell_move(p, move);
    if (move->kind == FAILOVER_MOVE_TRY) sentinel_ask_others(p, true, view->now);
    if (move->kind == FAILOVER_MOVE_PROMOTED) {
        sentinel_adopt_epoch(p, p->config_epoch);
        tell_promoted(p, move->replica);
    }
    return true;
}

bool sentinel_carry_out(struct primary *p, bool tilt, int64_t now) {
    for (size_t moves = 0; moves < MOVES_MAX; moves++) {
        struct sentinel_failover_view view = view_of(tilt, now);
        struct sentinel_failover_move move = sentinel_failover_decide(p, &view);
        if (move.kind == FAILOVER_MOVE_SWITCH) return true;
        if (move.kind == FAILOVER_MOVE_REST || !carry_out_move(p, &move, &view)) return false;
    }
    PANIC("the failover of %s does not rest", p->instance.name);
}

void sentinel_carry_out_switch(struct primary *p) {
    const struct sentinel_address *to = &p->promoted->instance.address;
    sentinel_event(EVENT_SWITCH_MASTER, &p->instance, "%s %s %d %s %d", p->instance.name,
                   sentinel_address_shown(&p->instance.address), p->instance.address.port,
                   sentinel_address_shown(to), to->port);
    sentinel_switch_primary(p, slice_of(to->host), to->port);
    sentinel_record_later();
}

void sentinel_carry_out_reset(struct primary *p) {
    if (p->state >= FAILOVER_RECONF_REPLICAS) sentinel_carry_out_switch(p);
    sentinel_reset_primary(p, true);
    sentinel_event(EVENT_RESET_MASTER, &p->instance, NULL);
}

bool sentinel_carry_out_forced(struct primary *p, const char **refusal, int64_t now) {
    struct sentinel_failover_view view = view_of(false, now);
    if (p->state != FAILOVER_NONE) {
        *refusal = "-INPROG Failover already in progress";
        return false;
    }
    if (!sentinel_choice_best(p, now)) {
        *refusal = "-NOGOODSLAVE No suitable replica to promote";
        return false;
    }
    if (view.current_epoch >= SENTINEL_EPOCH_MAX) {
        *refusal = "No epoch is left for a failover";
        return false;
    }
    sentinel_failover_force(p, &view);
    sentinel_adopt_epoch(p, p->failover_epoch);
    sentinel_event(EVENT_TRY_FAILOVER, &p->instance, NULL);
    if (sentinel_cast_vote(p, p->failover_epoch, view.my_id, now)) return true;
    sentinel_event(EVENT_ABORT_NOT_ELECTED, &p->instance, NULL);
    sentinel_failover_reset(p, now);
    *refusal = "The failover's vote could not be written to the configuration file";
    return false;
}
