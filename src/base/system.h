/* SPDX-License-Identifier: BSD-3-Clause
 * The system's calls on files, sockets, epoll and children, each as a function that a test can
 * replace.
 *
 * All of the tree calls these instead of the C library's functions. They do nothing else: same
 * arguments, same result, same errno. A test program that defines all of them (tests/c/
 * base/faults.h does) is linked with its own in place of ours, because the library's member is then
 * never taken; so it can make short reads and writes, interruptions and failing files from a seed.
 * The release build inlines them. All but fork are async-signal-safe, as the calls below them are.
 *
 * Not here: calls that a test can make fail without help (bind, connect), and those that only tell
 * of the process (getpid, sysconf).
 */
#ifndef EVENKEEL_BASE_SYSTEM_H
#define EVENKEEL_BASE_SYSTEM_H
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/attributes.h"

struct epoll_event;
struct iovec;

MUST_USE ssize_t system_read(int fd, void *bytes, size_t length);
MUST_USE ssize_t system_pread(int fd, void *bytes, size_t length, off_t offset);
MUST_USE ssize_t system_write(int fd, const void *bytes, size_t length);
MUST_USE ssize_t system_writev(int fd, const struct iovec *pieces, int count);
MUST_USE ssize_t system_send(int fd, const void *bytes, size_t length, int flags);
MUST_USE ssize_t system_recv(int fd, void *bytes, size_t length, int flags);
/* accept4. */
MUST_USE int system_accept(int listener, struct sockaddr *name, socklen_t *name_length, int flags);

MUST_USE int system_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
MUST_USE int system_epoll_wait(int epoll, struct epoll_event *events, int events_max,
                               int timeout_msec);

/* `mode` counts only with O_CREAT. */
MUST_USE int system_open(const char *path, int flags, mode_t mode);
int system_close(int fd);
MUST_USE int system_fsync(int fd);
MUST_USE int system_fdatasync(int fd);
MUST_USE int system_sync_file_range(int fd, off_t offset, off_t length, unsigned flags);
MUST_USE int system_ftruncate(int fd, off_t length);
MUST_USE int system_rename(const char *from, const char *to);
MUST_USE int system_unlink(const char *path);
/* Called by io/child only, and once to become a daemon. */
MUST_USE pid_t system_fork(void);
#endif
