/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the consumer groups of streams: creating them, acknowledging entries, showing and
 * claiming pending entries. The rows stand at the end; XREADGROUP is in stream_read.c.
 *
 * Invariants
 *  1. A command checks all its arguments before it changes anything.
 *  2. Groups, consumers and pending entries count in a value's bytes: they change only within an
 *     edit (edit_value to edit_close), and pointers to them are looked up within it.
 *
 * Effects for replicas and log: XCLAIM and XAUTOCLAIM become an XCLAIM with TIME, RETRYCOUNT,
 * FORCE, JUSTID and LASTID for each claimed entry. An XCLAIM that claims none but raises the last
 * ID becomes an XGROUP SETID. The other commands are repeated as sent.
 */
#include "commands/stream_groups.h"

#include "base/clock.h"
#include "base/memory.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "commands/stream_internal.h"
#include "ds/rax.h"
#include "exec/blocked.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

/* XAUTOCLAIM looks at AUTOCLAIM_LOOKS entries for each that it may claim, and claims
 * AUTOCLAIM_COUNT at most. Facts of 6.2. */
#define AUTOCLAIM_LOOKS 10
#define AUTOCLAIM_COUNT 100

/* ---- XGROUP ---- */

/* The arguments that all subcommands share, found and checked. As in 6.2, changes of groups are
 * counted, but are no change of the key for WATCH: edit_close_untold. */
struct on_group {
    struct call *call;
    struct edit edit;       /* of argument 2; the entry is NULL where none is needed */
    struct stream_group *g; /* after change_begin */
};

static struct value change_begin(struct on_group *x) {
    struct value v = *edit_value(&x->edit, stream_create);
    x->g = stream_group_find(v, x->call->argv[3]);
    return v;
}

static void change_end(struct on_group *x, uint64_t changes, const char *event) {
    edit_close_untold(&x->edit, changes, NOTIFY_STREAM, event);
}

/* Parses the ID at argument 4; `$` is the stream's last ID. False after an error reply. */
static bool parse_group_id(const struct on_group *x, struct stream_id *id) {
    if (!slice_equal(x->call->argv[4], SLICE("$"))) return stream_parse_id(x->call, 4, id);
    const struct entry *e = x->edit.entry;
    *id = e ? stream_last_id(entry_object(e)) : (struct stream_id){0, 0};
    return true;
}

static void xgroup_create(struct on_group *x) {
    struct call *call = x->call;
    struct stream_id id;
    if (!parse_group_id(x, &id)) return;
    bool new_key = !x->edit.entry, made;
    made = stream_group_create(change_begin(x), call->argv[3], id);
    if (made)
        reply_ok(call->client);
    else
        reply_error(call->client, "-BUSYGROUP Consumer Group name already exists");
    if (new_key)
        edit_close(&x->edit, made, NOTIFY_STREAM, "xgroup-create");
    else
        change_end(x, made, "xgroup-create");
}

/* Unlike CREATE, SETID also takes `-` and `+`. */
static void xgroup_setid(struct on_group *x) {
    struct slice text = x->call->argv[4];
    struct stream_id id = {0, 0};
    if (slice_equal(text, SLICE("+")))
        id = STREAM_ID_MAX;
    else if (!slice_equal(text, SLICE("-")) && !parse_group_id(x, &id))
        return;
    change_begin(x);
    x->g->last_id = id;
    reply_ok(x->call->client);
    change_end(x, 1, "xgroup-setid");
}

/* Clients that wait for the group are woken, and get an error. */
static void xgroup_destroy(struct on_group *x) {
    struct call *call = x->call;
    struct value taken;
    bool there = stream_group_take(change_begin(x), call->argv[3], &taken);
    if (there) blocked_signal_key(&x->edit.key);
    reply_integer(call->client, there);
    change_end(x, there, "xgroup-destroy");
    if (there) lazyfree_value(VALUE_STREAM, taken);
}

