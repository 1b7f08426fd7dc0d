/* SPDX-License-Identifier: BSD-3-Clause
 * MIGRATE: keys of this server become keys of another one.
 */
#ifndef EVENKEEL_REPLICATION_MIGRATE_H
#define EVENKEEL_REPLICATION_MIGRATE_H
#include <stdbool.h>

/* Registers command, option and metric. Once, at start. */
void migrate_register(void);
/* Whether tls-cluster is on: nodes of a cluster talk to each other over TLS. */
bool migrate_is_over_tls(void);
/* Called several times a second: closes connections that were not used for MIGRATE_KEPT_MSEC. */
void migrate_cron(void);

/* How long a connection is kept for the next MIGRATE to the same server, and how many are kept:
 * 6.2's numbers. */
#define MIGRATE_KEPT_MSEC 10000
#define MIGRATE_KEPT_MAX 64
#endif
