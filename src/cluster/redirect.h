/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that wait for keys (BLPOP ...) whose slot this node serves no longer are redirected.
 */
#ifndef EVENKEEL_CLUSTER_REDIRECT_H
#define EVENKEEL_CLUSTER_REDIRECT_H
#include <stdbool.h>

struct cluster;

/* From now on waits are looked at; `c` is borrowed for as long as the process lives. */
void cluster_redirect_open(const struct cluster *c);
/* To be called before the loop sleeps, ahead of batch_run_resumed: after a change of the cluster
 * looks at the clients that wait for keys, REDIRECT_WAITS_AT_ONCE in each turn. Returns true if
 * more are to be looked at. O(1) if nothing has changed. */
bool cluster_redirect_step(void);
#define REDIRECT_WAITS_AT_ONCE 100
#endif
