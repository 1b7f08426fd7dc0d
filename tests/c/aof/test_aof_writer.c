/* SPDX-License-Identifier: BSD-3-Clause
 * The writer of the append only file: who writes and syncs when, what replies wait for, bounds,
 * and files that fail.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "aof/aof_writer.h"

#include "aof_unit.h"

/* ---- everysec and no ---- */

/* The main thread writes at once; replies leave, and nobody else is asked. */
static void test_writes_here(void **state) {
    append(100);
    assert_int_equal(told.allowed, 0);
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    assert_whole(unit_path);
    assert_false(aof_writer_state().busy);
    assert_int_equal(faults_count(FAULT_FSYNC), 0);
    assert_int_equal(aof_writer_state().file_bytes, 100);
    assert_int_equal(aof_writer_state().queued, 0);
}

static void test_syncs_each_second(void **state) {
    append(10);
    aof_writer_flush();
    settle();
    assert_int_equal(faults_count(FAULT_FSYNC), 0);
    clock_advance_usec(1000000);
    aof_writer_flush();
    settle();
    assert_int_equal(faults_count(FAULT_FSYNC), 1);
    assert_int_equal(aof_writer_state().synced, 10);
    clock_advance_usec(5000000);
    aof_writer_flush();
    settle();
    assert_int_equal(faults_count(FAULT_FSYNC), 1); /* nothing new */
    set_option("appendfsync", "no");
    append(10);
    clock_advance_usec(5000000);
    aof_writer_flush();
    settle();
    assert_int_equal(faults_count(FAULT_FSYNC), 1);
    assert_whole(unit_path);
}

/* What comes while a sync holds the file waits in the queue; replies do not. */
static void begin_held_sync(void) {
    set_gate(true);
    append(10);
    clock_advance_usec(1000000);
    aof_writer_flush();
    await_sync();
}

static void test_queues_during_sync(void **state) {
    begin_held_sync();
    append(20);
    aof_writer_flush();
    assert_int_equal(told.allowed, 2);
    assert_int_equal(assert_prefix(unit_path), 10);
    assert_int_equal(aof_writer_state().queued, 20);
    assert_true(aof_writer_state().syncing);
    set_gate(false);
    settle();
    aof_writer_flush();
    assert_whole(unit_path);
    assert_false(told.holds_told);
}

/* Much is written by the other thread, and replies wait for that. */
static void test_other_writes_much(void **state) {
    append(300000);
    aof_writer_flush();
    assert_int_equal(told.allowed, 0);
    settle();
    assert_int_equal(told.allowed, 1);
    assert_whole(unit_path);
    set_option("aof-write-thread", "yes");
    append(10);
    aof_writer_flush();
    append(10); /* while it writes */
    aof_writer_flush();
    assert_true(told.allowed < 3);
    settle();
    aof_writer_flush();
    settle();
    assert_int_equal(told.allowed, 3);
    assert_whole(unit_path);
}

/* ---- bounds ---- */

static void test_bound_of_age(void **state) {
    begin_held_sync();
    append(20);
    aof_writer_flush();
    clock_advance_usec(2000000);
    aof_writer_flush();
    assert_false(told.holds);
    clock_advance_usec(1000);
    aof_writer_flush();
    assert_true(told.holds);
    assert_int_equal(aof_writer_state().delayed, 1);
    set_gate(false);
    settle();
    aof_writer_flush();
    assert_false(told.holds);
    assert_int_equal(told.holds_told, 2);
    assert_whole(unit_path);
}

static void test_bound_of_bytes(void **state) {
    set_option("aof-queue-bytes-max", "65536");
    begin_held_sync();
    append(65536);
    aof_writer_flush();
    assert_false(told.holds);
    append(1);
    aof_writer_flush();
    assert_true(told.holds);
    set_option("aof-queue-bytes-max", "1mb");
    aof_writer_flush();
    assert_false(told.holds);
    set_gate(false);
    settle();
    aof_writer_flush();
    settle();
    assert_whole(unit_path);
}

/* ---- always ---- */

static void test_always(void **state) {
    set_option("appendfsync", "always");
    set_gate(true);
    append(10);
    aof_writer_flush();
    await_sync();
    aof_writer_turn();
    assert_int_equal(told.allowed, 0);
    append(20); /* the next batch */
    aof_writer_flush();
    set_gate(false);
    settle();
    assert_int_equal(told.allowed, 1);
    assert_int_equal(assert_prefix(unit_path), 10);
    aof_writer_flush();
    settle();
    assert_int_equal(told.allowed, 2);
    assert_int_equal(faults_count(FAULT_FSYNC), 2);
    assert_whole(unit_path);
}

