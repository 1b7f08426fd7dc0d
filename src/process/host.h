/* SPDX-License-Identifier: BSD-3-Clause
 * What is looked at on the host at start, and warned of.
 */
#ifndef EVENKEEL_PROCESS_HOST_H
#define EVENKEEL_PROCESS_HOST_H
#include <stdint.h>

void host_register(void); /* disable-thp, ignore-warnings */
/* Switches huge pages off where that is asked for. Before there are threads. */
void host_open(void);
/* Says in the log which of the system's settings will hurt. `backlog` is the length of the queue of
 * connections that listeners ask for. */
void host_announce_warnings(int64_t backlog);
#endif
