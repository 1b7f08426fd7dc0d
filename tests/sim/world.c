/* SPDX-License-Identifier: BSD-3-Clause
 * The world and its turns. world.h has the idea.
 *
 * A turn is handed over by two futexes in the shared memory, so that all of it costs two system
 * calls a side. The scheduler waits with a limit and then looks whether the task still lives: that
 * is how it hears of a crash. All processes of a world run on one processor.
 */
#include "sim/world.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NSEC (20 * NSEC_PER_MSEC)
#define ALONE_NSEC (5 * NSEC_PER_SEC) /* so often a task looks whether the scheduler lives */
#define FIRST_PID 1000
#define FIRST_SECOND 1700000000

struct world *world;
struct task *self;

long raw_call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result > -4096 && result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

void world_make(uint64_t seed, bool tells) {
    world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world == MAP_FAILED) abort();
    world->scheduler = (pid_t)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    world->seed = seed;
    world->draws = seed * 0x9e3779b97f4a7c15 + 1;
    world->tells = tells;
    world->trace_fd = tells ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, TASK_FDS_MAX) : -1;
    world->next_pid = FIRST_PID;
    world->now_nsec = FIRST_SECOND * NSEC_PER_SEC + (int64_t)draw((uint64_t)NSEC_PER_SEC * 86400);
    world->hash = 0xcbf29ce484222325;
}

/* ---- Numbers ---- */

uint64_t draw_from(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint64_t draw(uint64_t bound) {
    return (uint64_t)((unsigned __int128)draw_from(&world->draws) * bound >> 64);
}

bool chance(unsigned percent) { return draw(100) < percent; }

bool once_in(unsigned times) { return draw(times) == 0; }

int64_t draw_scale(int64_t most) {
    unsigned bits = 64 - (unsigned)__builtin_clzll((unsigned long long)most);
    int64_t bound = most >> draw(bits);
    return 1 + (int64_t)draw((uint64_t)bound);
}

/* ---- What is told ---- */

static void mix(uint64_t word) { world->hash = (world->hash ^ word) * 0x100000001b3; }

void note(const char *what, long a, long b, long c) {
    for (const char *at = what; *at; at++) mix((unsigned char)*at);
    mix((uint64_t)a);
    mix((uint64_t)b);
    mix((uint64_t)c);
    mix((uint64_t)world->now_nsec);
    world->notes++;
    if (world->tells) tell("%s %ld %ld %ld", what, a, b, c);
}

void tell(const char *format, ...) {
    char line[1024];
    va_list arguments;
    if (!world->tells) return;
    int64_t now = world->now_nsec;
    int head = snprintf(line, sizeof(line), "%lld.%09lld %3d ", (long long)(now / NSEC_PER_SEC),
                        (long long)(now % NSEC_PER_SEC), self ? (int)(self - world->tasks) : -1);
    va_start(arguments, format);
    vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, arguments);
    va_end(arguments);
    size_t length = strlen(line);
    line[length] = '\n';
    raw_call(SYS_write, world->trace_fd, (long)line, (long)length + 1, 0, 0, 0);
}

void find(const char *format, ...) {
    va_list arguments;
    if (world->finding[0]) return;
    va_start(arguments, format);
    vsnprintf(world->finding, sizeof(world->finding), format, arguments);
    va_end(arguments);
    tell("FOUND %s", world->finding);
}

/* ---- Turns ---- */

static void give(uint32_t *turn) {
    __atomic_store_n(turn, 1, __ATOMIC_SEQ_CST);
    raw_call(SYS_futex, (long)turn, FUTEX_WAKE, 1, 0, 0, 0);
}

/* False where it did not come in time. */
static bool take(uint32_t *turn, int64_t limit_nsec) {
    struct timespec limit = {limit_nsec / NSEC_PER_SEC, limit_nsec % NSEC_PER_SEC};
    while (!__atomic_exchange_n(turn, 0, __ATOMIC_SEQ_CST)) {
        long result = raw_call(SYS_futex, (long)turn, FUTEX_WAIT, 0, (long)&limit, 0, 0);
        if (result < 0 && errno == ETIMEDOUT) return false;
    }
    return true;
}

/* Waits until the process is gone, at most so long; true where it is. */
static bool is_gone(const struct task *t, int timeout_msec) {
    long fd = raw_call(SYS_pidfd_open, t->pid, 0, 0, 0, 0, 0);
    if (fd < 0) return true;
    struct pollfd one = {.fd = (int)fd, .events = POLLIN};
    long found;
    do {
        found = raw_call(SYS_poll, (long)&one, 1, timeout_msec, 0, 0, 0);
    } while (found < 0 && errno == EINTR);
    raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return found > 0;
}

struct task *task_new(int node, int parent) {
    for (int i = 0; i < TASKS_MAX; i++) {
        struct task *t = &world->tasks[i];
        if (t->state != TASK_FREE) continue;
        memset(t, 0, sizeof(*t));
        t->node = node;
        t->parent = parent;
        t->shown_pid = world->next_pid++;
        t->draws = draw_from(&world->draws);
        t->state = TASK_READY;
        t->due_nsec = world->now_nsec + draw_scale(NSEC_PER_MSEC);
        return t;
    }
    abort();
}

bool task_run(struct task *t) {
    int64_t waited_nsec = 0;
    t->state = TASK_RUNS;
    world->turns++;
    give(&t->turn);
    while (!take(&world->turn, LOOK_NSEC)) {
        waited_nsec += LOOK_NSEC;
        if (is_gone(t, 0)) {
            t->state = TASK_DEAD;
            return false;
        }
        if (waited_nsec < TURN_SECONDS_MAX * NSEC_PER_SEC) continue;
        find("node %d does not come back: it turns in a circle, or waits for what nobody gives",
             t->node);
        task_kill(t);
        return false;
    }
    if (t->state == TASK_DEAD && !is_gone(t, TURN_SECONDS_MAX * 1000)) abort();
    return t->state != TASK_DEAD;
}

void task_kill(struct task *t) {
    raw_call(SYS_kill, t->pid, SIGKILL, 0, 0, 0, 0);
    if (!is_gone(t, -1)) abort();
    t->state = TASK_DEAD;
}

/* For ever, but not longer than the scheduler lives. */
static void await_turn(void) {
    while (!take(&self->turn, ALONE_NSEC))
        if (raw_call(SYS_kill, world->scheduler, 0, 0, 0, 0, 0) < 0)
            raw_call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
}

void task_begin(struct task *t) {
    self = t;
    await_turn();
}

void task_yield(enum task_state state, int64_t due_nsec) {
    int error = errno;
    self->state = state;
    self->due_nsec = due_nsec;
    give(&world->turn);
    await_turn();
    int signal = self->signal;
    self->signal = 0;
    if (signal) raise(signal);
    errno = error;
}

void task_sleep(int64_t nsec) { task_yield(TASK_READY, world->now_nsec + nsec); }

void task_end(void) {
    task_poke_kin();
    self->state = TASK_DEAD;
    give(&world->turn);
}

void task_poke_kin(void) {
    int own = (int)(self - world->tasks);
    if (self->parent >= 0) world->tasks[self->parent].poked = true;
    for (int i = 0; i < TASKS_MAX; i++)
        if (world->tasks[i].state != TASK_FREE && world->tasks[i].parent == own)
            world->tasks[i].poked = true;
}
