/* SPDX-License-Identifier: BSD-3-Clause
 * The failover: each way out of each state, at its limit and above, and whole failovers from the
 * first move to the switch.
 */
#include "sentinel/failover.h"

#include "sentinel/election.h"
#include "sentinel/foreign_text.h"
#include "sentinel/scene.h"

#define EPOCH 7
#define ELECTION_LIMIT 10000

/* A scene and what is asked of it. */
struct play {
    struct scene s;
    struct sentinel_failover_view view;
};

static void play_make(struct play *w, int replicas, int voters) {
    scene_make(&w->s, replicas, voters);
    w->view = (struct sentinel_failover_view){
        .now = NOW, .current_epoch = EPOCH, .my_id = ME, .delay_msec = 0};
}

/* ---- The scenes: where the failover is, and what has happened ---- */

static void be_in(struct play *w, enum failover_state state, int64_t for_msec) {
    struct primary *p = &w->s.primary;
    p->state = state;
    p->state_since = NOW - for_msec;
    p->failover_start = NOW - for_msec;
    p->failover_epoch = EPOCH;
    p->instance.flags = INSTANCE_S_DOWN | INSTANCE_O_DOWN | INSTANCE_IN_FAILOVER;
    p->instance.s_down_since = NOW - 5000;
    if (state < FAILOVER_SEND_PROMOTION) return;
    p->promoted = &w->s.replicas[0];
    p->promoted->instance.flags = INSTANCE_PROMOTED;
}

static void up(struct play *w) {}
static void only_s_down(struct play *w) { w->s.primary.instance.flags = INSTANCE_S_DOWN; }
static void o_down(struct play *w) {
    w->s.primary.instance.flags = INSTANCE_S_DOWN | INSTANCE_O_DOWN;
}
static void o_down_in_tilt(struct play *w) {
    o_down(w);
    w->view.tilt = true;
}
static void started_lately(struct play *w) {
    o_down(w);
    w->s.primary.failover_start = NOW - 2 * FAILOVER_TIMEOUT + 1;
}
static void started_lately_and_logged(struct play *w) {
    started_lately(w);
    w->s.primary.delay_logged = w->s.primary.failover_start;
}
static void logged_for_another_start(struct play *w) {
    started_lately_and_logged(w);
    w->s.primary.delay_logged--;
}
static void started_long_ago(struct play *w) {
    o_down(w);
    w->s.primary.failover_start = NOW - 2 * FAILOVER_TIMEOUT;
}
/* The machine was started less than failover-timeout ago. */
static void young_clock(struct play *w) {
    o_down(w);
    w->view.now = 1000;
}
static void no_epoch_left(struct play *w) {
    o_down(w);
    w->view.current_epoch = SENTINEL_EPOCH_MAX;
}

