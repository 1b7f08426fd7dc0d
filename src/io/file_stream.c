/* SPDX-License-Identifier: BSD-3-Clause
 * Sinks and sources over descriptors.
 *
 * Incremental sync: after each `sync_every` bytes the kernel is asked to begin writing them to
 * disk, which returns at once, and then to finish the `sync_every` bytes before them. So the writer
 * never waits for a disk that keeps up, a slower disk slows the writer down, and the sync at the
 * end has little left to do. If the kernel or the file system has no sync_file_range, fdatasync
 * takes its place.
 *
 *      sync_waited          sync_begun             at
 *  ---------|-------------------|-------------------|
 *   on disk      being written        only in memory
 */
#include "io/file_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/file.h"

/* The most that one read transfers, because interruptions and reports of progress wait until a read
 * is done. */
#define READ_BYTES_MAX ((size_t)1 << 24)

/* A writer that waits for room asks this often whether its sink is given up. */
#define ASK_MSEC 10

/* Waits until `fd` is ready; false with errno set. */
static bool wait_for_descriptor(int fd, short event, int wait_msec) {
    int64_t until = clock_monotonic_nsec() + wait_msec * INT64_C(1000000);
    int left = wait_msec;
    for (;;) {
        struct pollfd one = {.fd = fd, .events = event};
        int ready = poll(&one, 1, left);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
        if (ready == 0 && wait_msec >= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        if (wait_msec < 0) continue;
        int64_t rest = (until - clock_monotonic_nsec()) / 1000000;
        left = rest > 0 ? (int)rest : 0;
    }
}

static bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

/* The offset of the next byte that is read or written; 0 if the descriptor cannot seek. */
static uint64_t position_of(int fd, bool writes) {
    bool appends = writes && fcntl(fd, F_GETFL) & O_APPEND;
    off_t at = lseek(fd, 0, appends ? SEEK_END : SEEK_CUR);
    return at > 0 ? (uint64_t)at : 0;
}

/* ---- Sinks ---- */

static struct file_sink *sink_of(struct sink *s) {
    return (struct file_sink *)((char *)s - offsetof(struct file_sink, sink));
}

/* Waits until the descriptor takes more bytes; returns false with errno set if it does not. */
static bool await_room(const struct file_sink *f) {
    if (!f->is_given_up) return wait_for_descriptor(f->fd, POLLOUT, f->wait_msec);
    while (!f->is_given_up(f->context)) {
        if (wait_for_descriptor(f->fd, POLLOUT, ASK_MSEC)) return true;
        if (errno != ETIMEDOUT) return false;
    }
    errno = ECANCELED;
    return false;
}

static bool sink_write_pieces(struct file_sink *f, struct iovec *pieces, int count) {
    for (;;) {
        size_t written;
        bool done = file_write_pieces(f->fd, pieces, count, &written);
        f->at += written;
        if (done) return true;
        if (!would_block(errno) || !await_room(f)) return false;
    }
}

static bool sync_range(struct file_sink *f, uint64_t from, uint64_t to, unsigned flags) {
    int status;
    do {
        status = system_sync_file_range(f->fd, (off_t)from, (off_t)(to - from), flags);
    } while (status < 0 && errno == EINTR);
    return status == 0;
}

/* Syncs all that was written, for systems without sync_file_range. */
static bool sink_sync_whole(struct file_sink *f) {
    if (!file_sync(f->fd)) return false;
    f->sync_begun = f->at;
    return true;
}

static bool sync_step(struct file_sink *f) {
    const unsigned finish =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    uint64_t begun = f->sync_begun;
    if (f->syncs_whole) {
        if (!sink_sync_whole(f)) return false;
        begun = f->at;
    } else if (!sync_range(f, begun, f->at, SYNC_FILE_RANGE_WRITE) ||
               (begun > f->sync_waited && !sync_range(f, f->sync_waited, begun, finish))) {
        if (errno == EIO || errno == ENOSPC || errno == EDQUOT) return false;
        f->syncs_whole = true;
        if (!sink_sync_whole(f)) return false;
        begun = f->at;
    }
    f->sync_begun = f->at;
    if (f->drops_cache && begun > f->sync_waited)
        posix_fadvise(f->fd, (off_t)f->sync_waited, (off_t)(begun - f->sync_waited),
                      POSIX_FADV_DONTNEED); /* a wish: it may be refused */
    f->sync_waited = begun;
    return true;
}

static bool file_sink_drain(struct sink *s, const void *more, size_t length) {
    struct file_sink *f = sink_of(s);
    struct slice window = sink_window(s);
    const char *at = more;
    struct iovec pieces[2] = {{(void *)(uintptr_t)window.bytes, window.length}};
    do { /* a long piece in parts, so that their sync is spread too */
        size_t part = length;
        if (f->sync_every && part > f->sync_every) part = (size_t)f->sync_every;
        pieces[1] = (struct iovec){(void *)(uintptr_t)at, part};
        if (!sink_write_pieces(f, pieces, 2)) return false;
        if (f->sync_every && f->at - f->sync_begun >= f->sync_every && !sync_step(f)) return false;
        if (part) at += part;
        length -= part;
    } while (length);
    return true;
}

static const struct sink_type file_sink_type = {.drain = file_sink_drain};

void file_sink_open(struct file_sink *f, int fd, int wait_msec) {
    *f = (struct file_sink){.fd = fd,
                            .wait_msec = wait_msec,
                            .window = memory_alloc(FILE_WINDOW_BYTES, MEMORY_OTHER),
                            .at = position_of(fd, true)};
    sink_init(&f->sink, &file_sink_type, f->window, FILE_WINDOW_BYTES);
}

void file_sink_set_sync(struct file_sink *f, uint64_t bytes, bool drop_cache) {
    f->sync_every = bytes;
    f->drops_cache = drop_cache;
    f->sync_begun = f->sync_waited = f->at;
}

void file_sink_set_given_up(struct file_sink *f, bool (*is_given_up)(const void *context),
                            const void *context) {
    ASSERT(f->wait_msec < 0);
    f->is_given_up = is_given_up;
    f->context = context;
}

void file_sink_close(struct file_sink *f) {
    int error = errno;
    memory_free(f->window, MEMORY_OTHER);
    f->window = NULL;
    errno = error;
}

/* ---- Sources ---- */

static struct file_source *source_of(struct source *s) {
    return (struct file_source *)((char *)s - offsetof(struct file_source, source));
}

static ssize_t read_once(struct source *s, void *bytes, size_t length) {
    struct file_source *f = source_of(s);
    if (length > READ_BYTES_MAX) length = READ_BYTES_MAX;
    if (length > f->end - f->at) length = (size_t)(f->end - f->at);
    if (!length) return 0;
    for (;;) {
        ssize_t got = system_read(f->fd, bytes, length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && would_block(errno) && wait_for_descriptor(f->fd, POLLIN, f->wait_msec))
            continue;
        if (got > 0) f->at += (uint64_t)got;
        return got;
    }
}

static const struct source_type file_source_type = {read_once};

void file_source_open(struct file_source *f, int fd, int wait_msec) {
    struct stat about;
    uint64_t length = SOURCE_LENGTH_UNKNOWN;
    *f = (struct file_source){.fd = fd,
                              .wait_msec = wait_msec,
                              .window = memory_alloc(FILE_WINDOW_BYTES, MEMORY_OTHER),
                              .at = position_of(fd, false),
                              .end = UINT64_MAX};
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
        length = (uint64_t)about.st_size > f->at ? (uint64_t)about.st_size - f->at : 0;
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a wish */
    }
    source_init(&f->source, &file_source_type, f->window, FILE_WINDOW_BYTES, length);
}

void file_source_end_at_length(struct file_source *f) {
    if (f->source.length == SOURCE_LENGTH_UNKNOWN) return;
    f->end = f->at - f->source.fetched + f->source.length;
}

void file_source_close(struct file_source *f) {
    int error = errno;
    memory_free(f->window, MEMORY_OTHER);
    f->window = NULL;
    errno = error;
}
