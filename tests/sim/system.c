/* SPDX-License-Identifier: BSD-3-Clause
 * The simulation's base/system: what a server's process calls.
 *
 * A descriptor that stands for a link or a listener is an open /dev/null, so that its number is
 * nobody else's; a table in the task says what it is. Pipes and eventfds, which stay within a node,
 * are the system's own: their contents follow from the order of turns.
 *
 * Files are those of sim/disk.h. Before a change of one, now and then, the process lets others go
 * first, or is killed there; a sync takes time. Time passes a little with each call.
 */
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sim/background.h"
#include "sim/descriptors.h"
#include "sim/disk.h"
#include "sim/network.h"
#include "sim/world.h"

#define CALL_NSEC 500
#define PIPE_WAIT_NSEC (50 * NSEC_PER_USEC)
#define PIPE_WRITE_BYTES 4096 /* what a pipe that is writable takes at once */

static void pass(int64_t nsec) {
    world->now_nsec += nsec;
    self->cpu_nsec += nsec;
}

/* ---- Descriptors ---- */

const struct task_fd *descriptor(int fd) {
    static const struct task_fd real = {.kind = FD_REAL};
    return self && fd >= 0 && fd < self->fds_end ? &self->fds[fd] : &real;
}

int descriptor_new(enum fd_kind kind, int index, int end) {
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || fd >= TASK_FDS_MAX) abort();
    if (fd >= self->fds_end) self->fds_end = fd + 1;
    self->fds[fd] = (struct task_fd){.kind = kind, .index = index, .end = end};
    return fd;
}

static void descriptor_release(const struct task_fd *d) {
    if (d->kind == FD_LINK) network_release(d->index, d->end);
    if (d->kind == FD_LISTENER) network_release_listener(d->index);
}

/* ---- Transfers ---- */

static bool is_blocking_pipe(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* In lock step a pipe that is full must not hold the process up in the kernel. */
static size_t wait_for_pipe(int fd, size_t length) {
    struct pollfd one = {.fd = fd, .events = POLLOUT};
    while (raw_call(SYS_poll, (long)&one, 1, 0, 0, 0, 0) == 0) {
        task_poke_kin();
        task_sleep(PIPE_WAIT_NSEC);
    }
    return length < PIPE_WRITE_BYTES ? length : PIPE_WRITE_BYTES;
}

ssize_t system_read(int fd, void *bytes, size_t length) {
    const struct task_fd *d = descriptor(fd);
    pass(CALL_NSEC);
    if (d->kind == FD_LINK) return network_receive(d->index, d->end, bytes, length);
    return disk_read(fd, bytes, length);
}

ssize_t system_pread(int fd, void *bytes, size_t length, off_t offset) {
    pass(CALL_NSEC);
    return disk_pread(fd, bytes, length, offset);
}

ssize_t system_recv(int fd, void *bytes, size_t length, int flags) {
    return system_read(fd, bytes, length);
}

ssize_t system_send(int fd, const void *bytes, size_t length, int flags) {
    const struct task_fd *d = descriptor(fd);
    pass(CALL_NSEC);
    if (d->kind != FD_LINK) abort();
    return network_send(d->index, d->end, bytes, length);
}

/* A process is killed between any two calls that change files: here others may go first. */
static void before_change(void) {
    pass(CALL_NSEC);
    if (self && !background_runs() && once_in(16)) task_sleep(draw_scale(2 * NSEC_PER_MSEC));
}

/* A disk of which nothing can be changed any more. */
static bool is_refused(void) {
    if (!self || !world->nodes[self->node].bad_files) return false;
    note("refuses", self->node, 0, 0);
    world->nodes[self->node].file_failed = true;
    errno = ENOSPC;
    return true;
}

ssize_t system_write(int fd, const void *bytes, size_t length) {
    const struct task_fd *d = descriptor(fd);
    pass(CALL_NSEC);
    if (d->kind == FD_LINK) return network_send(d->index, d->end, bytes, length);
    if (fd <= STDERR_FILENO) return write(fd, bytes, length);
    if (is_blocking_pipe(fd)) {
        length = wait_for_pipe(fd, length);
        ssize_t written = write(fd, bytes, length);
        task_poke_kin();
        return written;
    }
    struct stat about;
    bool is_file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    if (is_file) {
        before_change();
        if (is_refused()) return -1;
    }
    ssize_t written = disk_write(fd, bytes, length);
    if (!is_file) task_poke_kin();
    return written;
}

ssize_t system_writev(int fd, const struct iovec *pieces, int count) {
    const struct task_fd *d = descriptor(fd);
    ssize_t sum = 0;
    pass(CALL_NSEC);
    if (d->kind != FD_LINK) return disk_writev(fd, pieces, count);
    for (int i = 0; i < count; i++) {
        ssize_t sent = network_send(d->index, d->end, pieces[i].iov_base, pieces[i].iov_len);
        if (sent < 0) return sum ? sum : -1;
        sum += sent;
        if ((size_t)sent < pieces[i].iov_len) break;
    }
    return sum;
}

int system_accept(int listener, struct sockaddr *name, socklen_t *name_length, int flags) {
    abort(); /* socket.c does it */
}

/* ---- epoll ---- */

int system_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    if (fd < 0 || fd >= TASK_FDS_MAX) abort();
    if (fd >= self->fds_end) {
        for (int i = self->fds_end; i <= fd; i++) self->fds[i] = (struct task_fd){0};
        self->fds_end = fd + 1;
    }
    struct task_fd *d = &self->fds[fd];
    d->epoll = epoll;
    d->interest = operation == EPOLL_CTL_DEL ? 0 : event->events | EPOLLERR | EPOLLHUP;
    d->data = operation == EPOLL_CTL_DEL ? 0 : event->data.u64;
    return 0;
}