static void asks(struct play *w) { be_in(w, FAILOVER_WAIT_START, 1); }
static void own_vote(struct play *w, char digit, uint64_t epoch) {
    scene_id(w->s.primary.leader, digit);
    w->s.primary.leader_epoch = epoch;
}
static void voted(struct play *w) {
    asks(w);
    own_vote(w, '0', EPOCH);
}
static void voted_and_late_at_limit(struct play *w) {
    be_in(w, FAILOVER_WAIT_START, ELECTION_LIMIT);
    own_vote(w, '0', EPOCH);
}
static void voted_and_late(struct play *w) {
    be_in(w, FAILOVER_WAIT_START, ELECTION_LIMIT + 1);
    own_vote(w, '0', EPOCH);
}
/* The record cannot be written. */
static void late_without_a_vote(struct play *w) {
    be_in(w, FAILOVER_WAIT_START, ELECTION_LIMIT + 1);
}
static void short_timeout_at_limit(struct play *w) {
    be_in(w, FAILOVER_WAIT_START, 300);
    own_vote(w, '0', EPOCH);
    w->s.primary.failover_timeout_msec = 300;
}
static void short_timeout(struct play *w) {
    short_timeout_at_limit(w);
    w->s.primary.failover_timeout_msec = 299;
}
static void starts_later(struct play *w) {
    voted(w);
    w->s.primary.failover_start = NOW + 900;
}
static void won(struct play *w) {
    voted(w);
    scene_vote(&w->s.voters[0], '0', EPOCH);
}
static void won_late(struct play *w) {
    voted_and_late(w);
    scene_vote(&w->s.voters[0], '0', EPOCH);
}
/* Votes are counted by the failover's epoch, which may be below the current one by now. */
static void won_and_epoch_rose(struct play *w) {
    won(w);
    w->view.current_epoch = EPOCH + 3;
}
static void votes_of_the_current_epoch(struct play *w) {
    voted(w);
    w->view.current_epoch = EPOCH + 1;
    scene_vote(&w->s.voters[0], '0', EPOCH + 1);
    scene_vote(&w->s.voters[1], '0', EPOCH + 1);
}
static void epoch_rose_before_our_vote(struct play *w) {
    asks(w);
    w->view.current_epoch = EPOCH + 1;
}
static void voted_for_another(struct play *w) {
    asks(w);
    own_vote(w, '1', EPOCH);
}
static void forced(struct play *w) {
    asks(w);
    w->s.primary.instance.flags = INSTANCE_IN_FAILOVER | INSTANCE_FORCED;
    scene_vote(&w->s.voters[0], '1', EPOCH); /* another has begun, too */
}
static void forced_and_voted(struct play *w) {
    forced(w);
    own_vote(w, '0', EPOCH);
}
static void forced_and_voted_for_another(struct play *w) {
    forced(w);
    own_vote(w, '1', EPOCH);
}
static void forced_and_late(struct play *w) {
    be_in(w, FAILOVER_WAIT_START, ELECTION_LIMIT + 1);
    w->s.primary.instance.flags |= INSTANCE_FORCED;
    own_vote(w, '1', EPOCH);
}

static void chooses(struct play *w) { be_in(w, FAILOVER_SELECT_REPLICA, 1); }
static void finds_none(struct play *w) {
    chooses(w);
    for (int at = 0; at < 3; at++) w->s.replicas[at].priority = 0;
}
static void chooses_in_tilt(struct play *w) {
    chooses(w);
    w->view.tilt = true;
}

static void sends(struct play *w) { be_in(w, FAILOVER_SEND_PROMOTION, FAILOVER_TIMEOUT + 1); }
static void cannot_send(struct play *w) {
    be_in(w, FAILOVER_SEND_PROMOTION, FAILOVER_TIMEOUT);
    w->s.replica_signs[0].connected = false;
}
static void cannot_send_for_long(struct play *w) {
    cannot_send(w);
    w->s.primary.state_since--;
}

static void waits(struct play *w) { be_in(w, FAILOVER_WAIT_PROMOTION, FAILOVER_TIMEOUT); }
static void waits_too_long(struct play *w) {
    be_in(w, FAILOVER_WAIT_PROMOTION, FAILOVER_TIMEOUT + 1);
}
static void promoted(struct play *w) {
    waits_too_long(w);
    w->s.replicas[0].instance.role = REPORTED_PRIMARY;
}
static void promoted_in_tilt(struct play *w) {
    promoted(w);
    w->view.tilt = true;
}
/* It was a primary before it was told to be one, and has not answered since. */
static void promoted_by_an_old_info(struct play *w) {
    be_in(w, FAILOVER_WAIT_PROMOTION, 100);
    w->s.replicas[0].instance.role = REPORTED_PRIMARY;
    w->s.replicas[0].instance.last_info = NOW - 100;
}
static void promoted_by_a_new_info(struct play *w) {
    promoted_by_an_old_info(w);
    w->s.replicas[0].instance.last_info++;
}

