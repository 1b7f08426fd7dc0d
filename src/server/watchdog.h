/* SPDX-License-Identifier: BSD-3-Clause
 * The watchdog: says in the log where the server hangs, while it hangs.
 */
#ifndef EVENKEEL_SERVER_WATCHDOG_H
#define EVENKEEL_SERVER_WATCHDOG_H
#include <stdint.h>

void watchdog_register(void); /* watchdog-period */
/* From now on the time is to begin anew so often, about. */
void watchdog_set_turn(int64_t msec);
/* The loop turns: the time begins anew. Nothing where the watchdog is off. */
void watchdog_reset(void);
#endif
