/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of process/stack_trace: lines of this file; and where the stack is what broke, because it
 * has overflown, or its pointer is nowhere. Those are tried in a forked child, which writes the
 * trace into a pipe.
 */
#include "process/stack_trace.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "io/signals.h"

/* A sanitizer has its own view of stacks. */
#ifdef EVENKEEL_SANITIZER
#define SANITIZED true
#else
#define SANITIZED false
#endif

static int trace_fd;

static void write_text(const char *text) {
    if (write(trace_fd, text, strlen(text)) < 0) _exit(99);
}

static void on_crash(int sig, siginfo_t *info, void *ucontext) {
    stack_trace_write(ucontext, write_text);
    write_text("whole");
}

/* What the crash of a child leaves; it ends by SIGSEGV. */
static void crash_in_child(void (*crash)(void), char *trace, size_t size) {
    int ends[2], status;
    size_t length = 0;
    ssize_t got;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        trace_fd = ends[1];
        stack_trace_open("test", NULL);
        signals_set_crash_handler(on_crash);
        crash();
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], trace + length, size - 1 - length)) > 0) length += (size_t)got;
    trace[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static volatile int levels = 1 << 30;

static __attribute__((noinline)) int overflow(int level) {
    volatile char frame[100000];
    frame[0] = (char)level;
    if (level >= levels) return 0;
    return overflow(level + 1) + frame[0];
}

static void overflow_the_stack(void) { (void)overflow(0); }

static char trace[65536];

static void assert_says(const char *text) {
    if (!strstr(trace, text)) fail_msg("'%s' is not in: %s", text, trace);
}

static void test_overflow(void **state) {
    if (SANITIZED) skip();
    crash_in_child(overflow_the_stack, trace, sizeof(trace));
    assert_says("whole");
    assert_null(strstr(trace, "points at nothing"));
    char *place = strstr(trace, "Backtrace:\n");
    int frames = 0;
    for (; place && (place = strchr(place + 1, '\n')) != NULL; frames++) continue;
    assert_true(frames > 50);
}

#if defined(__x86_64__)
static void lose_the_stack(void) {
    __asm__ volatile("movq $4096, %%rsp\n\tpushq %%rax" ::: "memory");
}

static void test_pointer_to_nowhere(void **state) {
    if (SANITIZED) skip();
    crash_in_child(lose_the_stack, trace, sizeof(trace));
    assert_says("The stack pointer points at nothing.\n");
    assert_says("whole");
}
#else
static void test_pointer_to_nowhere(void **state) { skip(); }
#endif

static size_t trace_length;

static void append_text(const char *text) {
    size_t length = strlen(text);
    assert_true(trace_length + length < sizeof(trace));
    memcpy(trace + trace_length, text, length + 1);
    trace_length += length;
}

static __attribute__((noinline)) int call_of_known_line(void) {
    stack_trace_write(NULL, append_text); /* its line is asked for below */
    return __LINE__ - 1;
}

static void test_lines_of_source(void **state) {
    char wanted[80];
    trace_length = 0;
    stack_trace_open("test", NULL);
    int first = call_of_known_line(), second = __LINE__;
    snprintf(wanted, sizeof(wanted), "] at tests/c/process/test_stack_trace.c:%d\n", first);
    assert_says(wanted);
    snprintf(wanted, sizeof(wanted), "] at tests/c/process/test_stack_trace.c:%d\n", second);
    assert_says(wanted);
    assert_says("] at src/process/stack_trace.c:");
    assert_says("(call_of_known_line+0x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_source),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_pointer_to_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
