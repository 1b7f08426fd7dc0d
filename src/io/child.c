/* SPDX-License-Identifier: BSD-3-Clause
 * Forked children.
 *
 *            child_fork                pidfd readable, or a timer's turn
 *   (none) ------------> lives ------------------------------------------> reaped: gone, ended
 *                          | child_kill: SIGUSR1                  ^
 *                          `---------------------------------------'
 *
 * Invariants:
 *  1. `children` holds each child that was forked and not reaped; at most one of them is exclusive,
 *     and `exclusive` points to it.
 *  2. For each before_fork of an observer there is one `gone` in the parent, before `ended`.
 *  3. Children are reaped by a timer or by child_kill_and_wait, never in a nested turn. So no child
 *     is reaped within a command, unless the command waits for it.
 *  4. waitpid is called only for pids in `children`; children of other code are left alone.
 *
 * A child's pidfd becomes readable when the child ends; its watcher only starts the timer. If the
 * kernel has no pidfd, or descriptors have run out, the timer polls ten times a second.
 *
 * All messages in the pipe have the same size, so that each is written whole or not at all. The
 * child never waits for the parent to read: a message that does not fit is dropped, because the
 * next one repeats its contents. If the pipe breaks, the parent is gone, and the child ends,
 * because nobody would use what it writes.
 *
 * Memory that was copied on write is listed in the child's own map, as private dirty pages. The
 * kernel's time to sum them is in proportion to the memory, so the child spends at most one
 * COW_SHARE-th of its time on sums; one more is made at its end.
 */
#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/probes.h"
#include "base/system.h"
#include "io/affinity.h"
#include "io/background.h"
#include "io/lookup.h"
#include "io/loop.h"
#include "io/signals.h"
#include "io/threads.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/row.h"

static struct cause fork_cause = {
    .name = "fork", .place = 70, .field = "fork_usec", .verdict = "a child process was forked"};

#define POLL_MSEC 100
#define REPORT_NSEC INT64_C(1000000000)
#define COW_SHARE 100 /* sums may take a hundredth of the child's time, as in 6.2 */
#define MAP_ROLLUP "/proc/self/smaps_rollup"
#define MAP_WHOLE "/proc/self/smaps" /* for kernels before 4.14 */
#define PRIVATE_DIRTY "Private_Dirty:"

/* A child's report. Each message holds the whole state, so that one may be dropped. */
struct message {
    uint64_t keys_done, cow_bytes;
    int64_t cow_nsec; /* when `cow_bytes` was summed, 0 = never */
    double progress;  /* below 0 = the progress is that of the keys */
};

struct child {
    struct list_link link;
    struct child_job job;
    pid_t pid;
    bool killed;
    int64_t begun_nsec;
    struct loop_watcher process; /* pidfd; -1 */
    struct loop_watcher pipe;    /* -1 */
    struct message last, partial;
    size_t partial_bytes;
};

static struct loop *loop;
static const struct child_observer *const *observers;
static struct list_link children = {&children, &children};
static struct child *exclusive;
static struct loop_timer timer;
static uint64_t forks, latest_fork_usec, cow_peak;

/* ---- Telling observers ---- */

static void tell_before(const struct child_kind *kind) {
    for (size_t i = 0; observers && observers[i]; i++)
        if (observers[i]->before_fork) observers[i]->before_fork(kind);
}

static void tell_in_child(const struct child_job *job) {
    for (size_t i = 0; observers && observers[i]; i++)
        if (observers[i]->in_child) observers[i]->in_child(job);
}

static void tell_gone(const struct child_kind *kind) {
    for (size_t i = 0; observers && observers[i]; i++)
        if (observers[i]->gone) observers[i]->gone(kind);
}

/* ---- In the child ---- */

static struct {
    bool here;
    int pipe;
    const char *label;
    struct message message;
    int64_t reported_nsec;
    int64_t cow_cost_nsec; /* what the last sum took */
} self;

