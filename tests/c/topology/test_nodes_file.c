/* SPDX-License-Identifier: BSD-3-Clause
 * nodes.conf on disk: new and loaded, locked over all replacements, versions and who waits for
 * them, disks that refuse, forks, and power cuts.
 */
#include "topology/nodes_file.h"

#include <ftw.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/seed.h"
#include "io/background.h"
#include "io/child.h"
#include "io/file.h"
#include "io/power.h"
#include "topology/cluster_scene.h"
#include "topology/node_text.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define STEPS_MAX 100000 /* of a fifth of a millisecond */
#define STEP_USEC 200

static char logged[4096], folder[64];

static void keep_line(const char *line, size_t length) {
    size_t at = strlen(logged);
    snprintf(logged + at, sizeof(logged) - at, "%.*s\n", (int)length, line);
}

static bool was_logged(const char *text) { return strstr(logged, text) != NULL; }

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *ftw) {
    return remove(path);
}

/* Each test has an empty folder of its own, and works in it. */
static int enter_folder(void **state) {
    snprintf(folder, sizeof(folder), "/tmp/nodes_file.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    *state = folder;
    logged[0] = '\0';
    return 0;
}

static int leave_folder(void **state) {
    faults_clear();
    clock_use_system();
    return chdir("/") + nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *path, const char *text) {
    assert_true(file_replace(path, slice_of(text), 0600));
}

/* Whether another node could not take the file. */
static bool is_locked(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return locked;
}

static void step_until_saved(uint64_t version) {
    for (int i = 0; !cluster_file_is_saved(version); i++) {
        cluster_file_step();
        if (i == STEPS_MAX) fail_msg("not saved: %s", logged);
        usleep(STEP_USEC);
    }
}

/* The text that is on disk, as a cluster. */
static struct cluster *read_back(void) {
    struct buffer text, why;
    buffer_init(&text, MEMORY_OTHER);
    buffer_init(&why, MEMORY_OTHER);
    assert_true(file_read("nodes.conf", SIZE_MAX, &text));
    struct cluster *c = cluster_file_parse(buffer_slice(&text), &why);
    if (!c) fail_msg("%s: %s", why.bytes, text.bytes);
    buffer_free(&text);
    buffer_free(&why);
    return c;
}

static uint64_t epoch_on_disk(void) {
    struct cluster *c = read_back();
    uint64_t epoch = c->current_epoch;
    cluster_free(c);
    return epoch;
}

static void close_and_free(struct cluster *c) {
    cluster_file_close();
    cluster_free(c);
}

static void test_new_and_loaded(void **state) {
    char id[CLUSTER_ID_CHARS + 1];
    struct cluster *c = cluster_file_open("nodes.conf");
    assert_non_null(c);
    memcpy(id, c->self->id.text, sizeof(id));
    assert_true(was_logged("No cluster configuration found, I'm "));
    assert_true(is_locked("nodes.conf"));
    assert_int_equal(epoch_on_disk(), 0);
    /* What was changed and not asked for is written at the end. */
    scene_give(c, c->self, 5, 9);
    close_and_free(c);
    assert_false(is_locked("nodes.conf"));
    logged[0] = '\0';
    c = cluster_file_open("nodes.conf");
    assert_true(was_logged("Node configuration loaded, I'm "));
    assert_string_equal(c->self->id.text, id);
    assert_int_equal(c->self->slot_count, 5);
    close_and_free(c);
    /* An empty file is a new node's. */
    assert_int_equal(truncate("nodes.conf", 0), 0);
    c = cluster_file_open("nodes.conf");
    assert_string_not_equal(c->self->id.text, id);
    close_and_free(c);
    cluster_file_close();
}

static void test_refused_at_start(void **state) {
    assert_null(cluster_file_open("missing/nodes.conf"));
    assert_true(
        was_logged("Can't open missing/nodes.conf in order to acquire a lock: No such file"));
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_null(cluster_file_open("folder"));
    assert_true(was_logged("Can't open folder in order to acquire a lock: Is a directory"));
    static const char damaged[] = A
        " :0@0 myself,master - 0 0 0 connected 99999\n"
        "vars currentEpoch 0 lastVoteEpoch 0\n";
    write_file("nodes.conf", damaged);
    assert_null(cluster_file_open("nodes.conf"));
    assert_true(was_logged("Unrecoverable error: corrupted cluster config file."));
    assert_true(was_logged("nodes.conf: line 1: '99999' is not a slot"));
    assert_false(is_locked("nodes.conf"));
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    assert_true(file_read("nodes.conf", SIZE_MAX, &text));
    assert_string_equal(text.bytes, damaged);
    buffer_free(&text);
    /* Another node, of ours or of 6.2, holds it. */
    int fd = open("nodes.conf", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_null(cluster_file_open("nodes.conf"));
    assert_true(was_logged("Sorry, the cluster configuration file nodes.conf is already used by"));
    close(fd);
    /* A disk that refuses a new node's file. */
    assert_int_equal(unlink("nodes.conf"), 0);
    faults_fail(FAULT_FSYNC, ENOSPC, 0, 1, "nodes.conf");
    assert_null(cluster_file_open("nodes.conf"));
    assert_true(was_logged("No space left on device"));
}

static unsigned calls;
static char order[16];

static void note_call(void *context) {
    size_t at = strlen(order);
    order[at] = *(const char *)context;
    order[at + 1] = '\0';
    calls++;
}

static void forget_other(void *context) {
    cluster_file_forget(context);
    cluster_file_when_saved(0, note_call, context);
}

static void test_versions(void **state) {
    char a = 'a', b = 'b', d = 'd', e = 'e';
    struct cluster *c = cluster_file_open("nodes.conf");
    uint64_t before = cluster_file_later();
    assert_false(cluster_file_is_saved(before));
    assert_int_equal(cluster_file_later(), before);
    c->current_epoch = 7;
    cluster_file_when_saved(before, note_call, &a);
    cluster_file_when_saved(before + 1, note_call, &b);
    cluster_file_when_saved(before, forget_other, &d);
    cluster_file_when_saved(before, note_call, &d);
    cluster_file_when_saved(before, note_call, &e);
    cluster_file_forget(&e);
    calls = 0;
    order[0] = '\0';
    cluster_file_when_saved(before - 1, note_call, &e);
    assert_string_equal(order, "e");
    cluster_file_step(); /* begins the write: what changes now is the next version's */
    assert_int_equal(cluster_file_later(), before + 1);
    c->current_epoch = 8;
    /* The step that ends the write makes its calls, and begins the next write. */
    step_until_saved(before);
    assert_string_equal(order, "ead");
    assert_true(epoch_on_disk() >= 7);
    assert_true(is_locked("nodes.conf"));
    step_until_saved(before + 1);
    assert_true(cluster_file_is_saved(before + 1));
    while (calls < 4) cluster_file_step();
    assert_string_equal(order, "eadb");
    assert_int_equal(epoch_on_disk(), 8);
    assert_true(is_locked("nodes.conf"));
    c->current_epoch = 9;
    assert_true(cluster_file_write());
    assert_int_equal(epoch_on_disk(), 9);
    assert_true(is_locked("nodes.conf"));
    cluster_file_when_saved(UINT64_MAX, note_call, &a);
    close_and_free(c);
}

/* Within a call a write begins and ends, but nobody is called. */
static void test_advance(void **state) {
    char a = 'a';
    struct cluster *c = cluster_file_open("nodes.conf");
    uint64_t version = cluster_file_later();
    c->current_epoch = 7;
    calls = 0;
    cluster_file_when_saved(version, note_call, &a);
    for (int i = 0; !cluster_file_is_saved(version); i++) {
        cluster_file_advance();
        if (i == STEPS_MAX) fail_msg("not saved: %s", logged);
        usleep(STEP_USEC);
    }
    assert_int_equal(epoch_on_disk(), 7);
    assert_int_equal(calls, 0);
    assert_true(cluster_file_step());
    assert_int_equal(calls, 1);
    close_and_free(c);
}

/* The folder in which the node was started counts, whatever the present one is; a link stays. */
static void test_path(void **state) {
    assert_int_equal(mkdir("other", 0700), 0);
    assert_int_equal(symlink("other/real.conf", "nodes.conf"), 0);
    struct cluster *c = cluster_file_open("nodes.conf");
    assert_int_equal(chdir("other"), 0);
    c->current_epoch = 3;
    assert_int_equal(chmod("real.conf", 0640), 0);
    assert_true(cluster_file_write());
    assert_int_equal(chdir(".."), 0);
    struct stat about;
    assert_int_equal(lstat("nodes.conf", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat("nodes.conf", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_int_equal(epoch_on_disk(), 3);
    close_and_free(c);
}

static void step_until_failed(void) {
    for (int i = 0; !was_logged("cannot be written"); i++) {
        cluster_file_step();
        if (i == STEPS_MAX) fail_msg("did not fail: %s", logged);
        usleep(STEP_USEC);
    }
}

/* Each call that a write makes fails once: nothing is taken for saved, the lock stays, one message
 * says so, and the write is tried again when its time has come, and not before. */
static void test_refusing_disk(void **state) {
    static const struct {
        enum fault_call call;
        int error;
        unsigned after;
    } rows[] = {{FAULT_UNLINK, EROFS, 0}, {FAULT_OPEN, EROFS, 0},   {FAULT_WRITE, ENOSPC, 0},
                {FAULT_FSYNC, EIO, 0},    {FAULT_RENAME, EROFS, 0}, {FAULT_FSYNC, EIO, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char a = 'a';
        struct cluster *c = cluster_file_open("nodes.conf");
        clock_use_fixed(1, 1);
        logged[0] = order[0] = '\0';
        c->current_epoch = i + 1;
        faults_fail(rows[i].call, rows[i].error, rows[i].after, 2, "");
        uint64_t version = cluster_file_later();
        cluster_file_when_saved(version, note_call, &a);
        step_until_failed();
        assert_true(was_logged(strerror(rows[i].error)));
        assert_true(is_locked("nodes.conf"));
        assert_false(cluster_file_is_saved(version));
        cluster_file_later();
        logged[0] = '\0';
        cluster_file_step();
        clock_advance_usec(999999);
        cluster_file_step();
        assert_false(cluster_file_is_saved(version));
        faults_clear();
        clock_advance_usec(1);
        step_until_saved(version);
        cluster_file_step();
        assert_string_equal(order, "a");
        assert_true(was_logged("on disk again"));
        assert_false(was_logged("cannot be written"));
        assert_int_equal(epoch_on_disk(), i + 1);
        assert_true(is_locked("nodes.conf"));
        clock_use_system();
        close_and_free(c);
    }
}

static void test_saveconfig_fails(void **state) {
    struct cluster *c = cluster_file_open("nodes.conf");
    faults_fail(FAULT_WRITE, ENOSPC, 0, 1, "nodes.conf");
    assert_false(cluster_file_write());
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(access("nodes.conf.tmp", F_OK), -1);
    faults_clear();
    close_and_free(c);
    assert_true(was_logged("on disk again"));
}

/* A child that outlives this process does not hold the lock. */
static void test_child_gives_lock_up(void **state) {
    struct cluster *c = cluster_file_open("nodes.conf");
    int ends[2];
    char ready;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        cluster_file_child_observer.in_child(NULL);
        if (write(ends[1], "r", 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(ends[0], &ready, 1), 1);
    assert_true(is_locked("nodes.conf"));
    close_and_free(c);
    assert_false(is_locked("nodes.conf"));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
}

/* A child that is forked during a write may hold the next lock, so that the file is written once
 * more. */
static void test_fork_during_write(void **state) {
    struct cluster *c = cluster_file_open("nodes.conf");
    uint64_t version = cluster_file_later();
    cluster_file_step();
    cluster_file_child_observer.before_fork(NULL);
    step_until_saved(version + 1); /* nobody has asked for it */
    cluster_file_child_observer.before_fork(NULL);
    cluster_file_step(); /* no write was under way */
    assert_int_equal(cluster_file_later(), version + 2);
    close_and_free(c);
}

/* ---- Power cuts ---- */

/* A node that raises its epoch and promises it once it is saved, until it is killed. */
static void live(_Atomic uint64_t *promised) {
    struct cluster *c = cluster_file_open("nodes.conf");
    while (c) {
        c->current_epoch++;
        uint64_t epoch = c->current_epoch, version = cluster_file_later();
        while (!cluster_file_is_saved(version)) cluster_file_step();
        *promised = epoch;
    }
    _exit(1);
}

static void test_power_cuts(void **state) {
    _Atomic uint64_t *promised =
        mmap(NULL, sizeof(*promised), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(promised != MAP_FAILED);
    assert_int_equal(mkdir("data", 0700), 0);
    assert_int_equal(mkdir("notes", 0700), 0);
    power_record("data", "notes");
    assert_int_equal(chdir("data"), 0);
    seed_from_environment();
    for (int i = 0; i < 30; i++) {
        int status;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            background_in_child(); /* writes are done by the caller, and cut off with it */
            live(promised);
        }
        usleep((useconds_t)random_below(8000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status)) fail_msg("life %d: %s", i, logged);
        power_cut(random_below(3) ? random_u64() : 0);
        struct cluster *c = NULL;
        if (access("nodes.conf", F_OK) == 0) c = cluster_file_open("nodes.conf");
        if (*promised && (!c || c->current_epoch < *promised))
            fail_msg("life %d: epoch %llu was promised: %s", i, (unsigned long long)*promised,
                     logged);
        if (c) close_and_free(c);
    }
    assert_true(*promised > 0);
    power_record_end();
    assert_int_equal(chdir(".."), 0);
    munmap((void *)promised, sizeof(*promised));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_power_cuts),
        IN_FOLDER(test_new_and_loaded),
        IN_FOLDER(test_refused_at_start),
        IN_FOLDER(test_versions),
        IN_FOLDER(test_advance),
        IN_FOLDER(test_path),
        IN_FOLDER(test_refusing_disk),
        IN_FOLDER(test_saveconfig_fails),
        IN_FOLDER(test_child_gives_lock_up),
        IN_FOLDER(test_fork_during_write),
    };
    log_set_observer(keep_line);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