/* Units that write nothing leave at once, unless they may have seen what is not synced. */
static void test_always_reads(void **state) {
    set_option("appendfsync", "always");
    told.record++;
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    set_gate(true);
    append(10);
    aof_writer_flush();
    told.record++;
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    set_gate(false);
    settle();
    aof_writer_flush();
    assert_int_equal(told.allowed, 3);
}

/* Two units have left with a sync that took a second by the clock, and two come, one after the
 * other: true where one sync was enough. The other thread may have been too quick. */
static bool gathers(void) {
    set_gate(true);
    append(10);
    append(10);
    aof_writer_flush();
    await_sync();
    clock_advance_usec(1000000);
    set_gate(false);
    settle();
    assert_int_equal(told.allowed, told.record);
    uint64_t syncs = faults_count(FAULT_FSYNC);
    append(10);
    aof_writer_flush();
    append(10);
    aof_writer_flush();
    settle();
    aof_writer_flush();
    settle();
    assert_int_equal(told.allowed, told.record);
    assert_whole(unit_path);
    return faults_count(FAULT_FSYNC) == syncs + 1;
}

static void test_always_gathers(void **state) {
    bool found = false;
    set_option("appendfsync", "always");
    for (int i = 0; i < 1000 && !found; i++) found = gathers();
    assert_true(found);
}

/* Whoever needs the file at once does not wait, and nothing is left out. */
static void test_drain_while_gathering(void **state) {
    set_option("appendfsync", "always");
    for (int i = 0; i < 20; i++) {
        (void)gathers();
        append(10);
        aof_writer_flush();
        append(10);
        if (i % 2) aof_writer_flush();
        assert_true(aof_writer_drain(true));
        assert_int_equal(told.allowed, told.record);
        assert_whole(unit_path);
    }
}

/* What was written under everysec is synced before the first reply under always. */
static void test_policy_changes(void **state) {
    append(10);
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    set_option("appendfsync", "always");
    told.record++;
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    settle();
    assert_int_equal(told.allowed, 2);
    assert_int_equal(aof_writer_state().synced, 10);
}

/* So is what the other thread was about to write, without a sync, when the policy changed. */
static void test_policy_changes_during_write(void **state) {
    set_option("aof-write-thread", "yes");
    append(10);
    aof_writer_flush();
    set_option("appendfsync", "always");
    settle();
    assert_whole(unit_path);
    assert_int_equal(told.allowed, 0);
    aof_writer_flush();
    settle();
    assert_int_equal(told.allowed, 1);
    assert_int_equal(aof_writer_state().synced, 10);
}

/* ---- failures ---- */

/* A write that ends in the midst is cut off, and all is written when it can be again. */
static void test_write_fails(void **state) {
    append(30);
    aof_writer_flush();
    faults_cut(random_u64(), 7, 0);
    faults_fail(FAULT_WRITE, ENOSPC, 1, 1000, "log.aof");
    append(1000);
    aof_writer_flush();
    assert_int_equal(told.error, ENOSPC);
    assert_int_equal(told.allowed, 2); /* as 6.2: the command has run */
    assert_int_equal(assert_prefix(unit_path), 30);
    append(50); /* a key that expires */
    aof_writer_flush();
    assert_int_equal(assert_prefix(unit_path), 30);
    assert_int_equal(told.failing_told, 1);
    faults_clear();
    clock_advance_usec(1000000);
    aof_writer_flush();
    assert_int_equal(told.error, 0);
    assert_int_equal(told.failing_told, 2);
    assert_whole(unit_path);
}

/* Where not even that can be done, what follows goes behind the part. */
static void test_part_stays(void **state) {
    faults_cut(random_u64(), 7, 0);
    faults_fail(FAULT_WRITE, EIO, 1, 1, NULL);
    faults_fail(FAULT_TRUNCATE, EIO, 0, 1, NULL);
    append(1000);
    aof_writer_flush();
    size_t part = assert_prefix(unit_path);
    assert_true(part > 0 && part < 1000);
    faults_clear();
    append(10);
    clock_advance_usec(1000000);
    aof_writer_flush();
    assert_whole(unit_path);
    assert_int_equal(aof_writer_state().file_bytes, 1010);
}

static void test_other_fails(void **state) {
    set_option("aof-write-thread", "yes");
    faults_cut(random_u64(), 7, 0);
    faults_fail(FAULT_WRITE, ENOSPC, 1, 1000, "log.aof");
    append(1000);
    aof_writer_flush();
    settle();
    assert_int_equal(told.error, ENOSPC);
    assert_int_equal(assert_prefix(unit_path), 0);
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    faults_clear();
    clock_advance_usec(1000000);
    aof_writer_flush();
    settle();
    assert_int_equal(told.error, 0);
    assert_whole(unit_path);
}

