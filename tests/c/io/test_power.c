/* SPDX-License-Identifier: BSD-3-Clause
 * Power cuts: what is left, by the double itself, of replaced files and of a log that is appended.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/power.h"

#include "base/seed.h"
#include "io/file.h"

static char folder[] = "/tmp/test_power.XXXXXX";
static char data[100], notes[100], file[120], other[120];
static long calls_left; /* until the process stops; below 0: it does not */

static int open_folder(void **state) {
    seed_from_environment();
    if (!mkdtemp(folder)) return -1;
    snprintf(data, sizeof(data), "%s/data", folder);
    snprintf(notes, sizeof(notes), "%s/notes", folder);
    snprintf(file, sizeof(file), "%s/file", data);
    snprintf(other, sizeof(other), "%s/other", data);
    return mkdir(data, 0700) || mkdir(notes, 0700);
}

static int close_folder(void **state) { return rmdir(data) || rmdir(notes) || rmdir(folder); }

static int begin(void **state) {
    faults_clear();
    power_record(data, notes);
    return 0;
}

static int end(void **state) {
    faults_clear();
    power_record_end();
    power_clear_notes();
    unlink(file);
    unlink(other);
    return 0;
}

static int open_for(const char *path, int flags) {
    int fd = system_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void write_text(int fd, const char *text) {
    assert_true(file_write(fd, slice_of(text), NULL));
}

static void assert_text(const char *path, const char *expected) {
    struct buffer text = {.class = MEMORY_OTHER};
    bool there = file_read(path, 1 << 20, &text);
    if (!expected) {
        assert_false(there);
    } else {
        assert_true(there);
        assert_string_equal(buffer_slice(&text).bytes, expected);
    }
    buffer_free(&text);
}

/* A file that is there and safe. */
static void make_file(const char *path, const char *text) {
    int fd = open_for(path, O_TRUNC);
    write_text(fd, text);
    assert_true(file_sync(fd));
    assert_int_equal(system_close(fd), 0);
    assert_true(file_sync_folder(path));
}

/* ---- The double ---- */

static void test_bytes_after_the_last_sync_go(void **state) {
    make_file(file, "one");
    int fd = open_for(file, O_APPEND);
    write_text(fd, "two");
    assert_true(file_sync(fd));
    write_text(fd, "three");
    system_close(fd);
    assert_text(file, "onetwothree");
    power_cut(0);
    assert_text(file, "onetwo");
}

static void test_names_go_with_their_folder(void **state) {
    int fd = open_for(file, 0);
    write_text(fd, "synced");
    assert_true(file_sync(fd));
    system_close(fd);
    power_cut(0);
    assert_text(file, NULL);
    /* The folder alone keeps a name, and no bytes. */
    fd = open_for(file, 0);
    write_text(fd, "not synced");
    system_close(fd);
    assert_true(file_sync_folder(file));
    power_cut(0);
    assert_text(file, "");
}

static void test_renames_and_removals_go(void **state) {
    make_file(file, "old");
    make_file(other, "new");
    assert_int_equal(system_rename(other, file), 0);
    power_cut(0);
    assert_text(file, "old");
    assert_text(other, "new");
    assert_int_equal(system_rename(other, file), 0);
    assert_true(file_sync_folder(file));
    power_cut(0);
    assert_text(file, "new");
    assert_text(other, NULL);
    assert_int_equal(system_unlink(file), 0);
    power_cut(0);
    assert_text(file, "new");
    assert_int_equal(system_unlink(file), 0);
    make_file(other, "another"); /* which syncs the folder */
    power_cut(0);
    assert_text(file, NULL);
}

static void test_truncations_go(void **state) {
    make_file(file, "abcdef");
    int fd = open_for(file, 0);
    assert_true(file_truncate(fd, 3));
    system_close(fd);
    power_cut(0);
    assert_text(file, "abcdef");
    fd = open_for(file, O_TRUNC);
    write_text(fd, "xy");
    system_close(fd);
    power_cut(0);
    assert_text(file, "abcdef");
    fd = open_for(file, 0);
    assert_true(file_truncate(fd, 3));
    assert_true(file_sync(fd));
    system_close(fd);
    power_cut(0);
    assert_text(file, "abc");
}

/* A sync that fails takes what it had to write with it, whatever syncs come later. */
static void test_failed_sync(void **state) {
    struct buffer text = {.class = MEMORY_OTHER};
    make_file(file, "abc");
    int fd = open_for(file, O_APPEND);
    write_text(fd, "def");
    faults_fail(FAULT_FSYNC, EIO, 0, 1, "file");
    assert_false(file_sync(fd));
    write_text(fd, "ghi");
    assert_true(file_sync(fd));
    system_close(fd);
    power_cut(0);
    assert_true(file_read(file, 100, &text));
    assert_int_equal(text.length, 9);
    assert_memory_equal(text.bytes, "abc\0\0\0ghi", 9);
    buffer_free(&text);
}

static void test_files_from_before(void **state) {
    power_record_end();
    make_file(file, "before");
    power_record(data, notes);
    int fd = open_for(other, 0);
    write_text(fd, "after");
    system_close(fd);
    assert_int_equal(system_rename(other, file), 0);
    power_cut(0);
    assert_text(file, "before");
    assert_text(other, NULL);
}

static void in_child(void (*act)(void)) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
}

