/* SPDX-License-Identifier: BSD-3-Clause
 * DEBUG's subcommands about the process: allocator, cron, restart, sizes.
 */
#ifndef EVENKEEL_SERVER_DEBUG_PROCESS_H
#define EVENKEEL_SERVER_DEBUG_PROCESS_H

struct call;

void debug_crash_and_recover(struct call *call);
void debug_leak(struct call *call);
void debug_mallctl(struct call *call);
void debug_mallctl_str(struct call *call);
void debug_pause_cron(struct call *call);
void debug_restart(struct call *call);
void debug_sdslen(struct call *call);
void debug_stringmatch_test(struct call *call);
void debug_structsize(struct call *call);
#endif
