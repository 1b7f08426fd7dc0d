/* SPDX-License-Identifier: BSD-3-Clause
 * The simulated disk: files in a folder of memory, with a record of what was synced.
 *
 * The calls are those of tests/c/base/faults.h under other names (its rules of failing calls count
 * here, too); the record is that of tests/c/io/power.h. So a file has what was written while its
 * process is only killed, and what was synced, names too, when the power goes.
 */
#ifndef EVENKEEL_TESTS_SIM_DISK_H
#define EVENKEEL_TESTS_SIM_DISK_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct iovec;

ssize_t disk_read(int fd, void *bytes, size_t length);
ssize_t disk_pread(int fd, void *bytes, size_t length, off_t offset);
ssize_t disk_write(int fd, const void *bytes, size_t length);
ssize_t disk_writev(int fd, const struct iovec *pieces, int count);
int disk_open(const char *path, int flags, mode_t mode);
int disk_close(int fd);
int disk_fsync(int fd);
int disk_fdatasync(int fd);
int disk_ftruncate(int fd, off_t length);
int disk_rename(const char *from, const char *to);
int disk_unlink(const char *path);

/* What this process and its children do to files below `folder` is noted in `notes`. */
void disk_record(const char *folder, const char *notes);
/* The power goes; no process has a file open any more. `seed` 0: the worst that may be left. */
void disk_cut(const char *folder, const char *notes, uint64_t seed);
#endif
