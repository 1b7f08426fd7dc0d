/* SPDX-License-Identifier: BSD-3-Clause
 * The crash report.
 *
 * The report is made inside the broken process. Its parts are therefore ordered by what they need,
 * the least first: the fault, the stack, the registers, the running command and its client, the
 * last lines of the log, the list of clients, INFO, and the memory test. A second fault during the
 * report ends the process at once (io/signals, base/panic). Each line is written as soon as it is
 * known, so that the log keeps the lines before a second fault. No part before INFO takes a lock or
 * allocates. Memory at the address in a register or an argument is read only if the system says
 * that it is readable, because an overflown stack points outside of all mappings, and a command may
 * have freed its arguments.
 *
 * The memory test comes last, because it stops the other threads for good. The allocator's own
 * thread cannot be stopped in that way; it is ended before the test, because it would find its
 * memory changed.
 *
 * After the report a signal is raised again with its default action, and a panic aborts. With
 * use-exit-on-panic a panic exits instead, without a core file.
 */
#include "process/crash.h"

#include <stdatomic.h>
#include <ucontext.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/string.h"
#include "base/version.h"
#include "io/signals.h"
#include "metric/metric.h"
#include "option/option.h"
#include "process/memory_test.h"
#include "process/report_line.h"
#include "process/stack_trace.h"

/* The time limit of the whole report (io/signals) is several times as long. */
#define MEMORY_TEST_SECONDS 10
#define RECENT_LINES 32
#define RECENT_LINE_BYTES 200
#define STACK_WORDS_SHOWN 16

static bool log_enabled, exit_on_panic, test_memory;
static const struct crash_parts *parts;
static atomic_uint recent_next;
static char recent[RECENT_LINES][RECENT_LINE_BYTES];
static atomic_bool reporting;

static const struct option_row option_rows[] = {
    OPTION_BOOL("crash-log-enabled", &log_enabled, true, OPTION_MUTABLE, "process", 110,
                "Write a report into the log when the server crashes."),
    OPTION_BOOL("use-exit-on-panic", &exit_on_panic, false, OPTION_MUTABLE, "process", 120,
                "Exit after a failed assertion or a panic instead of aborting with a core file."),
    OPTION_BOOL("crash-memcheck-enabled", &test_memory, true, OPTION_MUTABLE, "process", 115,
                "Test the process' memory at the end of a crash report, for up to ten seconds."),
};

void crash_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- the last lines of the log ---- */

/* The log calls this for each line, from any thread. Two threads that are a whole round of `recent`
 * apart may write to one place at the same time; the only effect is a torn line in the report. */
void crash_note_line(const char *line, size_t length) {
    if (atomic_load_explicit(&reporting, memory_order_relaxed)) return;
    unsigned at = atomic_fetch_add_explicit(&recent_next, 1, memory_order_relaxed) % RECENT_LINES;
    if (length > RECENT_LINE_BYTES - 1) length = RECENT_LINE_BYTES - 1;
    memcpy(recent[at], line, length);
    recent[at][length] = 0;
}

static void report_recent(void) {
    log_raw(LOG_LEVEL_WARNING, "\n------ LAST LOG LINES ------\n");
    unsigned next = atomic_load(&recent_next);
    unsigned count = next < RECENT_LINES ? next : RECENT_LINES;
    for (unsigned i = next - count; i != next; i++) {
        log_raw(LOG_LEVEL_WARNING, recent[i % RECENT_LINES]);
        log_raw(LOG_LEVEL_WARNING, "\n");
    }
}

/* ---- lines without the log's prefix ---- */

static void write_raw(const char *text) { log_raw(LOG_LEVEL_WARNING, text); }

void crash_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report_line_write(write_raw, format, arguments);
    va_end(arguments);
}

/* ---- registers ---- */

#if defined(__x86_64__)
static void report_register_values(const ucontext_t *context) {
    static const char *const names[] = {"R8",  "R9",  "R10", "R11", "R12", "R13",
                                        "R14", "R15", "RDI", "RSI", "RBP", "RBX",
                                        "RDX", "RAX", "RCX", "RSP", "RIP", "EFL"};
    const greg_t *r = context->uc_mcontext.gregs;
    for (int i = 0; i < 18; i += 3)
        crash_line("%s:%016llx %s:%016llx %s:%016llx", names[i], (unsigned long long)r[i],
                   names[i + 1], (unsigned long long)r[i + 1], names[i + 2],
                   (unsigned long long)r[i + 2]);
}
#elif defined(__aarch64__)
static void report_register_values(const ucontext_t *context) {
    for (int i = 0; i < 31; i++)
        crash_line("X%d:%016llx", i, (unsigned long long)context->uc_mcontext.regs[i]);
    crash_line("SP:%016llx PC:%016llx PSTATE:%016llx", (unsigned long long)context->uc_mcontext.sp,
               (unsigned long long)context->uc_mcontext.pc,
               (unsigned long long)context->uc_mcontext.pstate);
}
#else
static void report_register_values(const ucontext_t *context) {}
#endif

