/* SPDX-License-Identifier: BSD-3-Clause
 * The failover of a primary: which move comes next, and what a move changes in the data.
 *
 * sentinel_failover_decide reads the data of one primary and names one move. The shell does what
 * the move asks of the outside (a request, a record on disk, an event), calls
 * sentinel_failover_apply, which changes the data, and decides again, until nothing is to be done.
 * A move that the shell could not do (no record, no request) it does not apply, and decides again
 * in the next tick.
 *
 * The rules have no socket, no clock and no state of their own, so each of them is a row of a table
 * in tests/c/sentinel/test_failover.c.
 */
#ifndef EVENKEEL_SENTINEL_FAILOVER_H
#define EVENKEEL_SENTINEL_FAILOVER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "sentinel/instance.h"

enum sentinel_failover_move_kind {
    FAILOVER_MOVE_REST,
    /* No failover: the last one began too lately. Log once when the next may begin. */
    FAILOVER_MOVE_LOG_DELAY,
    /* A failover begins in the epoch after the current one: current epoch to disk, +new-epoch,
     * +try-failover; all others are asked at once. */
    FAILOVER_MOVE_TRY,
    /* This Sentinel votes for `candidate` in the failover's epoch: sentinel_election_vote, to disk,
     * +vote-for-leader, as where another Sentinel asks for the vote. */
    FAILOVER_MOVE_VOTE,
    FAILOVER_MOVE_ABORT_NOT_ELECTED,  /* -failover-abort-not-elected */
    FAILOVER_MOVE_ELECTED,            /* +elected-leader, +failover-state-select-slave */
    FAILOVER_MOVE_ABORT_NO_REPLICA,   /* -failover-abort-no-good-slave */
    FAILOVER_MOVE_SELECTED,           /* +selected-slave, +failover-state-send-slaveof-noone */
    FAILOVER_MOVE_SEND_PROMOTION,     /* send SLAVEOF NO ONE; +failover-state-wait-promotion */
    FAILOVER_MOVE_ABORT_SLOW_REPLICA, /* -failover-abort-slave-timeout */
    /* INFO says that the replica is a primary: config epoch to disk, +promoted-slave,
     * +failover-state-reconf-slaves, script, hello at once. */
    FAILOVER_MOVE_PROMOTED,
    FAILOVER_MOVE_RECONF_TIMEOUT,     /* -slave-reconf-sent-timeout */
    FAILOVER_MOVE_RECONF_IN_PROGRESS, /* +slave-reconf-inprog */
    FAILOVER_MOVE_RECONF_DONE,        /* +slave-reconf-done */
    FAILOVER_MOVE_RECONF_SEND,        /* send SLAVEOF; +slave-reconf-sent */
    FAILOVER_MOVE_END,                /* +failover-end */
    FAILOVER_MOVE_END_LATE,           /* +failover-end-for-timeout, +failover-end */
    FAILOVER_MOVE_RECONF_LAST,        /* send SLAVEOF; +slave-reconf-sent-be */
    /* At the end of the tick: +switch-master. The shell decides no more about this primary in this
     * tick, and does not apply the move: a switch is more than this data. */
    FAILOVER_MOVE_SWITCH,
};

struct sentinel_failover_move {
    enum sentinel_failover_move_kind kind;
    struct replica *replica; /* which one the move is about; NULL: the primary */
    const char *candidate;   /* of a vote; an id in the data or in the view */
};

/* What the rules need besides the primary. */
struct sentinel_failover_view {
    int64_t now; /* monotonic */
    uint64_t current_epoch;
    const char *my_id;
    bool tilt;
    int64_t delay_msec; /* drawn by the shell: 0 to SENTINEL_START_DELAY_MSEC - 1 */
};
/* A failover begins with a random delay up to this, so that Sentinels do not split the votes for
 * ever. A vote for another Sentinel delays the next failover with it, too. */
#define SENTINEL_START_DELAY_MSEC 1000

/* Returns the next move of this primary's failover. In tilt there is none. O(replicas + voters
 * squared). */
struct sentinel_failover_move sentinel_failover_decide(const struct primary *p,
                                                       const struct sentinel_failover_view *view);
/* Changes the data as the move says. The caller adopts p->failover_epoch as the current epoch after
 * TRY, and p->config_epoch after PROMOTED, where they are above it. A move that was not done, and
 * REST and SWITCH, must not be applied. */
void sentinel_failover_apply(struct primary *p, const struct sentinel_failover_move *move,
                             const struct sentinel_failover_view *view);

/* Begins a failover that needs no election (SENTINEL FAILOVER). The caller has seen that none is
 * under way, and adopts p->failover_epoch as the current epoch. The failover leads only with this
 * Sentinel's own vote in its epoch, which decide asks for next. */
void sentinel_failover_force(struct primary *p, const struct sentinel_failover_view *view);
/* Notes that this Sentinel has voted for another: its next failover waits. */
void sentinel_failover_note_vote(struct primary *p, const struct sentinel_failover_view *view);
/* Forgets the failover and what it has marked: an abort, a switch, RESET. */
void sentinel_failover_reset(struct primary *p, int64_t now);

/* Returns when the next failover may begin: 0 = at once, because none began yet. */
int64_t sentinel_failover_next_start(const struct primary *p);
/* Returns the address that clients and other Sentinels are told: the promoted replica's from the
 * moment on when it is a primary, else the primary's own. */
const struct sentinel_address *sentinel_failover_address(const struct primary *p);
/* Returns the state's name in SENTINEL MASTERS ("wait_start"). */
const char *sentinel_failover_state_name(enum failover_state state);
#endif
