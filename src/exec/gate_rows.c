/* SPDX-License-Identifier: BSD-3-Clause
 * Gates of the client's own state.
 */
#include "exec/gate_rows.h"

#include "access/acl.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/client_flags.h"
#include "exec/transaction.h"
#include "net/client.h"
#include "net/reply.h"
#include "report/monitor.h"

#define NETWORK GATE_FROM(CALL_NETWORK)
#define TOUCHES_KEYS (COMMAND_READONLY | COMMAND_WRITE | COMMAND_MAY_REPLICATE)

/* ---- the user ---- */

/* Replies to a queued command that the user's rules deny only when EXEC runs it, because the rules
 * have changed since it was queued. */
static enum gate_verdict refuse_queued(const struct call *call, enum acl_denial denial) {
    static const char *const reasons[] = {
        [ACL_DENIED_COMMAND] = "no permission to execute the command or subcommand",
        [ACL_DENIED_KEY] = "no permission to touch the specified keys",
        [ACL_DENIED_CHANNEL] = "no permission to access one of the channels used as arguments"};
    reply_error_format(call->client,
                       "-NOPERM ACLs rules changed between the moment the transaction was "
                       "accumulated and the EXEC call. This command is no longer allowed for the "
                       "following reason: %s",
                       reasons[denial]);
    return GATE_REFUSED;
}

static enum acl_context context_of(const struct call *call) {
    if (client_in_transaction(acl_principal(call->client))) return ACL_IN_TRANSACTION;
    return call_is_scripts(call) ? ACL_IN_SCRIPT : ACL_TOPLEVEL;
}

/* Refuses what acl_admits denies, in the words of 6.2. */
static enum gate_verdict ask_user(const struct call *call) {
    struct client *c = acl_principal(call->client);
    if (client_is_stranger(c) && !(call->command->flags & COMMAND_NO_AUTH) &&
        call->origin == CALL_NETWORK)
        return gate_refuse(call, "-NOAUTH Authentication required.");
    enum acl_denial denial = acl_admits(c, call->command, call->argc, call->argv, context_of(call));
    if (denial == ACL_ALLOWED) return GATE_OPEN;
    if (call->origin == CALL_QUEUED) return refuse_queued(call, denial);
    const struct gate_code *code = gates_code_of(call);
    if (code) return gate_refuse(call, "%s", code->denied[denial]);
    if (denial == ACL_DENIED_COMMAND)
        return gate_refuse(call,
                           "-NOPERM this user has no permissions to run the '%s' command or its "
                           "subcommand",
                           call->command->name);
    return gate_refuse(
        call, "-NOPERM this user has no permissions to access one of the %s used as arguments",
        denial == ACL_DENIED_KEY ? "keys" : "channels");
}

struct gate gate_user = {.origins = NETWORK | GATE_FROM(CALL_QUEUED) | GATE_FROM_CODE,
                         .of = &acl_client_state,
                         .of_flags = ACL_STRANGER | ACL_LIMITED,
                         .stop = ask_user};

/* ---- the client's state ---- */

/* Refuses without a reply. The client is closed because it was too large, or the server ends and
 * has saved its data already, so a write now would be lost. */
struct gate gate_closing = {.origins = NETWORK, .net_flags = CLIENT_CLOSING};

static bool not_for_subscribers(const struct call *call) {
    return call->client->protocol == 2 && !(call->command->flags & COMMAND_FOR_SUBSCRIBERS);
}

static enum gate_verdict refuse_subscriber(const struct call *call) {
    return gate_refuse(
        call,
        "Can't execute '%s': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT / RESET "
        "are allowed in this context",
        call->command->name);
}

struct gate gate_subscriber = {.origins = NETWORK,
                               .net_flags = CLIENT_LISTENS,
                               .stops = not_for_subscribers,
                               .stop = refuse_subscriber};

static bool touches_keys(const struct call *call) { return gate_flags(call) & TOUCHES_KEYS; }

/* 6.2 treats a monitor as a replica, so both get this text. */
struct gate gate_monitor = {.origins = NETWORK,
                            .net_flags = CLIENT_STREAMED,
                            .of = &monitor_client_state,
                            .of_flags = MONITOR_ON,
                            .stops = touches_keys,
                            .refusal = "Replica can't interract with the keyspace"};

static bool is_queued(const struct call *call) {
    return !(call->command->flags & COMMAND_UNQUEUED);
}

static enum gate_verdict queue_call(const struct call *call) {
    transaction_queue(call->request);
    return GATE_QUEUED;
}

struct gate gate_queue = {.origins = NETWORK | GATE_FROM(CALL_PRIMARY),
                          .of = &transaction_client_state,
                          .of_flags = TRANSACTION_OPEN,
                          .stops = is_queued,
                          .stop = queue_call};
