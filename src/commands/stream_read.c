/* SPDX-License-Identifier: BSD-3-Clause
 * XREAD and XREADGROUP: read entries of several streams, and may wait for them. The rows stand at
 * the end.
 *
 * A request goes through its streams three times: it resolves where each stream is read from
 * (parse_places); it finds the streams that have entries, and delivers those to the group
 * (find_readable); then it replies. An array's length is replied before its elements, so
 * find_readable counts the entries first.
 *
 * XREADGROUP reads either new entries (`>`), which no consumer of its group was given yet and which
 * become pending for this consumer unless NOACK is given, or the consumer's pending entries, where
 * only their delivery counts change. The latter never waits: it may reply no entries.
 *
 * A waiting client is served when a key is signalled (exec/blocked): when an entry is added, when a
 * stream is put under the key, and when a group is destroyed. A destroyed group is then an error;
 * for a key that was deleted, or has another type, the client waits on. As in 6.2, a stream whose
 * last ID is high enough ends the wait, even if that entry was deleted.
 *
 * Effects for replicas and log: an XCLAIM for each delivered entry, with NOACK an XGROUP SETID, and
 * an XGROUP CREATECONSUMER where a consumer was created.
 */
#include "commands/stream_read.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "commands/stream_internal.h"
#include "ds/rax.h"
#include "exec/blocked.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

/* A waiting reader without COUNT gets at most so many entries, as in 6.2. */
#define WAITING_COUNT 1000

struct reading {
    bool grouped, no_ack, waits;
    uint64_t count; /* 0 = no limit */
    struct slice group, consumer;
    int64_t timeout_msec;
    int streams, first_key; /* how many streams, and the argument of the first key */
};

/* Where a stream is read from. `undelivered` (`>`): behind the group's last ID. */
struct place {
    struct stream_id after;
    bool undelivered;
};

/* What a stream has for the reply. */
struct finding {
    struct slice key;
    struct value v;
    struct stream_id first;
    uint64_t most;                   /* replied from `first` on: at most so many */
    struct stream_consumer *history; /* whose pending entries to read; NULL: the stream's */
};

/* ---- arguments ---- */

/* Parses the option at `*index` with its values; *index becomes the last of these. `STREAMS` is not
 * an option. False after an error reply. */
static bool reading_parse_option(const struct call *call, int *index, bool grouped,
                                 struct reading *r) {
    struct client *c = call->client;
    int more = call->argc - *index - 1;
    int64_t count;
    if (argument_is(call, *index, "block") && more) {
        if (call_is_scripts(call)) {
            reply_error_format(c, "%.*s command is not allowed with BLOCK option from scripts",
                               (int)call->argv[0].length, call->argv[0].bytes);
            return false;
        }
        r->waits = true;
        return blocked_parse_timeout_msec(call, ++*index, &r->timeout_msec);
    }
    if (argument_is(call, *index, "count") && more) {
        if (!argument_int64(call, ++*index, &count, NULL)) return false;
        r->count = count < 0 ? 0 : (uint64_t)count;
        return true;
    }
    if (argument_is(call, *index, "group") && more >= 2) {
        if (!grouped) {
            reply_error(c,
                        "The GROUP option is only supported by XREADGROUP. You called XREAD "
                        "instead.");
            return false;
        }
        r->grouped = true;
        r->group = call->argv[*index + 1];
        r->consumer = call->argv[*index + 2];
        *index += 2;
        return true;
    }
    if (argument_is(call, *index, "noack")) {
        r->no_ack = true;
        if (!grouped)
            reply_error(c,
                        "The NOACK option is only supported by XREADGROUP. You called XREAD "
                        "instead.");
        return grouped;
    }
    reply_syntax_error(c);
    return false;
}

static bool parse_reading(const struct call *call, bool grouped, struct reading *r) {
    *r = (struct reading){0};
    for (int i = 1; i < call->argc; i++) {
        if (!argument_is(call, i, "streams") || i + 1 == call->argc) {
            if (!reading_parse_option(call, &i, grouped, r)) return false;
            continue;
        }
        r->first_key = i + 1;
        r->streams = (call->argc - r->first_key) / 2;
        if ((call->argc - r->first_key) % 2 == 0) break;
        reply_error(call->client,
                    "Unbalanced XREAD list of streams: for each stream key an ID or '$' must be "
                    "specified.");
        return false;
    }
    if (!r->streams)
        reply_syntax_error(call->client);
    else if (grouped && !r->grouped)
        reply_error(call->client, "Missing GROUP option for XREADGROUP");
    return r->streams && grouped == r->grouped;
}

