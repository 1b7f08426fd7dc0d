/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the entries of streams, and functions for the other stream commands. The rows stand
 * at the end.
 *
 * A stream that lost its last entry stays, because its last ID and its groups are still needed.
 * Only DEL and similar commands delete the key.
 *
 * Invariants
 *  1. A command checks all its arguments before it changes anything.
 *  2. An array's length is replied before its elements, so entries are counted before they are
 *     replied.
 *
 * XADD wakes clients that wait for its key (exec/blocked); XSETID does not, as in 6.2. The effect
 * for replicas and log: XADD with the ID that `*` gave, and a trim by `~` as `=` with the length or
 * the lowest ID that it led to.
 */
#include "commands/stream.h"

#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "commands/stream_internal.h"
#include "ds/rax.h"
#include "exec/blocked.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/reply.h"
#include "option/option.h"
#include "store/keyspace.h"

/* An ID's text is shorter than this, NUL included, as in 6.2. */
#define ID_TEXT_BYTES 128

static const struct stream_id lowest_id = {0, 0};
static const struct stream_id highest_id = STREAM_ID_MAX;

/* ---- IDs as arguments ---- */

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Parses a part of an ID. Besides plain numbers it accepts what strtoull does, as 6.2: leading
 * blanks, a sign, leading zeros. A number with a minus sign wraps around, unless it is the plain
 * form of a negative one. */
