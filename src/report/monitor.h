/* SPDX-License-Identifier: BSD-3-Clause
 * MONITOR: clients that are sent a line for each command that runs.
 */
#ifndef EVENKEEL_REPORT_MONITOR_H
#define EVENKEEL_REPORT_MONITOR_H
#include <stdbool.h>
#include <stddef.h>

struct call;
struct client;
struct client_state;

extern struct client_state monitor_client_state; /* for server/wiring */
enum monitor_flags {
    MONITOR_ON = 1 << 0, /* it is sent a line for each command */
};

/* False where the client monitors already. It ends with the client, or with monitor_remove. */
bool monitor_add(struct client *c);
/* Harmless for a client that does not monitor. */
void monitor_remove(struct client *c);
/* Whether anybody monitors: else the two below need not be called. */
bool monitor_any(void);
/* Around each command. Its arguments are written down before it runs, since it may take them over;
 * the line is sent after it, as 6.2 does: so it names the database that SELECT has chosen, a client
 * sees the reply to its own command first, and none that has ended its monitoring. Calls may nest:
 * each gives monitor_after what its monitor_before returned. O(monitors). */
size_t monitor_before(const struct call *call);
void monitor_after(const struct call *call, size_t mark);
/* For a command that is not shown of itself (COMMAND_SKIP_MONITOR): its line, before those of the
 * commands that it is about to run. */
void monitor_show(const struct call *call);
#endif
