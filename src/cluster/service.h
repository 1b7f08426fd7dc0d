/* SPDX-License-Identifier: BSD-3-Clause
 * Cluster mode as a whole: opened at start where `cluster-enabled yes`, its steps and its clock.
 */
#ifndef EVENKEEL_CLUSTER_SERVICE_H
#define EVENKEEL_CLUSTER_SERVICE_H
#include <stdbool.h>

#include "base/attributes.h"
#include "topology/nodes.h"

struct loop;

/* How often the cluster's clock ticks, as in 6.2. */
#define CLUSTER_TICK_MSEC 100

/* This server's cluster; NULL = cluster mode is off, or not open yet. */
struct cluster *cluster_here(void);
/* Whether cluster mode is on: the option cluster-enabled. May be asked as soon as the options are
 * set. */
bool cluster_is_enabled(void);

/* Called when the options are set. False after a message in the log: they contradict cluster mode.
 */
MUST_USE bool cluster_service_configured(void);
/* Opens nodes.conf, and begins the clock. Before the role is decided (role_open). Does nothing
 * where cluster mode is off. False after a message in the log. */
MUST_USE bool cluster_service_open(struct loop *loop);
/* Called when the data is loaded: makes a primary responsible for the slots of its keys. False
 * after a message in the log: there are keys that a node of a cluster cannot have. */
MUST_USE bool cluster_service_loaded(void);
/* A hook of the loop, before it sleeps: judges the state after changes, and has them written to
 * nodes.conf. Returns true where clients may go on. */
bool cluster_service_step(void);
/* Called in each nested turn, within a long load or script: messages that wait for nodes.conf leave
 * when it is written, so that this node does not look dead. */
void cluster_service_within(void);
/* At the end of the process: nodes.conf is written and given back. */
void cluster_service_close(void);
#endif
