/* SPDX-License-Identifier: BSD-3-Clause
 * SENTINEL MONITOR: a primary that may be given by a name, which is looked up beside the loop while
 * the client waits.
 */
#ifndef EVENKEEL_SENTINEL_MONITOR_COMMAND_H
#define EVENKEEL_SENTINEL_MONITOR_COMMAND_H

struct call;
struct client;

/* Replies OK if everything that was changed is on disk; else an error that says that it is not. */
void sentinel_reply_recorded(struct client *c);
/* SENTINEL MONITOR name ip port quorum. */
void sentinel_command_monitor(struct call *call);
/* A name that may be waited for has been answered. */
void sentinel_monitor_note_name(const char *host);
#endif
