/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/signals. What ends a process is tried in a forked child, which tells through a pipe
 * what its handler saw; the parent looks at what it died of.
 */
#include "io/signals.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "io/loop.h"

#ifdef EVENKEEL_SANITIZER
#define SANITIZED true
#else
#define SANITIZED false
#endif
#define HANG_GUARD_SECONDS 300 /* no measure: only ends a test that waits for ever */

static struct loop *loop;

static int setup(void **state) {
    loop = loop_create();
    signals_setup(loop);
    signals_shutdown_clear();
    return 0;
}

static int teardown(void **state) {
    signals_set_shutdown_observer(NULL);
    signals_setup(NULL);
    loop_free(loop);
    return 0;
}

/* --- shutdown ----------------------------------------------------------------------------------
 */

static void test_hangup_and_pipe_are_ignored(void **state) {
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(raise(SIGPIPE), 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    close(ends[1]);
    assert_int_equal(signals_shutdown_requested(), 0);
}

/* The signal comes before the wait: the wait must end all the same. */
static void test_shutdown_sets_the_flag_and_wakes(void **state) {
    const int wishes[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(signals_shutdown_requested(), 0);
        errno = EXDEV;
        assert_int_equal(raise(wishes[i]), 0);
        assert_int_equal(errno, EXDEV);
        assert_int_equal(signals_shutdown_requested(), wishes[i]);
        loop_turn(loop, -1);
        assert_int_equal(loop_stats(loop)->wakes, i + 1);
        assert_int_equal(signals_shutdown_requested(), wishes[i]);
        signals_shutdown_clear();
    }
}

static pid_t parent_pid;

static void *signal_the_process(void *argument) {
    kill(parent_pid, SIGTERM);
    return NULL;
}

static void test_shutdown_during_the_wait(void **state) {
    parent_pid = getpid();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, signal_the_process, NULL), 0);
    while (signals_shutdown_requested() == 0) loop_turn(loop, -1);
    assert_int_equal(signals_shutdown_requested(), SIGTERM);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static atomic_int observed_signal, observed_earlier;

static void observe(int sig, int earlier) {
    atomic_store(&observed_signal, sig);
    atomic_store(&observed_earlier, earlier);
}

static void test_the_first_wish_stays_and_all_are_observed(void **state) {
    signals_set_shutdown_observer(observe);
    raise(SIGTERM);
    assert_int_equal(atomic_load(&observed_signal), SIGTERM);
    assert_int_equal(atomic_load(&observed_earlier), 0);
    raise(SIGINT);
    assert_int_equal(atomic_load(&observed_signal), SIGINT);
    assert_int_equal(atomic_load(&observed_earlier), SIGTERM);
    assert_int_equal(signals_shutdown_requested(), SIGTERM);
}

static void test_works_without_a_loop(void **state) {
    signals_setup(NULL);
    raise(SIGINT);
    assert_int_equal(signals_shutdown_requested(), SIGINT);
    assert_int_equal(loop_stats(loop)->wakes, 0);
}

/* --- crashes, in a child ------------------------------------------------------------------------
 */

static int report_fd; /* the child's end of the pipe */

static void report_char(char c) {
    ssize_t written = write(report_fd, &c, 1);
    if (written != 1) _exit(99);
}

