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

/* Makes the client monitor, until it closes or monitor_remove; false if it monitors already. */
bool monitor_add(struct client *c);
/* Harmless for a client that does not monitor. */
void monitor_remove(struct client *c);
/* To be called before and after each command while OBSERVED_BY_MONITOR is set (report/observed.h).
 * The arguments are copied before the command runs, because it may take them over; the line is sent
 * after it, as in 6.2. So the line names the database that SELECT has chosen, a client sees the
 * reply to its own command first, and a client that has ended its monitoring gets no line. Calls
 * may nest: each gives monitor_after what its monitor_before returned. O(monitors). */
size_t monitor_before(const struct call *call);
void monitor_after(const struct call *call, size_t mark);
/* Sends the line of a command that monitor_after does not show (COMMAND_SKIP_MONITOR), before the
 * lines of the commands that it is about to run. */
void monitor_show(const struct call *call);
#endif
