/* SPDX-License-Identifier: BSD-3-Clause
 * Small files as a whole: configuration, users.
 *
 * What is written is written to a name of its own first, synced, and renamed: whoever reads the
 * path, and whoever comes back after a crash, finds the old file or the new one whole.
 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/system.h"

#define READ_BYTES 65536

bool file_read(const char *path, size_t bytes_max, struct buffer *text) {
    int fd = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    size_t start = text->length;
    ssize_t got;
    do {
        got = system_read(fd, buffer_reserve(text, READ_BYTES), READ_BYTES);
        if (got > 0) text->length += (size_t)got;
    } while ((got > 0 && text->length - start <= bytes_max) || (got < 0 && errno == EINTR));
    int error = got < 0 ? errno : text->length - start > bytes_max ? EFBIG : 0;
    system_close(fd);
    errno = error;
    return error == 0;
}

static bool write_bytes(int fd, struct slice text) {
    while (text.length) {
        ssize_t written = system_write(fd, text.bytes, text.length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        text.bytes += written;
        text.length -= (size_t)written;
    }
    return true;
}

/* The rename is on disk only when its folder is. */
static void sync_folder_of(const char *path) {
    char *copy = memory_strdup(path, MEMORY_OTHER);
    int fd = system_open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        int status = system_fsync(fd);
        (void)status; /* the file is in its place; some file systems refuse this of folders */
        system_close(fd);
    }
    memory_free(copy, MEMORY_OTHER);
}

bool file_replace(const char *path, struct slice text, unsigned new_mode) {
    struct buffer temporary;
    struct stat old;
    buffer_init(&temporary, MEMORY_OTHER);
    buffer_printf(&temporary, "%s.%d.tmp", path, (int)getpid());
    mode_t mode = stat(path, &old) == 0 ? old.st_mode & 07777 : (mode_t)new_mode;
    int fd = system_open(temporary.bytes, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool done = fd >= 0 && write_bytes(fd, text) && fchmod(fd, mode) == 0 && system_fsync(fd) == 0;
    if (fd >= 0 && system_close(fd)) done = false;
    done = done && system_rename(temporary.bytes, path) == 0;
    int error = errno;
    if (done) {
        sync_folder_of(path);
    } else if (fd >= 0) {
        unlink(temporary.bytes);
    }
    buffer_free(&temporary);
    errno = error;
    return done;
}
