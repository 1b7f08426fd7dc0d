/* SPDX-License-Identifier: BSD-3-Clause
 * The scripts that are known, within snapshots: a replica that goes on from one may be sent EVALSHA
 * of any of them.
 */
#ifndef EVENKEEL_SERVER_SAVED_SCRIPTS_H
#define EVENKEEL_SERVER_SAVED_SCRIPTS_H

struct rdb_field;

/* For server/wiring. Files have it where they tell of their history, as in 6.2. */
extern const struct rdb_field saved_scripts;
#endif