static bool read_part(struct slice text, uint64_t *part) {
    size_t at = 0;
    int64_t plain;
    uint64_t sum = 0;
    if (number_parse_int64(text.bytes, text.length, &plain)) {
        *part = (uint64_t)plain;
        return plain >= 0;
    }
    while (at < text.length && is_blank(text.bytes[at])) at++;
    bool negative = at < text.length && text.bytes[at] == '-';
    if (negative || (at < text.length && text.bytes[at] == '+')) at++;
    if (at == text.length) return false;
    for (; at < text.length; at++) {
        unsigned digit = (unsigned char)text.bytes[at] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *part = negative ? 0 - sum : sum;
    return true;
}

bool stream_read_id(struct slice text, uint64_t missing, struct stream_id *id) {
    struct stream_id read = {0, missing};
    if (text.length >= ID_TEXT_BYTES) return false;
    const char *nul = text.length ? memchr(text.bytes, '\0', text.length) : NULL;
    if (nul) text.length = (size_t)(nul - text.bytes);
    const char *dash = text.length ? memchr(text.bytes, '-', text.length) : NULL;
    struct slice msec = {text.bytes, dash ? (size_t)(dash - text.bytes) : text.length};
    if (!read_part(msec, &read.msec)) return false;
    if (dash) {
        struct slice sequence = {dash + 1, text.length - msec.length - 1};
        if (!read_part(sequence, &read.sequence)) return false;
    }
    *id = read;
    return true;
}

static bool id_or_error(const struct call *call, struct slice text, uint64_t missing,
                        struct stream_id *id) {
    if (stream_read_id(text, missing, id)) return true;
    reply_error(call->client, "Invalid stream ID specified as stream command argument");
    return false;
}

bool stream_parse_id(const struct call *call, int index, struct stream_id *id) {
    return id_or_error(call, call->argv[index], 0, id);
}

/* Parses an end of a range; `*excluded`: the ID itself does not belong to the range. False after an
 * error reply. */
static bool parse_bound(const struct call *call, int index, uint64_t missing, struct stream_id *id,
                        bool *excluded) {
    struct slice text = call->argv[index];
    *excluded = text.length > 1 && text.bytes[0] == '(';
    if (*excluded) {
        text = (struct slice){text.bytes + 1, text.length - 1};
    } else if (slice_equal(text, SLICE("-")) || slice_equal(text, SLICE("+"))) {
        *id = text.bytes[0] == '-' ? lowest_id : highest_id;
        return true;
    }
    return id_or_error(call, text, missing, id);
}

bool stream_parse_start(const struct call *call, int index, struct stream_id *first) {
    bool excluded;
    if (!parse_bound(call, index, 0, first, &excluded)) return false;
    if (!excluded || stream_id_increase(first)) return true;
    reply_error(call->client, "invalid start ID for the interval");
    return false;
}

bool stream_parse_end(const struct call *call, int index, struct stream_id *last) {
    bool excluded;
    if (!parse_bound(call, index, UINT64_MAX, last, &excluded)) return false;
    if (!excluded || stream_id_decrease(last)) return true;
    reply_error(call->client, "invalid end ID for the interval");
    return false;
}

void stream_reply_id(struct client *c, struct stream_id id) {
    char text[STREAM_ID_CHARS];
    reply_bulk(c, (struct slice){text, stream_id_print(id, text)});
}

/* ---- entries ---- */

static void reply_reached(struct client *c, struct stream_cursor *at) {
    struct listpack_value field, text;
    char scratch[LISTPACK_SCRATCH];
    reply_array(c, 2);
    stream_reply_id(c, at->id);
    reply_array(c, (int64_t)(at->pairs * 2));
    while (stream_cursor_pair(at, &field, &text)) {
        reply_bulk(c, listpack_value_text(&field, scratch));
        reply_bulk(c, listpack_value_text(&text, scratch));
    }
}

void stream_reply_entries(struct client *c, struct value v, struct stream_id first,
                          struct stream_id last, bool backwards, uint64_t most) {
    struct stream_cursor at;
    uint64_t count = 0;
    struct reply_group entries = reply_array_begin(c);
    stream_cursor_start(&at, v, first, last, backwards);
    for (; count < most && stream_cursor_step(&at); count++) reply_reached(c, &at);
    reply_group_end(&entries, (int64_t)count);
}

bool stream_reply_entry(struct client *c, struct value v, struct stream_id id) {
    struct stream_cursor at;
    stream_cursor_start(&at, v, id, id, false);
    if (!stream_cursor_step(&at)) return false;
    reply_reached(c, &at);
    return true;
}

/* ---- groups ---- */

void stream_pending_start(struct stream_pending_walk *w, const struct rax *tree,
                          struct stream_id from) {
    *w = (struct stream_pending_walk){.tree = tree, .id = from};
}

bool stream_pending_step(struct stream_pending_walk *w) {
    char bytes[STREAM_KEY_BYTES + 1];
    struct buffer found = {bytes, 0, sizeof(bytes), MEMORY_OTHER};
    struct slice key = stream_id_key(w->id, bytes);
    void *pending;
    if (!rax_seek(w->tree, w->started ? RAX_ABOVE : RAX_AT_LEAST, key, &found, &pending))
        return false;
    w->started = true;
    w->id = stream_id_of_key(buffer_slice(&found));
    w->pending = pending;
    return true;
}

bool stream_name_step(struct stream_name_walk *w, const struct rax *tree) {
    enum rax_relation relation = w->started ? RAX_ABOVE : RAX_FIRST;
    if (!w->started) buffer_init(&w->name, MEMORY_OTHER);
    w->started = true;
    return tree && rax_seek(tree, relation, buffer_slice(&w->name), &w->name, &w->value);
}

struct stream_group *stream_parse_group(const struct call *call, const struct entry *e, int index) {
    struct slice key = call->argv[1], name = call->argv[index];
    struct stream_group *g = e ? stream_group_find(entry_object(e), name) : NULL;
    if (!g)
        reply_error_format(call->client, "-NOGROUP No such key '%.*s' or consumer group '%.*s'",
                           (int)key.length, key.bytes, (int)name.length, name.bytes);
    return g;
}

struct stream_consumer *stream_consumer_see(struct value v, struct stream_group *g,
                                            struct slice name, int64_t now_msec) {
    struct stream_consumer *consumer = stream_consumer_find(g, name);
    if (!consumer) return stream_consumer_create(v, g, name, now_msec);
    consumer->seen_msec = now_msec;
    return consumer;
}

/* ---- effects ---- */

void stream_effect_claim(const struct key *key, struct slice group_name,
                         const struct stream_group *g, struct slice consumer, struct stream_id id,
                         const struct stream_pending *p) {
    char id_text[STREAM_ID_CHARS], last_text[STREAM_ID_CHARS];
    char time[NUMBER_INT64_CHARS], count[NUMBER_INT64_CHARS];
    const struct slice words[] = {
        SLICE("XCLAIM"),     key->name,
        group_name,          consumer,
        SLICE("0"),          {id_text, stream_id_print(id, id_text)},
        SLICE("TIME"),       {time, number_format_int64(time, p->delivered_msec)},
        SLICE("RETRYCOUNT"), {count, number_format_int64(count, (int64_t)p->deliveries)},
        SLICE("FORCE"),      SLICE("JUSTID"),
        SLICE("LASTID"),     {last_text, stream_id_print(g->last_id, last_text)},
    };
    effect_add_alone(key->keyspace, EFFECT_BOTH, sizeof(words) / sizeof(words[0]), words);
}

void stream_effect_last_id(const struct key *key, struct slice group_name,
                           const struct stream_group *g) {
    char text[STREAM_ID_CHARS];
    const struct slice words[] = {SLICE("XGROUP"),
                                  SLICE("SETID"),
                                  key->name,
                                  group_name,
                                  {text, stream_id_print(g->last_id, text)}};
    effect_add_alone(key->keyspace, EFFECT_BOTH, sizeof(words) / sizeof(words[0]), words);
}

void stream_effect_consumer(const struct key *key, struct slice group_name, struct slice consumer) {
    const struct slice words[] = {SLICE("XGROUP"), SLICE("CREATECONSUMER"), key->name, group_name,
                                  consumer};
    effect_add_alone(key->keyspace, EFFECT_BOTH, sizeof(words) / sizeof(words[0]), words);
}

/* ---- trimming ---- */

/* Trimming by `~` removes at most so many nodes full of entries, unless LIMIT says otherwise, so
 * that a command does not take long. Facts of 6.2. */
#define TRIM_NODES 100
#define TRIM_ENTRIES_DEFAULT 10000 /* where nodes have no limit of entries */
#define TRIM_ENTRIES_MAX 1000000

static const int64_t *node_entries_max; /* the option stream-node-max-entries */

static uint64_t trim_limit(void) {
    if (*node_entries_max <= 0) return TRIM_ENTRIES_DEFAULT;
    return *node_entries_max < TRIM_ENTRIES_MAX / TRIM_NODES
               ? (uint64_t)*node_entries_max * TRIM_NODES
               : TRIM_ENTRIES_MAX;
}

struct trimming {
    struct stream_trim trim;
    int threshold_index; /* the threshold's argument; 0: there is none */
    bool limited;        /* LIMIT was given */
};

/* Parses MAXLEN or MINID, an optional `~` or `=`, and the threshold, from *index on; *index becomes
 * the threshold's argument. False after an error reply. */
static bool parse_threshold(const struct call *call, int *index, enum stream_trim_by by,
                            struct trimming *t) {
    struct stream_trim *trim = &t->trim;
    int at = *index + 1;
    int64_t count;
    if (trim->by != STREAM_TRIM_NOT) {
        reply_error(call->client,
                    "syntax error, MAXLEN and MINID options at the same time are not compatible");
        return false;
    }
    if (at + 1 < call->argc) {
        trim->whole_nodes = slice_equal(call->argv[at], SLICE("~"));
        if (trim->whole_nodes || slice_equal(call->argv[at], SLICE("="))) at++;
    }
    if (by == STREAM_TRIM_ID) {
        if (!stream_parse_id(call, at, &trim->id)) return false;
    } else {
        if (!argument_int64(call, at, &count, NULL)) return false;
        if (count < 0) {
            reply_error(call->client, "The MAXLEN argument must be >= 0.");
            return false;
        }
        trim->count = (uint64_t)count;
    }
    trim->by = by;
    t->threshold_index = *index = at;
    return true;
}

static bool parse_limit(const struct call *call, int index, struct trimming *t) {
    int64_t limit;
    if (!argument_int64(call, index, &limit, NULL)) return false;
    if (limit < 0) {
        reply_error(call->client, "The LIMIT argument must be >= 0.");
        return false;
    }
    t->trim.limit = (uint64_t)limit;
    t->limited = true;
    return true;
}

enum parsed { PARSED, PARSED_NOTHING, PARSED_ERROR };

/* Parses an option of trimming from *index on; *index becomes its last argument. PARSED_NOTHING,
 * with no reply, where it is none. */
static enum parsed parse_trim_option(const struct call *call, int *index, struct trimming *t) {
    bool done;
    if (*index + 1 >= call->argc) return PARSED_NOTHING;
    if (argument_is(call, *index, "maxlen"))
        done = parse_threshold(call, index, STREAM_TRIM_COUNT, t);
    else if (argument_is(call, *index, "minid"))
        done = parse_threshold(call, index, STREAM_TRIM_ID, t);
    else if (argument_is(call, *index, "limit"))
        done = parse_limit(call, ++*index, t);
    else
        return PARSED_NOTHING;
    return done ? PARSED : PARSED_ERROR;
}

/* Checks, after all options, that they fit together. `required`: there must be a trim. False after
 * an error reply. */
static bool finish_trimming(const struct call *call, struct trimming *t, bool required) {
    bool none = t->trim.by == STREAM_TRIM_NOT;
    const char *error = NULL;
    if (none && t->trim.limit)
        error = "syntax error, LIMIT cannot be used without specifying a trimming strategy";
    else if (none && required)
        error = "syntax error, XTRIM must be called with a trimming strategy";
    else if (t->limited && !t->trim.whole_nodes && !call_is_repeated(call)) /* sent as `~` */
        error = "syntax error, LIMIT cannot be used without the special ~ option";
    if (error)
        reply_error(call->client, error);
    else if (t->trim.whole_nodes && !t->limited)
        t->trim.limit = trim_limit();
    return !error;
}

/* Log and replicas get exact values where the result depends on how nodes are filled, or on the
 * clock: `~` becomes `=` with the threshold that was reached, and `*`, or a part of an ID, becomes
 * the whole ID. */
static void add_exact_effect(const struct call *call, struct value v, const struct trimming *t,
                             int id_index, struct stream_id id) {
    char threshold[STREAM_ID_CHARS], id_text[STREAM_ID_CHARS];
    const struct slice whole_id = {id_text, stream_id_print(id, id_text)};
    bool made = id_index && !slice_equal(call->argv[id_index], whole_id);
    if (!t->trim.whole_nodes && !made) return;
    struct slice *words = memory_alloc((size_t)call->argc * sizeof(*words), MEMORY_OTHER);
    memcpy(words, call->argv, (size_t)call->argc * sizeof(*words));
    if (made) words[id_index] = whole_id;
    if (t->trim.whole_nodes) {
        struct stream_id first;
        size_t length;
        if (!stream_bottom_id(v, &first)) first = STREAM_ID_MAX; /* where no entry is left */
        length = t->trim.by == STREAM_TRIM_ID
                     ? stream_id_print(first, threshold)
                     : number_format_int64(threshold, (int64_t)stream_count(v));
        words[t->threshold_index - 1] = SLICE("=");
        words[t->threshold_index] = (struct slice){threshold, length};
    }
    effect_add(call->keyspace, EFFECT_BOTH, call->argc, words);
    memory_free(words, MEMORY_OTHER);
}

static void command_xtrim(struct call *call) {
    struct trimming t = {0};
    struct edit edit;
    for (int i = 2; i < call->argc; i++) {
        enum parsed parsed = parse_trim_option(call, &i, &t);
        if (parsed == PARSED_NOTHING) reply_syntax_error(call->client);
        if (parsed != PARSED) return;
    }
    if (!finish_trimming(call, &t, true)) return;
    if (!edit_open(&edit, call, 1, ENTRY_STREAM)) return;
    uint64_t deleted = 0;
    struct value *v = edit_value(&edit, NULL);
    if (v) deleted = stream_trim(*v, &t.trim);
    if (deleted && effects_wanted()) add_exact_effect(call, *v, &t, 0, lowest_id);
    edit_close(&edit, deleted, NOTIFY_STREAM, "xtrim");
    reply_integer(call->client, (int64_t)deleted);
}

/* ---- adding and deleting ---- */

struct addition {
    struct trimming trimming;
    struct stream_id id;
    bool id_given, only_existing;
    int first_field; /* its argument; without an ID, beyond the last argument */
};

static bool parse_addition(const struct call *call, struct addition *a) {
    int i = 2;
    *a = (struct addition){0};
    for (; i < call->argc && !slice_equal(call->argv[i], SLICE("*")); i++) {
        enum parsed parsed = parse_trim_option(call, &i, &a->trimming);
        if (parsed == PARSED_ERROR) return false;
        if (parsed == PARSED) continue;
        if (argument_is(call, i, "nomkstream")) {
            a->only_existing = true;
            continue;
        }
        if (!stream_parse_id(call, i, &a->id)) return false;
        a->id_given = true;
        break;
    }
    a->first_field = i + 1;
    return finish_trimming(call, &a->trimming, false);
}

/* The ID that `*` stands for: the present time, or, where that is not above the last ID, the next
 * ID. */
static struct stream_id next_id(struct stream_id last) {
    uint64_t now = (uint64_t)clock_cached_msec();
    if (now > last.msec) return (struct stream_id){now, 0};
    bool above = stream_id_increase(&last);
    ASSERT(above); /* a stream with the highest last ID was refused */
    return last;
}

/* Adds the entry and replies its ID. False, with nothing changed, where the entry is too large. */
static bool add_entry(const struct call *call, struct edit *edit, const struct addition *a) {
    const struct slice *texts = call->argv + a->first_field;
    size_t pairs = (size_t)(call->argc - a->first_field) / 2;
    struct value v = *edit_value(edit, stream_create);
    uint64_t trimmed = 0;
    bool added = stream_append(v, a->id, texts, pairs);
    if (added && a->trimming.trim.by != STREAM_TRIM_NOT)
        trimmed = stream_trim(v, &a->trimming.trim);
    if (added) stream_reply_id(call->client, a->id);
    edit_close(edit, added, NOTIFY_STREAM, "xadd");
    if (!added) return false;
    if (trimmed) edit_announce(edit, NOTIFY_STREAM, "xtrim");
    if (effects_wanted()) add_exact_effect(call, v, &a->trimming, a->first_field - 1, a->id);
    blocked_signal_key(&edit->key);
    return true;
}

static void command_xadd(struct call *call) {
    struct client *c = call->client;
    struct addition a;
    struct edit edit;
    if (!parse_addition(call, &a)) return;
    int texts = call->argc - a.first_field;
    if (texts < 2 || texts % 2) {
        reply_error(c, "wrong number of arguments for XADD");
        return;
    }
    if (a.id_given && stream_id_compare(a.id, lowest_id) == 0) {
        reply_error(c, "The ID specified in XADD must be greater than 0-0");
        return;
    }
    if (!edit_open(&edit, call, 1, ENTRY_STREAM)) return;
    if (!edit.entry && a.only_existing) {
        reply_null(c);
        return;
    }
    struct stream_id last = edit.entry ? stream_last_id(entry_object(edit.entry)) : lowest_id;
    if (stream_id_compare(last, highest_id) == 0) {
        reply_error(c, "The stream has exhausted the last possible ID, unable to add more items");
        return;
    }
    if (!a.id_given) a.id = next_id(last);
    if (stream_id_compare(a.id, last) <= 0)
        reply_error(c,
                    "The ID specified in XADD is equal or smaller than the target stream top item");
    else if (!add_entry(call, &edit, &a))
        reply_error(c, "Elements are too large to be stored");
}

static void command_xdel(struct call *call) {
    struct edit edit;
    struct stream_id id;
    uint64_t deleted = 0;
    if (!edit_open(&edit, call, 1, ENTRY_STREAM)) return;
    if (edit.entry) {
        for (int i = 2; i < call->argc; i++)
            if (!stream_parse_id(call, i, &id)) return;
        struct value v = *edit_value(&edit, NULL);
        for (int i = 2; i < call->argc; i++) {
            stream_read_id(call->argv[i], 0, &id);
            deleted += stream_delete(v, id);
        }
        edit_close(&edit, deleted, NOTIFY_STREAM, "xdel");
    }
    reply_integer(call->client, (int64_t)deleted);
}

static void command_xsetid(struct call *call) {
    struct client *c = call->client;
    struct edit edit;
    struct stream_id id, top;
    if (!edit_open(&edit, call, 1, ENTRY_STREAM)) return;
    if (!edit.entry) {
        reply_error(c, "no such key");
        return;
    }
    if (!stream_parse_id(call, 2, &id)) return;
    if (stream_top_id(entry_object(edit.entry), &top) && stream_id_compare(id, top) < 0) {
        reply_error(c, "The ID specified in XSETID is smaller than the target stream top item");
        return;
    }
    stream_set_last_id(*edit_value(&edit, NULL), id);
    reply_ok(c);
    /* Does not count as a change for WATCH, as in 6.2. */
    edit_close_untold(&edit, 1, NOTIFY_STREAM, "xsetid");
}

/* ---- reading ---- */

static void command_xlen(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_STREAM, &e)) return;
    reply_integer(call->client, e ? (int64_t)stream_count(entry_object(e)) : 0);
}

