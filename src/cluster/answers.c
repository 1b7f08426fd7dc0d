/* SPDX-License-Identifier: BSD-3-Clause
 * Answers that several subcommands of CLUSTER share.
 */
#include "cluster/answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cluster/service.h"
#include "command/arguments.h"
#include "command/call.h"
#include "exec/blocked.h"
#include "exec/flush.h"
#include "net/client.h"
#include "net/reply.h"
#include "topology/nodes_file.h"

void cluster_reply_naming(const struct call *call, const char *before, int index) {
    struct slice word = call->argv[index];
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_append_c_string(&text, before);
    buffer_append(&text, word.bytes, strnlen(word.bytes, word.length));
    reply_error_slice(call->client, buffer_slice(&text));
    buffer_free(&text);
}

struct cluster_node *cluster_argument_node(const struct call *call, int index,
                                           const char *unknown) {
    struct cluster_node *node = cluster_find(cluster_here(), call->argv[index]);
    if (!node) cluster_reply_naming(call, unknown, index);
    return node;
}

bool cluster_argument_slot(const struct call *call, int index, unsigned *slot) {
    static const char refusal[] = "Invalid or out of range slot";
    int64_t number;
    if (!argument_not_negative(call, index, &number, refusal)) return false;
    if (number >= KEY_SLOTS) {
        reply_error(call->client, refusal);
        return false;
    }
    *slot = (unsigned)number;
    return true;
}

bool cluster_call_is_plain(const struct call *call) {
    return !(call->client->flags & CLIENT_CARRIED);
}

void cluster_reply_changed(struct call *call) {
    cluster_changed(cluster_here());
    reply_ok(call->client);
}

/* ---- answers that wait for the disk ---- */

struct awaited_status {
    char text[CLUSTER_STATUS_CHARS + 1];
};

static void reply_awaited(struct client *c, void *state) {
    reply_status(c, ((struct awaited_status *)state)->text);
}

static void free_awaited(void *state) { memory_free(state, MEMORY_CLIENTS); }

/* Kept, because the file is written in the end: a write that fails is tried again. */
static const struct blocked_kind saved_kind = {
    .timed_out = reply_awaited, .came = reply_awaited, .free_state = free_awaited, .kept = true};

static void end_wait(void *ticket) { blocked_end_from_thread(ticket); }

void cluster_reply_saved_now(struct call *call, const char *text) {
    if (cluster_file_write())
        reply_status(call->client, text);
    else
        reply_error_format(call->client, "error saving the cluster node config: %s",
                           strerror(errno));
}

void cluster_reply_when_saved(struct call *call, const char *text) {
    cluster_changed(cluster_here());
    uint64_t version = cluster_file_later();
    if (!flush_can_wait(call)) {
        cluster_reply_saved_now(call, text);
        return;
    }
    struct awaited_status *state = memory_alloc(sizeof(*state), MEMORY_CLIENTS);
    snprintf(state->text, sizeof(state->text), "%s", text);
    blocked_begin(call, &saved_kind, 0, 0, 0, BLOCKED_FOREVER, state);
    struct blocked_ticket *ticket = blocked_ticket(call->client);
    if (ticket) cluster_file_when_saved(version, end_wait, ticket);
}