/* Resolves the ID of stream `number`, whose entry is `e` (NULL: none). */
static bool parse_place(const struct call *call, const struct reading *r, int number,
                        const struct entry *e, struct place *p) {
    struct client *c = call->client;
    int at = r->first_key + r->streams + number;
    *p = (struct place){0};
    if (slice_equal(call->argv[at], SLICE("$"))) {
        if (r->grouped)
            reply_error(c,
                        "The $ ID is meaningless in the context of XREADGROUP: you want to read "
                        "the history of this consumer by specifying a proper ID, or use the > ID "
                        "to get new messages. The $ ID would just return an empty result set.");
        else if (e)
            p->after = stream_last_id(entry_object(e));
        return !r->grouped;
    }
    if (slice_equal(call->argv[at], SLICE(">"))) {
        p->undelivered = true;
        if (!r->grouped)
            reply_error(c,
                        "The > ID can be specified only when calling XREADGROUP using the GROUP "
                        "<group> <consumer> option.");
        return r->grouped;
    }
    if (!stream_parse_id(call, at, &p->after)) return false;
    /* No entry can stand behind the highest ID, so 6.2 takes that for `>`. */
    p->undelivered = r->grouped && stream_id_compare(p->after, STREAM_ID_MAX) == 0;
    return true;
}

static bool parse_places(const struct call *call, const struct reading *r, struct place *places) {
    for (int i = 0; i < r->streams; i++) {
        struct entry *e;
        struct slice key = call->argv[r->first_key + i];
        if (!argument_read_typed(call, r->first_key + i, ENTRY_STREAM, &e)) return false;
        if (r->grouped && !(e && stream_group_find(entry_object(e), r->group))) {
            reply_error_format(call->client,
                               "-NOGROUP No such key '%.*s' or consumer group '%.*s' in "
                               "XREADGROUP with GROUP option",
                               (int)key.length, key.bytes, (int)r->group.length, r->group.bytes);
            return false;
        }
        if (!parse_place(call, r, i, e, &places[i])) return false;
    }
    return true;
}

/* ---- finding and delivering ---- */

/* Gives the group's consumer the entries behind the group's last ID; returns how many. */
static uint64_t deliver_new(struct value v, struct stream_group *g, const struct reading *r,
                            struct stream_consumer *consumer, struct stream_id first, int64_t now,
                            const struct key *key) {
    struct stream_cursor at;
    uint64_t count = 0;
    stream_cursor_start(&at, v, first, STREAM_ID_MAX, false);
    while ((!r->count || count < r->count) && stream_cursor_step(&at)) {
        count++;
        g->last_id = at.id;
        if (r->no_ack) continue;
        struct stream_pending *p = stream_pending_assign(v, g, consumer, at.id);
        p->delivered_msec = now;
        p->deliveries = 1;
        if (effects_wanted()) stream_effect_claim(key, r->group, g, r->consumer, at.id, p);
    }
    if (r->no_ack && count) stream_effect_last_id(key, r->group, g);
    return count;
}

/* Counts the consumer's pending entries from an ID on, and notes for those that still exist that
 * they are delivered again. */
static uint64_t deliver_again(struct value v, const struct stream_consumer *consumer,
                              struct stream_id first, uint64_t most, int64_t now) {
    struct stream_pending_walk w;
    uint64_t count = 0;
    stream_pending_start(&w, consumer->pending, first);
    for (; (!most || count < most) && stream_pending_step(&w); count++) {
        if (!stream_has(v, w.id)) continue;
        w.pending->delivered_msec = now;
        w.pending->deliveries++;
    }
    return count;
}

/* The group's part of find_readable: an edit of the stream. */
static void find_in_group(struct edit *edit, const struct reading *r, const struct place *p,
                          struct finding *f) {
    struct value v = *edit_value(edit, NULL);
    struct stream_group *g = stream_group_find(v, r->group);
    int64_t now = clock_cached_msec();
    if (r->no_ack && !stream_consumer_find(g, r->consumer))
        stream_effect_consumer(&edit->key, r->group, r->consumer);
    struct stream_consumer *consumer = stream_consumer_see(v, g, r->consumer, now);
    f->v = v;
    f->first = p->undelivered ? g->last_id : p->after;
    bool more = stream_id_increase(&f->first);
    if (p->undelivered) {
        f->most = more ? deliver_new(v, g, r, consumer, f->first, now, &edit->key) : 0;
    } else {
        f->history = consumer;
        f->most = more ? deliver_again(v, consumer, f->first, r->count, now) : 0;
    }
    /* No change for WATCH, as in 6.2; the effects were added above. */
    edit_close_untold(edit, 1, NOTIFY_STREAM, NULL);
    effect_none();
}

