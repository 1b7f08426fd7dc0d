/* SPDX-License-Identifier: BSD-3-Clause
 * --cluster call and set-timeout: the same request to all nodes.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "base/number.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_run.h"
#include "clusterctl/ctl_talk.h"

#define NODE_TIMEOUT_MSEC_MIN 100

/* Appends a reply as --raw shows it: each text on a line of its own. The depth is bounded by
 * PEER_DEPTH_MAX. */
static void append_raw(struct buffer *out, const struct peer_reply *reply) {
    if (reply->type == PEER_INTEGER) {
        buffer_printf(out, "%" PRId64, reply->integer);
    } else if (!peer_reply_is_aggregate(reply)) {
        buffer_append(out, reply->text.bytes, reply->text.length);
        if (reply->type == PEER_ERROR) buffer_append_char(out, '\n');
    } else {
        const struct peer_reply *child = peer_reply_first(reply);
        for (uint32_t i = 0; i < reply->children; i++, child = peer_reply_next(child)) {
            if (i) buffer_append_char(out, '\n');
            append_raw(out, child);
        }
    }
}

static bool is_called(const struct ctl_options *o, const struct ctl_node *node) {
    bool primary = ctl_node_is_primary(node);
    return !(o->only_primaries && !primary) && !(o->only_replicas && primary);
}

static void call_node(struct ctl_node *node, const struct slice *words, size_t count) {
    struct buffer text = {.class = MEMORY_OTHER};
    const struct peer_reply *reply = ctl_node_call(node, words, count);
    if (reply) {
        append_raw(&text, reply);
        ctl_say(CTL_PLAIN, "%s: ", node->name);
        ctl_talk_write(buffer_slice(&text));
        ctl_say(CTL_PLAIN, "\n");
    } else {
        ctl_say(CTL_PLAIN, "%s: Failed!\n", node->name);
    }
    buffer_free(&text);
}

int ctl_call(struct ctl_run *r) {
    if (!ctl_cluster_load(&r->cluster, r->host, r->port)) return 1;
    size_t count = (size_t)r->count - 1;
    struct slice *words = memory_alloc(count * sizeof(*words), MEMORY_OTHER);
    ctl_say(CTL_INFO, ">>> Calling");
    for (size_t i = 0; i < count; i++) {
        words[i] = slice_of(r->words[1 + i]);
        ctl_say(CTL_PLAIN, " %s", r->words[1 + i]);
    }
    ctl_say(CTL_PLAIN, "\n");
    for (size_t i = 0; i < r->cluster.count; i++)
        if (is_called(r->options, r->cluster.nodes[i]))
            call_node(r->cluster.nodes[i], words, count);
    memory_free(words, MEMORY_OTHER);
    return 0;
}

/* Sets the option in the running node and in its configuration file. */
static bool set_timeout(struct ctl_node *node, int64_t msec) {
    if (ctl_node_ask_line(node, "CONFIG SET cluster-node-timeout %" PRId64, msec) &&
        ctl_node_ask_line(node, "CONFIG REWRITE")) {
        ctl_say(CTL_WARNING, "*** New timeout set for %s\n", node->name);
        return true;
    }
    ctl_say(CTL_BAD, "ERR setting node-timeot for %s: %s\n", node->name, node->error);
    return false;
}

int ctl_set_timeout(struct ctl_run *r) {
    int64_t msec;
    if (!number_parse_int64(r->words[1], strlen(r->words[1]), &msec) ||
        msec < NODE_TIMEOUT_MSEC_MIN) {
        ctl_complain("Setting a node timeout of less than %d milliseconds is a bad idea.\n",
                     NODE_TIMEOUT_MSEC_MIN);
        return 1;
    }
    if (!ctl_cluster_load(&r->cluster, r->host, r->port)) return 1;
    ctl_say(CTL_INFO, ">>> Reconfiguring node timeout in every cluster node...\n");
    size_t set = 0;
    for (size_t i = 0; i < r->cluster.count; i++) set += set_timeout(r->cluster.nodes[i], msec);
    ctl_say(CTL_INFO, ">>> New node timeout set. %zu OK, %zu ERR.\n", set, r->cluster.count - set);
    return 0;
}
