/* SPDX-License-Identifier: BSD-3-Clause
 * The disk's gate and its two causes. Where both hold, the reply names the snapshot, as in 6.2.
 */
#include "save/disk_gate.h"

#include <string.h>

#include "command/call.h"
#include "command/command.h"
#include "exec/gates.h"

static bool snapshot_fails, replica;
static int log_error; /* errno; 0 = none */

static void disk_gate_update(void) { gate_set(&disk_gate, snapshot_fails || log_error); }

void disk_gate_set_snapshot(bool fails) {
    snapshot_fails = fails;
    disk_gate_update();
}

void disk_gate_set_replica(bool is_replica) { replica = is_replica; }

void disk_gate_set_log(int error) {
    log_error = error;
    disk_gate_update();
}

/* PING is refused too, so that a client's health check sees the fault. */
static bool may_not_be_saved(const struct call *call) {
    bool writes = gate_call_writes(call);
    if (call->origin != CALL_NETWORK) return writes;
    return !replica && (writes || strcmp(call->command->name, "ping") == 0);
}

static enum gate_verdict disk_gate_refuse(const struct call *call) {
    if (!snapshot_fails)
        return gate_refuse(call, "-MISCONF Errors writing to the AOF file: %s",
                           strerror(log_error));
    return gate_refuse(
        call,
        "-MISCONF Redis is configured to save RDB snapshots, but it is currently not able to "
        "persist on disk. Commands that may modify the data set are disabled, because this "
        "instance is configured to report errors during writes if RDB snapshotting fails "
        "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the "
        "RDB error.");
}

struct gate disk_gate = {
    .origins = GATE_FROM(CALL_NETWORK) | GATE_FROM_CODE,
    .stops = may_not_be_saved,
    .stop = disk_gate_refuse,
};