/* Adds up the kilobytes of each line that begins with Private_Dirty. */
static uint64_t sum_private_dirty(const char *text, size_t length) {
    uint64_t bytes = 0;
    const char *end = text + length;
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        if (!line_end) line_end = end;
        size_t word = sizeof(PRIVATE_DIRTY) - 1;
        if ((size_t)(line_end - text) > word && memcmp(text, PRIVATE_DIRTY, word) == 0) {
            uint64_t kilobytes = 0;
            for (const char *at = text + word; at < line_end; at++)
                if (*at >= '0' && *at <= '9') kilobytes = kilobytes * 10 + (uint64_t)(*at - '0');
            bytes += kilobytes * 1024;
        }
        text = line_end + 1;
    }
    return bytes;
}

static uint64_t read_private_dirty(const char *path) {
    char text[4096];
    size_t kept = 0;
    uint64_t bytes = 0;
    int fd = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    for (;;) {
        ssize_t got = system_read(fd, text + kept, sizeof(text) - kept);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        size_t length = kept + (size_t)got;
        const char *last = memrchr(text, '\n', length);
        size_t whole = last ? (size_t)(last - text) + 1 : length; /* no line fills the buffer */
        bytes += sum_private_dirty(text, whole);
        kept = length - whole;
        memmove(text, text + whole, kept);
    }
    system_close(fd);
    return bytes;
}

static void sum_copied(void) {
    int64_t begun = clock_monotonic_nsec();
    uint64_t bytes = read_private_dirty(MAP_ROLLUP);
    if (!bytes) bytes = read_private_dirty(MAP_WHOLE);
    self.message.cow_nsec = clock_monotonic_nsec();
    self.cow_cost_nsec = self.message.cow_nsec - begun;
    self.message.cow_bytes = bytes;
}

static void send_message(void) {
    if (self.pipe < 0) return;
    ssize_t sent;
    do {
        sent = system_write(self.pipe, &self.message, sizeof(self.message));
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0 || errno != EPIPE) return;
    log_warning("Child failed reporting info to parent, exiting. %s", strerror(errno));
    _exit(1);
}

static void log_copied(enum log_level level) {
    if (!self.message.cow_bytes) return;
    log_message(level, "%s: %llu MB of memory used by copy-on-write", self.label,
                (unsigned long long)(self.message.cow_bytes >> 20));
}

static void report_copied(void) {
    int64_t now = clock_monotonic_nsec();
    self.reported_nsec = now;
    if (now - self.message.cow_nsec >= self.cow_cost_nsec * COW_SHARE) {
        sum_copied();
        log_copied(LOG_LEVEL_VERBOSE);
    }
    send_message();
}

void child_note_keys(uint64_t keys_done) {
    if (!self.here) return;
    self.message.keys_done = keys_done;
    if (keys_done % CHILD_REPORT_KEYS) return;
    if (clock_monotonic_nsec() - self.reported_nsec >= REPORT_NSEC) report_copied();
}

void child_note_progress(double progress) {
    if (!self.here) return;
    self.message.progress = progress;
    report_copied();
}

bool child_here(void) { return self.here; }

void child_exit(int code) {
    if (self.here && code == 0) {
        sum_copied();
        log_copied(LOG_LEVEL_NOTICE);
        send_message();
    }
    _exit(code);
}

/* Closes the descriptors of the parent's other children. A child that held another child's end of
 * the pipe would keep that child from noticing that the parent is gone. */
static void close_others(void) {
    LIST_FOR_EACH (at, following, &children) {
        const struct child *c = LIST_ENTRY(at, struct child, link);
        if (c->pipe.fd >= 0) system_close(c->pipe.fd);
        if (c->process.fd >= 0) system_close(c->process.fd);
    }
    list_init(&children);
    exclusive = NULL;
}

/* Releases descriptors and memory of this module only; what the parent's loop watches stays
 * untouched, because the epoll instance is shared. */
static void begin_child(const struct child_job *job, const int pipe_ends[2]) {
    signals_in_child();
    log_after_fork(true);
    background_in_child();
    lookup_in_child();
    threads_in_child();
    close_others();
    self.here = true;
    self.pipe = pipe_ends[1];
    self.label = job->label;
    self.message = (struct message){.progress = -1};
    self.reported_nsec = clock_monotonic_nsec();
    if (pipe_ends[0] >= 0) system_close(pipe_ends[0]);
    if (job->kind->role) affinity_apply(job->kind->role);
    tell_in_child(job);
}

