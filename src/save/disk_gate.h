/* SPDX-License-Identifier: BSD-3-Clause
 * Writes are refused while what they do could not be kept: the last snapshot failed, or the append
 * only file cannot be written.
 */
#ifndef EVENKEEL_SAVE_DISK_GATE_H
#define EVENKEEL_SAVE_DISK_GATE_H
#include <stdbool.h>

struct gate;

extern struct gate disk_gate; /* for server/wiring */

/* Whether the last snapshot failed, and writes are to be refused for that. */
void disk_gate_set_snapshot(bool fails);
/* Requests to a replica are not refused, because its primary has accepted what they are about; the
 * calls of its scripts are: as 6.2. */
void disk_gate_set_replica(bool is_replica);
/* The errno that writing the log has met; 0 = the log can be written. */
void disk_gate_set_log(int error);
#endif
