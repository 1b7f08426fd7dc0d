/* SPDX-License-Identifier: BSD-3-Clause
 * Faults of the system: another base/system.c, for programs of tests.
 *
 * A program that includes this file (one of its sources only) is linked with these system_ calls in
 * place of ours. As long as nothing is set they do what ours do. Two sorts of faults:
 *
 *  - cuts: a transfer on a socket or a plain file moves 1 to some bytes only, and now and then it
 *    says EINTR, or EAGAIN on a socket. That is what a system may always do, so no test may turn
 *    red by it. Drawn from a seed; each thread draws for itself.
 *  - rules: the nth call of a sort fails with an errno; with a path, only where it holds that word.
 *
 *  - a slow disk: each sync of a file takes so long, and a write to that file waits for it, as
 *    kernels do.
 *  - slow renames: each waits so long before it takes effect, and so long after that.
 *
 * A watcher, where one is set, is told of what changes files: before each such call, and after one
 * that went well (tests/c/io/power.h keeps a record of them).
 *
 * Also counts the calls, so that a test can let each of them fail in turn. And faults_refuse_memory
 * lets the nth memory_try_ allocation fail.
 */
#ifndef EVENKEEL_TESTS_BASE_FAULTS_H
#define EVENKEEL_TESTS_BASE_FAULTS_H
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "base/memory.h"
#include "base/system.h"

enum fault_call {
    FAULT_READ,  /* and pread, recv */
    FAULT_WRITE, /* and writev, send */
    FAULT_ACCEPT,
    FAULT_EPOLL_CTL,
    FAULT_EPOLL_WAIT,
    FAULT_OPEN,
    FAULT_CLOSE, /* the descriptor is closed all the same, as Linux does it */
    FAULT_FSYNC, /* and fdatasync, sync_file_range */
    FAULT_RENAME,
    FAULT_TRUNCATE,
    FAULT_UNLINK,
    FAULT_FORK,
    FAULT_CALLS
};

struct fault_rule {
    enum fault_call call;
    int error;      /* the errno; 0: the rule is free */
    unsigned after; /* so many calls go well before */
    unsigned times; /* so many fail then */
    char path[128]; /* part of the file's path; "" = any descriptor */
};

#define FAULT_RULES_MAX 16
static struct fault_rule fault_rules[FAULT_RULES_MAX];
static uint64_t fault_counts[FAULT_CALLS];
static size_t faults_bytes_max; /* of a cut transfer; 0: none is cut */
static unsigned faults_percent; /* of transfers that are interrupted instead */
static uint64_t faults_seed;
static _Thread_local uint64_t faults_state;
static void (*faults_before_rules)(void); /* renews the rules; NULL = they stand */

/* What a call does to a file: `path` for open, rename (`from`, `to` is the other) and unlink, the
 * descriptor for others and for an open that is done. `flags` of open; `length` of truncate. */
struct fault_change {
    enum fault_call call;
    int fd, flags;
    off_t length;
    const char *path, *to;
};
static void (*faults_before_change)(const struct fault_change *change);
static void (*faults_after_change)(const struct fault_change *change, bool done);
static bool faults_pretend_syncs; /* the watcher alone knows what is safe: no disk is waited for */

/* ---- What a test sets ---- */

static inline void faults_cut(uint64_t seed, size_t bytes_max, unsigned percent) {
    faults_seed = seed;
    faults_state = 0;
    faults_bytes_max = bytes_max;
    faults_percent = percent;
}

/* `path` may be NULL. */
static inline void faults_fail(enum fault_call call, int error, unsigned after, unsigned times,
                               const char *path) {
    for (int i = 0; i < FAULT_RULES_MAX; i++) {
        struct fault_rule *rule = &fault_rules[i];
        if (rule->error) continue;
        *rule = (struct fault_rule){.call = call, .error = error, .after = after, .times = times};
        snprintf(rule->path, sizeof(rule->path), "%s", path ? path : "");
        return;
    }
    abort();
}

/* Syncs of files whose path holds the word take so many milliseconds more; a change counts for the
 * one that is under way, too. */
static int faults_slow_msec;
static char faults_slow_path[128];

