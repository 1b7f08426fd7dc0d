/* SPDX-License-Identifier: BSD-3-Clause
 * Signal handlers. Each does as little as possible.
 *
 * Shutdown: the handler stores the signal's number and writes to the loop's eventfd, so that a
 * signal between the last look at the flag and the wait still ends the wait.
 *
 * Crash: the handler runs on an alternate stack, because an overflown stack cannot carry it; below
 * that stack lies a page without access, so that the report cannot silently overwrite memory.
 *  1. The first thread to crash, or to panic, makes the report, and only one report is ever made.
 *  2. A crash of that thread during the report goes straight to the default action.
 *  3. Other threads that crash meanwhile wait until the first one ends the process.
 *  4. A report that hangs (the crash may have happened inside the allocator, its lock held) is
 *     ended by an alarm: a dead server is restarted, a hung one is not.
 *
 * Watchdog: the main thread sets a timer again and again; if it does not do so in time, the timer's
 * signal interrupts it. Other threads block that signal. The report of a crash uses the same timer
 * for its alarm. If another thread crashes, the main thread may go on running, so it does not set
 * the timer any more.
 *
 * All state that a handler reads is a lock-free atomic. What goes into a report is not here: that
 * is process/crash and process/watchdog.
 */
#include "io/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/loop.h"

#define ALTERNATE_STACK_BYTES ((size_t)128 * 1024) /* untouched pages cost nothing */

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define CRASH_SIGNALS (sizeof(crash_signals) / sizeof(crash_signals[0]))

typedef void shutdown_observer(int sig, int earlier);
typedef void crash_handler(int sig, siginfo_t *info, void *ucontext);
typedef void watchdog_handler(void *ucontext);

static _Atomic(struct loop *) wake_loop;
static atomic_int shutdown_signal;
static _Atomic(shutdown_observer *) shutdown_observed;
static _Atomic(crash_handler *) crash_reported;
static _Atomic(watchdog_handler *) watchdog_expired;
static atomic_int crash_thread;             /* the thread that makes the report, 0 = none */
static _Thread_local void *alternate_stack; /* its mapping, guard page first */

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_POINTER_LOCK_FREE == 2,
               "a signal handler must not wait for a lock");

static void on_shutdown(int sig) {
    int saved_errno = errno;
    shutdown_observer *observer = atomic_load(&shutdown_observed);
    if (observer != NULL) observer(sig, atomic_load(&shutdown_signal));
    int none = 0;
    atomic_compare_exchange_strong(&shutdown_signal, &none, sig);
    struct loop *loop = atomic_load(&wake_loop);
    if (loop != NULL) loop_wake(loop);
    errno = saved_errno;
}

void signals_setup(struct loop *loop) {
    atomic_store(&wake_loop, loop);
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    ASSERT(sigaction(SIGHUP, &action, NULL) == 0);
    ASSERT(sigaction(SIGPIPE, &action, NULL) == 0);
    /* The loop is woken by its eventfd, so nothing else need be interrupted. */
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_shutdown;
    ASSERT(sigaction(SIGTERM, &action, NULL) == 0);
    ASSERT(sigaction(SIGINT, &action, NULL) == 0);
}

int signals_shutdown_requested(void) { return atomic_load(&shutdown_signal); }

void signals_shutdown_clear(void) { atomic_store(&shutdown_signal, 0); }

void signals_set_shutdown_observer(void (*observer)(int sig, int earlier)) {
    atomic_store(&shutdown_observed, observer);
}

static void on_end_of_child(int sig) {
    log_from_signal("Received SIGUSR1 in child, exiting now.");
    _exit(SIGNALS_CHILD_EXIT);
}

void signals_in_child(void) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    ASSERT(sigaction(SIGTERM, &action, NULL) == 0);
    ASSERT(sigaction(SIGINT, &action, NULL) == 0);
    ASSERT(sigaction(SIGHUP, &action, NULL) == 0);
    atomic_store(&wake_loop, NULL);
    action.sa_handler = on_end_of_child;
    ASSERT(sigaction(SIGUSR1, &action, NULL) == 0);
}

/* Sets the signal to its default action and unblocks it in this thread. */
static void set_default(int sig) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_DFL;
    sigaction(sig, &action, NULL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, sig);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

void signals_default_and_raise(int sig) {
    set_default(sig);
    raise(sig);
    _exit(128 + sig); /* reached if the signal's default is to be ignored */
}

bool signals_report_begin(void) {
    int self = gettid();
    int reporter = 0;
    if (!atomic_compare_exchange_strong(&crash_thread, &reporter, self)) {
        while (reporter != self) pause();
        return false;
    }
    set_default(SIGALRM);
    alarm(SIGNALS_REPORT_SECONDS_MAX);
    return true;
}