static void xgroup_createconsumer(struct on_group *x) {
    struct value v = change_begin(x);
    bool made = stream_consumer_create(v, x->g, x->call->argv[4], clock_cached_msec());
    change_end(x, made, "xgroup-createconsumer");
    reply_integer(x->call->client, made);
}

static void xgroup_delconsumer(struct on_group *x) {
    size_t pending = 0;
    struct value v = change_begin(x), taken;
    struct stream_consumer *consumer = stream_consumer_find(x->g, x->call->argv[4]);
    if (consumer) pending = stream_consumer_take(v, x->g, consumer, &taken);
    reply_integer(x->call->client, (int64_t)pending);
    /* Counted as a change even where there was no such consumer, as in 6.2. */
    change_end(x, 1, "xgroup-delconsumer");
    if (consumer) lazyfree_value(VALUE_STREAM, taken);
}

static const struct {
    const char *name;
    int argc_min, argc_max;
    bool needs_group;
    void (*run)(struct on_group *x);
} xgroup_rows[] = {
    {"create", 5, 6, false, xgroup_create},
    {"setid", 5, 5, true, xgroup_setid},
    {"destroy", 4, 4, false, xgroup_destroy},
    {"createconsumer", 5, 5, true, xgroup_createconsumer},
    {"delconsumer", 5, 5, true, xgroup_delconsumer},
};
#define XGROUP_ROWS (sizeof(xgroup_rows) / sizeof(xgroup_rows[0]))

static const char *const xgroup_help[] = {
    "CREATE <key> <groupname> <id|$> [option]",
    "    Create a new consumer group. Options are:",
    "    * MKSTREAM",
    "      Create the empty stream if it does not exist.",
    "CREATECONSUMER <key> <groupname> <consumer>",
    "    Create a new consumer in the specified group.",
    "DELCONSUMER <key> <groupname> <consumer>",
    "    Remove the specified consumer.",
    "DESTROY <key> <groupname>    Remove the specified group.",
    "SETID <key> <groupname> <id|$>",
    "    Set the current group ID.",
    NULL,
};

/* Finds the key and the group, where there are arguments for them; before the number of arguments
 * is checked, as in 6.2. False after an error reply. */
static bool find_on_group(struct on_group *x, bool makes_stream, bool needs_group) {
    struct call *call = x->call;
    struct slice key = call->argv[2], name = call->argv[3];
    if (!edit_open(&x->edit, call, 2, ENTRY_STREAM)) return false;
    if (makes_stream) return true;
    if (!x->edit.entry) {
        reply_error(call->client,
                    "The XGROUP subcommand requires the key to exist. Note that for CREATE you "
                    "may want to use the MKSTREAM option to create an empty stream "
                    "automatically.");
        return false;
    }
    if (!needs_group || stream_group_find(entry_object(x->edit.entry), name)) return true;
    reply_error_format(call->client, "-NOGROUP No such consumer group '%.*s' for key name '%.*s'",
                       (int)name.length, name.bytes, (int)key.length, key.bytes);
    return false;
}

static void command_xgroup(struct call *call) {
    struct on_group x = {.call = call};
    size_t row = 0;
    bool makes_stream = call->argc == 6 && argument_is(call, 1, "create");
    while (row < XGROUP_ROWS && !argument_is(call, 1, xgroup_rows[row].name)) row++;
    bool known = row < XGROUP_ROWS;
    if (makes_stream && !argument_is(call, 5, "mkstream")) {
        reply_unknown_subcommand(call);
        return;
    }
    if (call->argc >= 4 && !find_on_group(&x, makes_stream, known && xgroup_rows[row].needs_group))
        return;
    if (known && call->argc >= xgroup_rows[row].argc_min && call->argc <= xgroup_rows[row].argc_max)
        xgroup_rows[row].run(&x);
    else if (call->argc == 2 && argument_is(call, 1, "help"))
        reply_help(call, xgroup_help);
    else
        reply_unknown_subcommand(call);
}

/* Opens the stream that is argument 1, for a command that counts as a read. False after a reply of
 * wrong type. */