static void reconfigures(struct play *w, int64_t for_msec) {
    be_in(w, FAILOVER_RECONF_REPLICAS, for_msec);
}
static void set_flags(struct play *w, int replica, unsigned flags, int64_t sent_ago) {
    w->s.replicas[replica].instance.flags = flags;
    w->s.replicas[replica].reconf_sent_at = NOW - sent_ago;
}
static void two_are_done(struct play *w) {
    set_flags(w, 1, INSTANCE_RECONF_DONE, 9000);
    set_flags(w, 2, INSTANCE_RECONF_DONE, 9000);
}
static void none_is_told(struct play *w) { reconfigures(w, 1); }
static void none_is_connected(struct play *w) {
    reconfigures(w, 1);
    w->s.replica_signs[1].connected = w->s.replica_signs[2].connected = false;
}
static void one_is_told(struct play *w) {
    reconfigures(w, 1);
    set_flags(w, 1, INSTANCE_RECONF_SENT, 10000);
}
static void one_was_told_long_ago(struct play *w) {
    reconfigures(w, 1);
    set_flags(w, 1, INSTANCE_RECONF_SENT, 10001);
}
static void one_is_told_of_two(struct play *w) {
    one_is_told(w);
    w->s.primary.parallel_syncs = 2;
}
static void follow_promoted(struct play *w, int replica) {
    w->s.replicas[replica].follows_port = SCENE_REPLICA_PORT;
}
static void one_follows(struct play *w) {
    one_is_told(w);
    follow_promoted(w, 1);
}
/* What it reported before it was told does not count. */
static void one_followed_before(struct play *w) {
    one_follows(w);
    w->s.replicas[1].reconf_sent_at = w->s.replicas[1].instance.last_info;
}
static void one_follows_as_a_primary(struct play *w) {
    one_follows(w);
    w->s.replicas[1].instance.role = REPORTED_PRIMARY;
}
static void one_copies(struct play *w) {
    reconfigures(w, 1);
    set_flags(w, 1, INSTANCE_RECONF_IN_PROGRESS, 100000);
    follow_promoted(w, 1);
    w->s.replicas[1].link_up = false;
}
static void one_has_copied(struct play *w) {
    one_copies(w);
    w->s.replicas[1].link_up = true;
}
static void one_has_left(struct play *w) {
    one_has_copied(w);
    w->s.replicas[1].follows_port = SCENE_PRIMARY_PORT;
}
static void one_is_done(struct play *w) {
    reconfigures(w, 1);
    set_flags(w, 1, INSTANCE_RECONF_DONE, 9000);
}
static void all_are_done(struct play *w) {
    reconfigures(w, 1);
    two_are_done(w);
}
static void the_rest_is_down(struct play *w) {
    one_is_done(w);
    w->s.replicas[2].instance.flags = INSTANCE_S_DOWN;
    w->s.replica_signs[2].connected = false;
}
static void all_done_promoted_down(struct play *w) {
    all_are_done(w);
    w->s.replicas[0].instance.flags |= INSTANCE_S_DOWN;
}
static void late_at_limit(struct play *w) {
    reconfigures(w, FAILOVER_TIMEOUT);
    set_flags(w, 1, INSTANCE_RECONF_IN_PROGRESS, 100000);
}
static void late(struct play *w) {
    late_at_limit(w);
    w->s.primary.state_since--;
}
static void late_and_promoted_down(struct play *w) {
    late(w);
    w->s.replicas[0].instance.flags |= INSTANCE_S_DOWN;
}
static void no_others(struct play *w) {
    reconfigures(w, 1);
    list_remove(&w->s.replicas[1].instance.in_primary);
    list_remove(&w->s.replicas[2].instance.in_primary);
}
static void reconfigures_in_tilt(struct play *w) {
    none_is_told(w);
    w->view.tilt = true;
}