static void on_crash(int sig, siginfo_t *info, void *ucontext) {
    crash_handler *handler = atomic_load(&crash_reported);
    if (signals_report_begin() && handler != NULL) handler(sig, info, ucontext);
    signals_default_and_raise(sig);
}

/* Asks by a system call that cannot succeed: the system reads the set at `address` before it
 * refuses the other arguments. */
bool signals_can_read(const void *address) {
    enum { NOTHING_TO_DO = -1, SET_BYTES = 8 };
    return address && (syscall(SYS_rt_sigprocmask, NOTHING_TO_DO, address, NULL, SET_BYTES) == 0 ||
                       errno != EFAULT);
}

static void alternate_stack_create(void) {
    if (alternate_stack != NULL) return;
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    void *mapping = mmap(NULL, guard + ALTERNATE_STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) return; /* the report is then made on the ordinary stack */
    mprotect(mapping, guard, PROT_NONE);
    stack_t stack = {.ss_sp = (char *)mapping + guard, .ss_size = ALTERNATE_STACK_BYTES};
    ASSERT(sigaltstack(&stack, NULL) == 0);
    alternate_stack = mapping;
}

void signals_set_crash_handler(void (*handler)(int sig, siginfo_t *info, void *ucontext)) {
    atomic_store(&crash_reported, handler);
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    if (handler == NULL) {
        action.sa_handler = SIG_DFL;
    } else {
        alternate_stack_create();
        /* NODEFER: a second crash inside must reach the handler again, not be held back. */
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        action.sa_sigaction = on_crash;
    }
    for (size_t i = 0; i < CRASH_SIGNALS; i++) {
        ASSERT(sigaction(crash_signals[i], &action, NULL) == 0);
    }
}

/* ---- other threads ---- */

/* The layout of one record of getdents64. */
struct task_record {
    uint64_t inode, offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* The number that the text spells; 0 if it is none ("." and ".."). */
static int thread_of_name(const char *name) {
    int thread = 0;
    for (; *name >= '0' && *name <= '9'; name++) thread = thread * 10 + *name - '0';
    return *name ? 0 : thread;
}

void signals_stop_other_threads(void) {
    char records[4096] __attribute__((aligned(8)));
    int self = gettid(), none = 0;
    /* In a panic no signal has made this thread the reporter. */
    atomic_compare_exchange_strong(&crash_thread, &none, self);
    int tasks = system_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (tasks < 0) return;
    long bytes;
    while ((bytes = syscall(SYS_getdents64, tasks, records, sizeof(records))) > 0) {
        for (long at = 0; at < bytes;) {
            const struct task_record *record = (const void *)(records + at);
            int thread = thread_of_name(record->name);
            if (thread && thread != self) syscall(SYS_tgkill, getpid(), thread, SIGABRT);
            at += record->length;
        }
    }
    system_close(tasks);
    struct timespec wait = {.tv_nsec = SIGNALS_STOP_MSEC * 1000000L};
    nanosleep(&wait, NULL);
}

/* ---- the watchdog ---- */

static void on_watchdog(int sig, siginfo_t *info, void *ucontext) {
    int saved_errno = errno;
    watchdog_handler *handler = atomic_load(&watchdog_expired);
    if (handler != NULL) handler(ucontext);
    errno = saved_errno;
}

void signals_watchdog(int64_t msec, void (*handler)(void *ucontext)) {
    if (atomic_load_explicit(&crash_thread, memory_order_relaxed)) return;
    if (atomic_exchange(&watchdog_expired, handler) != handler) {
        struct sigaction action;
        memset(&action, 0, sizeof(action));
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        action.sa_sigaction = on_watchdog;
        ASSERT(sigaction(SIGALRM, &action, NULL) == 0);
    }
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)(msec / 1000),
                                           .tv_usec = (suseconds_t)(msec % 1000 * 1000)}};
    ASSERT(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* ---- threads ---- */

void signals_thread_start(void) {
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < CRASH_SIGNALS; i++) sigdelset(&blocked, crash_signals[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    alternate_stack_create();
}

void signals_thread_end(void) {
    if (alternate_stack == NULL) return;
    stack_t none = {.ss_flags = SS_DISABLE};
    ASSERT(sigaltstack(&none, NULL) == 0);
    munmap(alternate_stack, (size_t)sysconf(_SC_PAGESIZE) + ALTERNATE_STACK_BYTES);
    alternate_stack = NULL;
}