static bool open_reading(struct edit *edit, const struct call *call) {
    struct entry *e;
    const struct key key = call_key(call, 1);
    if (!argument_read_typed(call, 1, ENTRY_STREAM, &e)) return false;
    edit_of_entry(edit, &key, e);
    return true;
}

/* ---- XACK ---- */

static void command_xack(struct call *call) {
    struct edit edit;
    struct stream_id id;
    uint64_t acknowledged = 0;
    if (!open_reading(&edit, call)) return;
    if (!edit.entry || !stream_group_find(entry_object(edit.entry), call->argv[2])) {
        reply_integer(call->client, 0);
        return;
    }
    for (int i = 3; i < call->argc; i++)
        if (!stream_parse_id(call, i, &id)) return;
    struct value v = *edit_value(&edit, NULL);
    struct stream_group *g = stream_group_find(v, call->argv[2]);
    for (int i = 3; i < call->argc; i++) {
        stream_read_id(call->argv[i], 0, &id);
        acknowledged += stream_pending_remove(v, g, id);
    }
    edit_close_untold(&edit, acknowledged, NOTIFY_STREAM, NULL);
    reply_integer(call->client, (int64_t)acknowledged);
}

/* ---- XPENDING ---- */

static void reply_pending_counts(struct client *c, const struct rax *consumers) {
    struct stream_name_walk w = {0};
    int64_t count = 0;
    struct reply_group busy = reply_array_begin(c);
    while (stream_name_step(&w, consumers)) {
        const struct stream_consumer *consumer = w.value;
        if (!rax_count(consumer->pending)) continue;
        reply_array(c, 2);
        reply_bulk(c, consumer->name);
        reply_bulk_integer(c, (int64_t)rax_count(consumer->pending));
        count++;
    }
    reply_group_end(&busy, count);
    buffer_free(&w.name);
}

/* Replies how many entries are pending, the lowest ID, the highest, and how many for each
 * consumer. */
static void reply_pending_summary(struct client *c, const struct stream_group *g) {
    char bytes[STREAM_KEY_BYTES + 1];
    struct buffer key = {bytes, 0, sizeof(bytes), MEMORY_OTHER};
    reply_array(c, 4);
    reply_integer(c, (int64_t)rax_count(g->pending));
    if (!rax_count(g->pending)) {
        reply_null(c);
        reply_null(c);
        reply_null_array(c);
        return;
    }
    rax_seek(g->pending, RAX_FIRST, (struct slice){0}, &key, NULL);
    stream_reply_id(c, stream_id_of_key(buffer_slice(&key)));
    rax_seek(g->pending, RAX_LAST, (struct slice){0}, &key, NULL);
    stream_reply_id(c, stream_id_of_key(buffer_slice(&key)));
    reply_pending_counts(c, g->consumers);
}

struct pending_query {
    struct stream_id first, last;
    int64_t count, idle_msec; /* the least idle time; 0 or less = any */
    bool of_consumer;
    struct slice consumer;
};

static bool parse_pending_query(const struct call *call, struct pending_query *q) {
    int at = 3;
    bool idle = call->argc >= 6 && argument_is(call, 3, "idle");
    if (call->argc < 6 || call->argc > 9) {
        reply_syntax_error(call->client);
        return false;
    }
    if (idle) {
        if (!argument_int64(call, 4, &q->idle_msec, NULL)) return false;
        if (call->argc < 8) {
            reply_syntax_error(call->client);
            return false;
        }
        at = 5;
    }
    if (!argument_int64(call, at + 2, &q->count, NULL)) return false;
    if (!stream_parse_start(call, at, &q->first) || !stream_parse_end(call, at + 1, &q->last))
        return false;
    q->of_consumer = at + 3 < call->argc;
    if (q->of_consumer) q->consumer = call->argv[at + 3];
    return true;
}

/* Steps to the next entry that fits the query; false at the end. */
static bool pending_step(struct stream_pending_walk *w, const struct pending_query *q,
                         int64_t now) {
    while (stream_pending_step(w)) {
        if (stream_id_compare(w->id, q->last) > 0) return false;
        if (q->idle_msec <= 0 || now - w->pending->delivered_msec >= q->idle_msec) return true;
    }
    return false;
}