static void ended(struct play *w) {
    be_in(w, FAILOVER_UPDATE_CONFIG, 1);
    two_are_done(w);
}
static void ended_with_one_in_progress(struct play *w) {
    ended(w);
    set_flags(w, 2, INSTANCE_RECONF_IN_PROGRESS, 9000);
}
static void ended_with_one_down(struct play *w) {
    ended(w);
    set_flags(w, 2, INSTANCE_S_DOWN, 0);
}
static void ended_with_one_disconnected(struct play *w) {
    ended_with_one_down(w);
    w->s.replica_signs[2].connected = false;
}
static void ended_with_one_told(struct play *w) {
    ended(w);
    set_flags(w, 2, INSTANCE_RECONF_SENT, 9000);
}

/* `replica`: which one the move names; -1: none, or any. */
#define ROW(build, move, replica) \
    { #build, build, FAILOVER_MOVE_##move, replica }
static const struct {
    const char *name;
    void (*build)(struct play *w);
    enum sentinel_failover_move_kind kind;
    int replica;
} rows[] = {
    ROW(up, REST, -1),
    ROW(only_s_down, REST, -1),
    ROW(o_down, TRY, -1),
    ROW(o_down_in_tilt, REST, -1),
    ROW(started_lately, LOG_DELAY, -1),
    ROW(started_lately_and_logged, REST, -1),
    ROW(logged_for_another_start, LOG_DELAY, -1),
    ROW(started_long_ago, TRY, -1),
    ROW(young_clock, TRY, -1),
    ROW(no_epoch_left, REST, -1),

    ROW(asks, VOTE, -1),
    ROW(voted, REST, -1),
    ROW(voted_and_late_at_limit, REST, -1),
    ROW(voted_and_late, ABORT_NOT_ELECTED, -1),
    ROW(late_without_a_vote, ABORT_NOT_ELECTED, -1),
    ROW(short_timeout_at_limit, REST, -1),
    ROW(short_timeout, ABORT_NOT_ELECTED, -1),
    ROW(starts_later, REST, -1),
    ROW(won, ELECTED, -1),
    ROW(won_late, ELECTED, -1),
    ROW(won_and_epoch_rose, ELECTED, -1),
    ROW(votes_of_the_current_epoch, REST, -1),
    ROW(epoch_rose_before_our_vote, REST, -1),
    ROW(voted_for_another, REST, -1),
    ROW(forced, VOTE, -1),
    ROW(forced_and_voted, ELECTED, -1),
    ROW(forced_and_voted_for_another, REST, -1),
    ROW(forced_and_late, ABORT_NOT_ELECTED, -1),

    ROW(chooses, SELECTED, 0),
    ROW(finds_none, ABORT_NO_REPLICA, -1),
    ROW(chooses_in_tilt, REST, -1),
    ROW(sends, SEND_PROMOTION, 0),
    ROW(cannot_send, REST, -1),
    ROW(cannot_send_for_long, ABORT_SLOW_REPLICA, -1),
    ROW(waits, REST, -1),
    ROW(waits_too_long, ABORT_SLOW_REPLICA, -1),
    ROW(promoted, PROMOTED, 0),
    ROW(promoted_in_tilt, REST, -1),
    ROW(promoted_by_an_old_info, REST, -1),
    ROW(promoted_by_a_new_info, PROMOTED, 0),

    ROW(none_is_told, RECONF_SEND, 1),
    ROW(none_is_connected, REST, -1),
    ROW(one_is_told, REST, -1),
    ROW(one_was_told_long_ago, RECONF_TIMEOUT, 1),
    ROW(one_is_told_of_two, RECONF_SEND, 2),
    ROW(one_follows, RECONF_IN_PROGRESS, 1),
    ROW(one_followed_before, REST, -1),
    ROW(one_follows_as_a_primary, REST, -1),
    ROW(one_copies, REST, -1),
    ROW(one_has_copied, RECONF_DONE, 1),
    ROW(one_has_left, REST, -1),
    ROW(one_is_done, RECONF_SEND, 2),
    ROW(all_are_done, END, -1),
    ROW(the_rest_is_down, END, -1),
    ROW(all_done_promoted_down, REST, -1),
    ROW(late_at_limit, REST, -1),
    ROW(late, END_LATE, -1),
    ROW(late_and_promoted_down, REST, -1),
    ROW(no_others, END, -1),
    ROW(reconfigures_in_tilt, REST, -1),

    ROW(ended, SWITCH, 0),
    ROW(ended_with_one_in_progress, RECONF_LAST, 2),
    ROW(ended_with_one_down, RECONF_LAST, 2),
    ROW(ended_with_one_disconnected, SWITCH, 0),
    ROW(ended_with_one_told, SWITCH, 0),
};

static void test_the_next_move(void **state) {
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        struct play w;
        play_make(&w, 3, 2);
        rows[at].build(&w);
        struct sentinel_failover_move move = sentinel_failover_decide(&w.s.primary, &w.view);
        if (move.kind != rows[at].kind) fail_msg("%s: move %d", rows[at].name, (int)move.kind);
        if (rows[at].replica >= 0 && move.replica != &w.s.replicas[rows[at].replica])
            fail_msg("%s: another replica", rows[at].name);
    }
}

