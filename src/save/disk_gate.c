/* SPDX-License-Identifier: BSD-3-Clause
 * The two causes of one gate. Where both are there the snapshot's is told, as in 6.2.
 */
#include "save/disk_gate.h"

#include <stdio.h>
#include <string.h>

#include "exec/gates.h"

static bool snapshot_fails;
static int log_error;
static char text[256];

static void look(void) {
    gate_set_refusal(GATE_DISK, log_error && !snapshot_fails ? text : NULL);
    gate_set(GATE_DISK, snapshot_fails || log_error);
}

void disk_gate_set_snapshot(bool fails) {
    snapshot_fails = fails;
    look();
}

void disk_gate_set_log(int error) {
    log_error = error;
    snprintf(text, sizeof(text), "-MISCONF Errors writing to the AOF file: %s", strerror(error));
    look();
}
