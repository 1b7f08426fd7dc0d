/* SPDX-License-Identifier: BSD-3-Clause
 * The gate that refuses writes while they could not be made durable: the last snapshot failed, or
 * the append-only file cannot be written.
 */
#ifndef EVENKEEL_SAVE_DISK_GATE_H
#define EVENKEEL_SAVE_DISK_GATE_H
#include <stdbool.h>

struct gate;

extern struct gate disk_gate; /* for server/wiring */

/* Sets whether writes are refused because the last snapshot failed. */
void disk_gate_set_snapshot(bool fails);
/* Sets whether this server is a replica. A replica's requests are not refused, because its primary
 * has accepted the same data; the writes of its scripts are, as in 6.2. */
void disk_gate_set_replica(bool is_replica);
/* Sets the errno with which writing the log fails; 0 = the log can be written. */
void disk_gate_set_log(int error);
#endif
