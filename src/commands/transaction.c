/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH. The rows stand at the end.
 *
 * What a client has queued and watches is exec/transaction's; that a command is queued instead of
 * run, or refused and so spoils the transaction, is exec/dispatch's.
 */
#include "commands/transaction.h"

#include "command/call.h"
#include "command/command.h"
#include "exec/transaction.h"
#include "net/client.h"
#include "net/reply.h"

static void command_multi(struct call *call) {
    if (call->client->flags & CLIENT_TRANSACTION) {
        reply_error(call->client, "MULTI calls can not be nested");
        return;
    }
    transaction_begin(call->client);
    reply_ok(call->client);
}

static void command_exec(struct call *call) {
    struct client *c = call->client;
    if (!(c->flags & CLIENT_TRANSACTION)) {
        reply_error(c, "EXEC without MULTI");
        return;
    }
    bool refused = c->flags & CLIENT_QUEUE_FAILED;
    if (!refused && !transaction_watch_failed(c)) {
        transaction_run(call);
        return;
    }
    transaction_end(c);
    if (refused)
        reply_error(c, "-EXECABORT Transaction discarded because of previous errors.");
    else
        reply_null_array(c);
}

static void command_discard(struct call *call) {
    if (!(call->client->flags & CLIENT_TRANSACTION)) {
        reply_error(call->client, "DISCARD without MULTI");
        return;
    }
    transaction_end(call->client);
    reply_ok(call->client);
}

static void command_watch(struct call *call) {
    if (call->client->flags & CLIENT_TRANSACTION) {
        reply_error(call->client, "WATCH inside MULTI is not allowed");
        return;
    }
    for (int i = 1; i < call->argc; i++)
        transaction_watch(call->client, call->argv[i], call_key_hash(call, i));
    reply_ok(call->client);
}

static void command_unwatch(struct call *call) {
    transaction_unwatch(call->client);
    reply_ok(call->client);
}

/* ---- rows ---- */

#define ANYTIME (COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE)
#define ENDS (COMMAND_UNQUEUED | COMMAND_ENDS_TRANSACTION)

static struct command rows[] = {
    {.name = "multi",
     .handler = command_multi,
     .arity = 1,
     .flags = COMMAND_FAST | ANYTIME | COMMAND_UNQUEUED,
     .categories = ACL_TRANSACTION,
     .help = "Begins a transaction: commands are queued until EXEC."},
    {.name = "exec",
     .handler = command_exec,
     .arity = 1,
     .flags = ANYTIME | COMMAND_SKIP_SLOWLOG | ENDS | COMMAND_EXECUTES,
     .categories = ACL_TRANSACTION,
     .help = "Runs what was queued since MULTI, unless a watched key has changed."},
    {.name = "discard",
     .handler = command_discard,
     .arity = 1,
     .flags = COMMAND_FAST | ANYTIME | ENDS,
     .categories = ACL_TRANSACTION,
     .help = "Ends a transaction without running what was queued."},
    {.name = "watch",
     .handler = command_watch,
     .arity = -2,
     .flags = COMMAND_FAST | ANYTIME | COMMAND_UNQUEUED,
     .first_key = 1,
     .last_key = -1,
     .key_step = 1,
     .categories = ACL_TRANSACTION,
     .help = "Lets the next EXEC run nothing if one of these keys changes before it."},
    {.name = "unwatch",
     .handler = command_unwatch,
     .arity = 1,
     .flags = COMMAND_FAST | ANYTIME,
     .categories = ACL_TRANSACTION,
     .help = "Forgets the watched keys."},
};

void commands_transaction_register(void) { command_register(rows, sizeof(rows) / sizeof(rows[0])); }
