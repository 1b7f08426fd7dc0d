/* SPDX-License-Identifier: BSD-3-Clause
 * XINFO: facts about a stream, its groups and their consumers. The row stands at the end.
 *
 * XINFO changes nothing, and does not count as activity of a consumer.
 */
#include "commands/stream_info.h"

#include "base/clock.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "commands/stream_internal.h"
#include "ds/rax.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

/* XINFO STREAM FULL shows so many entries, and so many pending entries of each group and consumer,
 * unless COUNT says otherwise. */
#define FULL_COUNT 10

static size_t group_count(struct value v) {
    const struct rax *groups = stream_groups(v);
    return groups ? rax_count(groups) : 0;
}

/* ---- STREAM ---- */

/* Replies the first or the last entry, or null. */
static void reply_edge(struct client *c, struct value v, bool top) {
    struct stream_id id;
    if (top ? stream_top_id(v, &id) : stream_bottom_id(v, &id))
        stream_reply_entry(c, v, id);
    else
        reply_null(c);
}

/* Replies the four pairs with which both forms of XINFO STREAM begin. */
static void reply_stream_head(struct client *c, struct value v) {
    reply_bulk_c_string(c, "length");
    reply_integer(c, (int64_t)stream_count(v));
    reply_bulk_c_string(c, "radix-tree-keys");
    reply_integer(c, (int64_t)rax_count(stream_nodes(v)));
    reply_bulk_c_string(c, "radix-tree-nodes");
    reply_integer(c, (int64_t)rax_parts(stream_nodes(v)));
    reply_bulk_c_string(c, "last-generated-id");
    stream_reply_id(c, stream_last_id(v));
}

static void reply_stream(struct client *c, struct value v) {
    reply_map(c, 7);
    reply_stream_head(c, v);
    reply_bulk_c_string(c, "groups");
    reply_integer(c, (int64_t)group_count(v));
    reply_bulk_c_string(c, "first-entry");
    reply_edge(c, v, false);
    reply_bulk_c_string(c, "last-entry");
    reply_edge(c, v, true);
}

/* Replies up to `most` (0 = no limit) pending entries; those of a group with their consumer. */
static void reply_pending_info(struct client *c, const struct rax *pending, uint64_t most,
                               bool of_group) {
    struct stream_pending_walk w;
    uint64_t count = rax_count(pending);
    if (most && most < count) count = most;
    reply_array(c, (int64_t)count);
    stream_pending_start(&w, pending, (struct stream_id){0, 0});
    for (; count && stream_pending_step(&w); count--) {
        reply_array(c, of_group ? 4 : 3);
        stream_reply_id(c, w.id);
        if (of_group) reply_bulk(c, w.pending->consumer->name);
        reply_integer(c, w.pending->delivered_msec);
        reply_integer(c, (int64_t)w.pending->deliveries);
    }
}

static void reply_full_consumers(struct client *c, const struct rax *consumers, uint64_t most) {
    struct stream_name_walk w = {0};
    reply_array(c, (int64_t)rax_count(consumers));
    while (stream_name_step(&w, consumers)) {
        const struct stream_consumer *consumer = w.value;
        reply_map(c, 4);
        reply_bulk_c_string(c, "name");
        reply_bulk(c, consumer->name);
        reply_bulk_c_string(c, "seen-time");
        reply_integer(c, consumer->seen_msec);
        reply_bulk_c_string(c, "pel-count");
        reply_integer(c, (int64_t)rax_count(consumer->pending));
        reply_bulk_c_string(c, "pending");
        reply_pending_info(c, consumer->pending, most, false);
    }
    buffer_free(&w.name);
}

static void reply_full_groups(struct client *c, struct value v, uint64_t most) {
    struct stream_name_walk w = {0};
    reply_array(c, (int64_t)group_count(v));
    while (stream_name_step(&w, stream_groups(v))) {
        const struct stream_group *g = w.value;
        reply_map(c, 5);
        reply_bulk_c_string(c, "name");
        reply_bulk(c, buffer_slice(&w.name));
        reply_bulk_c_string(c, "last-delivered-id");
        stream_reply_id(c, g->last_id);
        reply_bulk_c_string(c, "pel-count");
        reply_integer(c, (int64_t)rax_count(g->pending));
        reply_bulk_c_string(c, "pending");
        reply_pending_info(c, g->pending, most, true);
        reply_bulk_c_string(c, "consumers");
        reply_full_consumers(c, g->consumers, most);
    }
    buffer_free(&w.name);
}

