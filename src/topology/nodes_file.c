/* SPDX-License-Identifier: BSD-3-Clause
 * nodes.conf on disk. nodes_file.h has the idea.
 *
 *              later                   step: a job begins
 *      IDLE ----------> asked ------------------------------> WRITING
 *       ^  ^                                                   |   |
 *       |  '------------------ the job has succeeded ----------'   |
 *       |                                                          | the job has failed
 *       |   the job has succeeded            step, retry_msec      v
 *       '-------------------------- WRITING <------------------ FAILED
 *
 * Invariants
 *  1. At most one job is under way. Only the main thread reads and changes `file`; a job has the
 *     text and the two paths, and gives back a descriptor and an errno.
 *  2. `saved` is a version whose text is on disk, file and folder synced. Each later text has all
 *     that it had.
 *  3. The file that the path names is locked from the moment of its rename on: the lock is taken on
 *     the temporary file. The lock belongs to the open file, so that a copy of the descriptor keeps
 *     it when the replacement closes its own.
 *
 * A child that is forked while a job is under way may inherit the descriptor with the next lock,
 * which nothing in the child knows. It would hold the lock after this process has died, so the file
 * is written once more: its successor's lock is not the child's.
 */
#include "topology/nodes_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/background.h"
#include "io/child.h"
#include "io/file.h"
#include "io/loop.h"
#include "net/client.h"
#include "topology/node_text.h"

/* CLUSTER_NODES_MAX lines, every slot on its own and open in both ways, are 3 MB. */
#define FILE_BYTES_MAX (16 * 1024 * 1024)
/* A full disk is rarely mended sooner, and each try writes the whole file. */
#define RETRY_MSEC 1000
/* The file may be replaced while it is opened; its owner does so at most some times a second. */
#define OPEN_TRIES 5
#define NEW_FILE_MODE 0644

struct waiter {
    uint64_t version;
    void (*saved)(void *context);
    void *context;
};

static struct {
    struct cluster *c; /* NULL = not open */
    char *path, *temporary;
    int lock_fd;           /* holds the lock on the file that `path` names */
    uint64_t begun, saved; /* versions */
    uint64_t changes;      /* the cluster's, as the last text has them */
    bool asked, writing, failed;
    bool forked; /* a child was forked while the job was under way */
    int64_t retry_msec;
    int shown_error; /* while `failed`: the errno that was logged last */
    struct waiter *waiters;
    size_t waiter_count;
} file = {.lock_fd = -1};

/* Of the job that is under way. */
static struct {
    struct buffer text;
    int lock_fd; /* -1 = the file was not replaced */
    int error;
    atomic_bool done;
} job;

static struct background_kind nodes_file_jobs = {.name = "cluster"};

/* ---- Locks ---- */

static bool lock_take(int fd) {
    int status;
    do status = flock(fd, LOCK_EX | LOCK_NB);
    while (status != 0 && errno == EINTR);
    return status == 0;
}

