/* SPDX-License-Identifier: BSD-3-Clause
 * Files.
 *
 * A file is replaced in this order: write, sync, close, rename, sync the folder. Until the rename
 * the path names the old file. The rename is atomic, and reaches the disk after the bytes of the
 * new file. A close that fails counts as a failed write.
 */
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/background.h"

#define READ_BYTES 65536
#define PIECES_MAX 1024 /* the kernel's limit for one call */
/* The most that one call transfers, because Linux transfers less than 2 GiB at once, and an
 * interruption takes effect between two calls. */
#define TRANSFER_BYTES_MAX ((size_t)1 << 30)

/* ---- Transfers ---- */

/* Removes the first `bytes` from the pieces; returns how many pieces are used up. */
static int advance_pieces(struct iovec *pieces, int count, size_t bytes) {
    int used = 0;
    while (used < count && bytes >= pieces[used].iov_len) {
        bytes -= pieces[used].iov_len;
        pieces[used++].iov_len = 0;
    }
    if (used < count && bytes) {
        pieces[used].iov_base = (char *)pieces[used].iov_base + bytes;
        pieces[used].iov_len -= bytes;
    }
    return used;
}

bool file_write_pieces(int fd, struct iovec *pieces, int count, size_t *written) {
    size_t total = 0;
    int used = advance_pieces(pieces, count, 0);
    bool failed = false;
    while (used < count && !failed) {
        int more = count - used < PIECES_MAX ? count - used : PIECES_MAX;
        ssize_t moved = system_writev(fd, pieces + used, more);
        if (moved < 0 && errno == EINTR) continue;
        if (moved == 0) errno = ENOSPC; /* a write of 0 bytes without an errno */
        failed = moved <= 0;
        if (failed) break;
        total += (size_t)moved;
        used += advance_pieces(pieces + used, count - used, (size_t)moved);
    }
    if (written) *written = total;
    return !failed;
}

bool file_write(int fd, struct slice bytes, size_t *written) {
    size_t total = 0;
    bool failed = false;
    while (total < bytes.length) {
        size_t length = bytes.length - total;
        if (length > TRANSFER_BYTES_MAX) length = TRANSFER_BYTES_MAX;
        ssize_t moved = system_write(fd, bytes.bytes + total, length);
        if (moved < 0 && errno == EINTR) continue;
        if (moved == 0) errno = ENOSPC;
        failed = moved <= 0;
        if (failed) break;
        total += (size_t)moved;
    }
    if (written) *written = total;
    return !failed;
}

/* Reads from `offset`, or from the descriptor's position if `offset` is -1. */
static ssize_t read_all(int fd, char *to, size_t length, off_t offset) {
    size_t total = 0;
    while (total < length) {
        size_t wanted = length - total;
        if (wanted > TRANSFER_BYTES_MAX) wanted = TRANSFER_BYTES_MAX;
        ssize_t got = offset < 0 ? system_read(fd, to + total, wanted)
                                 : system_pread(fd, to + total, wanted, offset + (off_t)total);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        total += (size_t)got;
    }
    return (ssize_t)total;
}

ssize_t file_read_some(int fd, void *bytes, size_t length) {
    return read_all(fd, bytes, length, -1);
}

ssize_t file_read_at(int fd, void *bytes, size_t length, off_t offset) {
    ASSERT(offset >= 0);
    return read_all(fd, bytes, length, offset);
}

/* ---- Syncs ---- */

bool file_sync(int fd) {
    int status;
    do {
        status = system_fdatasync(fd);
    } while (status < 0 && errno == EINTR);
    return status == 0;
}

/* Syncs the file with its metadata (permissions, times). */
static bool file_sync_whole(int fd) {
    int status;
    do {
        status = system_fsync(fd);
    } while (status < 0 && errno == EINTR);
    return status == 0;
}

static bool is_refused(int error) {
    return error == EINVAL || error == ENOTSUP || error == ENOSYS || error == EROFS;
}

bool file_sync_folder(const char *path) {
    char *copy = memory_strdup(path, MEMORY_OTHER);
    int fd = system_open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    memory_free(copy, MEMORY_OTHER);
    if (fd < 0) return false;
    int error = file_sync_whole(fd) || is_refused(errno) ? 0 : errno;
    system_close(fd);
    errno = error;
    return error == 0;
}

bool file_truncate(int fd, off_t length) {
    int status;
    do {
        status = system_ftruncate(fd, length);
    } while (status < 0 && errno == EINTR);
    return status == 0;
}

