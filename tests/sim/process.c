/* SPDX-License-Identifier: BSD-3-Clause
 * Calls of the C library that the simulation's program defines itself, so that everything in it,
 * libraries too, is linked to these: clocks, randomness, processes, threads.
 *
 * In the scheduler they are the system's. In a task: time is the world's, with the clock of the
 * node; reading it takes a little time, so that whoever waits for it by reading gets on. Random
 * bytes come from the task's own state. There are no threads (callers know how to do without).
 * Pids are the world's.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim/descriptors.h"
#include "sim/network.h"
#include "sim/world.h"

#define READ_NSEC 100
#define POLL_NSEC NSEC_PER_MSEC

/* ---- Time ---- */

/* The processor's counter is not simulated. In place of base/clock's by --wrap. */
void __wrap_clock_calibrate(void);
void __wrap_clock_calibrate(void) {}

int clock_gettime(clockid_t clock, struct timespec *out) {
    if (clock == CLOCK_MONOTONIC_COARSE) { /* the allocator's, from before main on */
        out->tv_sec = self ? (time_t)(world->now_nsec / NSEC_PER_SEC) : 1;
        out->tv_nsec = 0;
        return 0;
    }
    if (!self) return (int)raw_call(SYS_clock_gettime, clock, (long)out, 0, 0, 0, 0);
    const struct node *node = &world->nodes[self->node];
    world->now_nsec += READ_NSEC;
    self->cpu_nsec += READ_NSEC;
    int64_t nsec = world->now_nsec - node->boot_nsec;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        nsec = world->now_nsec + node->wall_offset_nsec;
    if (clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_PROCESS_CPUTIME_ID)
        nsec = self->cpu_nsec;
    out->tv_sec = (time_t)(nsec / NSEC_PER_SEC);
    out->tv_nsec = (long)(nsec % NSEC_PER_SEC);
    return 0;
}

int nanosleep(const struct timespec *request, struct timespec *left) {
    if (!self) return (int)raw_call(SYS_nanosleep, (long)request, (long)left, 0, 0, 0, 0);
    task_sleep((int64_t)request->tv_sec * NSEC_PER_SEC + request->tv_nsec);
    return 0;
}

/* ---- Randomness ---- */

ssize_t getrandom(void *out, size_t length, unsigned flags) {
    if (!self) return raw_call(SYS_getrandom, (long)out, (long)length, flags, 0, 0, 0);
    for (size_t done = 0; done < length; done += 8) {
        uint64_t word = draw_from(&self->draws);
        memcpy((char *)out + done, &word, length - done < 8 ? length - done : 8);
    }
    return (ssize_t)length;
}

/* ---- Processes ---- */

pid_t getpid(void) {
    return self ? self->shown_pid : (pid_t)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static struct task *child_of_pid(pid_t shown) {
    for (int i = 0; i < TASKS_MAX; i++) {
        struct task *t = &world->tasks[i];
        if (t->state != TASK_FREE && t->shown_pid == shown &&
            t->parent == (int)(self - world->tasks))
            return t;
    }
    return NULL;
}

int kill(pid_t pid, int sig) {
    if (!self) return (int)raw_call(SYS_kill, pid, sig, 0, 0, 0, 0);
    struct task *child = child_of_pid(pid);
    if (!child) {
        errno = ESRCH;
        return -1;
    }
    if (child->state == TASK_DEAD) return 0;
    if (sig == SIGKILL) {
        task_kill(child);
        network_release_all(child);
    } else {
        child->signal = sig;
        if (child->state == TASK_WAITS) child->poked = true;
    }
    return 0;
}

pid_t waitpid(pid_t pid, int *status, int options) {
    if (!self) return (pid_t)raw_call(SYS_wait4, pid, (long)status, options, 0, 0, 0);
    struct task *child = child_of_pid(pid);
    if (!child) {
        errno = ECHILD;
        return -1;
    }
    while (child->state != TASK_DEAD) {
        if (options & WNOHANG) return 0;
        task_sleep(POLL_NSEC);
    }
    if (raw_call(SYS_wait4, child->pid, (long)status, 0, 0, 0, 0) < 0) return -1;
    child->state = TASK_FREE;
    return pid;
}

void _exit(int status) {
    if (self) {
        network_release_all(self);
        note("exits", self->node, self->shown_pid, status);
        task_end();
    }
    for (;;) raw_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    return EAGAIN;
}

/* ---- Others ---- */

int poll(struct pollfd *fds, nfds_t count, int timeout_msec) {
    if (!self) return (int)raw_call(SYS_poll, (long)fds, (long)count, timeout_msec, 0, 0, 0);
    int64_t deadline = timeout_msec < 0 ? NEVER : world->now_nsec + timeout_msec * NSEC_PER_MSEC;
    for (;;) {
        int found = 0;
        for (nfds_t i = 0; i < count; i++) {
            const struct task_fd *d = descriptor(fds[i].fd);
            fds[i].revents = 0;
            if (d->kind == FD_REAL) {
                raw_call(SYS_poll, (long)&fds[i], 1, 0, 0, 0, 0);
            } else {
                uint32_t ready = d->kind == FD_LINK ? network_ready(d->index, d->end)
                                                    : network_listener_ready(d->index);
                fds[i].revents = (short)(ready & ((uint32_t)fds[i].events | POLLERR | POLLHUP));
            }
            found += fds[i].revents != 0;
        }
        if (found || world->now_nsec >= deadline) return found;
        task_sleep(POLL_NSEC);
    }
}

/* Ends of children are seen without pidfds, as on a kernel that has none. */
long syscall(long number, ...) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (self && number == SYS_pidfd_open) {
        errno = ENOSYS;
        return -1;
    }
    return raw_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
