/* SPDX-License-Identifier: BSD-3-Clause
 * Gates of the client's own state, and of features above exec/.
 *
 * The second kind stands here for want of the feature: its row goes to the feature's folder with
 * it, and server/wiring takes it from there.
 */
#include "exec/gate_rows.h"

#include <string.h>

#include "access/acl.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/client_flags.h"
#include "exec/transaction.h"
#include "net/client.h"
#include "net/reply.h"

#define NETWORK GATE_FROM(CALL_NETWORK)
#define TOUCHES_KEYS (COMMAND_READONLY | COMMAND_WRITE | COMMAND_MAY_REPLICATE)

static gate_serves *serves;

/* ---- the user ---- */

/* What EXEC replies of a command that is denied only now: the rules may have changed since it was
 * queued. */
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

/* What a script's caller may not do. */
static enum gate_verdict refuse_to_script(const struct call *call, enum acl_denial denial) {
    static const char *const texts[] = {
        [ACL_DENIED_COMMAND] = "The user executing the script can't run this command or subcommand",
        [ACL_DENIED_KEY] =
            "The user executing the script can't access at least one of the keys "
            "mentioned in the command arguments",
        [ACL_DENIED_CHANNEL] =
            "The user executing the script can't publish to the channel "
            "mentioned in the command"};
    return gate_refuse(call, "%s", texts[denial]);
}

static enum acl_context context_of(const struct call *call) {
    if (client_in_transaction(acl_principal(call->client))) return ACL_IN_TRANSACTION;
    return call_is_scripts(call) ? ACL_IN_SCRIPT : ACL_TOPLEVEL;
}

/* As acl_admits says; the words are 6.2's. */
static enum gate_verdict ask_user(const struct call *call) {
    struct client *c = acl_principal(call->client);
    if (client_is_stranger(c) && !(call->command->flags & COMMAND_NO_AUTH) &&
        call->origin == CALL_NETWORK)
        return gate_refuse(call, "-NOAUTH Authentication required.");
    enum acl_denial denial = acl_admits(c, call->command, call->argc, call->argv, context_of(call));
    if (denial == ACL_ALLOWED) return GATE_OPEN;
    if (call->origin == CALL_QUEUED) return refuse_queued(call, denial);
    if (call_is_scripts(call)) return refuse_to_script(call, denial);
    if (denial == ACL_DENIED_COMMAND)
        return gate_refuse(call,
                           "-NOPERM this user has no permissions to run the '%s' command or its "
                           "subcommand",
                           call->command->name);
    return gate_refuse(
        call, "-NOPERM this user has no permissions to access one of the %s used as arguments",
        denial == ACL_DENIED_KEY ? "keys" : "channels");
}

const struct gate_row gate_user = {.origins = NETWORK | GATE_FROM(CALL_QUEUED) | GATE_FROM_CODE,
                                   .stop = ask_user};

/* ---- the client's state ---- */

/* Nothing is said: the client was too large, or the server ends, and what it has saved would lack
 * what ran now. */
const struct gate_row gate_closing = {.origins = NETWORK};

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

const struct gate_row gate_subscriber = {
    .origins = NETWORK, .stops = not_for_subscribers, .stop = refuse_subscriber};

static bool touches_keys(const struct call *call) { return gate_flags(call) & TOUCHES_KEYS; }

/* 6.2 lists a monitor as a replica, and says so to both. */
const struct gate_row gate_monitor = {.origins = NETWORK,
                                      .stops = touches_keys,
                                      .refusal = "Replica can't interract with the keyspace"};

static bool is_queued(const struct call *call) {
    return !(call->command->flags & COMMAND_UNQUEUED);
}

static enum gate_verdict queue(const struct call *call) {
    transaction_queue(call->request);
    return GATE_QUEUED;
}

const struct gate_row gate_queue = {
    .origins = NETWORK | GATE_FROM(CALL_PRIMARY), .stops = is_queued, .stop = queue};

/* ---- persistence ---- */

static bool writes(const struct call *call) { return gate_flags(call) & COMMAND_WRITE; }

/* PING tells a client's health check of it. */
static bool may_not_be_saved(const struct call *call) {
    return writes(call) ||
           (call->origin == CALL_NETWORK && strcmp(call->command->name, "ping") == 0);
}

const struct gate_row gate_disk = {
    .origins = NETWORK | GATE_FROM_CODE,
    .stops = may_not_be_saved,
    .refusal =
        "-MISCONF Redis is configured to save RDB snapshots, but it is currently not able to "
        "persist on disk. Commands that may modify the data set are disabled, because this "
        "instance is configured to report errors during writes if RDB snapshotting fails "
        "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the "
        "RDB error."};

/* ---- cluster ---- */

void gate_cluster_set(gate_serves *how) {
    serves = how;
    gate_set(GATE_CLUSTER, how != NULL);
}

/* Unlike all others it is answered as it is to EXEC, too: clients follow a redirection. */
static enum gate_verdict ask_cluster(const struct call *call) {
    struct client *c = call->client;
    struct buffer refusal;
    buffer_init(&refusal, MEMORY_OTHER);
    bool served = serves(call, &refusal);
    if (!served && call->refusal) {
        buffer_append(call->refusal, refusal.bytes, refusal.length);
    } else if (!served) {
        call->command->rejected_calls++;
        if (call->command->flags & COMMAND_EXECUTES)
            transaction_end(c);
        else
            transaction_fail(c);
        reply_error_slice(c, buffer_slice(&refusal));
    }
    buffer_free(&refusal);
    return served ? GATE_OPEN : GATE_REFUSED;
}

const struct gate_row gate_cluster = {.origins = NETWORK | GATE_FROM_CODE, .stop = ask_cluster};