static void test_sync_fails(void **state) {
    append(10);
    aof_writer_flush();
    faults_fail(FAULT_FSYNC, EIO, 0, 1, "log.aof");
    clock_advance_usec(1000000);
    aof_writer_flush();
    settle();
    assert_int_equal(told.error, EIO);
    assert_int_equal(aof_writer_state().synced, 0);
    aof_writer_flush();
    assert_int_equal(told.error, EIO);
    clock_advance_usec(1000000);
    aof_writer_flush();
    settle();
    assert_int_equal(told.error, 0);
    assert_int_equal(aof_writer_state().synced, 10);
}

/* Under always the process ends before any reply has left. */
static void check_death(enum fault_call call) {
    set_option("appendfsync", "always");
    faults_fail(call, EIO, 0, 1, "log.aof");
    append(10);
    aof_writer_flush();
    if (setjmp(told.at_death) == 0) {
        settle();
        fail();
    }
    assert_int_equal(told.deaths, 1);
    assert_int_equal(told.allowed, 0);
}

static void test_always_write_fails(void **state) { check_death(FAULT_WRITE); }
static void test_always_sync_fails(void **state) { check_death(FAULT_FSYNC); }

/* ---- draining, closing ---- */

static void test_drain(void **state) {
    begin_held_sync();
    append(20);
    aof_writer_flush();
    set_gate(false);
    assert_true(aof_writer_drain(true));
    assert_whole(unit_path);
    assert_int_equal(aof_writer_state().synced, 30);
    assert_false(aof_writer_state().busy);
    append(5);
    faults_fail(FAULT_WRITE, EIO, 0, 1, "log.aof");
    assert_false(aof_writer_drain(true));
    assert_int_equal(told.error, EIO);
}

/* Under always nothing leaves before it is synced, whoever asks for the file. */
static void test_drain_under_always(void **state) {
    append(10);
    assert_true(aof_writer_drain(false));
    assert_int_equal(aof_writer_state().synced, 0);
    set_option("appendfsync", "always");
    append(10);
    assert_true(aof_writer_drain(false));
    assert_int_equal(told.allowed, 2);
    assert_int_equal(aof_writer_state().synced, 20);
    append(10);
    faults_fail(FAULT_FSYNC, EIO, 0, 1, "log.aof");
    if (setjmp(told.at_death) == 0) {
        assert_true(aof_writer_drain(false));
        fail();
    }
    assert_int_equal(told.allowed, 2);
}

/* Who has read the file has cut it off: how long it is is asked of the file that is written,
 * whatever has its name by now. */
static void test_cut_by_others(void **state) {
    char aside[160];
    append(100);
    assert_true(aof_writer_drain(true));
    assert_int_equal(truncate(unit_path, 60), 0);
    snprintf(aside, sizeof(aside), "%s.aside", unit_path);
    assert_int_equal(rename(unit_path, aside), 0);
    aof_writer_note_cut();
    assert_int_equal(aof_writer_state().file_bytes, 60);
    assert_int_equal(rename(aside, unit_path), 0);
    aof_writer_note_cut();
    assert_int_equal(aof_writer_state().file_bytes, 60);
    /* A part that fails is cut off there. */
    faults_cut(random_u64(), 7, 0);
    faults_fail(FAULT_WRITE, ENOSPC, 1, 1, "log.aof");
    append(50);
    assert_false(aof_writer_drain(false));
    faults_clear();
    struct stat status;
    assert_int_equal(stat(unit_path, &status), 0);
    assert_int_equal(status.st_size, 60);
}

/* Closing does not wait for a sync. */
static void test_close_during_sync(void **state) {
    size_t before = memory_used(aof_memory);
    begin_held_sync();
    aof_writer_close();
    assert_false(aof_writer_is_open());
    set_gate(false);
    background_drain(&aof_writer_jobs);
    background_drain(&background_close);
    assert_true(memory_used(aof_memory) < before);
}

/* ---- another file ---- */

static char other_path[128];

static int open_other(void) {
    snprintf(other_path, sizeof(other_path), "%s/other.aof", unit_folder);
    unlink(other_path);
    return open_log(other_path);
}

/* What is kept is written to the new file, wherever the old one stands. */
static void test_switch(void **state) {
    int fd = open_other();
    aof_writer_keep(0);
    append(10);
    aof_writer_flush();
    append(100000);
    aof_writer_flush();
    settle();
    append(50);
    set_gate(true);
    clock_advance_usec(1000000);
    aof_writer_flush();
    await_sync(); /* of the old file */
    append(5);
    aof_writer_flush();
    assert_true(aof_writer_rest(false));
    assert_true(aof_writer_follow(fd, 0, 0));
    assert_whole(other_path);
    append(7);
    aof_writer_flush();
    assert_int_equal(told.allowed, told.record); /* a sync holds the old file */
    aof_writer_switch_followed(0);
    aof_writer_flush(); /* that sync is nobody's matter any more */
    assert_whole(other_path);
    set_gate(false);
    append(3);
    aof_writer_flush();
    assert_whole(other_path);
    assert_int_equal(aof_writer_state().file_bytes, told.length);
}