static bool is_named(int fd, const char *path) {
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && stat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

static void log_lock_failure(const char *path) {
    if (errno == EWOULDBLOCK)
        log_warning(
            "Sorry, the cluster configuration file %s is already used by a different Redis "
            "Cluster node. Please make sure that different nodes use different cluster "
            "configuration files.",
            path);
    else
        log_warning("Impossible to lock %s: %s", path, strerror(errno));
}

/* Opens the file, which is made if there is none, and locks it. -1 after a message in the log. */
static int open_locked(const char *path) {
    for (int tries = 0; tries < OPEN_TRIES; tries++) {
        int fd = system_open(path, O_RDWR | O_CREAT | O_CLOEXEC, NEW_FILE_MODE);
        if (fd < 0) {
            log_warning("Can't open %s in order to acquire a lock: %s", path, strerror(errno));
            return -1;
        }
        if (!lock_take(fd)) {
            log_lock_failure(path);
            system_close(fd);
            return -1;
        }
        if (is_named(fd, path)) return fd;
        /* Its owner has replaced it since it was opened: the lock is on a file without a name. */
        system_close(fd);
    }
    errno = EWOULDBLOCK;
    log_lock_failure(path);
    return -1;
}

/* ---- Writing: any thread ---- */

/* Replaces the file, which is locked under its temporary name already. True: file and name are on
 * disk. False with errno set otherwise. In both cases `*lock_fd` is the new file's lock where the
 * file has been replaced, and -1 where the old one still stands. */
static bool file_put(struct slice text, int *lock_fd) {
    struct file_replacement r;
    struct stat old;
    mode_t mode = stat(file.path, &old) == 0 ? old.st_mode & 07777 : NEW_FILE_MODE;
    *lock_fd = -1;
    /* One that a crash has left may be locked by a child that has outlived its parent. */
    if (system_unlink(file.temporary) != 0 && errno != ENOENT) return false;
    if (!file_replacement_begin(&r, file.path, file.temporary, mode)) return false;
    int fd = fcntl(r.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0 || !lock_take(fd) || fchmod(fd, mode) != 0 || !file_write(r.fd, text, NULL)) {
        file_replacement_cancel(&r);
    } else if (file_replacement_commit(&r)) {
        *lock_fd = fd;
        errno = r.folder_error;
        return r.folder_error == 0;
    }
    int error = errno;
    if (fd >= 0) system_close(fd);
    errno = error;
    return false;
}

static void run_job(void *argument) {
    struct loop *loop = client_loop();
    bool done = file_put(buffer_slice(&job.text), &job.lock_fd);
    job.error = done ? 0 : errno;
    atomic_store_explicit(&job.done, true, memory_order_release);
    if (loop) loop_wake(loop);
}

/* ---- Writing: the main thread ---- */

static void close_later(void *argument) { system_close((int)(intptr_t)argument); }

/* Takes the new file's lock in exchange for the old one's, whose file has no name any more. */
static void lock_exchange(int lock_fd) {
    int old = file.lock_fd;
    if (lock_fd < 0) return;
    file.lock_fd = lock_fd;
    if (old >= 0) background_submit(&background_close, close_later, (void *)(intptr_t)old);
}

static void note_result(int lock_fd, int error) {
    lock_exchange(lock_fd);
    if (error == 0) {
        if (file.failed) log_warning("The cluster's configuration is on disk again.");
        file.failed = false;
        file.saved = file.begun;
        return;
    }
    if (!file.failed || error != file.shown_error)
        log_warning(
            "The cluster's configuration cannot be written to %s: %s. Votes and new epochs "
            "wait until it can be; it is tried again each second.",
            file.path, strerror(error));
    file.failed = true;
    file.shown_error = error;
    file.retry_msec = clock_monotonic_msec() + RETRY_MSEC;
}

static void text_make(struct buffer *text) {
    buffer_clear(text);
    cluster_file_print(file.c, text);
    file.begun++;
    file.changes = file.c->changes;
    file.asked = false;
}

static void job_begin(void) {
    text_make(&job.text);
    atomic_store_explicit(&job.done, false, memory_order_relaxed);
    file.writing = true;
    background_submit(&nodes_file_jobs, run_job, NULL);
}

static void job_end(void) {
    if (!file.writing || !atomic_load_explicit(&job.done, memory_order_acquire)) return;
    file.writing = false;
    note_result(job.lock_fd, job.error);
    file.asked |= file.forked;
    file.forked = false;
}

static bool is_due(void) {
    if (file.writing) return false;
    return file.failed ? clock_monotonic_msec() >= file.retry_msec : file.asked;
}

uint64_t cluster_file_later(void) {
    file.asked = true;
    return file.begun + 1;
}

bool cluster_file_is_saved(uint64_t version) { return version <= file.saved; }

bool cluster_file_write(void) {
    struct buffer text;
    int lock_fd;
    ASSERT(file.c);
    background_drain(&nodes_file_jobs);
    job_end();
    buffer_init(&text, MEMORY_OTHER);
    text_make(&text);
    int error = file_put(buffer_slice(&text), &lock_fd) ? 0 : errno;
    buffer_free(&text);
    note_result(lock_fd, error);
    errno = error;
    return error == 0;
}

/* ---- Who waits for a version ---- */

void cluster_file_when_saved(uint64_t version, void (*saved)(void *context), void *context) {
    if (cluster_file_is_saved(version)) {
        saved(context);
        return;
    }
    file.waiters =
        memory_realloc(file.waiters, (file.waiter_count + 1) * sizeof(struct waiter), MEMORY_OTHER);
    file.waiters[file.waiter_count++] =
        (struct waiter){.version = version, .saved = saved, .context = context};
}

static void waiter_remove(size_t at) {
    file.waiter_count--;
    memmove(file.waiters + at, file.waiters + at + 1,
            (file.waiter_count - at) * sizeof(struct waiter));
}

void cluster_file_forget(void *context) {
    for (size_t at = file.waiter_count; at > 0; at--)
        if (file.waiters[at - 1].context == context) waiter_remove(at - 1);
}

/* A call may add and withdraw others, so that the search begins anew after each. It ends, because
 * what a call adds for a version that is saved does not come into the list. */
static bool call_waiters(void) {
    bool any = false;
    for (size_t at = 0; at < file.waiter_count;) {
        struct waiter w = file.waiters[at];
        if (!cluster_file_is_saved(w.version)) {
            at++;
            continue;
        }
        waiter_remove(at);
        w.saved(w.context);
        any = true;
        at = 0;
    }
    return any;
}

void cluster_file_advance(void) {
    if (!file.c) return;
    job_end();
    if (is_due()) job_begin();
}

bool cluster_file_step(void) {
    if (!file.c) return false;
    cluster_file_advance();
    return call_waiters();
}

/* ---- Open and close ---- */

/* The path from the root, without links, because the folder may change, and a rename would replace
 * a link and not the file behind it. */
static void paths_make(const char *path) {
    char whole[PATH_MAX];
    struct buffer name;
    buffer_init(&name, MEMORY_OTHER);
    buffer_append_c_string(&name, realpath(path, whole) ? whole : path);
    file.path = memory_strdup(name.bytes, MEMORY_OTHER);
    buffer_append_c_string(&name, ".tmp");
    file.temporary = memory_strdup(name.bytes, MEMORY_OTHER);
    buffer_free(&name);
}

static struct cluster *make_new(void) {
    struct cluster *c = cluster_new();
    log_notice("No cluster configuration found, I'm %s", c->self->id.text);
    file.c = c;
    if (cluster_file_write()) return c;
    cluster_free(c);
    return NULL;
}

static struct cluster *load_text(struct slice text) {
    struct buffer why;
    buffer_init(&why, MEMORY_OTHER);
    struct cluster *c = cluster_file_parse(text, &why);
    if (c) {
        log_notice("Node configuration loaded, I'm %s", c->self->id.text);
        file.changes = c->changes;
    } else {
        log_warning("Unrecoverable error: corrupted cluster config file.");
        log_warning("%s: %s", file.path, why.bytes);
    }
    buffer_free(&why);
    return c;
}

static void file_forget(void) {
    if (file.lock_fd >= 0) system_close(file.lock_fd);
    memory_free(file.path, MEMORY_OTHER);
    memory_free(file.temporary, MEMORY_OTHER);
    memory_free(file.waiters, MEMORY_OTHER);
    buffer_free(&job.text);
    memset(&file, 0, sizeof(file));
    file.lock_fd = -1;
}

struct cluster *cluster_file_open(const char *path) {
    struct buffer text;
    struct cluster *c = NULL;
    ASSERT(!file.c);
    int fd = open_locked(path);
    if (fd < 0) return NULL;
    file.lock_fd = fd;
    paths_make(path);
    buffer_init(&job.text, MEMORY_OTHER);
    buffer_init(&text, MEMORY_OTHER);
    if (!file_read(file.path, FILE_BYTES_MAX, &text))
        log_warning("Can't read the cluster configuration file %s: %s", file.path, strerror(errno));
    else
        c = text.length ? load_text(buffer_slice(&text)) : make_new();
    buffer_free(&text);
    file.c = c;
    if (!c) file_forget();
    return c;
}

void cluster_file_close(void) {
    if (!file.c) return;
    background_drain(&nodes_file_jobs);
    job_end();
    bool is_whole = file.saved == file.begun && !file.asked && file.changes == file.c->changes;
    if (!is_whole && !cluster_file_write())
        log_warning("What the cluster has changed last is not in %s.", file.path);
    file_forget();
}

/* ---- Children ---- */

static void note_fork(const struct child_kind *kind) { file.forked |= file.writing; }

static void close_in_child(const struct child_job *child) {
    if (file.lock_fd >= 0) system_close(file.lock_fd);
    file.lock_fd = -1;
}

const struct child_observer cluster_file_child_observer = {.before_fork = note_fork,
                                                           .in_child = close_in_child};
