/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH. The rows stand at the end.
 *
 * exec/transaction keeps a client's queue and watched keys, and exec/execute runs EXEC. exec/gates
 * decides that a command is queued instead of run, or refused so that the transaction fails.
 */
#include "commands/transaction.h"

#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/client_flags.h"
#include "exec/execute.h"
#include "exec/transaction.h"
#include "net/client.h"
#include "net/reply.h"

static void command_multi(struct call *call) {
    if (client_in_transaction(call->client)) {
        reply_error(call->client, "MULTI calls can not be nested");
        return;
    }
    transaction_begin(call->client);
    reply_ok(call->client);
}

static void command_exec(struct call *call) {
    struct client *c = call->client;
    if (!client_in_transaction(c)) {
        reply_error(c, "EXEC without MULTI");
        return;
    }
    bool refused = client_flags(c, &transaction_client_state) & TRANSACTION_QUEUE_FAILED;
    if (!refused && !transaction_watch_failed(c)) {
        execute_queue(call);
        return;
    }
    transaction_end(c);
    if (refused)
        reply_error(c, "-EXECABORT Transaction discarded because of previous errors.");
    else
        reply_null_array(c);
}

static void command_discard(struct call *call) {
    if (!client_in_transaction(call->client)) {
        reply_error(call->client, "DISCARD without MULTI");
        return;
    }
    transaction_end(call->client);
    reply_ok(call->client);
}

static void command_watch(struct call *call) {
    if (client_in_transaction(call->client)) {
        reply_error(call->client, "WATCH inside MULTI is not allowed");
        return;
    }
    for (int i = 1; i < call->argc; i++) {
        const struct key key = call_key(call, i);
        transaction_watch(call->client, &key);
    }
    reply_ok(call->client);
}

static void command_unwatch(struct call *call) {
    transaction_unwatch(call->client);
    reply_ok(call->client);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("multi", command_multi, 1,
            FAST | NO_SCRIPT | ANYTIME | COMMAND_UNQUEUED | COMMAND_WHILE_BUSY, ACL_TRANSACTION,
            NO_KEYS, "Begins a transaction: commands are queued until EXEC."),
    COMMAND("exec", command_exec, 1,
            NO_SCRIPT | ANYTIME | COMMAND_SKIP_SLOWLOG | COMMAND_UNQUEUED |
                COMMAND_ENDS_TRANSACTION | COMMAND_EXECUTES,
            ACL_TRANSACTION, NO_KEYS,
            "Runs the commands queued since MULTI, unless a watched key has changed.",
            .propagation = COMMAND_PROPAGATES_NOTHING), /* its commands are propagated */
    COMMAND("discard", command_discard, 1,
            FAST | NO_SCRIPT | ANYTIME | COMMAND_UNQUEUED | COMMAND_ENDS_TRANSACTION |
                COMMAND_WHILE_BUSY,
            ACL_TRANSACTION, NO_KEYS, "Ends a transaction without running its commands."),
    COMMAND("watch", command_watch, -2,
            FAST | NO_SCRIPT | ANYTIME | COMMAND_UNQUEUED | COMMAND_WHILE_BUSY, ACL_TRANSACTION,
            ALL_KEYS, "Lets the next EXEC run nothing if one of these keys changes before it.",
            .traced = "never"),
    COMMAND("unwatch", command_unwatch, 1, FAST | NO_SCRIPT | ANYTIME | COMMAND_WHILE_BUSY,
            ACL_TRANSACTION, NO_KEYS, "Forgets the watched keys."),
};

void commands_transaction_register(void) { command_register(COMMAND_ROWS(rows)); }