static void do_move(struct play *w, const struct sentinel_failover_move *move) {
    struct primary *p = &w->s.primary;
    if (move->kind == FAILOVER_MOVE_VOTE) {
        struct sentinel_vote vote = sentinel_election_vote(p, w->view.current_epoch,
                                                           p->failover_epoch, move->candidate, ME);
        assert_true(vote.is_new);
        sentinel_election_take(p, &vote);
        return;
    }
    sentinel_failover_apply(p, move, &w->view);
    if (move->kind == FAILOVER_MOVE_TRY) w->view.current_epoch = p->failover_epoch;
}

/* A move that is done does not come again: so a tick ends. */
static void test_each_move_makes_itself_impossible(void **state) {
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        struct play w;
        play_make(&w, 3, 2);
        rows[at].build(&w);
        struct sentinel_failover_move move = sentinel_failover_decide(&w.s.primary, &w.view);
        if (move.kind == FAILOVER_MOVE_REST || move.kind == FAILOVER_MOVE_SWITCH) continue;
        do_move(&w, &move);
        struct sentinel_failover_move then = sentinel_failover_decide(&w.s.primary, &w.view);
        if (then.kind == move.kind && then.replica == move.replica)
            fail_msg("%s: again", rows[at].name);
    }
}

static void test_whom_the_vote_is_for(void **state) {
    struct play w;
    play_make(&w, 1, 3);
    asks(&w);
    assert_string_equal(sentinel_failover_decide(&w.s.primary, &w.view).candidate, ME);
    scene_vote(&w.s.voters[2], '1', EPOCH);
    assert_string_equal(sentinel_failover_decide(&w.s.primary, &w.view).candidate,
                        w.s.voters[0].instance.run_id);
    w.s.primary.instance.flags |= INSTANCE_FORCED; /* holds its own vote */
    assert_string_equal(sentinel_failover_decide(&w.s.primary, &w.view).candidate, ME);
}

/* ---- Whole failovers ---- */