/* ---- As a whole ---- */

bool file_read(const char *path, size_t bytes_max, struct buffer *text) {
    int fd = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    size_t start = text->length;
    ssize_t got;
    do {
        got = file_read_some(fd, buffer_reserve(text, READ_BYTES), READ_BYTES);
        if (got > 0) text->length += (size_t)got;
    } while (got > 0 && text->length - start <= bytes_max);
    int error = got < 0 ? errno : text->length - start > bytes_max ? EFBIG : 0;
    text->bytes[text->length] = '\0'; /* as every function of a buffer leaves it */
    system_close(fd);
    errno = error;
    return error == 0;
}

bool file_replacement_begin(struct file_replacement *r, const char *path, const char *temporary,
                            unsigned mode) {
    int fd = system_open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, (mode_t)mode);
    if (fd < 0) return false;
    *r = (struct file_replacement){.fd = fd,
                                   .path = memory_strdup(path, MEMORY_OTHER),
                                   .temporary = memory_strdup(temporary, MEMORY_OTHER)};
    return true;
}

static void forget_names(struct file_replacement *r) {
    memory_free(r->path, MEMORY_OTHER);
    memory_free(r->temporary, MEMORY_OTHER);
    r->path = r->temporary = NULL;
}

void file_replacement_cancel(struct file_replacement *r) {
    int error = errno;
    if (r->fd >= 0) system_close(r->fd);
    r->fd = -1;
    int status = system_unlink(r->temporary);
    (void)status; /* a file that is left, as by a crash, is overwritten by the next of its name */
    forget_names(r);
    errno = error;
}

bool file_replacement_commit(struct file_replacement *r) {
    bool done = file_sync_whole(r->fd);
    if (done) {
        done = system_close(r->fd) == 0;
        r->fd = -1;
    }
    done = done && system_rename(r->temporary, r->path) == 0;
    if (!done) {
        file_replacement_cancel(r);
        return false;
    }
    r->folder_error = file_sync_folder(r->path) ? 0 : errno;
    forget_names(r);
    return true;
}

/* Replaces the file, and sets `*folder_error` as a commit does. */
static bool replace_file(const char *path, struct slice text, unsigned new_mode,
                         int *folder_error) {
    struct buffer temporary;
    struct file_replacement r;
    struct stat old;
    buffer_init(&temporary, MEMORY_OTHER);
    buffer_printf(&temporary, "%s.%d.tmp", path, (int)getpid());
    mode_t mode = stat(path, &old) == 0 ? old.st_mode & 07777 : (mode_t)new_mode;
    bool done = file_replacement_begin(&r, path, temporary.bytes, mode);
    int error = errno;
    buffer_free(&temporary);
    errno = error;
    if (!done) return false;
    if (!file_write(r.fd, text, NULL) || fchmod(r.fd, mode) != 0) {
        file_replacement_cancel(&r);
        return false;
    }
    done = file_replacement_commit(&r);
    *folder_error = r.folder_error;
    return done;
}

bool file_replace(const char *path, struct slice text, unsigned mode) {
    int folder_error;
    return replace_file(path, text, mode, &folder_error);
}

bool file_replace_synced(const char *path, struct slice text, unsigned mode) {
    int folder_error;
    if (!replace_file(path, text, mode, &folder_error)) return false;
    errno = folder_error;
    return folder_error == 0;
}

void file_present_folder(char path[PATH_MAX]) {
    if (!getcwd(path, PATH_MAX)) snprintf(path, PATH_MAX, ".");
}

size_t file_count_names(bool (*wanted)(const char *name), char name[NAME_MAX + 1]) {
    size_t count = 0, seen = 0;
    const struct dirent *entry;
    DIR *folder = opendir(".");
    while (folder && seen++ < FILE_NAMES_MAX && (entry = readdir(folder)) != NULL) {
        if (!wanted(entry->d_name)) continue;
        snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
        count++;
    }
    if (folder) closedir(folder);
    return count;
}

static void close_later(void *argument) { system_close((int)(intptr_t)argument); }

bool file_remove(const char *path) {
    /* The open descriptor keeps the bytes. O_NONBLOCK, because the path may name a pipe that nobody
     * writes to. */
    int fd = system_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    bool done = system_unlink(path) == 0;
    int error = errno;
    if (fd >= 0) background_submit(&background_close, close_later, (void *)(intptr_t)fd);
    errno = error;
    return done;
}
