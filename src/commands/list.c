/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on lists. The rows stand at the end.
 *
 * A key's list is never empty: the command that takes the last element deletes the key. A blocking
 * command that finds no list blocks its client (exec/blocked); the creation of the list wakes it.
 */
#include "commands/list.h"

#include "base/hash.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/blocked.h"
#include "exec/client_flags.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "publish/tracking.h"
#include "store/keyspace.h"
#include "value/list.h"

/* ---- finding and changing ---- */

static struct quicklist *list_in(const struct entry *e) { return list_of(entry_object(e)); }

static void reply_element(struct client *c, const struct listpack_value *v) {
    char scratch[LISTPACK_SCRATCH];
    reply_bulk(c, listpack_value_text(v, scratch));
}

static void push_texts(struct edit *edit, enum quicklist_end end, const struct slice *texts,
                       int count) {
    struct quicklist *list = list_of(*edit_value(edit, list_create));
    for (int i = 0; i < count; i++) quicklist_push(list, end, texts[i]);
}

static const char *event_of_push(enum quicklist_end end) {
    return end == QUICKLIST_HEAD ? "lpush" : "rpush";
}

static const char *event_of_pop(enum quicklist_end end) {
    return end == QUICKLIST_HEAD ? "lpop" : "rpop";
}

/* Replies `count` elements from `end` on, and removes them: there must be so many. */
static void reply_and_drop(struct client *c, struct edit *edit, enum quicklist_end end,
                           uint64_t count) {
    struct quicklist *list = list_of(*edit_value(edit, NULL));
    for (uint64_t i = 0; i < count; i++) {
        struct listpack_value element;
        quicklist_peek(list, end, &element);
        reply_element(c, &element);
        quicklist_drop(list, end);
    }
    edit_close(edit, count, NOTIFY_LIST, event_of_pop(end));
}

/* Converts indexes from either end to 0 <= *start and the number of elements from there on. */
static void clip_range(int64_t *start, int64_t stop, size_t length, size_t *count) {
    int64_t size = (int64_t)length;
    if (*start < 0) *start += size;
    if (stop < 0) stop += size;
    if (*start < 0) *start = 0;
    if (stop >= size) stop = size - 1;
    *count = *start > stop ? 0 : (size_t)(stop - *start + 1);
}

/* ---- adding ---- */

static void push_generic(struct call *call, enum quicklist_end end, bool only_existing) {
    struct edit edit;
    if (!edit_open(&edit, call, 1, ENTRY_LIST)) return;
    if (!edit.entry && only_existing) {
        reply_integer(call->client, 0);
        return;
    }
    push_texts(&edit, end, call->argv + 2, call->argc - 2);
    reply_integer(call->client, (int64_t)quicklist_count(list_of(edit.value)));
    edit_close(&edit, (uint64_t)call->argc - 2, NOTIFY_LIST, event_of_push(end));
}

static void command_lpush(struct call *call) { push_generic(call, QUICKLIST_HEAD, false); }
static void command_rpush(struct call *call) { push_generic(call, QUICKLIST_TAIL, false); }
static void command_lpushx(struct call *call) { push_generic(call, QUICKLIST_HEAD, true); }
static void command_rpushx(struct call *call) { push_generic(call, QUICKLIST_TAIL, true); }

static void command_linsert(struct call *call) {
    struct edit edit;
    struct quicklist_cursor at;
    bool after = argument_is(call, 2, "after");
    if (!after && !argument_is(call, 2, "before")) {
        reply_syntax_error(call->client);
        return;
    }
    if (!edit_open(&edit, call, 1, ENTRY_LIST)) return;
    if (!edit.entry) {
        reply_integer(call->client, 0);
        return;
    }
    struct quicklist *list = list_of(*edit_value(&edit, NULL));
    bool there = quicklist_seek(list, 0, false, &at);
    while (there && !quicklist_equal(&at, call->argv[3])) there = quicklist_step(&at);
    if (!there)
        quicklist_end(&at);
    else if (after)
        quicklist_insert_after(&at, call->argv[4]);
    else
        quicklist_insert_before(&at, call->argv[4]);
    edit_close(&edit, there, NOTIFY_LIST, "linsert");
    reply_integer(call->client, there ? (int64_t)quicklist_count(list) : -1);
}