static inline void faults_slow(int msec, const char *path) {
    snprintf(faults_slow_path, sizeof(faults_slow_path), "%s", path ? path : "");
    __atomic_store_n(&faults_slow_msec, msec, __ATOMIC_SEQ_CST);
}

/* Renames to such a path take so many milliseconds before the new name is there, and so many after;
 * a change counts for the one that is under way, too. */
static int faults_rename_msec[2];
static char faults_rename_path[128];

static inline void faults_slow_renames(int before_msec, int after_msec, const char *path) {
    snprintf(faults_rename_path, sizeof(faults_rename_path), "%s", path ? path : "");
    __atomic_store_n(&faults_rename_msec[0], before_msec, __ATOMIC_SEQ_CST);
    __atomic_store_n(&faults_rename_msec[1], after_msec, __ATOMIC_SEQ_CST);
}

/* No faults any more, counts at 0. */
static inline void faults_clear(void) {
    faults_slow(0, NULL);
    faults_slow_renames(0, 0, NULL);
    memset(fault_rules, 0, sizeof(fault_rules));
    memset(fault_counts, 0, sizeof(fault_counts));
    faults_cut(0, 0, 0);
}

static inline uint64_t faults_count(enum fault_call call) { return fault_counts[call]; }

/* ---- Memory ---- */

static unsigned faults_memory_after, faults_memory_times;
static unsigned faults_memory_refused;

static inline bool faults_refuse(size_t bytes) {
    if (faults_memory_after) {
        faults_memory_after--;
        return false;
    }
    if (!faults_memory_times) return false;
    faults_memory_times--;
    faults_memory_refused++;
    return true;
}

/* `times` memory_try_ calls fail once `after` of them went well; faults_memory_refused counts them.
 */
static inline void faults_refuse_memory(unsigned after, unsigned times) {
    faults_memory_after = after;
    faults_memory_times = times;
    faults_memory_refused = 0;
    memory_set_refusal(faults_refuse);
}

static inline void faults_memory_clear(void) { memory_set_refusal(NULL); }

/* ---- Whether a call fails ---- */

/* splitmix64. */
static inline uint64_t faults_draw(void) {
    if (faults_state == 0) faults_state = faults_seed * 2 + 1;
    uint64_t z = faults_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline bool faults_path_fits(const struct fault_rule *rule, int fd, const char *path) {
    char link[40], target[PATH_MAX];
    if (!rule->path[0]) return true;
    if (!path) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        path = target;
    }
    return strstr(path, rule->path) != NULL;
}

/* Sets errno where the call fails. */
static inline bool faults_fails(enum fault_call call, int fd, const char *path) {
    if (faults_before_rules) faults_before_rules();
    __atomic_add_fetch(&fault_counts[call], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < FAULT_RULES_MAX; i++) {
        struct fault_rule *rule = &fault_rules[i];
        if (!rule->error || rule->call != call || !faults_path_fits(rule, fd, path)) continue;
        if (rule->after) {
            rule->after--;
        } else if (rule->times) {
            rule->times--;
            errno = rule->error;
            return true;
        }
    }
    return false;
}

/* How much of `length` this transfer may move; 0: nothing, with errno set. */
static inline size_t faults_room(int fd, size_t length) {
    struct stat about, system;
    if (!faults_bytes_max || !length || fstat(fd, &about) != 0) return length;
    if (!S_ISSOCK(about.st_mode) && !S_ISREG(about.st_mode)) return length;
    /* The system gives its own files in one piece. */
    if (stat("/proc", &system) == 0 && about.st_dev == system.st_dev) return length;
    if (faults_draw() % 100 < faults_percent) {
        errno = S_ISSOCK(about.st_mode) && faults_draw() % 2 ? EAGAIN : EINTR;
        return 0;
    }
    /* Small ones as often as large ones. */
    size_t most =
        faults_bytes_max >> faults_draw() % (64 - (unsigned)__builtin_clzl(faults_bytes_max));
    size_t room = 1 + (size_t)(faults_draw() % most);
    return room < length ? room : length;
}

/* ---- A slow disk ---- */

#define FAULTS_SYNCED_MAX 8
#define FAULTS_POLL_NSEC 1000000

/* The files that are being synced slowly; ino 0 = free. */
static struct faults_synced {
    dev_t device;
    ino_t ino;
} faults_synced[FAULTS_SYNCED_MAX];
static char faults_synced_lock;

