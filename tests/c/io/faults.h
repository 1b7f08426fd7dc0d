/* SPDX-License-Identifier: BSD-3-Clause
 * System calls that fail when a test says so.
 *
 * A program's own function stands before the C library's of that name, so all of the program, the
 * server's objects included, calls those here; they pass the call on to the kernel unless a fault
 * is set. One test program includes this, once.
 */
#ifndef EVENKEEL_TESTS_IO_FAULTS_H
#define EVENKEEL_TESTS_IO_FAULTS_H
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* After `passed` more calls that go on to the kernel, `failed` fail with `error`. */
struct fault {
    int passed, failed, error;
};
static struct fault fault_epoll_ctl, fault_accept;

static inline bool fault_strikes(struct fault *f) {
    if (f->passed > 0) {
        f->passed--;
        return false;
    }
    if (f->failed <= 0) return false;
    f->failed--;
    errno = f->error;
    return true;
}

int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event) {
    if (fault_strikes(&fault_epoll_ctl)) return -1;
    return (int)syscall(SYS_epoll_ctl, epoll_fd, operation, fd, event);
}

int accept4(int fd, struct sockaddr *restrict name, socklen_t *restrict length, int flags) {
    if (fault_strikes(&fault_accept)) return -1;
    return (int)syscall(SYS_accept4, fd, name, length, flags);
}
#endif
