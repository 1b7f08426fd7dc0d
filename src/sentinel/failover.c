/* SPDX-License-Identifier: BSD-3-Clause
 * The failover. failover.h has the idea.
 *
 *   NONE <------------------------------------------------------------------------------------.
 *    | objectively down, and the last start is 2 x failover-timeout ago: TRY                   |
 *    | or SENTINEL FAILOVER: forced                                                            |
 *    v                                                                                         |
 *   WAIT_START -- not elected within min(10 s, failover-timeout) ----------- ABORT_NOT_ELECTED-+
 *    | VOTE, then ELECTED: won, or forced and our own vote is ours                             |
 *    v                                                                                         |
 *   SELECT_REPLICA -- no replica is fit ------------------------------------ ABORT_NO_REPLICA--+
 *    | SELECTED                                                                                |
 *    v                                                                                         |
 *   SEND_PROMOTION -- not connected for failover-timeout ----------------- ABORT_SLOW_REPLICA--+
 *    | SEND_PROMOTION                                                                          |
 *    v                                                                                         |
 *   WAIT_PROMOTION -- INFO does not say master within failover-timeout --- ABORT_SLOW_REPLICA--'
 *    | PROMOTED: from here on nothing aborts                                                   ^
 *    v                                                                                         |
 *   RECONF_REPLICAS, of each replica:                                                          |
 *    |   RECONF_SEND -> sent --follows it--> in progress --link up--> done                     |
 *    |                    `---- for over 10 s: RECONF_TIMEOUT --------^                        |
 *    | END: all others are done or down; END_LATE: failover-timeout has passed                 |
 *    v                                                                                         |
 *   UPDATE_CONFIG -- RECONF_LAST of each that is not done -- SWITCH, by the shell -------------'
 *
 * Invariants
 *  1. set_state alone changes the state, and notes since when it is.
 *  2. IN_FAILOVER is set in all states but NONE; `promoted` is set from SEND_PROMOTION on.
 *  3. Each move but REST and SWITCH makes itself impossible when it is done, so a tick ends after
 *     at most a dozen moves and five for each replica.
 *  4. A time that is exactly at its limit is within it.
 *  5. Votes count by the failover's epoch, whatever the current epoch is by now.
 *  6. A promotion's configuration epoch is above the one before it, except that it is never above
 *     SENTINEL_EPOCH_MAX, which only an attacker's epoch can come near to.
 *  7. While the promoted replica is down nothing ends, because clients would be sent to it.
 */
#include "sentinel/failover.h"

#include <stddef.h>

#include "base/panic.h"
#include "base/string.h"
#include "sentinel/choice.h"
#include "sentinel/election.h"
#include "sentinel/foreign_text.h"
#include "sentinel/judge.h"

#define ELECTION_MSEC_MAX 10000
#define RECONF_SENT_MSEC_MAX 10000
#define RECONF_FLAGS (INSTANCE_RECONF_SENT | INSTANCE_RECONF_IN_PROGRESS | INSTANCE_RECONF_DONE)

static struct sentinel_failover_move move_of(enum sentinel_failover_move_kind kind,
                                             struct replica *r) {
    return (struct sentinel_failover_move){.kind = kind, .replica = r};
}

/* ---- Before the replica is one no more ---- */

int64_t sentinel_failover_next_start(const struct primary *p) {
    return p->failover_start ? p->failover_start + 2 * p->failover_timeout_msec : 0;
}

static struct sentinel_failover_move decide_start(const struct primary *p,
                                                  const struct sentinel_failover_view *view) {
    if (!(p->instance.flags & INSTANCE_O_DOWN)) return move_of(FAILOVER_MOVE_REST, NULL);
    if (view->now < sentinel_failover_next_start(p)) {
        bool is_logged = p->delay_logged == p->failover_start;
        return move_of(is_logged ? FAILOVER_MOVE_REST : FAILOVER_MOVE_LOG_DELAY, NULL);
    }
    bool has_epoch = view->current_epoch < SENTINEL_EPOCH_MAX;
    return move_of(has_epoch ? FAILOVER_MOVE_TRY : FAILOVER_MOVE_REST, NULL);
}