static const char *const move_names[] = {
    [FAILOVER_MOVE_LOG_DELAY] = "delay",
    [FAILOVER_MOVE_TRY] = "try",
    [FAILOVER_MOVE_VOTE] = "vote",
    [FAILOVER_MOVE_ABORT_NOT_ELECTED] = "not-elected",
    [FAILOVER_MOVE_ELECTED] = "elected",
    [FAILOVER_MOVE_ABORT_NO_REPLICA] = "no-replica",
    [FAILOVER_MOVE_SELECTED] = "selected",
    [FAILOVER_MOVE_SEND_PROMOTION] = "promote",
    [FAILOVER_MOVE_ABORT_SLOW_REPLICA] = "slow-replica",
    [FAILOVER_MOVE_PROMOTED] = "promoted",
    [FAILOVER_MOVE_RECONF_TIMEOUT] = "timeout",
    [FAILOVER_MOVE_RECONF_IN_PROGRESS] = "follows",
    [FAILOVER_MOVE_RECONF_DONE] = "done",
    [FAILOVER_MOVE_RECONF_SEND] = "send",
    [FAILOVER_MOVE_END] = "end",
    [FAILOVER_MOVE_END_LATE] = "end-late",
    [FAILOVER_MOVE_RECONF_LAST] = "last",
    [FAILOVER_MOVE_SWITCH] = "switch",
};
#define MOVES_MAX 40

/* All replicas that are connected answer, `msec` pass, and all moves of that moment are done; they
 * are `expected`. A switch is not done. */
static void play_on(struct play *w, int64_t msec, const char *expected) {
    char word[MOVES_MAX * 16] = "";
    struct sentinel_failover_move move;
    w->view.now += msec;
    for (int at = 0; at < SCENE_MAX; at++) {
        if (!w->s.replica_signs[at].connected) continue;
        w->s.replica_signs[at].last_good_answer = w->s.replicas[at].instance.last_info =
            w->view.now;
    }
    for (int moves = 0;; moves++) {
        assert_true(moves < MOVES_MAX);
        move = sentinel_failover_decide(&w->s.primary, &w->view);
        if (move.kind == FAILOVER_MOVE_REST) break;
        size_t used = strlen(word);
        snprintf(word + used, sizeof(word) - used, "%s%s", used ? " " : "", move_names[move.kind]);
        if (move.replica && move.kind != FAILOVER_MOVE_SWITCH) {
            used = strlen(word);
            snprintf(word + used, sizeof(word) - used, "-%d", (int)(move.replica - w->s.replicas));
        }
        if (move.kind == FAILOVER_MOVE_SWITCH) break;
        do_move(w, &move);
    }
    assert_string_equal(word, expected);
}

/* Up to the moment at which the first replica is a primary. */
static void play_until_promoted(struct play *w, int replicas) {
    play_make(w, replicas, 2);
    o_down(w);
    w->s.primary.instance.s_down_since = NOW;
    play_on(w, 0, "try vote");
    assert_int_equal(w->s.primary.failover_epoch, EPOCH + 1);
    assert_int_equal(w->s.primary.leader_epoch, EPOCH + 1);
    scene_vote(&w->s.voters[1], '0', EPOCH + 1);
    play_on(w, 100, "elected selected-0 promote-0");
    assert_ptr_equal(sentinel_failover_address(&w->s.primary), &w->s.primary.instance.address);
    assert_int_equal(w->s.primary.config_epoch, 0);
}

static void follow(struct play *w, int replica, bool link_up) {
    w->s.replicas[replica].follows_port = SCENE_REPLICA_PORT;
    w->s.replicas[replica].link_up = link_up;
}

static void be_promoted(struct play *w) { w->s.replicas[0].instance.role = REPORTED_PRIMARY; }

static void test_a_failover_without_trouble(void **state) {
    struct play w;
    play_until_promoted(&w, 3);
    play_on(&w, 1000, "");
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1");
    assert_int_equal(w.s.primary.config_epoch, EPOCH + 1);
    assert_ptr_equal(sentinel_failover_address(&w.s.primary), &w.s.replicas[0].instance.address);
    follow(&w, 1, false);
    play_on(&w, 1000, "follows-1");
    follow(&w, 1, true);
    play_on(&w, 1000, "done-1 send-2");
    follow(&w, 2, true);
    play_on(&w, 1000, "follows-2 done-2 end switch");
}

