/* SPDX-License-Identifier: BSD-3-Clause
 * The system's calls, as they are. Nothing else belongs in this file, because a test that replaces
 * it replaces all of it.
 */
#include "base/system.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/uio.h>

ssize_t system_read(int fd, void *bytes, size_t length) { return read(fd, bytes, length); }

ssize_t system_pread(int fd, void *bytes, size_t length, off_t offset) {
    return pread(fd, bytes, length, offset);
}

ssize_t system_write(int fd, const void *bytes, size_t length) { return write(fd, bytes, length); }

ssize_t system_writev(int fd, const struct iovec *pieces, int count) {
    return writev(fd, pieces, count);
}

ssize_t system_send(int fd, const void *bytes, size_t length, int flags) {
    return send(fd, bytes, length, flags);
}

ssize_t system_recv(int fd, void *bytes, size_t length, int flags) {
    return recv(fd, bytes, length, flags);
}

int system_accept(int listener, struct sockaddr *name, socklen_t *name_length, int flags) {
    return accept4(listener, name, name_length, flags);
}

int system_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    return epoll_ctl(epoll, operation, fd, event);
}

int system_epoll_wait(int epoll, struct epoll_event *events, int events_max, int timeout_msec) {
    return epoll_wait(epoll, events, events_max, timeout_msec);
}

int system_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

int system_close(int fd) { return close(fd); }

int system_fsync(int fd) { return fsync(fd); }

int system_fdatasync(int fd) { return fdatasync(fd); }

int system_sync_file_range(int fd, off_t offset, off_t length, unsigned flags) {
    return sync_file_range(fd, offset, length, flags);
}

int system_ftruncate(int fd, off_t length) { return ftruncate(fd, length); }

int system_rename(const char *from, const char *to) { return rename(from, to); }

int system_unlink(const char *path) { return unlink(path); }

pid_t system_fork(void) { return fork(); }