static void reply_stream_full(struct client *c, struct value v, uint64_t most) {
    reply_map(c, 6);
    reply_stream_head(c, v);
    reply_bulk_c_string(c, "entries");
    stream_reply_entries(c, v, (struct stream_id){0, 0}, STREAM_ID_MAX, false,
                         most ? most : STREAM_ALL);
    reply_bulk_c_string(c, "groups");
    reply_full_groups(c, v, most);
}

/* STREAM key [FULL [COUNT count]] */
static void info_stream(struct call *call, struct value v) {
    int64_t count = FULL_COUNT;
    if (call->argc == 3) {
        reply_stream(call->client, v);
        return;
    }
    bool counted = call->argc == 6 && argument_is(call, 4, "count");
    if (!argument_is(call, 3, "full") || !(call->argc == 4 || counted)) {
        reply_unknown_subcommand(call);
        return;
    }
    if (counted && !argument_int64(call, 5, &count, NULL)) return;
    reply_stream_full(call->client, v, count < 0 ? FULL_COUNT : (uint64_t)count);
}

/* ---- GROUPS and CONSUMERS ---- */

static void info_groups(struct call *call, struct value v) {
    struct client *c = call->client;
    struct stream_name_walk w = {0};
    reply_array(c, (int64_t)group_count(v));
    while (stream_name_step(&w, stream_groups(v))) {
        const struct stream_group *g = w.value;
        reply_map(c, 4);
        reply_bulk_c_string(c, "name");
        reply_bulk(c, buffer_slice(&w.name));
        reply_bulk_c_string(c, "consumers");
        reply_integer(c, (int64_t)rax_count(g->consumers));
        reply_bulk_c_string(c, "pending");
        reply_integer(c, (int64_t)rax_count(g->pending));
        reply_bulk_c_string(c, "last-delivered-id");
        stream_reply_id(c, g->last_id);
    }
    buffer_free(&w.name);
}

static void info_consumers(struct call *call, struct value v) {
    struct client *c = call->client;
    struct slice key = call->argv[2], name = call->argv[3];
    struct stream_name_walk w = {0};
    struct stream_group *g = stream_group_find(v, name);
    int64_t now = clock_cached_msec();
    if (!g) {
        reply_error_format(c, "-NOGROUP No such consumer group '%.*s' for key name '%.*s'",
                           (int)name.length, name.bytes, (int)key.length, key.bytes);
        return;
    }
    reply_array(c, (int64_t)rax_count(g->consumers));
    while (stream_name_step(&w, g->consumers)) {
        const struct stream_consumer *consumer = w.value;
        int64_t idle = now - consumer->seen_msec;
        reply_map(c, 3);
        reply_bulk_c_string(c, "name");
        reply_bulk(c, consumer->name);
        reply_bulk_c_string(c, "pending");
        reply_integer(c, (int64_t)rax_count(consumer->pending));
        reply_bulk_c_string(c, "idle");
        reply_integer(c, idle < 0 ? 0 : idle);
    }
    buffer_free(&w.name);
}

/* ---- the command ---- */

static const char *const help[] = {
    "CONSUMERS <key> <groupname>",
    "    Show consumers of <groupname>.",
    "GROUPS <key>",
    "    Show the stream consumer groups.",
    "STREAM <key> [FULL [COUNT <count>]",
    "    Show information about the stream.",
    NULL,
};

/* The key is checked before the subcommand, as in 6.2. */
static void command_xinfo(struct call *call) {
    struct entry *e;
    if (argument_is(call, 1, "help")) {
        reply_help(call, help);
        return;
    }
    if (call->argc < 3) {
        reply_unknown_subcommand(call);
        return;
    }
    if (!argument_read_typed(call, 2, ENTRY_STREAM, &e)) return;
    if (!e)
        reply_error(call->client, "no such key");
    else if (argument_is(call, 1, "stream"))
        info_stream(call, entry_object(e));
    else if (argument_is(call, 1, "groups") && call->argc == 3)
        info_groups(call, entry_object(e));
    else if (argument_is(call, 1, "consumers") && call->argc == 4)
        info_consumers(call, entry_object(e));
    else
        reply_unknown_subcommand(call);
}

static struct command rows[] = {
    COMMAND("xinfo", command_xinfo, -2, READ | BY_CHANCE, ACL_STREAM, KEYS(2, 2, 1),
            "Facts about a stream (STREAM), its groups (GROUPS) and their consumers (CONSUMERS).",
            .traced = "1.. stream groups consumers full count#"),
};

void commands_stream_info_register(void) { command_register(COMMAND_ROWS(rows)); }
