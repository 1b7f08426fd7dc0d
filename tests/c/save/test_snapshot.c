/* SPDX-License-Identifier: BSD-3-Clause
 * Who is told of snapshots: when, in which order, and what.
 */
#include "save/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/child.h"
#include "save/saver.h"
#include "server/whole.h"

/* What the observers were told: b: began; g: ended well; f: failed. Capital letters are the second
 * observer's. */
static char told[16];
static char folder[] = "/tmp/test-snapshot-XXXXXX";
static struct peer client;

static void note(char what) {
    size_t length = strlen(told);
    assert_true(length + 1 < sizeof(told));
    told[length] = what;
    told[length + 1] = 0;
}

/* Beginning: a save is under way already, and no data has changed since. End: the result is noted,
 * so that another save may begin. */
static void first_began(void) {
    assert_true(snapshot_is_current());
    note('b');
}
static void first_ended(bool good) {
    assert_false(saver_is_busy());
    note(good ? 'g' : 'f');
}
static void second_began(void) { note('B'); }
static void second_ended(bool good) { note(good ? 'G' : 'F'); }

static const struct snapshot_observer first = {first_began, first_ended};
static const struct snapshot_observer second = {second_began, second_ended};
static const struct snapshot_observer *const observers[] = {&first, &second, NULL};

/* The save's child and threads run by the machine's clock, the loop's timers by the test's. */
static void await_end(void) {
    for (int i = 0; saver_is_busy() && i < 60000; i++) {
        usleep(1000);
        whole_pass(100);
    }
    assert_false(saver_is_busy());
}

static void assert_told(const char *expected) {
    assert_string_equal(told, expected);
    told[0] = 0;
}

static void save_well(void) {
    whole_say(&client, "SET a 1", "+OK\r\n");
    whole_say(&client, "BGSAVE", "+Background saving started\r\n");
    assert_told("bB");
    await_end();
    assert_told("gG");
    assert_int_equal(access(snapshot_path(), F_OK), 0);
}

static void test_by_fork(void **state) { save_well(); }

static void test_by_walk(void **state) {
    whole_say(&client, "CONFIG SET snapshot-method walk", "+OK\r\n");
    save_well();
    whole_say(&client, "CONFIG SET snapshot-method fork", "+OK\r\n");
}

/* Nobody is told of a save that cannot begin, and all are told of one that fails. */
static void test_failures(void **state) {
    whole_say(&client, "SET a 1", "+OK\r\n");
    whole_say(&client, "BGSAVE", "+Background saving started\r\n");
    assert_told("bB");
    assert_false(snapshot_start_child());
    assert_told("");
    child_kill(&saver_snapshot);
    await_end();
    assert_told("fF");
}

/* A save in this process is none of theirs. */
static void test_in_the_foreground(void **state) {
    whole_say(&client, "SAVE", "+OK\r\n");
    assert_told("");
}

static int setup(void **state) {
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    int failed = whole_open();
    snapshot_set_observers(observers);
    return failed;
}

static int end_all(void **state) {
    return unlink(snapshot_path()) == 0 && chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static int begin(void **state) {
    int failed = whole_begin(state);
    client = peer_connect();
    told[0] = 0;
    return failed;
}

static int end(void **state) {
    peer_close(&client);
    return whole_nothing_left(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_by_fork),
        TEST(test_by_walk),
        TEST(test_failures),
        TEST(test_in_the_foreground),
    };
    return cmocka_run_group_tests(tests, setup, end_all);
}
