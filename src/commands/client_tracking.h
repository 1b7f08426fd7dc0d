/* SPDX-License-Identifier: BSD-3-Clause
 * Subcommands of CLIENT about client-side caching. Their rows stand in commands/client.c.
 */
#ifndef EVENKEEL_COMMANDS_CLIENT_TRACKING_H
#define EVENKEEL_COMMANDS_CLIENT_TRACKING_H

struct call;

void client_tracking_command(struct call *call);
void client_caching_command(struct call *call);
void client_getredir_command(struct call *call);
void client_trackinginfo_command(struct call *call);
#endif
