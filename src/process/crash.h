/* SPDX-License-Identifier: BSD-3-Clause
 * The crash report: the lines in the log when the server ends by a fault.
 */
#ifndef EVENKEEL_PROCESS_CRASH_H
#define EVENKEEL_PROCESS_CRASH_H
#include <signal.h>
#include <stddef.h>

void crash_register(void); /* crash-log-enabled, crash-memcheck-enabled ... */
/* The parts of a report that are about the server, not its process. They run in a signal handler of
 * a broken process: they must take no lock, allocate nothing, and dereference a pointer only where
 * signals_can_read allows it. */
struct crash_parts {
    void (*running)(void); /* the running command and its client; nothing where none runs */
    void (*clients)(void);
};

/* Sets the parts that reports have from now on. */
void crash_open(const struct crash_parts *parts);
/* Writes a line of the report, as printf does; at most REPORT_LINE_BYTES_MAX. For crash_parts. */
void crash_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- for server/wiring: the events that a report has, or that cause one ---- */

void crash_note_line(const char *line, size_t length); /* base/log */
void crash_on_panic(const char *title, const char *detail, const char *file, int line);
void crash_on_out_of_memory(size_t size);
void crash_on_signal(int sig, siginfo_t *info, void *ucontext);
#endif