static void test_as_many_replicas_as_parallel_syncs_copy_at_once(void **state) {
    struct play w;
    play_until_promoted(&w, 6);
    w.s.primary.parallel_syncs = 2;
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1 send-2");
    follow(&w, 2, true);
    play_on(&w, 1000, "follows-2 done-2 send-3");
    play_on(&w, 9001, "timeout-1 send-4");
    follow(&w, 3, true);
    follow(&w, 4, true);
    play_on(&w, 1000, "follows-3 done-3 follows-4 done-4 send-5");
    follow(&w, 5, true);
    play_on(&w, 1000, "follows-5 done-5 end switch");
}

/* With parallel-syncs 1, too, one that does not answer holds the others up for ten seconds only. */
static void test_one_that_does_not_move_is_passed_over(void **state) {
    struct play w;
    play_until_promoted(&w, 3);
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1");
    play_on(&w, 10000, "");
    play_on(&w, 1, "timeout-1 send-2");
    follow(&w, 2, true);
    play_on(&w, 1, "follows-2 done-2 end switch");
}

static void test_the_end_for_timeout(void **state) {
    struct play w;
    play_until_promoted(&w, 4);
    be_promoted(&w);
    w.s.replica_signs[3].connected = false;
    play_on(&w, 1000, "promoted-0 send-1");
    follow(&w, 1, false);
    play_on(&w, 1000, "follows-1");
    play_on(&w, FAILOVER_TIMEOUT - 1000, "");
    play_on(&w, 1, "end-late last-1 last-2 switch");
}

static void test_nothing_ends_while_the_promoted_one_is_down(void **state) {
    struct play w;
    play_until_promoted(&w, 2);
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1");
    w.s.replicas[0].instance.flags |= INSTANCE_S_DOWN;
    follow(&w, 1, true);
    play_on(&w, 1000, "follows-1 done-1");
    play_on(&w, 10 * FAILOVER_TIMEOUT, "");
    w.s.replicas[0].instance.flags &= ~(unsigned)INSTANCE_S_DOWN;
    play_on(&w, 1000, "end-late switch");
}

static void test_a_replica_that_appears_is_told_too(void **state) {
    struct play w;
    play_until_promoted(&w, 3);
    list_remove(&w.s.replicas[2].instance.in_primary);
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1");
    list_append(&w.s.primary.replicas, &w.s.replicas[2].instance.in_primary);
    follow(&w, 1, true);
    play_on(&w, 1000, "follows-1 done-1 send-2");
}

static void check_forgotten(const struct play *w) {
    const struct primary *p = &w->s.primary;
    unsigned marks = INSTANCE_PROMOTED | INSTANCE_RECONF_SENT | INSTANCE_RECONF_IN_PROGRESS |
                     INSTANCE_RECONF_DONE;
    assert_int_equal(p->state, FAILOVER_NONE);
    assert_int_equal(p->state_since, w->view.now);
    assert_null(p->promoted);
    assert_false(p->instance.flags & (INSTANCE_IN_FAILOVER | INSTANCE_FORCED));
    for (int at = 0; at < SCENE_MAX; at++) assert_false(w->s.replicas[at].instance.flags & marks);
}

static void test_an_abort_waits_before_the_next_try(void **state) {
    struct play w;
    play_make(&w, 2, 2);
    o_down(&w);
    w.view.delay_msec = 999;
    play_on(&w, 0, "try vote");
    play_on(&w, 999 + ELECTION_LIMIT, "");
    play_on(&w, 1, "not-elected delay");
    check_forgotten(&w);
    assert_int_equal(sentinel_failover_next_start(&w.s.primary), NOW + 999 + 2 * FAILOVER_TIMEOUT);
    play_on(&w, 2 * FAILOVER_TIMEOUT - ELECTION_LIMIT - 2, "");
    play_on(&w, 1, "try vote");
    assert_int_equal(w.s.primary.failover_epoch, EPOCH + 2);
}