static inline void faults_lock_synced(void) {
    while (__atomic_test_and_set(&faults_synced_lock, __ATOMIC_ACQUIRE)) continue;
}
static inline void faults_unlock_synced(void) {
    __atomic_clear(&faults_synced_lock, __ATOMIC_RELEASE);
}

static inline bool faults_set_synced(struct faults_synced from, struct faults_synced to) {
    bool done = false;
    faults_lock_synced();
    for (int i = 0; i < FAULTS_SYNCED_MAX && !done; i++) {
        struct faults_synced *at = &faults_synced[i];
        done = at->ino == from.ino && at->device == from.device;
        if (done) *at = to;
    }
    faults_unlock_synced();
    return done;
}

static inline void faults_wait_a_little(void) {
    nanosleep(&(struct timespec){0, FAULTS_POLL_NSEC}, NULL);
    if (faults_before_rules) faults_before_rules();
}

/* A sync's time. */
static inline void faults_be_slow(int fd) {
    struct fault_rule rule = {.call = FAULT_FSYNC};
    struct stat about;
    const struct faults_synced none = {0};
    if (!__atomic_load_n(&faults_slow_msec, __ATOMIC_SEQ_CST) || fstat(fd, &about) != 0) return;
    snprintf(rule.path, sizeof(rule.path), "%s", faults_slow_path);
    struct faults_synced self = {about.st_dev, about.st_ino};
    if (!faults_path_fits(&rule, fd, NULL) || !faults_set_synced(none, self)) return;
    for (int msec = 0; msec < __atomic_load_n(&faults_slow_msec, __ATOMIC_SEQ_CST); msec++)
        faults_wait_a_little();
    faults_set_synced(self, none);
}

/* 0: before the rename, 1: after it. Keeps errno. */
static inline void faults_rename_slowly(int half, const char *to) {
    int error = errno;
    for (int msec = 0; msec < __atomic_load_n(&faults_rename_msec[half], __ATOMIC_SEQ_CST) &&
                       strstr(to, faults_rename_path);
         msec++)
        faults_wait_a_little();
    errno = error;
}

static inline bool faults_is_synced(int fd) {
    struct stat about;
    bool found = false;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    faults_lock_synced();
    for (int i = 0; i < FAULTS_SYNCED_MAX; i++)
        found |= faults_synced[i].ino == about.st_ino && faults_synced[i].device == about.st_dev;
    faults_unlock_synced();
    return found;
}

static inline void faults_await_sync(int fd) {
    while (__atomic_load_n(&faults_slow_msec, __ATOMIC_SEQ_CST) && faults_is_synced(fd))
        faults_wait_a_little();
}

/* ---- The calls ---- */

#define FAULTS_TRANSFER(call, fd, length, act)   \
    if (faults_fails(call, fd, NULL)) return -1; \
    size_t room = faults_room(fd, length);       \
    return room || !(length) ? act : -1

ssize_t system_read(int fd, void *bytes, size_t length) {
    FAULTS_TRANSFER(FAULT_READ, fd, length, read(fd, bytes, room));
}

ssize_t system_pread(int fd, void *bytes, size_t length, off_t offset) {
    FAULTS_TRANSFER(FAULT_READ, fd, length, pread(fd, bytes, room, offset));
}

ssize_t system_recv(int fd, void *bytes, size_t length, int flags) {
    FAULTS_TRANSFER(FAULT_READ, fd, length, recv(fd, bytes, room, flags));
}

ssize_t system_write(int fd, const void *bytes, size_t length) {
    faults_await_sync(fd);
    FAULTS_TRANSFER(FAULT_WRITE, fd, length, write(fd, bytes, room));
}

ssize_t system_send(int fd, const void *bytes, size_t length, int flags) {
    FAULTS_TRANSFER(FAULT_WRITE, fd, length, send(fd, bytes, room, flags));
}