static void reply_pending_entries(struct client *c, const struct rax *pending,
                                  const struct pending_query *q) {
    struct stream_pending_walk w;
    int64_t now = clock_cached_msec(), count = 0;
    struct reply_group entries = reply_array_begin(c);
    stream_pending_start(&w, pending, q->first);
    for (; count < q->count && pending_step(&w, q, now); count++) {
        int64_t idle = now - w.pending->delivered_msec;
        reply_array(c, 4);
        stream_reply_id(c, w.id);
        reply_bulk(c, w.pending->consumer->name);
        reply_integer(c, idle < 0 ? 0 : idle);
        reply_integer(c, (int64_t)w.pending->deliveries);
    }
    reply_group_end(&entries, count);
}

static void command_xpending(struct call *call) {
    struct entry *e;
    struct pending_query q = {0};
    if (call->argc > 3 && !parse_pending_query(call, &q)) return;
    if (!argument_read_typed(call, 1, ENTRY_STREAM, &e)) return;
    struct stream_group *g = stream_parse_group(call, e, 2);
    if (!g) return;
    if (call->argc == 3) {
        reply_pending_summary(call->client, g);
        return;
    }
    const struct stream_consumer *consumer =
        q.of_consumer ? stream_consumer_find(g, q.consumer) : NULL;
    if (q.of_consumer && !consumer)
        reply_array(call->client, 0);
    else
        reply_pending_entries(call->client, consumer ? consumer->pending : g->pending, &q);
}

/* ---- XCLAIM and XAUTOCLAIM ---- */

struct claim {
    int64_t min_idle_msec; /* 0 or less = any */
    int64_t now_msec, delivered_msec;
    int64_t deliveries; /* < 0: one more, unless only IDs are replied */
    bool forced;        /* entries that are not pending become so */
    bool only_ids;
    struct stream_id last_id; /* the group's last ID becomes this, if it is higher */
    int id_end;               /* IDs are the arguments before this one */
};

/* A claim that runs, within an edit. */
struct claiming {
    struct edit edit;
    struct value v;
    struct stream_group *g;
    struct stream_consumer *consumer; /* NULL until something is claimed */
    struct slice name;
    struct buffer claimed; /* of struct stream_id */
};

static size_t claimed_count(const struct claiming *x) {
    return x->claimed.length / sizeof(struct stream_id);
}

static bool is_idle(const struct claim *how, const struct stream_pending *p) {
    return how->min_idle_msec <= 0 || how->now_msec - p->delivered_msec >= how->min_idle_msec;
}

/* Gives the consumer the entry, which may have been pending (`p`) or not (NULL). */
static void claim_one(struct claiming *x, const struct claim *how, struct stream_id id,
                      struct stream_pending *p) {
    bool fresh = !p;
    if (!x->consumer) x->consumer = stream_consumer_see(x->v, x->g, x->name, how->now_msec);
    p = stream_pending_assign(x->v, x->g, x->consumer, id);
    if (fresh) p->deliveries = 1;
    p->delivered_msec = how->delivered_msec;
    if (how->deliveries >= 0)
        p->deliveries = (uint64_t)how->deliveries;
    else if (!how->only_ids)
        p->deliveries++;
    buffer_append(&x->claimed, &id, sizeof(id));
}

/* Replies the claimed entries (null for one that was deleted), or only their IDs. */
static void reply_claimed(struct client *c, const struct claiming *x, bool only_ids) {
    const struct stream_id *ids = (const struct stream_id *)(const void *)x->claimed.bytes;
    size_t count = claimed_count(x);
    reply_array(c, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        if (only_ids)
            stream_reply_id(c, ids[i]);
        else if (!stream_reply_entry(c, x->v, ids[i]))
            reply_null(c);
    }
}

