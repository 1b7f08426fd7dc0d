/* SPDX-License-Identifier: BSD-3-Clause
 * Replies and the records of units: what a unit replies leaves when the sinks that hold replies
 * have its record.
 */
#include "exec/effects.h"

#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "server/whole.h"

static int taken;

static void take(int database, int argc, const struct slice *argv) { taken++; }

static const struct effect_sink plain = {.reader = EFFECT_STREAM, .take = take};
static const struct effect_sink holding = {
    .reader = EFFECT_LOG, .take = take, .holds_replies = true};
static const struct effect_sink *const sinks[] = {&plain, &holding, NULL};

static void say(struct peer *p, const char *line, const char *reply) {
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
    peer_assert_got(p, slice_of(reply));
}

static void allow(struct peer *p, const char *reply) {
    reply_allow(effects_record());
    reply_write_all();
    peers_turns();
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(reply));
}

static void test_sink_that_does_not_hold(void **state) {
    struct peer p = peer_connect();
    effects_add_interest(EFFECT_STREAM, 1);
    taken = 0;
    say(&p, "set a 1", "+OK\r\n");
    assert_int_equal(taken, 1);
    say(&p, "get a", "$1\r\n1\r\n");
    effects_add_interest(EFFECT_STREAM, -1);
    peer_close(&p);
}

/* A reply waits for its own unit's record; one that reads what is not recorded yet does, too. */
static void test_sink_that_holds(void **state) {
    struct peer p = peer_connect(), reader = peer_connect();
    effects_add_interest(EFFECT_LOG, 1);
    say(&p, "set a 1", "");
    say(&reader, "get a", "");
    allow(&p, "+OK\r\n");
    peer_receive(&reader, SIZE_MAX);
    peer_assert_got(&reader, SLICE("$1\r\n1\r\n"));
    say(&p, "multi", "");
    say(&p, "incr a", "");
    say(&p, "exec", "");
    allow(&p, "+OK\r\n+QUEUED\r\n*1\r\n:2\r\n");
    say(&p, "incr a", "");
    effects_add_interest(EFFECT_LOG, -1); /* there is no log any more */
    say(&p, "incr a", ":3\r\n:4\r\n");
    peer_close(&reader);
    peer_close(&p);
}

/* "half": a unit in whose midst the server stops, as by SHUTDOWN NOSAVE while a script is busy. */
static void command_half(struct call *call) {
    struct effects_nesting nesting;
    effect_add_as_sent(call, EFFECT_BOTH);
    uint64_t before = effects_nest_begin(&nesting);
    assert_true(before < effects_record());
    effects_stop();
    effects_nest_end(&nesting);
    reply_ok(call->client);
}

static struct command rows[] = {{.name = "half", .handler = command_half, .arity = 1}};

/* Of the unit that will never be whole nobody gets anything, nor of what comes after it; the
 * replies that wait for its record do not leave. */
static void test_stop_within_a_unit(void **state) {
    struct peer p = peer_connect();
    effects_add_interest(EFFECT_STREAM, 1);
    taken = 0;
    effects_stop(); /* between units it changes nothing */
    say(&p, "set a 1", "+OK\r\n");
    assert_int_equal(taken, 1);
    say(&p, "multi", "+OK\r\n");
    say(&p, "set a 2", "+QUEUED\r\n");
    say(&p, "half", "+QUEUED\r\n");
    say(&p, "set a 3", "+QUEUED\r\n");
    say(&p, "exec", "*3\r\n+OK\r\n+OK\r\n+OK\r\n");
    say(&p, "set a 4", "+OK\r\n");
    assert_int_equal(taken, 1);
    effects_add_interest(EFFECT_LOG, 1);
    say(&p, "set a 5", "");
    assert_int_equal(taken, 1);
    effects_add_interest(EFFECT_LOG, -1);
    effects_add_interest(EFFECT_STREAM, -1);
    effects_stop(); /* as in the beginning */
    peer_close(&p);
}

static int open_all(void **state) {
    int result = whole_open();
    command_register(COMMAND_ROWS(rows));
    effects_set_sinks(sinks);
    return result;
}

static int end(void **state) { return whole_nothing_left(state); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sink_that_does_not_hold, whole_begin, end),
        cmocka_unit_test_setup_teardown(test_sink_that_holds, whole_begin, end),
        cmocka_unit_test_setup_teardown(test_stop_within_a_unit, whole_begin, end),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
