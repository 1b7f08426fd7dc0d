/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/file: whole files, and what stands when any call on the way fails.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/file.h"

#include <dirent.h>

#include "base/faults.h"
#include "base/seed.h"

#define LENGTH 200000

static char folder[] = "/tmp/test_file.XXXXXX";
static char path[100];
static struct buffer old_text = {.class = MEMORY_OTHER}, new_text = {.class = MEMORY_OTHER};

static void fill(struct buffer *text, char first) {
    buffer_clear(text);
    char *at = buffer_reserve(text, LENGTH);
    for (size_t i = 0; i < LENGTH; i++) at[i] = (char)(first + i % 251 % 13);
    text->length = LENGTH;
}

static int open_folder(void **state) {
    seed_from_environment();
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof(path), "%s/users", folder);
    fill(&old_text, 'a');
    fill(&new_text, 'n');
    return 0;
}

static int close_folder(void **state) {
    buffer_free(&old_text);
    buffer_free(&new_text);
    return rmdir(folder);
}

static int begin(void **state) {
    faults_clear();
    return file_replace(path, buffer_slice(&old_text), 0640) ? 0 : -1;
}

static int end(void **state) {
    faults_clear();
    return unlink(path);
}

static void assert_holds(const struct buffer *wanted) {
    struct buffer text = {.class = MEMORY_OTHER};
    assert_true(file_read(path, LENGTH, &text));
    assert_true(slice_equal(buffer_slice(&text), buffer_slice(wanted)));
    buffer_free(&text);
}

/* Nothing but the file itself is in the folder. */
static void assert_alone(void) {
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL)
        if (entry->d_name[0] != '.') assert_string_equal(entry->d_name, "users");
    closedir(entries);
}

static void test_read(void **state) {
    struct buffer text = {.class = MEMORY_OTHER};
    assert_holds(&old_text);
    assert_false(file_read(path, LENGTH - 1, &text));
    assert_int_equal(errno, EFBIG);
    assert_false(file_read("/tmp/test_file.gone", LENGTH, &text));
    assert_int_equal(errno, ENOENT);
    assert_false(file_read(folder, LENGTH, &text));
    assert_int_equal(errno, EISDIR);
    faults_fail(FAULT_READ, EIO, 1, 1, "users");
    assert_false(file_read(path, LENGTH, &text));
    assert_int_equal(errno, EIO);
    buffer_free(&text);
}

static void test_replace(void **state) {
    struct stat about;
    assert_int_equal(chmod(path, 0604), 0);
    assert_true(file_replace(path, buffer_slice(&new_text), 0640));
    assert_holds(&new_text);
    assert_alone();
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0604);
}

/* In pieces of any length, and interrupted: the same. */
static void test_in_pieces(void **state) {
    for (int i = 0; i < 20; i++) {
        faults_cut(random_u64(), i % 2 ? 100 : 65536, 30);
        assert_true(file_replace(path, buffer_slice(i % 2 ? &new_text : &old_text), 0640));
        assert_holds(i % 2 ? &new_text : &old_text);
    }
    assert_alone();
}

/* Each call on the way fails once: the old file is whole, there is no other, and errno says why.
 * Once the new name is in place the new file is. */
static void test_each_call_fails(void **state) {
    for (enum fault_call call = 0; call < FAULT_CALLS; call++) {
        faults_clear();
        faults_cut(random_u64(), 65536, 30);
        assert_true(file_replace(path, buffer_slice(&old_text), 0640));
        uint64_t calls = faults_count(call);
        for (unsigned nth = 0; nth < calls; nth++) {
            faults_clear();
            assert_true(file_replace(path, buffer_slice(&old_text), 0640));
            faults_fail(call, call == FAULT_WRITE ? ENOSPC : EIO, nth, 1, NULL);
            bool done = file_replace(path, buffer_slice(&new_text), 0640);
            int error = errno;
            faults_clear();
            if (!done) assert_int_equal(error, call == FAULT_WRITE ? ENOSPC : EIO);
            assert_holds(done ? &new_text : &old_text);
            assert_alone();
            /* What may fail unnoticed is the sync of the folder, after the rename. */
            bool of_folder =
                nth > 0 && (call == FAULT_OPEN || call == FAULT_FSYNC || call == FAULT_CLOSE);
            if (call != FAULT_WRITE) assert_int_equal(done, of_folder);
        }
    }
}

/* The disk is full in the middle: what was written goes again. */
static void test_full_disk(void **state) {
    faults_cut(random_u64(), 65536, 0);
    faults_fail(FAULT_WRITE, ENOSPC, 2, UINT_MAX, NULL);
    assert_false(file_replace(path, buffer_slice(&new_text), 0640));
    assert_int_equal(errno, ENOSPC);
    faults_clear();
    assert_holds(&old_text);
    assert_alone();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_read),      TEST(test_replace), TEST(test_in_pieces), TEST(test_each_call_fails),
        TEST(test_full_disk),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
