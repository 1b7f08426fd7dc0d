/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replication/history: who may go on with what is kept here, and from where.
 */
#include "replication/history.h"

#include <string.h>

#include "metric/metric.h"
#include "option/settings.h"
#include "replication/feed.h"

static const char other_id[] = "0123456789abcdef0123456789abcdef01234567";
static char reason[200];
static const char bytes[100];

static int setup(void **state) {
    history_register();
    history_adopt(history_id(), 0);
    return 0;
}

static int teardown(void **state) {
    history_close_backlog();
    option_reset_all();
    metric_forget_all();
    return 0;
}

static bool can_continue(const char *id, int64_t place) {
    return history_can_continue(slice_of(id), place, reason, sizeof(reason));
}

static void append(size_t length) {
    for (; length > sizeof(bytes); length -= sizeof(bytes))
        feed_append(history_feed(), bytes, sizeof(bytes));
    feed_append(history_feed(), bytes, length);
}

static void test_backlog(void **state) {
    assert_takes("repl-backlog-size", "1", "16384");
    assert_takes("repl-backlog-size", "20000", "20000");
    assert_loads("repl-backlog-size 1k\n");
    assert_value("repl-backlog-size", "1000");
    assert_takes("repl-backlog-size", "1k", "16384");
    assert_null(history_feed());
    history_open_backlog();
    history_open_backlog();
    append(50000);
    assert_int_equal(feed_kept_bytes(history_feed()), 16384);
    assert_takes("repl-backlog-size", "17000", "17000");
    append(50000);
    assert_int_equal(feed_kept_bytes(history_feed()), 17000);
    assert_int_equal(history_place(), 100000);
}

/* Who is set another size has a new backlog, in 6.2: from where the unit that sets it ends. */
static void test_another_size(void **state) {
    history_open_backlog();
    append(50000);
    assert_takes("repl-backlog-size", "20000", "20000");
    append(100); /* of the same unit */
    history_settle();
    append(100);
    assert_false(can_continue(history_id(), 50000));
    assert_false(can_continue(history_id(), 50099));
    assert_true(can_continue(history_id(), 50100));
    assert_takes("repl-backlog-size", "20000", "20000");
    history_settle();
    assert_true(can_continue(history_id(), 50100));
}

static void test_going_on(void **state) {
    assert_false(can_continue(history_id(), 0));
    assert_string_equal(reason, "there is no backlog");
    history_open_backlog();
    assert_true(can_continue(history_id(), 0));
    assert_false(can_continue(history_id(), 1));
    append(2000000);
    assert_true(can_continue(history_id(), 2000000));
    assert_true(can_continue(history_id(), 2000000 - 1048576));
    assert_false(can_continue(history_id(), 2000000 - 1048577));
    assert_string_equal(reason,
                        "it has come to 951423, and the backlog reaches from 951424 to 2000000");
    assert_false(can_continue(history_id(), 2000001));
    assert_false(can_continue(history_id(), -1));
    assert_false(can_continue(other_id, 2000000));
    assert_false(can_continue("?", -1));
    assert_false(can_continue("", 2000000));
}

/* The zeros of "no second id" are nobody's id. */
static void test_no_second(void **state) {
    history_open_backlog();
    append(10);
    assert_false(can_continue(history_id2(), 0));
    assert_false(can_continue(history_id2(), -1));
}

/* Who was with us until the promotion may go on; who was ahead by then may not. */
static void test_branch(void **state) {
    char before[HISTORY_ID_CHARS + 1];
    history_open_backlog();
    append(100);
    memcpy(before, history_id(), sizeof(before));
    history_branch();
    assert_string_not_equal(history_id(), before);
    assert_string_equal(history_id2(), before);
    assert_int_equal(history_id2_end(), 101);
    append(50);
    assert_true(can_continue(before, 100));
    assert_false(can_continue(before, 101));
    assert_non_null(strstr(reason, "and ours is the same up to 100 only"));
    assert_true(can_continue(history_id(), 150));
    history_begin();
    assert_false(can_continue(before, 100));
}

static void test_adopt(void **state) {
    history_open_backlog();
    append(100);
    history_adopt(other_id, 5000);
    assert_string_equal(history_id(), other_id);
    assert_int_equal(history_place(), 5000);
    assert_false(can_continue(other_id, 4999));
    assert_true(can_continue(other_id, 5000));
    append(10);
    assert_true(can_continue(other_id, 5000));
    history_adopt(other_id, 5010);
    assert_true(can_continue(other_id, 5000));
}

/* The bytes before a place are another history's, be it the same place. */
static void test_adopt_at_same_place(void **state) {
    history_open_backlog();
    append(100);
    history_adopt(other_id, 100);
    assert_false(can_continue(other_id, 99));
    assert_true(can_continue(other_id, 100));
}

static void test_rename(void **state) {
    char before[HISTORY_ID_CHARS + 1];
    history_open_backlog();
    append(7);
    memcpy(before, history_id(), sizeof(before));
    history_rename(other_id);
    assert_true(can_continue(before, 7));
    assert_true(can_continue(other_id, 7));
    append(1);
    assert_false(can_continue(before, 8));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_backlog),
        TEST(test_another_size),
        TEST(test_going_on),
        TEST(test_no_second),
        TEST(test_branch),
        TEST(test_adopt),
        TEST(test_adopt_at_same_place),
        TEST(test_rename),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