static void range_generic(struct call *call, bool backwards) {
    struct client *c = call->client;
    struct stream_id first, last;
    struct entry *e;
    int64_t most = 0;
    bool counted = false;
    if (!stream_parse_start(call, backwards ? 3 : 2, &first) ||
        !stream_parse_end(call, backwards ? 2 : 3, &last))
        return;
    for (int i = 4; i < call->argc; i += 2) {
        if (!argument_is(call, i, "count") || i + 1 == call->argc) {
            reply_syntax_error(c);
            return;
        }
        if (!argument_int64(call, i + 1, &most, NULL)) return;
        counted = true;
    }
    if (!argument_read_typed(call, 1, ENTRY_STREAM, &e)) return;
    if (!e) {
        reply_array(c, 0);
    } else if (counted && most <= 0) {
        reply_null_array(c);
    } else {
        stream_reply_entries(c, entry_object(e), first, last, backwards,
                             counted ? (uint64_t)most : STREAM_ALL);
    }
}

static void command_xrange(struct call *call) { range_generic(call, false); }
static void command_xrevrange(struct call *call) { range_generic(call, true); }

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND(
        "xadd", command_xadd, -5, GROW | FAST | BY_CHANCE, ACL_STREAM, CHANGES(STREAM, ONE_KEY),
        "Adds an entry of fields and values under an ID (* = by the time); with NOMKSTREAM, and "
        "trims by MAXLEN or MINID.",
        .traced = "2.. nomkstream maxlen# minid? ~# =# limit# *|"),
    COMMAND("xrange", command_xrange, -4, READ, ACL_STREAM, ONE_KEY,
            "Entries between two IDs (- and + = from end to end), with COUNT.",
            .traced = "2~ 3~ 4.. count#"),
    COMMAND("xrevrange", command_xrevrange, -4, READ, ACL_STREAM, ONE_KEY,
            "Entries between two IDs, the higher ID first, in descending order.",
            .traced = "2~ 3~ 4.. count#"),
    COMMAND("xlen", command_xlen, 2, READ | FAST, ACL_STREAM, ONE_KEY, "The number of entries."),
    COMMAND("xsetid", command_xsetid, 3, GROW | FAST, ACL_STREAM, CHANGES(STREAM, ONE_KEY),
            "Sets the last ID; the next ID must be higher."),
    COMMAND("xdel", command_xdel, -3, WRITE | FAST, ACL_STREAM, CHANGES(STREAM, ONE_KEY),
            "Deletes entries by ID; returns how many were there."),
    COMMAND("xtrim", command_xtrim, -4, WRITE | BY_CHANCE, ACL_STREAM, CHANGES(STREAM, ONE_KEY),
            "Deletes the oldest entries down to a length (MAXLEN) or up to an ID (MINID); ~ = only "
            "whole nodes, LIMIT entries at most.",
            .traced = "2.. maxlen# minid? ~# =# limit#"),
};

void commands_stream_register(void) {
    node_entries_max = option_find(SLICE("stream-node-max-entries"))->variable;
    command_register(COMMAND_ROWS(rows));
}
