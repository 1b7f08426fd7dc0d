/* SPDX-License-Identifier: BSD-3-Clause
 * MIGRATE: keys of this server become keys of another one.
 */
#ifndef EVENKEEL_REPLICATION_MIGRATE_H
#define EVENKEEL_REPLICATION_MIGRATE_H
#include <stdbool.h>

struct connection_transport;

/* Registers command, option and metric. Once, at start. */
void migrate_register(void);
/* The transport of connections between the nodes of a cluster, as tls-cluster says; NULL = plain
 * sockets. */
const struct connection_transport *migrate_transport(void);
/* Called several times a second: closes connections that were not used for MIGRATE_KEPT_MSEC. */
void migrate_cron(void);

/* How long a connection is kept for the next MIGRATE to the same server, and how many are kept:
 * 6.2's numbers. */
#define MIGRATE_KEPT_MSEC 10000
#define MIGRATE_KEPT_MAX 64
#endif