/* ---- In the parent: what the child says ---- */

static void close_watched(struct loop_watcher *w) {
    if (w->fd < 0) return;
    if (loop) loop_unwatch(loop, w);
    system_close(w->fd);
    w->fd = -1;
}

/* Reads all messages that are in the pipe; returns false at its end. */
static bool read_messages(struct child *c) {
    for (;;) {
        ssize_t got = system_read(c->pipe.fd, (char *)&c->partial + c->partial_bytes,
                                  sizeof(c->partial) - c->partial_bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 && errno == EAGAIN;
        c->partial_bytes += (size_t)got;
        if (c->partial_bytes < sizeof(c->partial)) continue;
        c->partial_bytes = 0;
        c->last = c->partial;
        if (c->last.cow_bytes > cow_peak) cow_peak = c->last.cow_bytes;
    }
}

static void pipe_ready(struct loop_watcher *watcher, unsigned ready) {
    struct child *c = LIST_ENTRY(watcher, struct child, pipe);
    if (!read_messages(c)) close_watched(watcher);
}

static void process_ready(struct loop_watcher *watcher, unsigned ready) {
    loop_unwatch(loop, watcher);
    loop_timer_start(loop, &timer, 0);
}

/* ---- In the parent: the end ---- */

static void end_child(struct child *c, int status, bool known) {
    struct child_end end = {.kind = c->job.kind, .pid = c->pid, .exit_code = -1};
    if (known && WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
    if (known && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    end.on_purpose = end.signal == SIGUSR1 ||
                     (!end.signal && end.exit_code == SIGNALS_CHILD_EXIT) ||
                     (c->killed && end.signal == SIGKILL);
    end.good = known && !end.signal && end.exit_code == 0;
    if (c->pipe.fd >= 0) read_messages(c); /* the last message; the pipe's end tells nothing new */
    end.cow_bytes = c->last.cow_bytes;
    end.lifetime_usec = (clock_monotonic_nsec() - c->begun_nsec) / 1000;
    close_watched(&c->pipe);
    close_watched(&c->process);
    struct child_job job = c->job;
    list_remove(&c->link);
    if (exclusive == c) exclusive = NULL;
    memory_free(c, MEMORY_OTHER);
    tell_gone(job.kind);
    if (job.ended) job.ended(&end, job.argument);
}

/* Returns false while the child lives. A child that the system no longer knows counts as ended, its
 * exit code unknown. */
static bool try_end(struct child *c, int options) {
    int status = 0;
    pid_t got;
    do {
        got = waitpid(c->pid, &status, options);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    if (got < 0) log_warning("The end of child %d was lost: %s", (int)c->pid, strerror(errno));
    end_child(c, status, got > 0);
    return true;
}

/* Starts again from the list's head after each end, because `ended` may start a child, which is
 * appended to the list, and may end others. Each pass ends one child, so the loop ends. */
static void child_reap(void) {
    bool ended;
    do {
        ended = false;
        LIST_FOR_EACH (at, following, &children) {
            ended = try_end(LIST_ENTRY(at, struct child, link), WNOHANG);
            if (ended) break;
        }
    } while (ended);
}

static bool any_needs_timer(void) {
    LIST_FOR_EACH (at, following, &children) {
        const struct child *c = LIST_ENTRY(at, struct child, link);
        if (!c->process.interest) return true;
    }
    return false;
}

static int64_t timer_due(struct loop_timer *unused) {
    child_reap();
    return any_needs_timer() ? POLL_MSEC : LOOP_TIMER_END;
}

/* ---- In the parent: beginning and killing ---- */

static void watch_child(struct child *c) {
    if (!loop) return;
    c->process.fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->process.fd >= 0 && !loop_watch(loop, &c->process, LOOP_READABLE)) {
        system_close(c->process.fd);
        c->process.fd = -1;
    }
    if (c->process.fd < 0) loop_timer_start(loop, &timer, POLL_MSEC);
    if (c->pipe.fd >= 0 && !loop_watch(loop, &c->pipe, LOOP_READABLE))
        log_warning("What child %d reports cannot be heard: %s", (int)c->pid, strerror(errno));
}

static void begin_parent(const struct child_job *job, pid_t pid, int pipe_end, int64_t begun) {
    struct child *c = memory_alloc(sizeof(*c), MEMORY_OTHER);
    *c = (struct child){.job = *job, .pid = pid, .begun_nsec = begun, .last.progress = -1};
    c->process.fd = -1;
    c->process.callback = process_ready;
    c->pipe.fd = pipe_end;
    c->pipe.callback = pipe_ready;
    list_append(&children, &c->link);
    if (!job->kind->beside) {
        exclusive = c;
        cow_peak = 0;
    }
    watch_child(c);
}

static pid_t timed_fork(int64_t *begun) {
    *begun = clock_monotonic_nsec();
    const struct cause *previous = cause_enter(&fork_cause, *begun);
    log_before_fork();
    threads_rest(); /* so that no I/O thread holds a lock that the child may want */
    pid_t pid = system_fork();
    int error = errno;
    if (pid == 0) return 0;
    log_after_fork(false);
    int64_t now = clock_monotonic_nsec();
    cause_leave(previous, now);
    if (pid > 0) {
        forks++;
        latest_fork_usec = (uint64_t)(now - *begun) / 1000;
        if (latency_is_on()) latency_note("fork", (now - *begun) / 1000000);
        PROBE2(fork__done, pid, now - *begun);
    }
    errno = error;
    return pid;
}

pid_t child_fork(const struct child_job *job) {
    int ends[2] = {-1, -1};
    int64_t begun;
    ASSERT(!self.here);
    if (!job->kind->beside && exclusive) {
        errno = EBUSY;
        return -1;
    }
    if (!job->kind->beside && pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -1;
    tell_before(job->kind);
    pid_t pid = timed_fork(&begun);
    if (pid == 0) {
        begin_child(job, ends);
        return 0;
    }
    int error = errno;
    if (ends[1] >= 0) system_close(ends[1]);
    if (pid > 0) {
        begin_parent(job, pid, ends[0], begun);
        return pid;
    }
    if (ends[0] >= 0) system_close(ends[0]);
    tell_gone(job->kind);
    errno = error;
    return -1;
}

pid_t child_start(const struct child_job *job, int (*run)(void *argument), void *run_argument) {
    pid_t pid = child_fork(job);
    if (pid == 0) child_exit(run(run_argument));
    return pid;
}

/* Signals that are ignored or blocked would stay so in the program. */
static void default_signals(void) {
    sigset_t none;
    for (int sig = 1; sig < NSIG; sig++) signal(sig, SIG_DFL); /* but SIGKILL and SIGSTOP */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Every descriptor is opened to be closed by an exec; this one closes those, too, that this process
 * has inherited itself. */
static void close_inherited(void) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0) return;
#endif
    for (long fd = sysconf(_SC_OPEN_MAX) - 1; fd > STDERR_FILENO; fd--) close((int)fd);
}

pid_t child_execute(const struct child_kind *kind, char *const *argv,
                    void (*ended)(const struct child_end *end, void *argument), void *argument) {
    struct child_job job = {.kind = kind, .ended = ended, .argument = argument};
    job.title = job.label = argv[0];
    ASSERT(kind->beside);
    pid_t pid = child_fork(&job);
    if (pid != 0) return pid;
    default_signals();
    close_inherited();
    execv(argv[0], argv);
    _exit(CHILD_EXIT_NO_PROGRAM);
}

void child_kill_pid(pid_t pid) {
    LIST_FOR_EACH (at, following, &children) {
        struct child *c = LIST_ENTRY(at, struct child, link);
        if (c->pid == pid) kill(pid, SIGKILL);
    }
}

bool child_lives(void) { return exclusive != NULL; }
pid_t child_pid(void) { return exclusive ? exclusive->pid : 0; }
const struct child_kind *child_kind(void) { return exclusive ? exclusive->job.kind : NULL; }

/* Returns the oldest child of the kind, or NULL. */
static struct child *find_child(const struct child_kind *kind) {
    LIST_FOR_EACH (at, following, &children) {
        struct child *c = LIST_ENTRY(at, struct child, link);
        if (c->job.kind == kind) return c;
    }
    return NULL;
}

static unsigned count_children(const struct child_kind *kind) {
    unsigned found = 0;
    LIST_FOR_EACH (at, following, &children) {
        found += LIST_ENTRY(at, struct child, link)->job.kind == kind;
    }
    return found;
}

static void kill_one(struct child *c, int sig) {
    c->killed = true;
    kill(c->pid, sig);
}

void child_kill(const struct child_kind *kind) {
    LIST_FOR_EACH (at, following, &children) {
        struct child *c = LIST_ENTRY(at, struct child, link);
        if (c->job.kind == kind) kill_one(c, SIGUSR1);
    }
}

static void kill_and_wait(struct child *c) {
    const struct timespec nap = {.tv_nsec = 1000000};
    int64_t until = clock_monotonic_nsec() + CHILD_PATIENCE_MSEC * INT64_C(1000000);
    kill_one(c, SIGUSR1);
    while (clock_monotonic_nsec() < until) {
        if (try_end(c, WNOHANG)) return;
        nanosleep(&nap, NULL);
    }
    kill_one(c, SIGKILL);
    bool ended = try_end(c, 0);
    ASSERT(ended);
}

void child_kill_and_wait(const struct child_kind *kind) {
    /* The children are counted before the first is ended, so that a child that `ended` starts lives
     * on. */
    for (unsigned left = count_children(kind); left; left--) {
        struct child *c = find_child(kind);
        if (!c) return;
        kill_and_wait(c);
    }
}

/* ---- INFO ---- */

static void print_cow(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%llu", exclusive ? (unsigned long long)exclusive->last.cow_bytes : 0);
}

static void print_cow_peak(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%llu", exclusive ? (unsigned long long)cow_peak : 0);
}

static void print_cow_age(const struct metric_row *row, struct buffer *out) {
    int64_t at = exclusive ? exclusive->last.cow_nsec : 0;
    buffer_printf(out, "%lld",
                  at ? (long long)((clock_monotonic_nsec() - at) / INT64_C(1000000000)) : 0);
}

double child_progress(uint64_t *keys_done, uint64_t *keys_total) {
    *keys_done = exclusive ? exclusive->last.keys_done : 0;
    *keys_total = exclusive ? exclusive->job.keys_total : 0;
    if (exclusive && exclusive->last.progress >= 0) return exclusive->last.progress;
    return *keys_total ? (double)*keys_done / (double)*keys_total : 0;
}

#define COUNTER(at, n, m, counter, text)                                                       \
    {                                                                                          \
        .section = "Stats", .place = (at), .name = (n), .measure = (m), .type = METRIC_UINT64, \
        .variable = &(counter), .reset = true, .help = (text)                                  \
    }

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Persistence", 20, "current_cow_size", METRIC_BYTES, print_cow,
                 "Bytes copied on write since the child that lives was forked, as it said last."),
    METRIC_PRINT("Persistence", 25, "current_cow_peak", METRIC_BYTES, print_cow_peak,
                 "The largest current_cow_size of the child that lives."),
    METRIC_PRINT("Persistence", 30, "current_cow_size_age", METRIC_SECONDS, print_cow_age,
                 "Seconds since that was measured."),
    COUNTER(210, "latest_fork_usec", METRIC_USEC, latest_fork_usec,
            "How long the last fork held up the server, in microseconds."),
    COUNTER(220, "total_forks", METRIC_COUNTER, forks,
            "Forks since the start or CONFIG RESETSTAT."),
};

void child_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    cause_register(&fork_cause);
}

void child_open(struct loop *new_loop, const struct child_observer *const *new_observers) {
    if (!new_loop && loop) loop_timer_stop(loop, &timer);
    loop = new_loop;
    observers = new_observers;
    timer.callback = timer_due;
    if (loop) signal(SIGCHLD, SIG_DFL);
}