/* Runs `scenario` in a child. Returns its wait status; `report` has what it wrote. */
static int run_child(void (*scenario)(void), char *report, size_t report_size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a child that hangs does not outlive the test */
        close(ends[0]);
        report_fd = ends[1];
        scenario();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], report + length, report_size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    report[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_killed_by(int status, int sig) {
    if (!WIFSIGNALED(status) || WTERMSIG(status) != sig) {
        fail_msg("status 0x%x is not an end by signal %d", (unsigned)status, sig);
    }
}

/* The scenarios' handler. Reports whether it runs on an alternate stack, an alarm is set, and the
 * arguments are those of the crash. */
static void *volatile expected_address; /* volatile: stands before the crash */

static void handler(int sig, siginfo_t *info, void *ucontext) {
    report_char('h');
    stack_t stack;
    bool alternate = sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
    report_char(alternate ? 'a' : '-');
    report_char(info->si_signo == sig && ucontext != NULL ? 'i' : '-');
    if (expected_address != NULL) report_char(info->si_addr == expected_address ? 'd' : '-');
    unsigned left = alarm(HANG_GUARD_SECONDS);
    report_char(left > 0 && left <= SIGNALS_REPORT_SECONDS_MAX ? 't' : '-');
}

static void write_to_forbidden_page(void) {
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expected_address = (void *)page;
    *page = 1;
}

static void scenario_segv(void) {
    signals_set_crash_handler(handler);
    write_to_forbidden_page();
}

static void scenario_abort(void) {
    signals_set_crash_handler(handler);
    abort();
}

static void scenario_bus(void) {
    signals_set_crash_handler(handler);
    kill(getpid(), SIGBUS);
}

static void scenario_switched_off(void) {
    signals_set_crash_handler(handler);
    signals_set_crash_handler(NULL);
    write_to_forbidden_page();
}

static volatile int overflow_levels = 1 << 30;

static __attribute__((noinline)) int overflow(int level) {
    volatile char frame[4096];
    frame[0] = (char)level;
    if (level >= overflow_levels) return 0;
    return overflow(level + 1) + frame[0];
}

static void scenario_stack_overflow(void) {
    signals_set_crash_handler(handler);
    overflow(0);
}

static void *overflow_in_thread(void *argument) {
    signals_thread_start();
    overflow(0);
    return NULL;
}

static void scenario_stack_overflow_in_thread(void) {
    signals_set_crash_handler(handler);
    pthread_t thread;
    if (pthread_create(&thread, NULL, overflow_in_thread, NULL) != 0) _exit(98);
    pthread_join(thread, NULL);
}

static void handler_that_crashes(int sig, siginfo_t *info, void *ucontext) {
    report_char('h');
    write_to_forbidden_page();
    report_char('!');
}

static void scenario_crash_in_report(void) {
    signals_set_crash_handler(handler_that_crashes);
    write_to_forbidden_page();
}

static void scenario_other_crash_in_report(void) {
    signals_set_crash_handler(handler_that_crashes);
    raise(SIGABRT);
}

static atomic_bool reporting;

static void *crash_too(void *argument) {
    while (!atomic_load(&reporting)) usleep(100);
    raise(SIGSEGV);
    return NULL;
}

/* Gives the other thread plenty of time to crash too; a handler called twice would write twice. */
static void slow_handler(int sig, siginfo_t *info, void *ucontext) {
    report_char('h');
    atomic_store(&reporting, true);
    usleep(100000);
}

static void scenario_two_threads_crash(void) {
    signals_set_crash_handler(slow_handler);
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash_too, NULL) != 0) _exit(98);
    raise(SIGILL);
}

/* As a panic does: no signal, until it aborts. */
static void scenario_panic(void) {
    signals_set_crash_handler(handler);
    report_char(signals_report_begin() ? 'b' : '-');
    report_char(signals_report_begin() ? '-' : 'o');
    struct itimerval left;
    signals_watchdog(1, NULL); /* must not take the alarm away */
    getitimer(ITIMER_REAL, &left);
    report_char(left.it_value.tv_sec > SIGNALS_REPORT_SECONDS_MAX / 2 ? 't' : '-');
    abort();
}

static void scenario_crash_beside_panic(void) {
    signals_set_crash_handler(slow_handler);
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash_too, NULL) != 0) _exit(98);
    report_char(signals_report_begin() ? 'b' : '-');
    atomic_store(&reporting, true);
    usleep(100000);
    report_char('e');
    abort();
}

static void *panic_too(void *argument) {
    while (!atomic_load(&reporting)) usleep(100);
    report_char(signals_report_begin() ? '!' : '?');
    return NULL;
}