static void test_a_slow_replica_is_given_up_and_chosen_anew(void **state) {
    struct play w;
    play_until_promoted(&w, 2);
    play_on(&w, FAILOVER_TIMEOUT, "");
    play_on(&w, 1, "slow-replica delay");
    check_forgotten(&w);
    w.s.replicas[0].priority = 0;
    play_on(&w, FAILOVER_TIMEOUT, "try vote");
    scene_vote(&w.s.voters[1], '0', EPOCH + 2);
    w.s.voters[1].said_at = w.view.now;
    play_on(&w, 1, "elected selected-1 promote-1");
}

static void test_a_forced_failover_needs_its_own_vote_only(void **state) {
    struct play w;
    play_make(&w, 2, 4);
    sentinel_failover_force(&w.s.primary, &w.view);
    w.view.current_epoch = w.s.primary.failover_epoch;
    assert_int_equal(w.s.primary.failover_epoch, EPOCH + 1);
    play_on(&w, 0, "vote elected selected-0 promote-0");
    assert_string_equal(w.s.primary.leader, ME);
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1");
    follow(&w, 1, true);
    play_on(&w, 1000, "follows-1 done-1 end switch");
    sentinel_failover_reset(&w.s.primary, w.view.now);
    check_forgotten(&w);
}

static void test_a_vote_for_another_delays_the_next_failover(void **state) {
    struct play w;
    play_make(&w, 1, 2);
    o_down(&w);
    w.view.delay_msec = 500;
    sentinel_failover_note_vote(&w.s.primary, &w.view);
    play_on(&w, 2 * FAILOVER_TIMEOUT + 499, "delay");
    play_on(&w, 1, "try vote");
}

/* Another Sentinel gave the old address a newer epoch meanwhile. */
static void test_a_configuration_epoch_never_falls(void **state) {
    struct play w;
    play_until_promoted(&w, 2);
    w.s.primary.config_epoch = EPOCH + 1;
    w.view.current_epoch = EPOCH + 4;
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1");
    assert_int_equal(w.s.primary.config_epoch, EPOCH + 5);
}

/* A message with the highest epoch came meanwhile. Others would drop a message with a higher one.
 */
static void test_a_configuration_epoch_has_a_limit(void **state) {
    struct play w;
    play_until_promoted(&w, 2);
    w.s.primary.config_epoch = w.view.current_epoch = SENTINEL_EPOCH_MAX;
    be_promoted(&w);
    play_on(&w, 1000, "promoted-0 send-1");
    assert_int_equal(w.s.primary.config_epoch, SENTINEL_EPOCH_MAX);
}

static void test_names_of_states(void **state) {
    assert_string_equal(sentinel_failover_state_name(FAILOVER_NONE), "none");
    assert_string_equal(sentinel_failover_state_name(FAILOVER_UPDATE_CONFIG), "update_config");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_move),
        cmocka_unit_test(test_each_move_makes_itself_impossible),
        cmocka_unit_test(test_whom_the_vote_is_for),
        cmocka_unit_test(test_a_failover_without_trouble),
        cmocka_unit_test(test_as_many_replicas_as_parallel_syncs_copy_at_once),
        cmocka_unit_test(test_one_that_does_not_move_is_passed_over),
        cmocka_unit_test(test_the_end_for_timeout),
        cmocka_unit_test(test_nothing_ends_while_the_promoted_one_is_down),
        cmocka_unit_test(test_a_replica_that_appears_is_told_too),
        cmocka_unit_test(test_an_abort_waits_before_the_next_try),
        cmocka_unit_test(test_a_slow_replica_is_given_up_and_chosen_anew),
        cmocka_unit_test(test_a_forced_failover_needs_its_own_vote_only),
        cmocka_unit_test(test_a_vote_for_another_delays_the_next_failover),
        cmocka_unit_test(test_a_configuration_epoch_never_falls),
        cmocka_unit_test(test_a_configuration_epoch_has_a_limit),
        cmocka_unit_test(test_names_of_states)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
