/* SPDX-License-Identifier: BSD-3-Clause
 * Signals: a wish to shut down becomes a flag and wakes the loop; a crash becomes a call.
 */
#ifndef EVENKEEL_IO_SIGNALS_H
#define EVENKEEL_IO_SIGNALS_H
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct loop;

/* SIGHUP and SIGPIPE are ignored from now on; SIGTERM and SIGINT ask for shutdown and wake `loop`
 * (may be NULL). Call again with NULL before the loop is freed. */
void signals_setup(struct loop *loop);
/* The first signal that asked for shutdown, or 0. One atomic load: cheap enough for long loops. */
int signals_shutdown_requested(void);
/* Forgets the wish (a shutdown that failed to save goes on serving). */
void signals_shutdown_clear(void);
/* Called inside the signal handler of SIGTERM and SIGINT, before the flag is set; `earlier` is the
 * signal that asked already, or 0. May log with log_from_signal and may _exit (the second SIGINT;
 * a load that should not be finished); may call nothing that is not async-signal-safe. */
void signals_set_shutdown_observer(void (*observer)(int sig, int earlier));

/* In a forked child: SIGINT, SIGTERM and SIGHUP are its parent's affair and ignored, and SIGUSR1
 * ends it with a line in the log and SIGNALS_CHILD_EXIT, which its parent takes for the same. */
#define SIGNALS_CHILD_EXIT 255 /* as 6.2 */
void signals_in_child(void);

/* From now on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT call `handler`, once in the life of the
 * process, on a stack of its own (this thread's, and that of threads that called
 * signals_thread_start). When it returns the process ends by the same signal. A crash inside of it
 * ends the process at once; another thread that crashes meanwhile stops there and waits for the
 * end. A report that takes longer than SIGNALS_REPORT_SECONDS_MAX is ended by SIGALRM (the
 * handler may call alarm() to change that). NULL gives these signals back to the system. */
#define SIGNALS_REPORT_SECONDS_MAX 60
void signals_set_crash_handler(void (*handler)(int sig, siginfo_t *info, void *ucontext));
/* For a panic, which reports without a signal: as if this thread had crashed. Others that crash
 * meanwhile wait, and the time is limited. False: this thread reports already. Where another one
 * does it never returns. Async-signal-safe. */
MUST_USE bool signals_report_begin(void);
/* Whether a word can be read there, by asking the system: a broken process' pointers and stack may
 * be anywhere. Async-signal-safe. */
bool signals_can_read(const void *address);
/* Ends the process by `sig` as if nothing had ever been installed for it. Async-signal-safe. */
void signals_default_and_raise(int sig) __attribute__((noreturn));
/* For the crash handler: stops all other threads for good where they are, as if they had crashed
 * too; one that blocks SIGABRT (the allocator's own) goes on. Async-signal-safe. Takes
 * SIGNALS_STOP_MSEC. */
#define SIGNALS_STOP_MSEC 50
void signals_stop_other_threads(void);

/* `handler` is called in the main thread, in the middle of what it does, with the state that was
 * interrupted (a ucontext_t), once `msec` milliseconds have passed without another call of this
 * function. 0: never. Calls that can be interrupted are. The time does not outlive an exec. */
void signals_watchdog(int64_t msec, void (*handler)(void *ucontext));

/* For every thread but the main one, first and last in it: signals other than crashes are left to
 * the main thread, and a crash here has a stack for its report. */
void signals_thread_start(void);
void signals_thread_end(void);
#endif
