/* SPDX-License-Identifier: BSD-3-Clause
 * Files: transfers that end whole or say why not, syncs, and files replaced as a whole.
 *
 * What survives a power cut:
 *  - Bytes survive once a sync of their descriptor has succeeded. After a sync that failed, bytes
 *    written before it may be lost although a later sync succeeds: the file must not be trusted any
 *    more.
 *  - A change of a name (created, renamed, removed) survives once its folder has been synced after
 *    it. tests/c/io/power.h takes away all else.
 *
 * All goes through base/system, so that tests make each call fail. What may take long (all of this
 * on a bad disk) is for children, background threads and the start.
 */
#ifndef EVENKEEL_IO_FILE_H
#define EVENKEEL_IO_FILE_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/string.h"

struct iovec;

/* ---- Transfers on a descriptor that blocks ---- */

/* Writes all bytes, however often it is interrupted. False with errno set where that fails: only
 * the first `*written` bytes (`written` may be NULL) have been written. */
MUST_USE bool file_write(int fd, struct slice bytes, size_t *written);
/* Writes all bytes of several pieces; false with errno set, and `*written` as for file_write. The
 * pieces are changed: after a failure they hold the rest. */
MUST_USE bool file_write_pieces(int fd, struct iovec *pieces, int count, size_t *written);
/* Reads up to `length` bytes, less only where the file ends. -1 with errno set. */
MUST_USE ssize_t file_read_some(int fd, void *bytes, size_t length);
/* Reads up to `length` bytes from `offset` on, less only where the file ends; does not move the
 * descriptor's offset. -1 with errno set. */
MUST_USE ssize_t file_read_at(int fd, void *bytes, size_t length, off_t offset);

/* ---- Syncs ---- */

/* Syncs the file's bytes and the metadata that is needed to read them (fdatasync). False with errno
 * set. */
MUST_USE bool file_sync(int fd);
/* Syncs the folder in which `path` is, so that its name is on disk. True, too, where the file
 * system cannot sync folders, because nothing more can be done then. */
MUST_USE bool file_sync_folder(const char *path);
/* Cuts the file off at `length`, or lengthens it by zeros. */
MUST_USE bool file_truncate(int fd, off_t length);

/* ---- Files as a whole ---- */

/* Appends the file's bytes. False with errno set where it cannot be opened or read; EFBIG where it
 * has more than `bytes_max`. */
MUST_USE bool file_read(const char *path, size_t bytes_max, struct buffer *text);

/* Writes a file beside the old one ("path.<pid>.tmp"), and puts it in the old one's place as a
 * replacement (below), whether or not the folder can be synced. The old one's permissions are kept;
 * a new one gets `mode`. Otherwise false with errno set, the old file untouched, and no new one
 * left. */
MUST_USE bool file_replace(const char *path, struct slice text, unsigned mode);

/* Replaces the file as file_replace does, but returns false, errno set, also where the folder could
 * not be synced: the new file is then in place, and a power cut may bring the old one back. */
MUST_USE bool file_replace_synced(const char *path, struct slice text, unsigned mode);

/* A file that is written under a name of its own and takes another's place when it is whole and
 * synced: whoever reads the path, and whoever comes back after a crash, finds the old file or the
 * new one whole. */
struct file_replacement {
    int fd;           /* to be written to; the descriptor is the replacement's */
    int folder_error; /* after a commit: why the folder could not be synced, 0 = it was */
    char *path, *temporary;
};

/* Opens `temporary`, in the same folder as `path`, empty, with `mode`. False with errno set,
 * nothing begun. Each begin is followed by one commit or cancel. */
MUST_USE bool file_replacement_begin(struct file_replacement *r, const char *path,
                                     const char *temporary, unsigned mode);
/* Syncs, renames, syncs the folder. True: the new file is in place; where `folder_error` is not 0 a
 * power cut may bring the old one back. False with errno set: the old one is untouched, and the
 * new one removed. */
MUST_USE bool file_replacement_commit(struct file_replacement *r);
/* Removes what was written. Keeps errno. */
void file_replacement_cancel(struct file_replacement *r);

/* The present folder, or "." where it cannot be told: in front of names used when it may be
 * another one, or by another thread. */
void file_present_folder(char path[PATH_MAX]);
/* The number of names in the present folder for which `wanted` is true, of the first
 * FILE_NAMES_MAX; `name` becomes one of them. 0 where the folder cannot be read. */
#define FILE_NAMES_MAX 100000 /* a tenth of a second */
size_t file_count_names(bool (*wanted)(const char *name), char name[NAME_MAX + 1]);
/* Takes the name away at once; the bytes, which may be many, are freed by a background thread.
 * False with errno set where the name stays. */
MUST_USE bool file_remove(const char *path);
#endif
