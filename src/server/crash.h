/* SPDX-License-Identifier: BSD-3-Clause
 * The crash report: what the log says when the server ends by a fault.
 */
#ifndef EVENKEEL_SERVER_CRASH_H
#define EVENKEEL_SERVER_CRASH_H

void crash_register(void); /* crash-log-enabled, crash-memcheck-enabled ... */
/* From now on panics, crashes and want of memory are reported. */
void crash_open(void);
#endif
