/* SPDX-License-Identifier: BSD-3-Clause
 * A new file takes the log's place: nothing is lost or doubled, wherever it is cut and whatever
 * fails.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "aof/aof_switch.h"

#include "aof_unit.h"

static char temporary[128];
static int ended; /* 1: well, -1: not */

static void note_end(bool good) { ended = good ? 1 : -1; }

/* What the child wrote stands for all before: here these bytes themselves. */
static void write_temporary(size_t length) {
    snprintf(temporary, sizeof(temporary), "%s/temp.aof", unit_folder);
    int fd = open_log(temporary);
    assert_int_equal(write(fd, told.text, length), (ssize_t)length);
    close(fd);
}

static void begin_switch(uint64_t from, bool has_log) {
    ended = 0;
    aof_switch_begin(&(struct aof_switch){.temporary = temporary,
                                          .path = unit_path,
                                          .from = from,
                                          .has_log = has_log,
                                          .ended = note_end,
                                          .die = host_die,
                                          .wake = host_wake});
}

static void step(void) {
    background_drain(BACKGROUND_REWRITE);
    settle();
    aof_switch_turn();
    aof_writer_flush();
}

static void go_to_end(void) {
    for (int i = 0; i < 1000 && !ended; i++) step();
    assert_false(aof_switch_is_under_way());
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

static void test_switch(void **state) {
    append(1000);
    aof_writer_flush();
    aof_writer_keep(aof_writer_end());
    write_temporary(1000);
    append(200000);
    aof_writer_flush();
    begin_switch(1000, true);
    append(300000);
    assert_true(aof_switch_missing() > 0);
    go_to_end();
    assert_int_equal(ended, 1);
    assert_false(is_there(temporary));
    append(10);
    aof_writer_flush();
    settle();
    assert_whole(unit_path);
    assert_int_equal(aof_writer_state().file_bytes, told.length);
    assert_int_equal(told.allowed, told.record);
    assert_int_equal(aof_switch_missing(), 0);
}

/* BGREWRITEAOF without a log: only the name. */
static void test_no_log(void **state) {
    aof_writer_close();
    told.length = 500;
    memset(told.text, 'x', told.length);
    write_temporary(500);
    begin_switch(0, false);
    go_to_end();
    assert_int_equal(ended, 1);
    assert_whole(unit_path);
}

/* At any failure all is as it was, and the log goes on. */
static void check_failure(enum fault_call call, const char *path, const char *policy) {
    set_option("appendfsync", policy);
    append(1000);
    aof_writer_flush();
    settle();
    aof_writer_keep(aof_writer_end());
    write_temporary(1000);
    append(100);
    faults_fail(call, EIO, 0, 1, path);
    begin_switch(1000, true);
    append(100);
    go_to_end();
    assert_int_equal(ended, -1);
    assert_false(is_there(temporary));
    append(10);
    for (int i = 0; i < 3; i++) step();
    assert_whole(unit_path);
    assert_int_equal(told.allowed, told.record);
}

static void test_open_fails(void **state) { check_failure(FAULT_OPEN, "temp.aof", "everysec"); }
static void test_append_fails(void **state) { check_failure(FAULT_WRITE, "temp.aof", "everysec"); }
static void test_sync_fails(void **state) { check_failure(FAULT_FSYNC, "temp.aof", "everysec"); }
static void test_rename_fails(void **state) { check_failure(FAULT_RENAME, "log.aof", "everysec"); }
static void test_rename_fails_always(void **state) {
    check_failure(FAULT_RENAME, "log.aof", "always");
}

/* appendonly no in the midst of it. */
static void test_finish(void **state) {
    for (int steps = 0; steps < 6; steps++) {
        unit_end(state);
        unit_begin(state);
        append(1000);
        aof_writer_flush();
        aof_writer_keep(aof_writer_end());
        write_temporary(1000);
        begin_switch(1000, true);
        for (int i = 0; i < steps; i++) {
            append(100);
            step();
        }
        aof_switch_finish();
        assert_false(aof_switch_is_under_way());
        assert_true(ended);
        assert_false(is_there(temporary));
        assert_true(aof_writer_drain(true));
        assert_whole(unit_path);
    }
}

/* ---- a kill at any moment ---- */

/* A process that is killed leaves what has been written. In a random history, with random
 * policies, after each turn: the file has all that was answered, but for what a sync has held up,
 * and is a part of the history. */
static size_t held_up; /* so many bytes were answered for at most while a sync held the file */

static void look(void) {
    size_t length = assert_prefix(unit_path);
    if (aof_writer_state().syncing && aof_options()->fsync != AOF_FSYNC_ALWAYS)
        held_up = told.length;
    if (told.allowed == told.record && told.length != held_up)
        assert_int_equal(length, told.length);
}

static void random_turn(void) {
    static const char *const policies[] = {"always", "everysec", "no"};
    switch (random_below(10)) {
    case 0: clock_advance_usec((int64_t)random_below(700000)); break;
    case 1: set_option("aof-write-thread", random_below(2) ? "yes" : "no"); break;
    case 2:
        if (!random_below(3)) set_option("appendfsync", policies[random_below(3)]);
        break;
    case 3: background_drain(BACKGROUND_SYNC); break;
    case 4: background_drain(BACKGROUND_REWRITE); break;
    default: append(1 + random_below(random_below(20) ? 300 : 90000));
    }
    aof_writer_turn();
    aof_switch_turn();
    aof_writer_flush();
    look();
}

static void random_rewrite(void) {
    aof_writer_keep(aof_writer_end());
    uint64_t from = aof_writer_end();
    write_temporary(told.length);
    for (size_t i = random_below(20); i; i--) random_turn();
    begin_switch(from, true);
    for (int i = 0; i < 2000 && !ended; i++) random_turn();
    assert_int_equal(ended, 1);
    for (size_t i = random_below(10); i; i--) random_turn();
}

static void test_random(void **state) {
    held_up = 0;
    for (int round = 0; round < 8 && told.length < UNIT_TEXT_BYTES / 2; round++) random_rewrite();
    assert_true(aof_writer_drain(true));
    assert_whole(unit_path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_begin, unit_end)

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        TEST(test_switch),
        TEST(test_no_log),
        TEST(test_open_fails),
        TEST(test_append_fails),
        TEST(test_sync_fails),
        TEST(test_rename_fails),
        TEST(test_rename_fails_always),
        TEST(test_finish),
        TEST(test_random),
    };
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
