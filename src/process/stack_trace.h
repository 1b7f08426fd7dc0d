/* SPDX-License-Identifier: BSD-3-Clause
 * A stack as text, with functions, files and lines: for the crash report and the watchdog.
 */
#ifndef EVENKEEL_PROCESS_STACK_TRACE_H
#define EVENKEEL_PROCESS_STACK_TRACE_H
#include <stddef.h>
#include <stdint.h>

/* Loads the data that traces need, so that a trace does not allocate. Once, at start. `executable`
 * is how lines name this program's own file. `running` returns the function that runs the current
 * command and writes that command's name, or returns NULL; it must be safe in a signal handler, and
 * may be NULL itself. Both are kept. */
void stack_trace_open(const char *executable, const void *(*running)(char *name, size_t size));
/* Writes this thread's stack line by line through `write`. `ucontext` is the state that a signal
 * interrupted (then the place is named first), or NULL. The frame of the running command's handler
 * is marked {<name>Command}. May be called in a signal handler, if `write` may. */
void stack_trace_write(const void *ucontext, void (*write)(const char *text));
/* The interrupted thread's stack pointer; 0 where that is not known. It may be any number. */
uintptr_t stack_trace_pointer(const void *ucontext);
#endif
