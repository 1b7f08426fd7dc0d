/* SPDX-License-Identifier: BSD-3-Clause
 * The watchdog: says in the log where the server hangs, while it hangs.
 */
#ifndef EVENKEEL_PROCESS_WATCHDOG_H
#define EVENKEEL_PROCESS_WATCHDOG_H
#include <stddef.h>
#include <stdint.h>

/* Registers watchdog-period. `describe` writes a line that says what the main thread is running; it
 * is called in a signal handler. */
void watchdog_register(void (*describe)(char *text, size_t size));
/* From now on the time is to begin anew so often, about. */
void watchdog_set_turn(int64_t msec);
/* The loop turns: the time begins anew. Nothing where the watchdog is off. */
void watchdog_reset(void);
#endif
