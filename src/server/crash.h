/* SPDX-License-Identifier: BSD-3-Clause
 * The crash report: what the log says when the server ends by a fault.
 */
#ifndef EVENKEEL_SERVER_CRASH_H
#define EVENKEEL_SERVER_CRASH_H
#include <signal.h>
#include <stddef.h>

void crash_register(void); /* crash-log-enabled, crash-memcheck-enabled ... */
/* Prepares what a report needs. */
void crash_open(void);

/* ---- for server/wiring: what is heard of, and reported from ---- */

void crash_note_line(const char *line, size_t length); /* base/log */
void crash_on_panic(const char *title, const char *detail, const char *file, int line);
void crash_on_out_of_memory(size_t size);
void crash_on_signal(int sig, siginfo_t *info, void *ucontext);
#endif