static bool is_elected(const struct primary *p, const struct sentinel_failover_view *view) {
    if (!(p->instance.flags & INSTANCE_FORCED))
        return sentinel_election_is_won(p, p->failover_epoch, view->my_id, view->now);
    return p->leader_epoch == p->failover_epoch && slice_is(slice_of(p->leader), view->my_id);
}

static struct sentinel_failover_move decide_election(const struct primary *p,
                                                     const struct sentinel_failover_view *view) {
    int64_t limit =
        p->failover_timeout_msec < ELECTION_MSEC_MAX ? p->failover_timeout_msec : ELECTION_MSEC_MAX;
    if (is_elected(p, view)) return move_of(FAILOVER_MOVE_ELECTED, NULL);
    if (view->now - p->failover_start > limit)
        return move_of(FAILOVER_MOVE_ABORT_NOT_ELECTED, NULL);
    struct sentinel_failover_move move = move_of(FAILOVER_MOVE_REST, NULL);
    if (p->leader_epoch >= p->failover_epoch || view->current_epoch > p->failover_epoch)
        return move;
    move.kind = FAILOVER_MOVE_VOTE;
    move.candidate =
        p->instance.flags & INSTANCE_FORCED
            ? view->my_id
            : sentinel_election_favourite(p, p->failover_epoch, view->my_id, view->now);
    return move;
}

static struct sentinel_failover_move decide_choice(const struct primary *p,
                                                   const struct sentinel_failover_view *view) {
    struct replica *best = sentinel_choice_best(p, view->now);
    return move_of(best ? FAILOVER_MOVE_SELECTED : FAILOVER_MOVE_ABORT_NO_REPLICA, best);
}

static bool is_late_in_state(const struct primary *p, const struct sentinel_failover_view *view) {
    return view->now - p->state_since > p->failover_timeout_msec;
}

static struct sentinel_failover_move decide_send(const struct primary *p,
                                                 const struct sentinel_failover_view *view) {
    if (p->promoted->instance.signs->connected)
        return move_of(FAILOVER_MOVE_SEND_PROMOTION, p->promoted);
    bool is_late = is_late_in_state(p, view);
    return move_of(is_late ? FAILOVER_MOVE_ABORT_SLOW_REPLICA : FAILOVER_MOVE_REST, NULL);
}

/* INFO must be younger than the request, which has a millisecond of its own by that. */
static struct sentinel_failover_move decide_promoted(const struct primary *p,
                                                     const struct sentinel_failover_view *view) {
    const struct instance *i = &p->promoted->instance;
    if (i->role == REPORTED_PRIMARY && i->last_info > p->state_since)
        return move_of(FAILOVER_MOVE_PROMOTED, p->promoted);
    bool is_late = is_late_in_state(p, view);
    return move_of(is_late ? FAILOVER_MOVE_ABORT_SLOW_REPLICA : FAILOVER_MOVE_REST, NULL);
}

/* ---- The other replicas ---- */

/* The move of one replica, apart from SLAVEOF. */
static enum sentinel_failover_move_kind decide_replica(const struct replica *r,
                                                       const struct replica *promoted,
                                                       int64_t now) {
    bool follows = r->instance.role == REPORTED_REPLICA &&
                   r->instance.last_info > r->reconf_sent_at &&
                   sentinel_judge_follows(r, &promoted->instance.address);
    if (r->instance.flags & INSTANCE_RECONF_SENT) {
        if (follows) return FAILOVER_MOVE_RECONF_IN_PROGRESS;
        if (now - r->reconf_sent_at > RECONF_SENT_MSEC_MAX) return FAILOVER_MOVE_RECONF_TIMEOUT;
    } else if (r->instance.flags & INSTANCE_RECONF_IN_PROGRESS && follows && r->link_up) {
        return FAILOVER_MOVE_RECONF_DONE;
    }
    return FAILOVER_MOVE_REST;
}

/* The first replica that can be told to follow the promoted one, where parallel-syncs allows one
 * more; NULL: none. */
static struct replica *find_next(const struct primary *p) {
    struct replica *first = NULL;
    int under_way = 0;
    LIST_FOR_EACH (link, next, &p->replicas) {
        struct replica *r = replica_at(link);
        unsigned flags = r->instance.flags;
        under_way += (flags & (INSTANCE_RECONF_SENT | INSTANCE_RECONF_IN_PROGRESS)) != 0;
        if (!first && !(flags & (INSTANCE_PROMOTED | RECONF_FLAGS)) && r->instance.signs->connected)
            first = r;
    }
    return under_way < p->parallel_syncs ? first : NULL;
}

