/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli --cluster: makes, checks, repairs and changes a cluster of Redis 6.2 or later.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_H
#define EVENKEEL_CLUSTERCTL_CTL_H
#include "clusterctl/ctl_options.h"

struct tool_connection;

/* Runs the command that the options name. `login` has password, user and TLS for all nodes; TLS is
 * prepared. Returns the exit status: 0 or 1. */
int ctl_run(const struct ctl_options *options, const struct tool_connection *login);
#endif