static void scenario_panic_beside_crash(void) {
    signals_set_crash_handler(slow_handler);
    pthread_t thread;
    if (pthread_create(&thread, NULL, panic_too, NULL) != 0) _exit(98);
    raise(SIGILL);
}

static void scenario_raise_default(void) {
    signals_setup(NULL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signals_default_and_raise(SIGTERM);
}

static void scenario_raise_harmless(void) { signals_default_and_raise(SIGCHLD); }

static void hung_handler(int sig, siginfo_t *info, void *ucontext) {
    report_char('h');
    alarm(1);
    for (;;) pause();
}

static void ignore_alarm(int sig) { (void)sig; }

static void scenario_report_hangs(void) {
    signal(SIGALRM, ignore_alarm);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signals_set_crash_handler(hung_handler);
    sigset_t crash;
    sigemptyset(&crash);
    sigaddset(&crash, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &crash, NULL);
    raise(SIGSEGV);
}

static void test_crashes(void **state) {
    const struct {
        const char *name;
        void (*scenario)(void);
        int killed_by;
        const char *report;
        bool plain_build; /* a sanitizer has its own view of stacks and of crashes */
    } cases[] = {
        {"segv", scenario_segv, SIGSEGV, "haidt", false},
        {"abort", scenario_abort, SIGABRT, "hait", false},
        {"bus", scenario_bus, SIGBUS, "hait", false},
        {"switched off", scenario_switched_off, SIGSEGV, "", true},
        {"stack overflow", scenario_stack_overflow, SIGSEGV, "hait", true},
        {"stack overflow in a thread", scenario_stack_overflow_in_thread, SIGSEGV, "hait", true},
        {"crash in the report", scenario_crash_in_report, SIGSEGV, "h", false},
        {"another crash in the report", scenario_other_crash_in_report, SIGSEGV, "h", false},
        {"two threads", scenario_two_threads_crash, SIGILL, "h", false},
        {"a panic", scenario_panic, SIGABRT, "bot", false},
        {"a crash beside a panic", scenario_crash_beside_panic, SIGABRT, "be", false},
        {"a panic beside a crash", scenario_panic_beside_crash, SIGILL, "h", false},
        {"raise by default", scenario_raise_default, SIGTERM, "", false},
        {"the report hangs", scenario_report_hangs, SIGALRM, "h", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cases[i].plain_build && SANITIZED) continue;
        print_message("%s\n", cases[i].name);
        char report[16];
        int status = run_child(cases[i].scenario, report, sizeof(report));
        assert_string_equal(report, cases[i].report);
        assert_killed_by(status, cases[i].killed_by);
    }
}

static void test_raise_never_returns(void **state) {
    char report[16];
    int status = run_child(scenario_raise_harmless, report, sizeof(report));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGCHLD);
}

/* --- threads -----------------------------------------------------------------------------------
 */

static void *look_at_thread(void *argument) {
    sigset_t *blocked = argument;
    stack_t stack;
    signals_thread_start();
    signals_thread_start(); /* twice is harmless */
    pthread_sigmask(SIG_SETMASK, NULL, blocked);
    bool on = sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_DISABLE);
    signals_thread_end();
    bool off = sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE);
    signals_thread_end();
    return on && off ? argument : NULL;
}

/* --- the watchdog --------------------------------------------------------------------------------
 */

static atomic_int watchdog_calls;
static _Atomic(void *) watchdog_context;

static void on_watchdog(void *ucontext) {
    atomic_fetch_add(&watchdog_calls, 1);
    atomic_store(&watchdog_context, ucontext);
}

static void other_watchdog(void *ucontext) { atomic_fetch_add(&watchdog_calls, 1000); }

static void pass_time(void) {
    struct timespec wait = {.tv_nsec = 20000000};
    while (nanosleep(&wait, &wait) != 0) continue;
}

static void wait_for_watchdog(int calls) {
    while (atomic_load(&watchdog_calls) < calls) pass_time();
}

