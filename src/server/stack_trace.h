/* SPDX-License-Identifier: BSD-3-Clause
 * A stack as text, with the names of functions: for the crash report and the watchdog.
 */
#ifndef EVENKEEL_SERVER_STACK_TRACE_H
#define EVENKEEL_SERVER_STACK_TRACE_H
#include <stdint.h>

/* Loads what a trace needs, so that none needs to allocate. Once, at start. */
void stack_trace_open(void);
/* Writes this thread's stack line by line through `write`. `ucontext` is the state that a signal
 * interrupted (then the place is named first), or NULL. The frame of the running command's handler
 * is marked {<name>Command}. May be called in a signal handler, if `write` may. */
void stack_trace_write(const void *ucontext, void (*write)(const char *text));
/* Where the interrupted thread's stack ended; 0 where that is not known. It may be anywhere. */
uintptr_t stack_trace_pointer(const void *ucontext);
#endif
