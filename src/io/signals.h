/* SPDX-License-Identifier: BSD-3-Clause
 * Signals: SIGTERM and SIGINT set the shutdown flag and wake the loop; a crash calls a handler.
 */
#ifndef EVENKEEL_IO_SIGNALS_H
#define EVENKEEL_IO_SIGNALS_H
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct loop;

/* Ignores SIGHUP and SIGPIPE from now on; lets SIGTERM and SIGINT request a shutdown and wake
 * `loop`, which may be NULL. Call it again with NULL before the loop is freed. */
void signals_setup(struct loop *loop);
/* The first signal that requested a shutdown, or 0. One atomic load: cheap enough for long loops.
 */
int signals_shutdown_requested(void);
/* Withdraws the request, because a server whose shutdown failed to save goes on serving. */
void signals_shutdown_clear(void);
/* Sets a function that the signal handler of SIGTERM and SIGINT calls before it sets the flag;
 * `earlier` is the signal that has already requested a shutdown, or 0. The function may log with
 * log_from_signal, and may _exit (at the second SIGINT; during a load that should not be finished).
 * It may call only what is async-signal-safe. */
void signals_set_shutdown_observer(void (*observer)(int sig, int earlier));

/* Sets the signals of a forked child: SIGINT, SIGTERM and SIGHUP are ignored, because the parent
 * decides what these do. SIGUSR1 logs a line and ends the child with SIGNALS_CHILD_EXIT; the parent
 * takes that code for an end by SIGUSR1. */
#define SIGNALS_CHILD_EXIT 255 /* as 6.2 */
void signals_in_child(void);

/* Makes SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT call `handler`, once in the life of the
 * process. It runs on a stack of its own, which this thread has, and each thread that called
 * signals_thread_start. When the handler returns, the process ends by the signal. A crash inside
 * the handler ends the process at once. Another thread that crashes meanwhile stops there and waits
 * for the end. A report that takes longer than SIGNALS_REPORT_SECONDS_MAX is ended by SIGALRM; the
 * handler may call alarm() to change the limit. NULL sets these signals back to their defaults. */
#define SIGNALS_REPORT_SECONDS_MAX 60
void signals_set_crash_handler(void (*handler)(int sig, siginfo_t *info, void *ucontext));
/* Begins the report of a panic, which no signal started: this thread counts as the one that
 * crashed, other threads that crash meanwhile wait, and the report's time is limited. Returns false
 * if this thread already makes a report. Never returns if another thread makes one.
 * Async-signal-safe. */
MUST_USE bool signals_report_begin(void);
/* Whether a word can be read at `address`. The system is asked, because the pointers and the stack
 * of a broken process may point anywhere. Async-signal-safe. */
bool signals_can_read(const void *address);
/* Ends the process by `sig`, with the signal's default action. Async-signal-safe. */
void signals_default_and_raise(int sig) __attribute__((noreturn));
/* For the crash handler: stops all other threads for good, as if they had crashed, too. A thread
 * that blocks SIGABRT (the allocator's own) goes on. Takes SIGNALS_STOP_MSEC. Async-signal-safe. */
#define SIGNALS_STOP_MSEC 50
void signals_stop_other_threads(void);

/* Calls `handler` once `msec` milliseconds have passed without another call of this function; 0
 * stops the timer. The handler interrupts the main thread wherever it is, and gets the interrupted
 * state (a ucontext_t). System calls that can be interrupted are interrupted. The timer does not
 * outlive an exec. */
void signals_watchdog(int64_t msec, void (*handler)(void *ucontext));

/* Every thread but the main one calls these, first and last. The thread then blocks all signals but
 * those of crashes, so that the main thread gets them, and has a stack for the report of a crash.
 */
void signals_thread_start(void);
void signals_thread_end(void);
#endif
