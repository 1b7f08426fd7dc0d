/* SPDX-License-Identifier: BSD-3-Clause
 * The known scripts, within snapshots: a replica that continues from a snapshot may be sent EVALSHA
 * of any of them.
 */
#ifndef EVENKEEL_SERVER_SAVED_SCRIPTS_H
#define EVENKEEL_SERVER_SAVED_SCRIPTS_H

struct rdb_field;

/* For server/wiring. A snapshot has this field where it also has its replication history, as in
 * 6.2. */
extern const struct rdb_field saved_scripts;
#endif