/* Whether the stream has an entry behind the ID. */
static bool has_behind(struct value v, struct stream_id after) {
    struct stream_id top;
    return stream_id_compare(stream_last_id(v), after) > 0 && stream_top_id(v, &top) &&
           stream_id_compare(top, after) > 0;
}

/* Finds what a stream has for the reply; false where it has nothing. */
static bool find_readable(struct edit *edit, const struct reading *r, const struct place *p,
                          struct finding *f) {
    struct value v = entry_object(edit->entry);
    *f = (struct finding){.key = edit->key.name, .v = v};
    if (!r->grouped) {
        if (!has_behind(v, p->after)) return false;
        f->first = p->after;
        bool above = stream_id_increase(&f->first);
        ASSERT(above); /* true, because an entry is behind it */
        f->most = r->count ? r->count : STREAM_ALL;
        return true;
    }
    struct stream_group *g = stream_group_find(v, r->group);
    if (!g || (p->undelivered && !has_behind(v, g->last_id))) return false;
    find_in_group(edit, r, p, f);
    return true;
}

/* ---- replying ---- */

static void reply_history(struct client *c, const struct finding *f) {
    struct stream_pending_walk w;
    stream_pending_start(&w, f->history->pending, f->first);
    reply_array(c, (int64_t)f->most);
    for (uint64_t i = 0; i < f->most; i++) {
        ASSERT(stream_pending_step(&w));
        if (stream_reply_entry(c, f->v, w.id)) continue;
        reply_array(c, 2);
        stream_reply_id(c, w.id);
        reply_null_array(c);
    }
}

static void reply_findings(struct client *c, const struct finding *findings, int count) {
    if (c->protocol == 3)
        reply_map(c, count);
    else
        reply_array(c, count);
    for (int i = 0; i < count; i++) {
        const struct finding *f = &findings[i];
        if (c->protocol != 3) reply_array(c, 2);
        reply_bulk(c, f->key);
        if (f->history)
            reply_history(c, f);
        else
            stream_reply_entries(c, f->v, f->first, STREAM_ID_MAX, false, f->most);
    }
}

/* ---- waiting ---- */

/* A stream that a client waits for, and where it is read from. */
struct waited_stream {
    struct slice key;
    struct stream_id after;
};

struct waiting_read {
    struct reading reading; /* its slices are copies, behind the streams */
    struct waited_stream streams[];
};

/* Copies bytes to *free_bytes, which moves behind them. */
static struct slice keep_text(struct slice text, char **free_bytes) {
    struct slice kept = {*free_bytes, text.length};
    if (text.length) memcpy(*free_bytes, text.bytes, text.length);
    *free_bytes += text.length;
    return kept;
}

static struct waiting_read *waiting_create(const struct call *call, const struct reading *r,
                                           const struct place *places) {
    size_t count = (size_t)r->streams, bytes = r->group.length + r->consumer.length;
    for (size_t i = 0; i < count; i++) bytes += call->argv[(size_t)r->first_key + i].length;
    size_t head = sizeof(struct waiting_read) + count * sizeof(struct waited_stream);
    struct waiting_read *w = memory_alloc(head + bytes, MEMORY_CLIENTS);
    char *free_bytes = (char *)w + head;
    w->reading = *r;
    w->reading.group = keep_text(r->group, &free_bytes);
    w->reading.consumer = keep_text(r->consumer, &free_bytes);
    if (!r->count) w->reading.count = WAITING_COUNT;
    for (size_t i = 0; i < count; i++) {
        w->streams[i].key = keep_text(call->argv[(size_t)r->first_key + i], &free_bytes);
        w->streams[i].after = places[i].after;
    }
    return w;
}

static void waiting_free(void *state) { memory_free(state, MEMORY_CLIENTS); }

/* Where the stream is read from; for a key that is named twice, the first place counts. */
static struct stream_id waited_after(const struct waiting_read *w, struct slice key) {
    int i = 0;
    while (!slice_equal(w->streams[i].key, key)) {
        i++;
        ASSERT_COMPARE(i, <, w->reading.streams);
    }
    return w->streams[i].after;
}

