/* SPDX-License-Identifier: BSD-3-Clause
 * The gate of a cluster's node: finds what a call asks for, and asks cluster/route about it.
 *
 * EXEC is asked about as one request with the keys of all queued commands. A refusal is its whole
 * reply, without an EXECABORT around it, because clients follow redirections; the transaction is
 * gone then. Each queued command was asked about alone, when it was queued. A script is asked about
 * with the keys that it declares, and each call that it makes again, with the state of the client
 * that has called the script.
 *
 * What is not asked about: the stream of the primary and its scripts, and the log that is loaded
 * (the gate's origins); commands without keys; calls whose arguments are at fault, so that no key
 * can be found, because their handlers refuse them.
 *
 * Invariants
 *  1. Nearly all calls name one key, whose slot this node owns, closed, in a cluster that is ok:
 *     these are not asked about (gate_set_clear_slots). The slot comes from the hash that
 *     prefetching has computed.
 *  2. No key is looked up unless its slot is open. A lookup changes nothing and counts nothing.
 *  3. A key that is due is absent.
 */
#include "cluster/gate.h"

#include <string.h>

#include "access/acl.h"
#include "cluster/client_modes.h"
#include "cluster/route.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "exec/gates.h"
#include "exec/transaction.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

static const struct cluster *here;
static const bool *reads_when_down;

void cluster_gate_open(const struct cluster *c, const bool *when_down) {
    here = c;
    reads_when_down = when_down;
    gate_set_clear_slots(&cluster_gate, c->settled, &c->ok);
    gate_set(&cluster_gate, true);
}

/* ---- the keys ---- */

/* The keys that were found so far. */
struct key_tally {
    struct cluster_keys keys;
    struct slice first;
    const struct call *call; /* whose keys are visited */
};

static unsigned slot_of_argument(const struct call *call, int index) {
    return index == call->hashed ? key_hash_slot(call->key_hash) : key_slot_of(call->argv[index]);
}

static void tally_presence(struct key_tally *t, int index) {
    const struct key key = call_key(t->call, index);
    if (keyspace_presence(&key) == KEYSPACE_PRESENT)
        t->keys.present++;
    else
        t->keys.absent++;
}

static bool tally_key(int index, void *context) {
    struct key_tally *t = context;
    struct slice name = t->call->argv[index];
    if (!t->keys.count) {
        t->first = name;
        t->keys.slot = slot_of_argument(t->call, index);
        t->keys.count = 1;
    } else if (!slice_equal(name, t->first)) {
        t->keys.count = 2;
        t->keys.cross_slot = slot_of_argument(t->call, index) != t->keys.slot;
        if (t->keys.cross_slot) return false;
    }
    if (cluster_slot_is_open(here, t->keys.slot)) tally_presence(t, index);
    return true;
}

static bool tally_call(const struct call *call, void *context) {
    struct key_tally *t = context;
    t->call = call;
    const struct key_search search = {.command = call->command,
                                      .argc = call->argc,
                                      .argv = call->argv,
                                      .visit = tally_key,
                                      .context = t};
    (void)command_each_key(&search);
    return !t->keys.cross_slot;
}

/* ---- the verdict ---- */

static struct cluster_request request_of(const struct call *call) {
    const struct command *command = call->command;
    unsigned of_client = client_flags(acl_principal(call->client), &cluster_client_state);
    return (struct cluster_request){
        .writes = command->flags & COMMAND_WRITE,
        .queued_writes = gate_call_writes(call),
        .migrates = strcmp(command->name, "migrate") == 0,
        .asking = of_client & CLUSTER_CLIENT_ASKS || command->flags & COMMAND_ASKING,
        .reads_replica = of_client & CLUSTER_CLIENT_READS,
        .reads_when_down = *reads_when_down,
    };
}

static const char *refusal_of_code(const struct gate_code *code, enum cluster_route route) {
    if (route == CLUSTER_DOWN) return code->down;
    return route == CLUSTER_READS_ONLY ? code->down_for_writes : code->elsewhere;
}

static void reply_route(const struct call *call, enum cluster_route route, unsigned slot,
                        const struct cluster_node *node) {
    struct client *c = call->client;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    cluster_route_print(route, slot, node, !client_connection(c), &text);
    call->command->rejected_calls++;
    if (call->command->flags & COMMAND_EXECUTES)
        transaction_end(c);
    else
        transaction_fail(c);
    reply_error_slice(c, buffer_slice(&text));
    buffer_free(&text);
}

static enum gate_verdict route_call(const struct call *call) {
    if (!command_has_keys(call->command) && !(call->command->flags & COMMAND_EXECUTES))
        return GATE_OPEN;
    struct key_tally tally = {0};
    struct cluster_node *node;
    gate_each_call(call, tally_call, &tally);
    const struct cluster_request request = request_of(call);
    enum cluster_route route = cluster_route(here, &tally.keys, &request, &node);
    if (route == CLUSTER_SERVE) return GATE_OPEN;
    const struct gate_code *code = gates_code_of(call);
    if (code) return gate_refuse(call, "%s", refusal_of_code(code, route));
    reply_route(call, route, tally.keys.slot, node);
    return GATE_REFUSED;
}

struct gate cluster_gate = {.origins = GATE_FROM(CALL_NETWORK) | GATE_FROM_CODE,
                            .stop = route_call};