static bool claim_option_error(const struct call *call, int index) {
    struct slice word = call->argv[index];
    reply_error_format(call->client, "Unrecognized XCLAIM option '%.*s'", (int)word.length,
                       word.bytes);
    return false;
}

/* Parses the options of XCLAIM, behind its IDs. False after an error reply. */
static bool parse_claim_options(const struct call *call, struct claim *how) {
    int64_t delivered = how->now_msec, idle;
    for (int i = how->id_end; i < call->argc; i++) {
        bool more = i + 1 < call->argc;
        if (argument_is(call, i, "force")) {
            how->forced = true;
        } else if (argument_is(call, i, "justid")) {
            how->only_ids = true;
        } else if (argument_is(call, i, "idle") && more) {
            if (!argument_int64(call, ++i, &idle, "Invalid IDLE option argument for XCLAIM"))
                return false;
            if (__builtin_sub_overflow(how->now_msec, idle, &delivered)) delivered = -1;
        } else if (argument_is(call, i, "time") && more) {
            if (!argument_int64(call, ++i, &delivered, "Invalid TIME option argument for XCLAIM"))
                return false;
        } else if (argument_is(call, i, "retrycount") && more) {
            if (!argument_int64(call, ++i, &how->deliveries,
                                "Invalid RETRYCOUNT option argument for XCLAIM"))
                return false;
        } else if (argument_is(call, i, "lastid") && more) {
            if (!stream_parse_id(call, ++i, &how->last_id)) return false;
        } else {
            return claim_option_error(call, i);
        }
    }
    /* Neither before 1970 nor in the future, so that the idle time can be computed. */
    how->delivered_msec = delivered < 0 || delivered > how->now_msec ? how->now_msec : delivered;
    return true;
}

static bool parse_claim(const struct call *call, struct claim *how) {
    struct stream_id id;
    *how = (struct claim){.now_msec = clock_cached_msec(), .deliveries = -1, .id_end = 5};
    if (!argument_int64(call, 4, &how->min_idle_msec, "Invalid min-idle-time argument for XCLAIM"))
        return false;
    while (how->id_end < call->argc && stream_read_id(call->argv[how->id_end], 0, &id))
        how->id_end++;
    return parse_claim_options(call, how);
}

static void claim_begin(struct claiming *x, const struct call *call) {
    x->consumer = NULL;
    x->name = call->argv[3];
    buffer_init(&x->claimed, MEMORY_OTHER);
    x->v = *edit_value(&x->edit, NULL);
    x->g = stream_group_find(x->v, call->argv[2]);
}

/* Counts `changes`, and adds the claims' effects for log and replicas: each entry's owner. */
static void claim_end(struct claiming *x, const struct call *call, uint64_t changes) {
    const struct stream_id *ids = (const struct stream_id *)(const void *)x->claimed.bytes;
    size_t count = claimed_count(x);
    for (size_t i = 0; effects_wanted() && i < count; i++)
        stream_effect_claim(&x->edit.key, call->argv[2], x->g, x->name, ids[i],
                            stream_pending_find(x->g, ids[i]));
    if (!count && changes) stream_effect_last_id(&x->edit.key, call->argv[2], x->g);
    edit_close_untold(&x->edit, changes, NOTIFY_STREAM, NULL);
}

static void command_xclaim(struct call *call) {
    struct claim how;
    struct claiming x;
    if (!open_reading(&x.edit, call)) return;
    if (!stream_parse_group(call, x.edit.entry, 2) || !parse_claim(call, &how)) return;
    claim_begin(&x, call);
    bool raises = stream_id_compare(how.last_id, x.g->last_id) > 0;
    if (raises) x.g->last_id = how.last_id;
    for (int i = 5; i < how.id_end; i++) {
        struct stream_id id;
        stream_read_id(call->argv[i], 0, &id);
        struct stream_pending *p = stream_pending_find(x.g, id);
        if (p ? is_idle(&how, p) : how.forced && stream_has(x.v, id)) claim_one(&x, &how, id, p);
    }
    claim_end(&x, call, claimed_count(&x) ? claimed_count(&x) : raises);
    reply_claimed(call->client, &x, how.only_ids);
    buffer_free(&x.claimed);
}