static void command_lset(struct call *call) {
    struct edit edit;
    struct quicklist_cursor at;
    int64_t index;
    if (!edit_open(&edit, call, 1, ENTRY_LIST)) return;
    if (!edit.entry) {
        reply_error(call->client, "no such key");
        return;
    }
    if (!argument_int64(call, 2, &index, NULL)) return;
    bool there = quicklist_seek(list_of(*edit_value(&edit, NULL)), index, false, &at);
    if (there) {
        quicklist_replace(&at, call->argv[3]);
        reply_ok(call->client);
    } else {
        reply_error(call->client, "index out of range");
    }
    edit_close(&edit, there, NOTIFY_LIST, "lset");
}

/* ---- taking away ---- */

static void list_pop_generic(struct call *call, enum quicklist_end end) {
    struct client *c = call->client;
    struct edit edit;
    int64_t count = 1;
    if (call->argc > 3) {
        reply_error_format(c, "wrong number of arguments for '%s' command", call->command->name);
        return;
    }
    bool counted = call->argc == 3;
    if (counted && !argument_from_zero(call, 2, &count)) return;
    if (!edit_open(&edit, call, 1, ENTRY_LIST)) return;
    if (!edit.entry) {
        if (counted)
            reply_null_array(c);
        else
            reply_null(c);
        return;
    }
    size_t there = quicklist_count(list_in(edit.entry));
    if ((uint64_t)count > there) count = (int64_t)there;
    if (counted) reply_array(c, count);
    reply_and_drop(c, &edit, end, (uint64_t)count);
}

static void command_lpop(struct call *call) { list_pop_generic(call, QUICKLIST_HEAD); }
static void command_rpop(struct call *call) { list_pop_generic(call, QUICKLIST_TAIL); }

static void command_lrem(struct call *call) {
    struct edit edit;
    int64_t count;
    if (!argument_int64(call, 2, &count, NULL)) return;
    if (!edit_open(&edit, call, 1, ENTRY_LIST)) return;
    if (!edit.entry) {
        reply_integer(call->client, 0);
        return;
    }
    /* Unsigned, because the smallest count has no opposite. */
    uint64_t most = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    size_t removed = list_remove_equal(*edit_value(&edit, NULL), call->argv[3], most, count < 0);
    edit_close(&edit, removed, NOTIFY_LIST, "lrem");
    reply_integer(call->client, (int64_t)removed);
}

static void command_ltrim(struct call *call) {
    struct edit edit;
    int64_t start, stop;
    size_t count;
    if (!argument_int64(call, 2, &start, NULL) || !argument_int64(call, 3, &stop, NULL)) return;
    if (!edit_open(&edit, call, 1, ENTRY_LIST)) return;
    if (edit.entry) {
        struct value *v = edit_value(&edit, NULL);
        size_t before = quicklist_count(list_of(*v));
        clip_range(&start, stop, before, &count);
        list_trim(*v, (size_t)start, count);
        /* The event is announced also where no element was removed: as 6.2. */
        edit_close_anyway(&edit, before - quicklist_count(list_of(*v)), NOTIFY_LIST, "ltrim");
    }
    reply_ok(call->client);
}

/* ---- reading ---- */

static void command_llen(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_LIST, &e)) return;
    reply_integer(call->client, e ? (int64_t)quicklist_count(list_in(e)) : 0);
}

static void command_lindex(struct call *call) {
    struct entry *e;
    struct quicklist_cursor at;
    int64_t index;
    if (!argument_read_typed(call, 1, ENTRY_LIST, &e)) return;
    if (!e) {
        reply_null(call->client);
        return;
    }
    if (!argument_int64(call, 2, &index, NULL)) return;
    if (!quicklist_seek(list_in(e), index, false, &at)) {
        reply_null(call->client);
        return;
    }
    struct listpack_value element = quicklist_get(&at);
    reply_element(call->client, &element);
    quicklist_end(&at);
}

static void command_lrange(struct call *call) {
    struct entry *e;
    struct quicklist_cursor at;
    int64_t start, stop;
    size_t count = 0;
    if (!argument_int64(call, 2, &start, NULL) || !argument_int64(call, 3, &stop, NULL)) return;
    if (!argument_read_typed(call, 1, ENTRY_LIST, &e)) return;
    if (e) clip_range(&start, stop, quicklist_count(list_in(e)), &count);
    reply_array(call->client, (int64_t)count);
    if (!count) return;
    quicklist_seek(list_in(e), start, false, &at);
    for (size_t i = 0; i < count; i++, quicklist_step(&at)) {
        struct listpack_value element = quicklist_get(&at);
        reply_element(call->client, &element);
    }
    quicklist_end(&at);
}

struct lpos {
    int64_t rank, count, compare_max; /* count < 0: only the first match, not as an array */
};