static bool all_are_done(const struct primary *p) {
    LIST_FOR_EACH (link, next, &p->replicas)
        if (!(replica_at(link)->instance.flags &
              (INSTANCE_PROMOTED | INSTANCE_RECONF_DONE | INSTANCE_S_DOWN)))
            return false;
    return true;
}

static struct sentinel_failover_move decide_reconf(const struct primary *p,
                                                   const struct sentinel_failover_view *view) {
    LIST_FOR_EACH (link, next, &p->replicas) {
        struct replica *r = replica_at(link);
        if (r == p->promoted) continue;
        enum sentinel_failover_move_kind kind = decide_replica(r, p->promoted, view->now);
        if (kind != FAILOVER_MOVE_REST) return move_of(kind, r);
    }
    struct replica *following = find_next(p);
    if (following) return move_of(FAILOVER_MOVE_RECONF_SEND, following);
    if (p->promoted->instance.flags & INSTANCE_S_DOWN) return move_of(FAILOVER_MOVE_REST, NULL);
    if (is_late_in_state(p, view)) return move_of(FAILOVER_MOVE_END_LATE, NULL);
    return move_of(all_are_done(p) ? FAILOVER_MOVE_END : FAILOVER_MOVE_REST, NULL);
}

static struct sentinel_failover_move decide_last(const struct primary *p) {
    LIST_FOR_EACH (link, next, &p->replicas) {
        struct replica *r = replica_at(link);
        unsigned over = INSTANCE_PROMOTED | INSTANCE_RECONF_DONE | INSTANCE_RECONF_SENT;
        if (!(r->instance.flags & over) && r->instance.signs->connected)
            return move_of(FAILOVER_MOVE_RECONF_LAST, r);
    }
    return move_of(FAILOVER_MOVE_SWITCH, p->promoted);
}

struct sentinel_failover_move sentinel_failover_decide(const struct primary *p,
                                                       const struct sentinel_failover_view *view) {
    if (view->tilt) return move_of(FAILOVER_MOVE_REST, NULL);
    switch (p->state) {
    case FAILOVER_NONE: return decide_start(p, view);
    case FAILOVER_WAIT_START: return decide_election(p, view);
    case FAILOVER_SELECT_REPLICA: return decide_choice(p, view);
    case FAILOVER_SEND_PROMOTION: return decide_send(p, view);
    case FAILOVER_WAIT_PROMOTION: return decide_promoted(p, view);
    case FAILOVER_RECONF_REPLICAS: return decide_reconf(p, view);
    case FAILOVER_UPDATE_CONFIG: return decide_last(p);
    }
    PANIC("failover state %d", (int)p->state);
}

/* ---- What a move changes ---- */

static void set_state(struct primary *p, enum failover_state state, int64_t now) {
    p->state = state;
    p->state_since = now;
    if (state == FAILOVER_NONE)
        p->instance.flags &= ~(unsigned)(INSTANCE_IN_FAILOVER | INSTANCE_FORCED);
    else
        p->instance.flags |= INSTANCE_IN_FAILOVER;
}

static void begin_failover(struct primary *p, const struct sentinel_failover_view *view) {
    ASSERT(p->state == FAILOVER_NONE && view->current_epoch < SENTINEL_EPOCH_MAX);
    p->failover_epoch = view->current_epoch + 1;
    p->failover_start = view->now + view->delay_msec;
    set_state(p, FAILOVER_WAIT_START, view->now);
}

void sentinel_failover_force(struct primary *p, const struct sentinel_failover_view *view) {
    begin_failover(p, view);
    p->instance.flags |= INSTANCE_FORCED;
}

void sentinel_failover_note_vote(struct primary *p, const struct sentinel_failover_view *view) {
    p->failover_start = view->now + view->delay_msec;
}

void sentinel_failover_reset(struct primary *p, int64_t now) {
    LIST_FOR_EACH (link, next, &p->replicas)
        replica_at(link)->instance.flags &= ~(unsigned)(INSTANCE_PROMOTED | RECONF_FLAGS);
    p->promoted = NULL;
    set_state(p, FAILOVER_NONE, now);
}