static void replace_by_child(void) {
    if (!file_replace(file, SLICE("by a child"), 0600)) _exit(1);
}

static void test_children_note_too(void **state) {
    make_file(file, "old");
    in_child(replace_by_child);
    int fd = open_for(file, O_APPEND);
    write_text(fd, " and more");
    system_close(fd);
    power_cut(0);
    assert_text(file, "by a child");
}

/* What is left of a kind disk lies between the least and all. */
static void test_kind_disk(void **state) {
    unsigned whole = 0, least = 0;
    for (int i = 0; i < 200; i++) {
        struct buffer text = {.class = MEMORY_OTHER};
        make_file(file, "safe");
        int fd = open_for(file, O_APPEND);
        write_text(fd, "1234");
        system_close(fd);
        power_cut(1 + random_u64() / 2);
        assert_true(file_read(file, 100, &text));
        assert_true(text.length >= 4 && text.length <= 8);
        assert_memory_equal(text.bytes, "safe1234", text.length);
        whole += text.length == 8;
        least += text.length == 4;
        buffer_free(&text);
        unlink(file);
    }
    assert_true(whole > 0 && least > 0);
}

/* ---- What stands on it ---- */

static void stop_at_a_call(void) {
    if (calls_left-- == 0) _exit(9);
}

static void replace_until_stopped(void) {
    faults_before_rules = stop_at_a_call;
    bool done = file_replace(file, SLICE("the new file"), 0600);
    _exit(done ? 0 : 1);
}

/* The power goes before each call on the way, and after the last: the old file is there or the new
 * one, whole; and the new one where the replacement had said so. */
static void test_replacement(void **state) {
    bool done = false;
    unsigned rounds = 0;
    for (long calls = 0; !done; calls++) {
        for (int kind = 0; kind < 10; kind++) {
            int status;
            power_record_end();
            power_clear_notes();
            unlink(file);
            power_record(data, notes);
            make_file(file, "the old file");
            calls_left = calls;
            fflush(NULL);
            pid_t child = fork();
            if (child == 0) replace_until_stopped();
            assert_int_equal(waitpid(child, &status, 0), child);
            done = WEXITSTATUS(status) == 0;
            assert_true(done || WEXITSTATUS(status) == 9);
            power_cut(kind ? 1 + random_u64() / 2 : 0);
            struct buffer text = {.class = MEMORY_OTHER};
            assert_true(file_read(file, 100, &text));
            bool is_new = slice_is(buffer_slice(&text), "the new file");
            if (!is_new) assert_string_equal(text.bytes, "the old file");
            if (done) assert_true(is_new);
            buffer_free(&text);
            rounds++;
        }
    }
    assert_true(rounds >= 70); /* open, write, sync, close, rename, and the folder's three */
    /* A temporary file may be left, as after any crash. */
    DIR *entries = opendir(data);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        char path[400];
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "file") == 0) continue;
        assert_true(strstr(entry->d_name, ".tmp") != NULL);
        snprintf(path, sizeof(path), "%s/%s", data, entry->d_name);
        unlink(path);
    }
    closedir(entries);
}

/* Records of ten bytes, each synced and then acknowledged; short writes, failing syncs. What was
 * acknowledged is there, and what is there is a prefix of what was written. */
static void test_appended_log(void **state) {
    for (int round = 0; round < 60; round++) {
        int acknowledged = 0;
        power_record_end();
        power_clear_notes();
        unlink(file);
        power_record(data, notes);
        make_file(file, "");
        faults_cut(1 + random_u64() / 2, 12, 30);
        unsigned stop = (unsigned)random_below(30);
        if (random_below(2)) faults_fail(FAULT_FSYNC, EIO, stop, 1, "file");
        if (random_below(2)) faults_fail(FAULT_WRITE, ENOSPC, stop, 1, "file");
        int fd = open_for(file, O_APPEND);
        for (int i = 0; i < 40; i++) {
            char record[16];
            snprintf(record, sizeof(record), "%09d\n", i);
            if (!file_write(fd, slice_of(record), NULL)) break;
            if (!file_sync(fd)) break;
            acknowledged++;
        }
        system_close(fd);
        faults_clear();
        power_cut(round % 2 ? 1 + random_u64() / 2 : 0);
        struct buffer text = {.class = MEMORY_OTHER};
        assert_true(file_read(file, 1000, &text));
        assert_true(text.length >= (size_t)acknowledged * 10);
        for (int i = 0; i < acknowledged; i++) {
            char record[16];
            snprintf(record, sizeof(record), "%09d\n", i);
            assert_memory_equal(text.bytes + i * 10, record, 10);
        }
        buffer_free(&text);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_after_the_last_sync_go),
        TEST(test_names_go_with_their_folder),
        TEST(test_renames_and_removals_go),
        TEST(test_truncations_go),
        TEST(test_failed_sync),
        TEST(test_files_from_before),
        TEST(test_children_note_too),
        TEST(test_kind_disk),
        TEST(test_replacement),
        TEST(test_appended_log),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
