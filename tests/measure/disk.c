/* SPDX-License-Identifier: BSD-3-Clause
 * Preloaded into a server: a disk that takes as long for a sync as it is told.
 *
 * EVENKEEL_DISK names a file of struct disk, which disk.py maps as well: it says how long, and
 * reads how many syncs there were. A sync of a file sleeps and does nothing else, so that the
 * figures hang on this disk alone and not on the machine's; a write to that file meanwhile waits
 * for its end, as kernels let it. Servers of any make can be given it, for all of them call the C
 * library.
 *
 * Nothing is intercepted that a log is not written with: a C library's own files (stdio) are
 * written past it, and syncs of a part of a file are left out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Files that are synced at once: a log, one that takes its place, a snapshot. Those beyond take
 * their time, too, but no write waits for them. */
#define SYNCED_MAX 8
/* A write that waits looks so often. */
#define POLL_NSEC 100000
#define SECOND_NSEC 1000000000L

struct disk {
    _Atomic uint64_t sync_usec; /* what a sync takes */
    _Atomic uint64_t syncs;     /* that were begun */
    _Atomic uint64_t waits;     /* writes that had to wait */
};

static struct disk alone; /* of who was given no file */
static struct disk *disk = &alone;
/* What is being synced, as identify_file() tells; 0 = free. No lock: a forked child has a copy. */
static _Atomic uint64_t synced[SYNCED_MAX];
static atomic_int synced_count;

__attribute__((constructor)) static void open_disk(void) {
    const char *path = getenv("EVENKEEL_DISK");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *mapped = mmap(NULL, sizeof(*disk), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) disk = mapped;
    close(fd);
}

/* A number for the file, however it was opened; 0: it is none, or nothing that is written to. */
static uint64_t identify_file(int fd) {
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    return (uint64_t)about.st_dev << 48 ^ (uint64_t)about.st_ino ^ UINT64_C(1) << 63;
}

/* ---- syncs ---- */

/* Where it stands now; NULL = there is no place. */
static _Atomic uint64_t *note_synced(uint64_t file) {
    for (int i = 0; i < SYNCED_MAX; i++) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&synced[i], &none, file)) continue;
        atomic_fetch_add(&synced_count, 1);
        return &synced[i];
    }
    return NULL;
}

static void forget_synced(_Atomic uint64_t *place) {
    if (!place) return;
    atomic_fetch_sub(&synced_count, 1);
    atomic_store(place, 0);
}

static void sleep_usec(uint64_t usec) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(usec / 1000000);
    until.tv_nsec += (long)(usec % 1000000) * 1000;
    if (until.tv_nsec >= SECOND_NSEC) {
        until.tv_nsec -= SECOND_NSEC;
        until.tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

static int sync_file(int fd) {
    if (fcntl(fd, F_GETFD) < 0) return -1;
    uint64_t file = identify_file(fd);
    if (!file) return 0; /* a folder */
    _Atomic uint64_t *place = note_synced(file);
    atomic_fetch_add(&disk->syncs, 1);
    sleep_usec(atomic_load(&disk->sync_usec));
    forget_synced(place);
    return 0;
}

int fsync(int fd) { return sync_file(fd); }
int fdatasync(int fd) { return sync_file(fd); }
int sync_file_range(int fd, off64_t from, off64_t length, unsigned flags) {
    (void)from, (void)length, (void)flags;
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

/* ---- writes ---- */

static int is_synced(uint64_t file) {
    for (int i = 0; i < SYNCED_MAX; i++)
        if (atomic_load(&synced[i]) == file) return 1;
    return 0;
}

/* Nearly all writes find no sync under way, and cost no call more. */
static void await_sync(int fd) {
    if (!atomic_load_explicit(&synced_count, memory_order_relaxed)) return;
    int saved_errno = errno;
    uint64_t file = identify_file(fd);
    if (file && is_synced(file)) {
        atomic_fetch_add(&disk->waits, 1);
        while (is_synced(file)) nanosleep(&(struct timespec){0, POLL_NSEC}, NULL);
    }
    errno = saved_errno;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    await_sync(fd);
    return syscall(SYS_write, fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    await_sync(fd);
    return syscall(SYS_writev, fd, pieces, count);
}
