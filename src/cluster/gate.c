/* SPDX-License-Identifier: BSD-3-Clause
 * The gate of a cluster's node.
 */
#include "cluster/gate.h"

#include "base/string.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/gates.h"
#include "exec/transaction.h"
#include "net/reply.h"

static cluster_serves *serves;

void cluster_gate_set(cluster_serves *how) {
    serves = how;
    gate_set(&cluster_gate, how != NULL);
}

/* EXEC is answered with the redirection itself and not with an EXECABORT around it, because clients
 * follow redirections. */
static enum gate_verdict ask_observer(const struct call *call) {
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

struct gate cluster_gate = {.origins = GATE_FROM(CALL_NETWORK) | GATE_FROM_CODE,
                            .stop = ask_observer};