/* Both files get what is written meanwhile; where the new one fails no reply leaves. */
static void test_follow(void **state) {
    append(10);
    aof_writer_flush();
    aof_writer_keep(aof_writer_end());
    uint64_t from = aof_writer_end();
    append(20);
    assert_true(aof_writer_rest(false));
    int fd = open_other();
    assert_true(aof_writer_follow(fd, 0, from));
    append(30);
    aof_writer_flush();
    assert_int_equal(told.allowed, 3);
    assert_whole(unit_path);
    faults_fail(FAULT_WRITE, ENOSPC, 0, 1, "other.aof");
    append(40);
    aof_writer_flush();
    assert_int_equal(told.allowed, 3);
    assert_whole(unit_path);
    aof_writer_switch_followed(from);
    aof_writer_flush();
    assert_int_equal(told.allowed, 4);
    struct stat status;
    assert_int_equal(stat(other_path, &status), 0);
    assert_int_equal(status.st_size, 90);
}

/* Under always nobody writes while it rests, and what a job writes is waited for. */
static void test_rest_wholly(void **state) {
    set_option("appendfsync", "always");
    set_gate(true);
    append(10);
    aof_writer_flush();
    await_sync();
    assert_false(aof_writer_rest(true));
    set_gate(false);
    settle();
    assert_true(aof_writer_rest(true));
    append(20);
    aof_writer_flush();
    settle();
    assert_int_equal(assert_prefix(unit_path), 10);
    assert_int_equal(told.allowed, 1);
    set_option("appendfsync", "everysec");
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    aof_writer_go_on();
    aof_writer_flush();
    assert_int_equal(told.allowed, 2);
    assert_whole(unit_path);
}

/* Without a file nothing is waited for; the first one gets what was kept. */
static void test_no_file_yet(void **state) {
    aof_writer_close();
    memset(&told, 0, sizeof(told));
    aof_writer_open(&unit_host, -1, 0);
    aof_writer_keep(0);
    append(10);
    aof_writer_flush();
    assert_int_equal(told.allowed, 1);
    int fd = open_other();
    assert_true(aof_writer_rest(false));
    assert_true(aof_writer_follow(fd, 0, 0));
    append(20);
    aof_writer_switch_followed(0);
    aof_writer_flush();
    assert_whole(other_path);
}

/* ---- at random ---- */

static void random_step(void) {
    static const char *const policies[] = {"always", "everysec", "no"};
    switch (random_below(9)) {
    case 0: settle(); break;
    case 1: clock_advance_usec((int64_t)random_below(1500000)); break;
    case 2: set_option("aof-write-thread", random_below(2) ? "yes" : "no"); break;
    case 3:
        if (!random_below(8)) set_option("appendfsync", policies[random_below(3)]);
        break;
    case 4: aof_writer_turn(); break;
    default: append(1 + random_below(random_below(20) ? 300 : 70000));
    }
    aof_writer_flush();
    assert_prefix(unit_path);
}

/* Transfers cut at random, syncs as they come: the file is always a part of the history, and all
 * of it in the end. */
static void test_random(void **state) {
    faults_cut(random_u64(), 5000, 20);
    for (int i = 0; i < 400; i++) random_step();
    assert_true(aof_writer_drain(true));
    assert_whole(unit_path);
    assert_int_equal(told.allowed, told.record);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_begin, unit_end)

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        TEST(test_writes_here),
        TEST(test_syncs_each_second),
        TEST(test_queues_during_sync),
        TEST(test_other_writes_much),
        TEST(test_bound_of_age),
        TEST(test_bound_of_bytes),
        TEST(test_always),
        TEST(test_always_reads),
        TEST(test_always_gathers),
        TEST(test_drain_while_gathering),
        TEST(test_policy_changes),
        TEST(test_policy_changes_during_write),
        TEST(test_write_fails),
        TEST(test_part_stays),
        TEST(test_other_fails),
        TEST(test_sync_fails),
        TEST(test_always_write_fails),
        TEST(test_always_sync_fails),
        TEST(test_drain),
        TEST(test_drain_under_always),
        TEST(test_cut_by_others),
        TEST(test_close_during_sync),
        TEST(test_switch),
        TEST(test_follow),
        TEST(test_rest_wholly),
        TEST(test_no_file_yet),
        TEST(test_random),
    };
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
