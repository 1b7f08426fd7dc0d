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
    background_drain(&aof_switch_jobs);
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

/* ---- the first file of a log ---- */

/* Nothing stands for the data, and no file has the name yet; a child has written the data that
 * there was, which is none. */
static void begin_first_file(const char *policy) {
    aof_writer_close();
    unlink(unit_path);
    set_option("appendfsync", policy);
    aof_writer_open(&unit_host, -1, 0);
    aof_writer_keep(0);
    write_temporary(0);
    append(1000);
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record);
}

/* Up to the step in which it gets its name: of that the main thread hears nothing yet. */
static void begin_name(uint64_t from) {
    begin_switch(from, true);
    for (int i = 0; i < 1000 && !aof_switch_has_to_end(); i++) step();
    assert_true(aof_switch_has_to_end());
    background_drain(&aof_switch_jobs);
}

/* `always`: from before the rename until the folder is synced no reply leaves. */
static void test_first_file_always(void **state) {
    begin_first_file("always");
    begin_name(0);
    assert_true(is_there(unit_path));
    append(100);
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record - 1);
    set_option("appendfsync", "everysec"); /* the thread has begun what `always` asks for */
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record - 1);
    set_option("appendfsync", "always");
    go_to_end();
    for (int i = 0; i < 3; i++) step();
    assert_int_equal(ended, 1);
    assert_whole(unit_path);
    assert_int_equal(told.allowed, told.record);
}

/* Else the file has what is answered from the rename on, while the folder is being synced, too. */
static void test_first_file_everysec(void **state) {
    begin_first_file("everysec");
    begin_name(0);
    assert_true(is_there(unit_path));
    append(100);
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record);
    assert_whole(unit_path);
    set_option("appendfsync", "always"); /* written is not enough any more */
    append(100);
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record - 1);
    go_to_end();
    for (int i = 0; i < 3; i++) step();
    assert_whole(unit_path);
    assert_int_equal(told.allowed, told.record);
}

/* There is no log still: replies go on as before. */
static void check_first_rename_fails(const char *policy) {
    begin_first_file(policy);
    faults_fail(FAULT_RENAME, EIO, 0, 1, "log.aof");
    begin_name(0);
    append(100);
    go_to_end();
    assert_int_equal(ended, -1);
    assert_false(is_there(unit_path) || is_there(temporary));
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record);
}

static void test_first_rename_fails(void **state) {
    check_first_rename_fails("always");
    unit_end(state);
    unit_begin(state);
    check_first_rename_fails("everysec");
}

/* appendonly no, while replies wait. */
static void test_first_file_is_given_up(void **state) {
    begin_first_file("always");
    faults_fail(FAULT_RENAME, EIO, 0, 1, "log.aof");
    begin_name(0);
    append(100);
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record - 1);
    aof_switch_finish();
    assert_int_equal(ended, -1);
    aof_writer_close();
    assert_int_equal(told.allowed, told.record);
}

/* ---- a folder that cannot be synced ---- */

/* A power cut may bring the old file back: so both have what is answered until the folder is
 * synced.
 */
static void test_folder_fails(void **state) {
    append(1000);
    aof_writer_flush();
    aof_writer_keep(aof_writer_end());
    write_temporary(1000);
    char old[128];
    snprintf(old, sizeof(old), "%s/old.aof", unit_folder);
    assert_int_equal(link(unit_path, old), 0);
    faults_fail(FAULT_OPEN, EIO, 1, 1, unit_folder); /* the first is the new file's */
    begin_name(1000);
    for (int second = 0; second < 3; second++) {
        aof_switch_turn();
        background_drain(&aof_switch_jobs);
        faults_clear();
        aof_switch_turn();
        assert_int_equal(ended, 0);
        append(100);
        settle(); /* no sync holds the old file */
        aof_writer_flush();
        assert_int_equal(told.allowed, told.record);
        assert_whole(unit_path);
        assert_int_equal(aof_switch_missing(), 0);
        assert_whole(old);
        clock_advance_usec(1100000);
        faults_fail(FAULT_OPEN, EIO, 0, 1, unit_folder);
    }
    faults_clear();
    go_to_end();
    assert_int_equal(ended, 1);
    assert_int_equal(unlink(old), 0);
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

/* A first file, too, has from the rename on all that was ever answered. */
static void look_at_first(void) {
    if (is_there(unit_path)) assert_true(assert_prefix(unit_path) >= answered());
}

static void random_turn(void) {
    static const char *const policies[] = {"always", "everysec", "no"};
    switch (random_below(10)) {
    case 0: clock_advance_usec((int64_t)random_below(700000)); break;
    case 1: set_option("aof-write-thread", random_below(2) ? "yes" : "no"); break;
    case 2:
        if (!random_below(3)) set_option("appendfsync", policies[random_below(3)]);
        break;
    case 3: background_drain(&aof_writer_jobs); break;
    case 4: background_drain(&aof_switch_jobs); break;
    default: append(1 + random_below(random_below(20) ? 300 : 90000));
    }
    aof_writer_turn();
    aof_switch_turn();
    aof_writer_flush();
    look();
}

static void random_first_file(void) {
    static const char *const policies[] = {"always", "everysec", "no"};
    begin_first_file(policies[random_below(3)]);
    for (size_t i = random_below(20); i; i--) append(1 + random_below(30000));
    begin_switch(0, true);
    for (int i = 0; i < 2000 && !ended; i++) {
        if (random_below(3)) append(1 + random_below(300));
        if (!random_below(6)) set_option("appendfsync", policies[random_below(3)]);
        aof_writer_flush();
        if (random_below(2)) background_drain(&aof_switch_jobs);
        look_at_first();
        aof_switch_turn();
        look_at_first();
    }
    assert_int_equal(ended, 1);
    aof_writer_flush();
    look_at_first();
}

static void test_random_first_file(void **state) {
    for (int round = 0; round < 20; round++) {
        unit_end(state);
        unit_begin(state);
        random_first_file();
    }
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
        TEST(test_first_file_always),
        TEST(test_first_file_everysec),
        TEST(test_first_rename_fails),
        TEST(test_first_file_is_given_up),
        TEST(test_folder_fails),
        TEST(test_random),
        TEST(test_random_first_file),
    };
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