static uint32_t ready_of(int fd);

/* Whether the descriptor is an epoll instance that has something ready: such a one can lie within
 * another. */
static bool has_ready_within(int epoll) {
    for (int fd = 0; fd < self->fds_end; fd++)
        if (fd != epoll && self->fds[fd].interest && self->fds[fd].epoll == epoll && ready_of(fd))
            return true;
    return false;
}

static uint32_t ready_of(int fd) {
    const struct task_fd *d = &self->fds[fd];
    if (!d->interest) return 0;
    if (d->kind == FD_REAL && has_ready_within(fd)) return EPOLLIN & d->interest;
    if (d->kind == FD_LINK) return network_ready(d->index, d->end) & d->interest;
    if (d->kind == FD_LISTENER) return network_listener_ready(d->index) & d->interest;
    struct pollfd one = {.fd = fd, .events = (short)d->interest};
    if (raw_call(SYS_poll, (long)&one, 1, 0, 0, 0, 0) <= 0) return 0;
    return (uint32_t)one.revents & d->interest; /* the bits are the same */
}

/* Beginning anywhere. */
static int collect(int epoll, struct epoll_event *events, int events_max) {
    int count = 0, end = self->fds_end;
    int first = end ? (int)draw((uint64_t)end) : 0;
    for (int i = 0; i < end && count < events_max; i++) {
        int fd = (first + i) % end;
        if (self->fds[fd].epoll != epoll) continue;
        uint32_t ready = ready_of(fd);
        if (!ready) continue;
        events[count].events = ready;
        events[count++].data.u64 = self->fds[fd].data;
    }
    return count;
}

int system_epoll_wait(int epoll, struct epoll_event *events, int events_max, int timeout_msec) {
    int64_t deadline = timeout_msec < 0 ? NEVER : world->now_nsec + timeout_msec * NSEC_PER_MSEC;
    background_run_due();
    task_yield(TASK_READY, world->now_nsec + (int64_t)draw(20 * NSEC_PER_USEC));
    for (;;) {
        background_run_due();
        self->poked = false;
        int count = collect(epoll, events, events_max);
        if (count || world->now_nsec >= deadline) return count;
        int64_t due = background_due_nsec();
        task_yield(TASK_WAITS, due < deadline ? due : deadline);
    }
}