static bool serve_reading(struct client *c, void *state, const struct key *key) {
    const struct waiting_read *w = state;
    const struct reading *r = &w->reading;
    struct edit edit;
    if (!edit_open_key(&edit, key, ENTRY_STREAM) || !edit.entry) return false;
    struct value v = entry_object(edit.entry);
    struct finding f = {.key = key->name, .v = v};
    struct place p = {.undelivered = r->grouped};
    if (r->grouped) {
        const struct stream_group *g = stream_group_find(v, r->group);
        if (!g) {
            reply_error(c,
                        "-NOGROUP the consumer group this client was blocked on no longer exists");
            return true;
        }
        p.after = g->last_id;
    } else {
        p.after = waited_after(w, key->name);
    }
    if (stream_id_compare(stream_last_id(v), p.after) <= 0) return false;
    if (r->grouped) {
        find_in_group(&edit, r, &p, &f);
    } else {
        f.first = p.after;
        bool above = stream_id_increase(&f.first);
        ASSERT(above); /* true, because an entry is behind it */
        f.most = r->count ? r->count : STREAM_ALL;
    }
    reply_findings(c, &f, 1);
    return true;
}

static const struct blocked_kind read_kind = {
    .serve = serve_reading, .timed_out = blocked_reply_none, .free_state = waiting_free};

/* ---- the commands ---- */

static void read_now_or_wait(struct call *call, const struct reading *r, const struct place *places,
                             struct finding *findings) {
    int found = 0;
    for (int i = 0; i < r->streams; i++) {
        int at = r->first_key + i;
        const struct key key = call_key(call, at);
        struct edit edit;
        edit_of_entry(&edit, &key, keyspace_read(&key));
        if (edit.entry && find_readable(&edit, r, &places[i], &findings[found])) found++;
    }
    if (found)
        reply_findings(call->client, findings, found);
    else if (r->waits)
        blocked_begin(call, &read_kind, r->first_key, r->first_key + r->streams - 1, 1,
                      r->timeout_msec, waiting_create(call, r, places));
    else
        reply_null_array(call->client);
}

static void read_generic(struct call *call, bool grouped) {
    struct reading r;
    if (!parse_reading(call, grouped, &r)) return;
    size_t count = (size_t)r.streams;
    struct place *places = memory_alloc(count * sizeof(*places), MEMORY_OTHER);
    struct finding *findings = memory_alloc(count * sizeof(*findings), MEMORY_OTHER);
    if (parse_places(call, &r, places)) read_now_or_wait(call, &r, places, findings);
    memory_free(findings, MEMORY_OTHER);
    memory_free(places, MEMORY_OTHER);
}

static void command_xread(struct call *call) { read_generic(call, false); }
static void command_xreadgroup(struct call *call) { read_generic(call, true); }

/* ---- rows ---- */

/* Behind the word STREAMS stand as many keys as IDs. */
static bool stream_read_keys(const struct key_search *s) {
    int i = 1;
    for (; i < s->argc && !slice_is(s->argv[i], "streams"); i++) {
        if (slice_is(s->argv[i], "block") || slice_is(s->argv[i], "count"))
            i++;
        else if (slice_is(s->argv[i], "group"))
            i += 2;
        else if (!slice_is(s->argv[i], "noack"))
            return false;
    }
    int behind = s->argc - i - 1;
    if (behind < 2 || behind % 2) return false;
    keys_named(s, i + 1, behind / 2);
    return true;
}

static struct command rows[] = {
    COMMAND("xread", command_xread, -4, READ | MOVABLE, ACL_STREAM | ACL_BLOCKING, NO_KEYS,
            "Entries of streams behind one ID for each ($ = the last ID), with COUNT; with BLOCK "
            "it waits for entries.",
            .keys = stream_read_keys, .traced = "1.. count# block# streams $ 0"),
    COMMAND("xreadgroup", command_xreadgroup, -7, WRITE | MOVABLE, ACL_STREAM | ACL_BLOCKING,
            CHANGES(STREAM, NO_KEYS),
            "Entries of streams for a consumer of a group: new ones (>), or those pending for it "
            "behind an ID; with COUNT, BLOCK and NOACK.",
            .keys = stream_read_keys, .traced = "1.. group?? count# block# noack streams > 0"),
};

void commands_stream_read_register(void) { command_register(COMMAND_ROWS(rows)); }