static bool lpos_parse(const struct call *call, struct lpos *p) {
    *p = (struct lpos){.rank = 1, .count = -1};
    for (int i = 3; i < call->argc; i += 2) {
        bool more = i + 1 < call->argc;
        if (argument_is(call, i, "rank") && more) {
            if (!argument_int64(call, i + 1, &p->rank, NULL)) return false;
            if (p->rank == 0) {
                reply_error(call->client,
                            "RANK can't be zero: use 1 to start from the first "
                            "match, 2 from the second, ...");
                return false;
            }
        } else if (argument_is(call, i, "count") && more) {
            if (!argument_not_negative(call, i + 1, &p->count, "COUNT can't be negative"))
                return false;
        } else if (argument_is(call, i, "maxlen") && more) {
            if (!argument_not_negative(call, i + 1, &p->compare_max, "MAXLEN can't be negative"))
                return false;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

struct positions {
    struct client *client;
    int64_t count;
};

static void reply_index(size_t index, void *context) {
    struct positions *found = context;
    reply_integer(found->client, (int64_t)index);
    found->count++;
}

static void command_lpos(struct call *call) {
    struct entry *e;
    struct lpos p;
    struct reply_group indexes;
    struct positions found = {.client = call->client};
    if (!lpos_parse(call, &p)) return;
    if (!argument_read_typed(call, 1, ENTRY_LIST, &e)) return;
    bool as_array = p.count >= 0;
    if (as_array) indexes = reply_array_begin(call->client);
    if (e)
        list_positions(entry_object(e), call->argv[2], p.rank, as_array ? (size_t)p.count : 1,
                       (size_t)p.compare_max, reply_index, &found);
    if (as_array)
        reply_group_end(&indexes, found.count);
    else if (!found.count)
        reply_null(call->client);
}

/* ---- from one list to another ---- */

struct move {
    enum quicklist_end from, to;
    bool waits;       /* may wait for an element; log and replicas get the command that does not */
    bool by_old_name; /* RPOPLPUSH, BRPOPLPUSH */
    const struct slice *words; /* the words for the two ends as they were sent, or NULL */
};
#define OLD_MOVE ((struct move){QUICKLIST_TAIL, QUICKLIST_HEAD, false, true, NULL})

static struct slice word_of_end(enum quicklist_end end) {
    return end == QUICKLIST_HEAD ? SLICE("left") : SLICE("right");
}

/* The effect of a blocking move. Where the client did not have to wait, it has the words that were
 * sent. */
static void add_move_effect(const struct key *source, struct slice target,
                            const struct move *move) {
    bool sent = move->words != NULL;
    const struct slice effect[] = {move->by_old_name ? SLICE("RPOPLPUSH") : SLICE("LMOVE"),
                                   source->name, target,
                                   sent ? move->words[0] : word_of_end(move->from),
                                   sent ? move->words[1] : word_of_end(move->to)};
    effect_add(source->keyspace, EFFECT_BOTH, move->by_old_name ? 3 : 5, effect);
}

/* Moves an element of the source, a list, to the target, and replies it. False, with nothing
 * changed, after a reply of wrong type where the target is no list. */
static bool move_element(struct client *c, struct edit *source, const struct key *target_key,
                         struct move move) {
    char scratch[LISTPACK_SCRATCH];
    struct listpack_value element;
    struct buffer text;
    struct edit target;
    if (!edit_open_key(&target, target_key, ENTRY_LIST)) {
        reply_wrong_type(c);
        return false;
    }
    bool same = source->entry == target.entry;
    /* Copied: the target may be the source. */
    buffer_init(&text, MEMORY_OTHER);
    struct quicklist *from = list_of(*edit_value(source, NULL));
    quicklist_peek(from, move.from, &element);
    struct slice shown = listpack_value_text(&element, scratch);
    buffer_append(&text, shown.bytes, shown.length);
    quicklist_drop(from, move.from);
    struct slice moved = buffer_slice(&text);
    push_texts(same ? source : &target, move.to, &moved, 1);
    tracking_credit(c); /* where `c` waited, another client's request runs now */
    if (same)
        edit_announce(source, NOTIFY_LIST, event_of_push(move.to));
    else
        edit_close(&target, 1, NOTIFY_LIST, event_of_push(move.to));
    reply_bulk(c, moved); /* the target's change is announced before the reply */
    tracking_credit(NULL);
    /* Both edits count as one change: as 6.2. */
    edit_close_anyway(source, same, NOTIFY_LIST, event_of_pop(move.from));
    buffer_free(&text);
    if (move.waits) add_move_effect(&source->key, target_key->name, &move);
    return true;
}

static bool parse_end(const struct call *call, int index, enum quicklist_end *end) {
    if (argument_is(call, index, "left")) {
        *end = QUICKLIST_HEAD;
    } else if (argument_is(call, index, "right")) {
        *end = QUICKLIST_TAIL;
    } else {
        reply_syntax_error(call->client);
        return false;
    }
    return true;
}

/* Moves if the source is there. True where the command was answered: the source has an element, or
 * is no list. */
static bool move_now(struct call *call, struct move move) {
    struct edit source;
    const struct key target = call_key(call, 2);
    if (!edit_open(&source, call, 1, ENTRY_LIST)) return true;
    if (!source.entry) return false;
    move_element(call->client, &source, &target, move);
    return true;
}

static void command_rpoplpush(struct call *call) {
    if (!move_now(call, OLD_MOVE)) reply_null(call->client);
}

static void command_lmove(struct call *call) {
    struct move move = {.waits = false};
    if (!parse_end(call, 3, &move.from) || !parse_end(call, 4, &move.to)) return;
    if (!move_now(call, move)) reply_null(call->client);
}

/* ---- waiting ---- */

/* Replies an element of a key's list with the key's name, and removes it. */
static void list_pop_named(struct client *c, struct edit *edit, enum quicklist_end end) {
    const struct slice effect[] = {end == QUICKLIST_HEAD ? SLICE("LPOP") : SLICE("RPOP"),
                                   edit->key.name};
    reply_array(c, 2);
    reply_bulk(c, edit->key.name);
    reply_and_drop(c, edit, end, 1);
    effect_add(edit->key.keyspace, EFFECT_BOTH, 2, effect);
}

/* Whether the key holds a list now. */
static bool list_made_ready(struct edit *edit, const struct key *key) {
    return edit_open_key(edit, key, ENTRY_LIST) && edit->entry;
}

static bool list_serve_pop(struct client *c, const struct key *key, enum quicklist_end end) {
    struct edit edit;
    if (!list_made_ready(&edit, key)) return false;
    list_pop_named(c, &edit, end);
    return true;
}

static bool serve_blpop(struct client *c, void *state, const struct key *key) {
    return list_serve_pop(c, key, QUICKLIST_HEAD);
}

static bool serve_brpop(struct client *c, void *state, const struct key *key) {
    return list_serve_pop(c, key, QUICKLIST_TAIL);
}

static const struct blocked_kind blpop_kind = {.serve = serve_blpop,
                                               .timed_out = blocked_reply_none};
static const struct blocked_kind brpop_kind = {.serve = serve_brpop,
                                               .timed_out = blocked_reply_none};

static void list_blocking_pop(struct call *call, enum quicklist_end end) {
    int64_t timeout_msec;
    int last = call->argc - 2;
    if (!blocked_parse_timeout(call, last + 1, &timeout_msec)) return;
    for (int i = 1; i <= last; i++) {
        struct edit edit;
        if (!edit_open(&edit, call, i, ENTRY_LIST)) return;
        if (!edit.entry) continue;
        list_pop_named(call->client, &edit, end);
        return;
    }
    blocked_begin(call, end == QUICKLIST_HEAD ? &blpop_kind : &brpop_kind, 1, last, 1, timeout_msec,
                  NULL);
}

static void command_blpop(struct call *call) { list_blocking_pop(call, QUICKLIST_HEAD); }
static void command_brpop(struct call *call) { list_blocking_pop(call, QUICKLIST_TAIL); }

/* The target of a client that waits to move. */
struct waiting_move {
    struct move move;
    uint64_t target_hash;
    size_t length;
    char target[];
};

static bool serve_move(struct client *c, void *state, const struct key *key) {
    struct waiting_move *w = state;
    struct edit source;
    struct key target = {key->keyspace, {w->target, w->length}, w->target_hash};
    if (!list_made_ready(&source, key)) return false;
    move_element(c, &source, &target, w->move);
    return true;
}

static void free_waiting_move(void *state) { memory_free(state, MEMORY_CLIENTS); }

static const struct blocked_kind move_kind = {
    .serve = serve_move, .timed_out = blocked_reply_none, .free_state = free_waiting_move};

static void blocking_move(struct call *call, struct move move, int timeout_index) {
    int64_t timeout_msec;
    if (!blocked_parse_timeout(call, timeout_index, &timeout_msec)) return;
    move.waits = true;
    if (move_now(call, move)) return;
    if (!client_may_wait(call->client)) { /* another reply than at the end of the timeout */
        reply_null(call->client);
        return;
    }
    struct slice target = call->argv[2];
    move.words = NULL;
    struct waiting_move *w = memory_alloc(sizeof(*w) + target.length, MEMORY_CLIENTS);
    *w = (struct waiting_move){
        .move = move, .target_hash = call_key_hash(call, 2), .length = target.length};
    memcpy(w->target, target.bytes, target.length);
    blocked_begin(call, &move_kind, 1, 1, 1, timeout_msec, w);
}

static void command_blmove(struct call *call) {
    struct move move = {.waits = false};
    if (!parse_end(call, 3, &move.from) || !parse_end(call, 4, &move.to)) return;
    move.words = call->argv + 3;
    blocking_move(call, move, 5);
}

static void command_brpoplpush(struct call *call) { blocking_move(call, OLD_MOVE, 3); }

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("lpush", command_lpush, -3, GROW | FAST, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Adds elements at the head; returns the length."),
    COMMAND("rpush", command_rpush, -3, GROW | FAST, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Adds elements at the tail; returns the length."),
    COMMAND("lpushx", command_lpushx, -3, GROW | FAST, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "LPUSH only if the list exists."),
    COMMAND("rpushx", command_rpushx, -3, GROW | FAST, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "RPUSH only if the list exists."),
    COMMAND("linsert", command_linsert, 5, GROW, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Adds an element BEFORE or AFTER the first that equals a pivot.",
            .traced = "2.. before after"),
    COMMAND("lpop", command_lpop, -2, WRITE | FAST, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Removes and returns elements from the head: one, or so many.", .traced = "2#"),
    COMMAND("rpop", command_rpop, -2, WRITE | FAST, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Removes and returns elements from the tail: one, or so many.", .traced = "2#"),
    COMMAND("lset", command_lset, 4, GROW, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Replaces the element at an index.", .traced = "2#"),
    COMMAND("lrem", command_lrem, 4, WRITE, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Deletes elements that equal a text: a count from the head, a "
            "negative one from the tail, 0 = all.",
            .traced = "2#"),
    COMMAND("ltrim", command_ltrim, 4, WRITE, ACL_LIST, CHANGES(LIST, ONE_KEY),
            "Keeps only a range of elements.", .traced = "2# 3#"),
    COMMAND("llen", command_llen, 2, READ | FAST, ACL_LIST, ONE_KEY, "The number of elements."),
    COMMAND("lindex", command_lindex, 3, READ, ACL_LIST, ONE_KEY,
            "The element at an index; -1 is the last.", .traced = "2#"),
    COMMAND("lrange", command_lrange, 4, READ, ACL_LIST, ONE_KEY,
            "A range of elements; negative indexes count from the tail.", .traced = "2# 3#"),
    COMMAND("lpos", command_lpos, -3, READ, ACL_LIST, ONE_KEY,
            "Indexes of elements that equal a text, with RANK, COUNT, MAXLEN.",
            .traced = "3.. rank# count# maxlen#"),
    COMMAND("rpoplpush", command_rpoplpush, 3, GROW, ACL_LIST, CHANGES(LIST, TWO_KEYS),
            "LMOVE from the tail to the head."),
    COMMAND("lmove", command_lmove, 5, GROW, ACL_LIST, CHANGES(LIST, TWO_KEYS),
            "Moves an element from an end of one list to an end of another.",
            .traced = "3.. left right"),
    COMMAND("blpop", command_blpop, -3, WRITE | NO_SCRIPT, ACL_LIST | ACL_BLOCKING,
            CHANGES(LIST, KEYS(1, -2, 1)),
            "LPOP from the first list that has an element; waits if none has.",
            .traced = "each -1#"),
    COMMAND("brpop", command_brpop, -3, WRITE | NO_SCRIPT, ACL_LIST | ACL_BLOCKING,
            CHANGES(LIST, KEYS(1, -2, 1)),
            "RPOP from the first list that has an element; waits if none has.",
            .traced = "each -1#"),
    COMMAND("brpoplpush", command_brpoplpush, 4, GROW | NO_SCRIPT, ACL_LIST | ACL_BLOCKING,
            CHANGES(LIST, TWO_KEYS), "RPOPLPUSH that waits for an element.", .traced = "-1#"),
    COMMAND("blmove", command_blmove, 6, GROW | NO_SCRIPT, ACL_LIST | ACL_BLOCKING,
            CHANGES(LIST, TWO_KEYS), "LMOVE that waits for an element.",
            .traced = "-1# 3.. left right"),
};

void commands_list_register(void) { command_register(COMMAND_ROWS(rows)); }