struct autoclaim {
    struct claim how;
    struct stream_id first;
    int64_t count;
};

static bool parse_autoclaim(const struct call *call, struct autoclaim *a) {
    int64_t now = clock_cached_msec();
    *a = (struct autoclaim){
        .how = {.now_msec = now, .delivered_msec = now, .deliveries = -1},
        .count = AUTOCLAIM_COUNT,
    };
    if (!argument_int64(call, 4, &a->how.min_idle_msec,
                        "Invalid min-idle-time argument for XAUTOCLAIM"))
        return false;
    if (!stream_parse_start(call, 5, &a->first)) return false;
    for (int i = 6; i < call->argc; i++) {
        if (argument_is(call, i, "count") && i + 1 < call->argc) {
            if (!argument_not_negative(call, ++i, &a->count, "COUNT must be > 0")) return false;
            if (a->count == 0) {
                reply_error(call->client, "COUNT must be > 0");
                return false;
            }
        } else if (argument_is(call, i, "justid")) {
            a->how.only_ids = true;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

/* Replies the ID to continue from, 0-0 at the end, and the claimed entries. */
static void command_xautoclaim(struct call *call) {
    struct autoclaim a;
    struct claiming x;
    struct stream_pending_walk w;
    const struct key key = call_key(call, 1);
    edit_of_entry(&x.edit, &key, keyspace_read(&key));
    if (!parse_autoclaim(call, &a)) return;
    if (x.edit.entry && x.edit.entry->type != ENTRY_STREAM) {
        reply_wrong_type(call->client);
        return;
    }
    if (!stream_parse_group(call, x.edit.entry, 2)) return;
    int64_t looks, left = a.count;
    if (__builtin_mul_overflow(a.count, AUTOCLAIM_LOOKS, &looks)) looks = INT64_MAX;
    claim_begin(&x, call);
    stream_pending_start(&w, x.g->pending, a.first);
    bool more = stream_pending_step(&w);
    for (; more && looks && left; looks--, more = stream_pending_step(&w)) {
        if (!is_idle(&a.how, w.pending)) continue;
        claim_one(&x, &a.how, w.id, w.pending);
        left--;
    }
    claim_end(&x, call, claimed_count(&x));
    reply_array(call->client, 2);
    stream_reply_id(call->client, more ? w.id : (struct stream_id){0, 0});
    reply_claimed(call->client, &x, a.how.only_ids);
    buffer_free(&x.claimed);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("xgroup", command_xgroup, -2, GROW, ACL_STREAM, CHANGES(STREAM, KEYS(2, 2, 1)),
            "Creates, moves and destroys consumer groups and consumers (CREATE, SETID, DESTROY, "
            "CREATECONSUMER, DELCONSUMER).",
            .traced = "1.. create setid destroy createconsumer delconsumer"),
    COMMAND("xack", command_xack, -4, WRITE | FAST | BY_CHANCE, ACL_STREAM,
            CHANGES(STREAM, ONE_KEY),
            "Acknowledges entries, which are then no longer pending; returns how many were."),
    COMMAND("xpending", command_xpending, -3, READ | BY_CHANCE, ACL_STREAM, ONE_KEY,
            "A group's delivered and unacknowledged entries: a summary, or a range of them."),
    COMMAND("xclaim", command_xclaim, -6, WRITE | FAST | BY_CHANCE, ACL_STREAM,
            CHANGES(STREAM, ONE_KEY),
            "Gives a consumer pending entries that were idle for long enough."),
    COMMAND("xautoclaim", command_xautoclaim, -6, WRITE | FAST | BY_CHANCE, ACL_STREAM,
            CHANGES(STREAM, ONE_KEY),
            "XCLAIM of the pending entries from an ID on; returns the ID to continue from."),
};

void commands_stream_groups_register(void) { command_register(COMMAND_ROWS(rows)); }
