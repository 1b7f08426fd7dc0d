/* SPDX-License-Identifier: BSD-3-Clause
 * Writes are refused while what they do could not be kept: the last snapshot failed, or the append
 * only file cannot be written.
 */
#ifndef EVENKEEL_SAVE_DISK_GATE_H
#define EVENKEEL_SAVE_DISK_GATE_H
#include <stdbool.h>

void disk_gate_set_snapshot(bool fails);
/* errno, 0 = all is well. */
void disk_gate_set_log(int error);
#endif