/* Reads the words of the stack without regard to the variables in it, which the address sanitizer
 * would report. */
__attribute__((no_sanitize("address"))) static void report_registers(const ucontext_t *context) {
    log_raw(LOG_LEVEL_WARNING, "\n------ REGISTERS ------\n");
    report_register_values(context);
    uintptr_t stack = stack_trace_pointer(context);
    if (!stack || stack % sizeof(void *) || !signals_can_read((const void *)stack)) return;
    /* The next page may not be mapped. */
    const uintptr_t *words = (const uintptr_t *)stack;
    for (int i = 0; i < STACK_WORDS_SHOWN; i++) {
        uintptr_t at = stack + (size_t)i * sizeof(*words);
        if (at / 4096 != stack / 4096) return;
        crash_line("(%016llx) -> %016llx", (unsigned long long)at, (unsigned long long)words[i]);
    }
}

/* ---- the report ---- */

static void report_info(void) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    log_raw(LOG_LEVEL_WARNING, "\n------ INFO OUTPUT ------\n");
    metric_print(SLICE("all"), &text);
    if (text.length) log_raw(LOG_LEVEL_WARNING, text.bytes);
    buffer_free(&text);
}

static void report_memory(void) {
    if (!test_memory) return;
#ifndef EVENKEEL_SANITIZER
    log_raw(LOG_LEVEL_WARNING, "\n------ FAST MEMORY TEST ------\n");
    bool is_ended = memory_set_background_purge(false);
    signals_stop_other_threads();
    struct memory_test_own own = memory_test_own(MEMORY_TEST_SECONDS);
    crash_line("%zu KiB tested%s.", own.pages_tested * 4,
               own.complete ? "" : ", not all of it: that would take too long");
    if (own.result.faults && !is_ended)
        crash_line(
            "%zu words read back wrong; but the allocator's thread ran meanwhile, and may have "
            "written to them.",
            own.result.faults);
    else if (own.result.faults)
        crash_line(
            "The memory is FAULTY: %zu words read back wrong, the first in the page at %p. Test "
            "the machine before anything else: redis-server --test-memory, or memtest86+.",
            own.result.faults, own.result.first_fault);
    else
        crash_line(
            "No fault was found. That speaks against broken memory, and proves nothing: "
            "redis-server --test-memory tests longer.");
#endif
}

static void report_begin(void) {
    atomic_store(&reporting, true);
    log_raw(LOG_LEVEL_WARNING,
            "\n\n=== REDIS BUG REPORT START: Cut & paste starting from here ===\n");
}

static void report_rest(const ucontext_t *context) {
    stack_trace_write(context, write_raw);
    if (context) report_registers(context);
    parts->running();
    report_recent();
    parts->clients();
    report_info();
    report_memory();
    log_raw(LOG_LEVEL_WARNING,
            "\n=== REDIS BUG REPORT END. Make sure to include from START to END. ===\n\n"
            "       Evenkeel " EVENKEEL_VERSION
            ": please report the crash with all of the above.\n\n");
}

/* A panic during a report adds no report of its own; base/panic has logged its line. */
void crash_on_panic(const char *title, const char *detail, const char *file, int number) {
    if (signals_report_begin() && log_enabled) {
        report_begin();
        log_warning("=== %s ===", title);
        log_warning("==> %s:%d '%s'", file, number, detail);
        report_rest(NULL);
    }
    if (exit_on_panic) _exit(1);
}

void crash_on_signal(int sig, siginfo_t *info, void *ucontext) {
    if (!log_enabled) return;
    report_begin();
    log_warning("Redis %s crashed by signal: %d, si_code: %d", REDIS_VERSION, sig, info->si_code);
    if (sig == SIGSEGV || sig == SIGBUS) log_warning("Accessing address: %p", info->si_addr);
    if (info->si_code <= 0)
        log_warning("Killed by PID: %ld, UID: %d", (long)info->si_pid, (int)info->si_uid);
    report_rest(ucontext);
}

void crash_on_out_of_memory(size_t size) {
    log_warning("Out Of Memory allocating %zu bytes!", size);
    PANIC("Redis aborting for OUT OF MEMORY. Allocating %zu bytes!", size);
}

void crash_open(const struct crash_parts *shown) { parts = shown; }