/* ---- Files ---- */

int system_open(const char *path, int flags, mode_t mode) {
    if (flags & (O_CREAT | O_TRUNC)) {
        before_change();
        if (is_refused()) return -1;
    }
    return disk_open(path, flags, mode);
}

int system_close(int fd) {
    if (self && fd >= 0 && fd < self->fds_end) {
        descriptor_release(&self->fds[fd]);
        self->fds[fd] = (struct task_fd){0};
    }
    int result = disk_close(fd);
    task_poke_kin();
    return result;
}

/* A sync's time, before it takes effect. */
static void be_slow(void) {
    if (background_runs()) return;
    int64_t nsec = 50 * NSEC_PER_USEC + draw_scale(5 * NSEC_PER_MSEC);
    if (world->nodes[self->node].slow_disk) nsec += draw_scale(3 * NSEC_PER_SEC);
    task_sleep(nsec);
}

/* Only of names: files are written and synced without errors here. */
static bool fails(int percent) {
    if (!world->nodes[self->node].bad_names || !chance((unsigned)percent)) return false;
    note("fails", self->node, percent, 0);
    world->nodes[self->node].file_failed = true;
    errno = EIO;
    return true;
}

static bool folder_fails(int fd) {
    struct stat about;
    if (fstat(fd, &about) || !S_ISDIR(about.st_mode) || !fails(30)) return false;
    world->nodes[self->node].folder_failed = true;
    return true;
}

/* A configuration file is written once its name is on the disk. */
static void note_folder(int fd) {
    struct node *n = &world->nodes[self->node];
    struct stat about;
    if (!n->file_has_name || fstat(fd, &about) || !S_ISDIR(about.st_mode)) return;
    n->file_has_name = n->file_failed = false;
}

int system_fsync(int fd) {
    be_slow();
    if (is_refused()) return -1;
    if (folder_fails(fd)) return -1;
    int result = disk_fsync(fd);
    note_folder(fd);
    return result;
}

int system_fdatasync(int fd) {
    be_slow();
    if (folder_fails(fd)) return -1;
    return disk_fdatasync(fd);
}

int system_sync_file_range(int fd, off_t offset, off_t length, unsigned flags) { return 0; }

int system_ftruncate(int fd, off_t length) {
    before_change();
    return disk_ftruncate(fd, length);
}

int system_rename(const char *from, const char *to) {
    before_change();
    note("renames", self->node, 0, 0);
    world->nodes[self->node].file_has_name = false;
    if (is_refused() || fails(50)) return -1;
    int result = disk_rename(from, to);
    struct node *n = &world->nodes[self->node];
    if (result == 0 && strstr(to, "node.conf")) {
        n->file_renames++;
        n->file_has_name = true;
    }
    if (result == 0 && strstr(to, "nodes.conf")) n->view_renames++;
    if (result == 0 && n->log_is_first && strstr(to, "appendonly.aof")) {
        n->log_has_name = true;
        n->log_renames++;
    }
    return result;
}

int system_unlink(const char *path) {
    before_change();
    return disk_unlink(path);
}

/* ---- Children ---- */

static void inherit(struct task *child) {
    child->fds_end = self->fds_end;
    for (int i = 0; i < self->fds_end; i++) {
        child->fds[i] = self->fds[i];
        child->fds[i].interest = 0;
        if (self->fds[i].kind == FD_LINK) network_hold(self->fds[i].index, self->fds[i].end);
        if (self->fds[i].kind == FD_LISTENER) network_hold_listener(self->fds[i].index);
    }
}

pid_t system_fork(void) {
    struct task *child = task_new(self->node, (int)(self - world->tasks));
    inherit(child);
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) {
        task_begin(child);
        return 0;
    }
    child->pid = pid;
    note("forks", self->node, child->shown_pid, 0);
    return child->shown_pid;
}