ssize_t system_writev(int fd, const struct iovec *pieces, int count) {
    struct iovec cut[count > 0 ? count : 1];
    size_t length = 0, kept = 0;
    int used = 0;
    faults_await_sync(fd);
    for (int i = 0; i < count; i++) length += pieces[i].iov_len;
    if (faults_fails(FAULT_WRITE, fd, NULL)) return -1;
    size_t room = faults_room(fd, length);
    if (!room && length) return -1;
    for (; used < count && kept < room; used++) {
        cut[used] = pieces[used];
        if (cut[used].iov_len > room - kept) cut[used].iov_len = room - kept;
        kept += cut[used].iov_len;
    }
    return writev(fd, cut, used);
}

int system_accept(int listener, struct sockaddr *name, socklen_t *name_length, int flags) {
    if (faults_fails(FAULT_ACCEPT, listener, NULL)) return -1;
    return accept4(listener, name, name_length, flags);
}

int system_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    if (faults_fails(FAULT_EPOLL_CTL, fd, NULL)) return -1;
    return epoll_ctl(epoll, operation, fd, event);
}

/* How long the last wait was allowed to last. */
static int faults_epoll_msec __attribute__((unused));

int system_epoll_wait(int epoll, struct epoll_event *events, int events_max, int timeout_msec) {
    faults_epoll_msec = timeout_msec;
    if (faults_fails(FAULT_EPOLL_WAIT, epoll, NULL)) return -1;
    return epoll_wait(epoll, events, events_max, timeout_msec);
}

static inline void faults_begin(const struct fault_change *change) {
    if (faults_before_change) faults_before_change(change);
}

static inline int faults_end(const struct fault_change *change, int result) {
    int error = errno;
    if (faults_after_change) faults_after_change(change, result >= 0);
    errno = error;
    return result;
}

int system_open(const char *path, int flags, mode_t mode) {
    struct fault_change change = {.call = FAULT_OPEN, .fd = -1, .flags = flags, .path = path};
    if (faults_fails(FAULT_OPEN, -1, path)) return -1;
    faults_begin(&change);
    change.fd = open(path, flags, mode);
    return faults_end(&change, change.fd);
}

int system_close(int fd) {
    bool fails = faults_fails(FAULT_CLOSE, fd, NULL);
    int error = errno;
    int result = close(fd);
    if (!fails) return result;
    errno = error;
    return -1;
}

int system_fsync(int fd) {
    struct fault_change change = {.call = FAULT_FSYNC, .fd = fd};
    faults_begin(&change);
    if (faults_fails(FAULT_FSYNC, fd, NULL)) return faults_end(&change, -1);
    faults_be_slow(fd);
    return faults_end(&change, faults_pretend_syncs ? 0 : fsync(fd));
}

int system_fdatasync(int fd) {
    struct fault_change change = {.call = FAULT_FSYNC, .fd = fd};
    faults_begin(&change);
    if (faults_fails(FAULT_FSYNC, fd, NULL)) return faults_end(&change, -1);
    faults_be_slow(fd);
    return faults_end(&change, faults_pretend_syncs ? 0 : fdatasync(fd));
}

/* It makes nothing safe, so no watcher hears of it. */
int system_sync_file_range(int fd, off_t offset, off_t length, unsigned flags) {
    if (faults_fails(FAULT_FSYNC, fd, NULL)) return -1;
    return sync_file_range(fd, offset, length, flags);
}

int system_ftruncate(int fd, off_t length) {
    struct fault_change change = {.call = FAULT_TRUNCATE, .fd = fd, .length = length};
    if (faults_fails(FAULT_TRUNCATE, fd, NULL)) return -1;
    faults_begin(&change);
    return faults_end(&change, ftruncate(fd, length));
}

int system_rename(const char *from, const char *to) {
    struct fault_change change = {.call = FAULT_RENAME, .fd = -1, .path = from, .to = to};
    if (faults_fails(FAULT_RENAME, -1, to)) return -1;
    faults_rename_slowly(0, to);
    faults_begin(&change);
    int result = faults_end(&change, rename(from, to));
    faults_rename_slowly(1, to);
    return result;
}

int system_unlink(const char *path) {
    struct fault_change change = {.call = FAULT_UNLINK, .fd = -1, .path = path};
    if (faults_fails(FAULT_UNLINK, -1, path)) return -1;
    faults_begin(&change);
    return faults_end(&change, unlink(path));
}

pid_t system_fork(void) {
    if (faults_fails(FAULT_FORK, -1, "")) return -1;
    return fork();
}
#endif