static void set_reconf(struct replica *r, unsigned flag) {
    r->instance.flags = (r->instance.flags & ~(unsigned)RECONF_FLAGS) | flag;
}

static void apply_to_replica(struct replica *r, enum sentinel_failover_move_kind kind,
                             int64_t now) {
    switch (kind) {
    case FAILOVER_MOVE_RECONF_SEND:
    case FAILOVER_MOVE_RECONF_LAST:
        set_reconf(r, INSTANCE_RECONF_SENT);
        r->reconf_sent_at = now;
        return;
    case FAILOVER_MOVE_RECONF_IN_PROGRESS: set_reconf(r, INSTANCE_RECONF_IN_PROGRESS); return;
    case FAILOVER_MOVE_RECONF_TIMEOUT:
    case FAILOVER_MOVE_RECONF_DONE: set_reconf(r, INSTANCE_RECONF_DONE); return;
    default: PANIC("move %d is not about a replica", (int)kind);
    }
}

static void promote_chosen(struct primary *p, struct replica *r, int64_t now) {
    r->instance.flags |= INSTANCE_PROMOTED;
    p->promoted = r;
    set_state(p, FAILOVER_SEND_PROMOTION, now);
}

/* The configuration may have got a newer epoch while the failover was under way: then this one
 * takes an epoch above it, because a configuration epoch never falls. */
static void take_configuration(struct primary *p, const struct sentinel_failover_view *view) {
    bool is_newer = p->failover_epoch > p->config_epoch;
    bool has_next = view->current_epoch < SENTINEL_EPOCH_MAX;
    p->config_epoch = is_newer ? p->failover_epoch : view->current_epoch + has_next;
    set_state(p, FAILOVER_RECONF_REPLICAS, view->now);
}

void sentinel_failover_apply(struct primary *p, const struct sentinel_failover_move *move,
                             const struct sentinel_failover_view *view) {
    switch (move->kind) {
    case FAILOVER_MOVE_REST:
    case FAILOVER_MOVE_SWITCH: PANIC("move %d is the shell's", (int)move->kind);
    case FAILOVER_MOVE_VOTE: return; /* whoever gives it has put it into the primary */
    case FAILOVER_MOVE_LOG_DELAY: p->delay_logged = p->failover_start; return;
    case FAILOVER_MOVE_TRY: begin_failover(p, view); return;
    case FAILOVER_MOVE_ABORT_NOT_ELECTED:
    case FAILOVER_MOVE_ABORT_NO_REPLICA:
    case FAILOVER_MOVE_ABORT_SLOW_REPLICA: sentinel_failover_reset(p, view->now); return;
    case FAILOVER_MOVE_ELECTED: set_state(p, FAILOVER_SELECT_REPLICA, view->now); return;
    case FAILOVER_MOVE_SELECTED: promote_chosen(p, move->replica, view->now); return;
    case FAILOVER_MOVE_SEND_PROMOTION: set_state(p, FAILOVER_WAIT_PROMOTION, view->now); return;
    case FAILOVER_MOVE_PROMOTED: take_configuration(p, view); return;
    case FAILOVER_MOVE_END:
    case FAILOVER_MOVE_END_LATE: set_state(p, FAILOVER_UPDATE_CONFIG, view->now); return;
    default: apply_to_replica(move->replica, move->kind, view->now); return;
    }
}

/* ---- What others are told ---- */

const struct sentinel_address *sentinel_failover_address(const struct primary *p) {
    return p->state >= FAILOVER_RECONF_REPLICAS ? &p->promoted->instance.address
                                                : &p->instance.address;
}

const char *sentinel_failover_state_name(enum failover_state state) {
    static const char *const names[] = {
        [FAILOVER_NONE] = "none",
        [FAILOVER_WAIT_START] = "wait_start",
        [FAILOVER_SELECT_REPLICA] = "select_slave",
        [FAILOVER_SEND_PROMOTION] = "send_slaveof_noone",
        [FAILOVER_WAIT_PROMOTION] = "wait_promotion",
        [FAILOVER_RECONF_REPLICAS] = "reconf_slaves",
        [FAILOVER_UPDATE_CONFIG] = "update_config",
    };
    return names[state];
}
