/* SPDX-License-Identifier: BSD-3-Clause
 * Checks of the host's settings at start, with warnings.
 */
#ifndef EVENKEEL_PROCESS_HOST_H
#define EVENKEEL_PROCESS_HOST_H
#include <stdint.h>

void host_register(void); /* disable-thp, ignore-warnings */
/* Switches huge pages off if the option says so. To be called before there are threads. */
void host_open(void);
/* Logs which of the system's settings will hurt. `backlog` is the length of the queue of
 * connections that listeners ask for. */
void host_announce_warnings(int64_t backlog);
#endif