static void test_watchdog_fires_once_unless_it_is_reset(void **state) {
    atomic_store(&watchdog_calls, 0);
    signals_watchdog(1, on_watchdog);
    wait_for_watchdog(1);
    assert_non_null(atomic_load(&watchdog_context));
    pass_time();
    assert_int_equal(atomic_load(&watchdog_calls), 1);

    signals_watchdog(1, other_watchdog);
    wait_for_watchdog(1001);
    assert_int_equal(atomic_load(&watchdog_calls), 1001);

    /* Far enough away to be stopped in time on any machine. */
    signals_watchdog(1000000, on_watchdog);
    signals_watchdog(0, on_watchdog);
    struct itimerval left;
    assert_int_equal(getitimer(ITIMER_REAL, &left), 0);
    assert_int_equal(left.it_value.tv_sec, 0);
    assert_int_equal(left.it_value.tv_usec, 0);
    struct sigaction restore;
    memset(&restore, 0, sizeof(restore));
    restore.sa_handler = SIG_DFL;
    assert_int_equal(sigaction(SIGALRM, &restore, NULL), 0);
    alarm(HANG_GUARD_SECONDS);
}

static void test_what_can_be_read(void **state) {
    static const uint64_t constant = 1;
    sigset_t before, after;
    char *pages = mmap(NULL, 2 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_true(signals_can_read(&constant));
    assert_true(signals_can_read(&before));
    assert_true(signals_can_read(pages + 4096 - sizeof(uint64_t)));
    assert_false(signals_can_read(pages + 4096));
    munmap(pages, 2 * 4096);
    assert_false(signals_can_read(pages));
    assert_false(signals_can_read(NULL));
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_memory_equal(&before, &after, 8); /* all that the system has of them */
}

static atomic_ullong turns_of_other_thread;

static void *turn_for_ever(void *argument) {
    signals_thread_start();
    for (;;) atomic_fetch_add(&turns_of_other_thread, 1);
    return NULL;
}

static void stop_the_others(int sig, siginfo_t *info, void *ucontext) {
    signals_stop_other_threads();
    unsigned long long turns = atomic_load(&turns_of_other_thread);
    struct timespec wait = {.tv_nsec = 20000000};
    nanosleep(&wait, NULL);
    report_char(turns > 0 && turns == atomic_load(&turns_of_other_thread) ? 's' : 'r');
}

static void crash_beside_a_thread(void) {
    pthread_t thread;
    signals_set_crash_handler(stop_the_others);
    if (pthread_create(&thread, NULL, turn_for_ever, NULL) != 0) _exit(98);
    while (atomic_load(&turns_of_other_thread) == 0) continue;
    raise(SIGSEGV);
}

static void test_other_threads_are_stopped(void **state) {
    char report[8];
    int status = run_child(crash_beside_a_thread, report, sizeof(report));
    assert_string_equal(report, "s");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void test_thread_leaves_signals_to_the_main_thread(void **state) {
    sigset_t blocked;
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, look_at_thread, &blocked), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &blocked);
    assert_true(sigismember(&blocked, SIGTERM));
    assert_true(sigismember(&blocked, SIGINT));
    assert_true(sigismember(&blocked, SIGALRM));
    assert_false(sigismember(&blocked, SIGSEGV));
    assert_false(sigismember(&blocked, SIGABRT));
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_hangup_and_pipe_are_ignored),
        TEST(test_shutdown_sets_the_flag_and_wakes),
        TEST(test_the_first_wish_stays_and_all_are_observed),
        TEST(test_works_without_a_loop),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_raise_never_returns),
        TEST(test_shutdown_during_the_wait),
        TEST(test_watchdog_fires_once_unless_it_is_reset),
        cmocka_unit_test(test_what_can_be_read),
        cmocka_unit_test(test_other_threads_are_stopped),
        TEST(test_thread_leaves_signals_to_the_main_thread),
    };
    alarm(HANG_GUARD_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
