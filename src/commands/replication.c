/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of replication: WAIT.
 *
 * No replica can connect as yet, so none acknowledges a write: WAIT for none answers 0 at once, for
 * more it answers 0 when its time is up.
 */
#include "commands/replication.h"

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/blocked.h"
#include "net/reply.h"

static void wait_timed_out(struct client *c, void *state) { reply_integer(c, 0); }

static const struct blocked_kind wait_kind = {.timed_out = wait_timed_out};

static void command_wait(struct call *call) {
    int64_t replicas, timeout_msec;
    if (!argument_int64(call, 1, &replicas, NULL) ||
        !blocked_parse_timeout_msec(call, 2, &timeout_msec))
        return;
    if (replicas <= 0)
        reply_integer(call->client, 0);
    else
        blocked_begin(call, &wait_kind, 0, 0, 0, timeout_msec, NULL);
}

static struct command rows[] = {
    COMMAND("wait", command_wait, 3, NO_SCRIPT, ACL_KEYSPACE, NO_KEYS,
            "Waits until so many replicas have the client's writes, or a time is up; returns how "
            "many have."),
};

void commands_replication_register(void) { command_register(COMMAND_ROWS(rows)); }
