/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/file: whole files, and what stands when any call on the way fails.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/file.h"

#include <dirent.h>

#include "base/faults.h"
#include "base/seed.h"
#include "io/background.h"

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
    assert_int_equal(text.bytes[text.length], '\0');
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

/* ---- Parts ---- */

static void test_pieces(void **state) {
    struct buffer text = {.class = MEMORY_OTHER};
    char bytes[300];
    for (int i = 0; i < 50; i++) {
        size_t first = (size_t)random_below(LENGTH), written = 1;
        struct iovec pieces[4] = {{old_text.bytes, first},
                                  {NULL, 0},
                                  {old_text.bytes + first, LENGTH - first},
                                  {NULL, 0}};
        int fd = system_open(path, O_RDWR | O_TRUNC | O_CLOEXEC, 0);
        faults_cut(random_u64(), 65536, 30);
        assert_true(file_write_pieces(fd, pieces, 4, &written));
        assert_int_equal(written, LENGTH);
        assert_int_equal(file_read_at(fd, bytes, 300, (off_t)first),
                         first + 300 > LENGTH ? LENGTH - first : 300);
        if (first + 300 <= LENGTH) assert_memory_equal(bytes, old_text.bytes + first, 300);
        assert_int_equal(file_read_some(fd, bytes, 300), 0);
        assert_true(file_truncate(fd, 10));
        assert_int_equal(file_read_at(fd, bytes, 300, 4), 6);
        faults_clear();
        system_close(fd);
    }
    assert_true(file_read(path, LENGTH, &text));
    assert_int_equal(text.length, 10);
    buffer_free(&text);
}

/* What has arrived is told exactly. */
static void test_write_that_fails(void **state) {
    for (unsigned after = 0; after < 20; after++) {
        struct stat about;
        size_t written;
        int fd = system_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);
        faults_cut(random_u64(), 20000, 20);
        faults_fail(FAULT_WRITE, ENOSPC, after, UINT_MAX, NULL);
        struct iovec pieces[2] = {{old_text.bytes, 5}, {old_text.bytes, LENGTH}};
        bool done = after % 2 ? file_write(fd, buffer_slice(&old_text), &written)
                              : file_write_pieces(fd, pieces, 2, &written);
        assert_false(done);
        assert_int_equal(errno, ENOSPC);
        faults_clear();
        assert_int_equal(fstat(fd, &about), 0);
        assert_int_equal(about.st_size, written);
        if (after % 2 == 0)
            assert_int_equal(pieces[0].iov_len + pieces[1].iov_len, LENGTH + 5 - written);
        system_close(fd);
    }
}

static void test_interrupted_syncs(void **state) {
    int fd = system_open(path, O_WRONLY | O_CLOEXEC, 0);
    faults_fail(FAULT_FSYNC, EINTR, 0, 3, NULL);
    assert_true(file_sync(fd));
    faults_fail(FAULT_FSYNC, EIO, 0, 1, NULL);
    assert_false(file_sync(fd));
    assert_int_equal(errno, EIO);
    faults_fail(FAULT_TRUNCATE, EINTR, 0, 2, NULL);
    assert_true(file_truncate(fd, 5));
    system_close(fd);
    faults_clear();
    faults_fail(FAULT_FSYNC, EINVAL, 0, 1, NULL);
    assert_true(file_sync_folder(path)); /* such a file system has no more to give */
    faults_clear();
    faults_fail(FAULT_FSYNC, EIO, 0, 1, NULL);
    assert_false(file_sync_folder(path));
    assert_int_equal(errno, EIO);
}

static void test_folder_that_cannot_be_synced(void **state) {
    struct file_replacement r;
    char temporary[120];
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    assert_true(file_replacement_begin(&r, path, temporary, 0640));
    assert_true(file_write(r.fd, buffer_slice(&new_text), NULL));
    faults_fail(FAULT_FSYNC, EIO, 1, 1, NULL);
    assert_true(file_replacement_commit(&r));
    assert_int_equal(r.folder_error, EIO);
    assert_holds(&new_text);
    assert_alone();
    assert_true(file_replacement_begin(&r, path, temporary, 0640));
    assert_true(file_write(r.fd, buffer_slice(&old_text), NULL));
    errno = ENOSPC;
    file_replacement_cancel(&r);
    assert_int_equal(errno, ENOSPC);
    assert_holds(&new_text);
    assert_alone();
}

/* The new file is in place, and that it may not stay is said. */
static void test_replacement_that_must_be_synced(void **state) {
    assert_true(file_replace_synced(path, buffer_slice(&new_text), 0600));
    assert_holds(&new_text);
    faults_fail(FAULT_FSYNC, EIO, 1, 1, NULL);
    assert_false(file_replace_synced(path, buffer_slice(&old_text), 0600));
    assert_int_equal(errno, EIO);
    assert_holds(&old_text);
    faults_clear();
    faults_fail(FAULT_FSYNC, EIO, 0, 1, NULL);
    assert_false(file_replace_synced(path, buffer_slice(&new_text), 0600));
    assert_holds(&old_text);
    faults_clear();
    faults_fail(FAULT_FSYNC, EIO, 1, 1, NULL);
    assert_true(file_replace(path, buffer_slice(&new_text), 0600));
    assert_holds(&new_text);
    assert_alone();
}

static void test_remove(void **state) {
    char gone[120];
    snprintf(gone, sizeof(gone), "%s.gone", path);
    assert_true(file_replace(gone, buffer_slice(&old_text), 0600));
    assert_true(file_remove(gone));
    assert_false(file_remove(gone));
    assert_int_equal(errno, ENOENT);
    assert_true(file_replace(gone, SLICE(""), 0600));
    faults_fail(FAULT_OPEN, EMFILE, 0, 1, NULL);
    assert_true(file_remove(gone)); /* not in the background then */
    background_stop();
    assert_alone();
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

static bool is_wanted(const char *name) { return strncmp(name, "wanted-", 7) == 0; }

static void test_names(void **state) {
    static const char *const names[] = {"wanted-1", "other", "wanted-2"};
    char here[PATH_MAX], temporary[] = "/tmp/names-XXXXXX", name[NAME_MAX + 1] = "";
    assert_non_null(getcwd(here, sizeof(here)));
    assert_non_null(mkdtemp(temporary));
    assert_int_equal(chdir(temporary), 0);
    assert_int_equal(file_count_names(is_wanted, name), 0);
    for (int i = 0; i < 3; i++) close(open(names[i], O_CREAT | O_WRONLY, 0600));
    assert_int_equal(file_count_names(is_wanted, name), 2);
    assert_true(is_wanted(name));
    for (int i = 0; i < 3; i++) assert_int_equal(unlink(names[i]), 0);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(rmdir(temporary), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_read),
        TEST(test_replace),
        TEST(test_in_pieces),
        TEST(test_each_call_fails),
        TEST(test_full_disk),
        TEST(test_pieces),
        TEST(test_write_that_fails),
        TEST(test_interrupted_syncs),
        TEST(test_folder_that_cannot_be_synced),
        TEST(test_replacement_that_must_be_synced),
        TEST(test_remove),
        TEST(test_names),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
