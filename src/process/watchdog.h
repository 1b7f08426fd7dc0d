/* SPDX-License-Identifier: BSD-3-Clause
 * The watchdog: logs where the server hangs, while it hangs.
 */
#ifndef EVENKEEL_PROCESS_WATCHDOG_H
#define EVENKEEL_PROCESS_WATCHDOG_H
#include <stddef.h>
#include <stdint.h>

/* Registers watchdog-period. `describe` writes a line that says what the main thread is running; it
 * is called in a signal handler. */
void watchdog_register(void (*describe)(char *text, size_t size));
/* Sets about how often watchdog_reset will be called, in ms. */
void watchdog_set_turn(int64_t msec);
/* To be called in each turn of the loop: restarts the watchdog's time. Does nothing where the
 * watchdog is off. */
void watchdog_reset(void);
#endif
