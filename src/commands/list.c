/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on lists. The rows stand at the end.
 *
 * A list of a key is never empty: who takes the last element deletes the key. A command that finds
 * nothing and may wait blocks its client (exec/blocked); a list that comes into being is what wakes
 * it.
 */
#include "commands/list.h"

#include "base/hash.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/blocked.h"
#include "net/client.h"
#include "net/reply.h"
#include "publish/notify.h"
#include "publish/tracking.h"
#include "store/keyspace.h"
#include "value/list.h"

/* ---- finding and changing ---- */

static struct quicklist *list_in(const struct entry *e) { return list_of(entry_object(e)); }

static void reply_element(struct client *c, const struct listpack_value *v) {
    char scratch[LISTPACK_SCRATCH];
    reply_bulk(c, listpack_value_text(v, scratch));
}

static void push(struct keyspace *ks, struct entry *e, uint64_t hash, enum quicklist_end end,
                 const struct slice *texts, int count) {
    struct value v;
    e = keyspace_object_begin(ks, e, hash, &v);
    for (int i = 0; i < count; i++) quicklist_push(list_of(v), end, texts[i]);
    keyspace_object_end(ks, e, v);
    keyspace_note_change(ks, entry_key(e), hash, (uint64_t)count);
}

/* The key has no entry: makes it a list of these. */
static struct entry *create(struct keyspace *ks, struct slice key, uint64_t hash,
                            enum quicklist_end end, const struct slice *texts, int count) {
    struct value v = list_create();
    for (int i = 0; i < count; i++) quicklist_push(list_of(v), end, texts[i]);
    keyspace_note_change(ks, key, hash, (uint64_t)count);
    return keyspace_store_object(ks, key, hash, NULL, ENTRY_LIST, v, ENTRY_NO_DEADLINE);
}

/* Deletes the key where its list is empty. */
static void delete_if_empty(struct keyspace *ks, struct entry *e, struct slice key, uint64_t hash) {
    if (quicklist_count(list_in(e))) return;
    keyspace_delete_emptied(ks, key, hash);
    notify_event(ks, NOTIFY_GENERIC, "del", key);
}

static void notify_pushed(struct keyspace *ks, struct slice key, enum quicklist_end end) {
    notify_event(ks, NOTIFY_LIST, end == QUICKLIST_HEAD ? "lpush" : "rpush", key);
}

static void notify_popped(struct keyspace *ks, struct slice key, enum quicklist_end end) {
    notify_event(ks, NOTIFY_LIST, end == QUICKLIST_HEAD ? "lpop" : "rpop", key);
}

/* Replies the element at `end` and takes it off. */
static struct entry *reply_and_drop(struct client *c, struct keyspace *ks, struct entry *e,
                                    uint64_t hash, enum quicklist_end end) {
    struct listpack_value element;
    struct value v;
    e = keyspace_object_begin(ks, e, hash, &v);
    quicklist_peek(list_of(v), end, &element);
    reply_element(c, &element);
    quicklist_drop(list_of(v), end);
    keyspace_object_end(ks, e, v);
    keyspace_note_change(ks, entry_key(e), hash, 1);
    return e;
}

/* Indexes from either end become 0 <= *start, *count elements from there on. */
static void clip(int64_t *start, int64_t stop, size_t length, size_t *count) {
    int64_t size = (int64_t)length;
    if (*start < 0) *start += size;
    if (stop < 0) stop += size;
    if (*start < 0) *start = 0;
    if (stop >= size) stop = size - 1;
    *count = *start > stop ? 0 : (size_t)(stop - *start + 1);
}

/* ---- adding ---- */

static void push_generic(struct call *call, enum quicklist_end end, bool only_existing) {
    struct entry *e;
    uint64_t hash = call_key_hash(call, 1);
    if (!argument_find_typed(call, 1, ENTRY_LIST, &e)) return;
    if (e)
        push(call->keyspace, e, hash, end, call->argv + 2, call->argc - 2);
    else if (!only_existing)
        e = create(call->keyspace, call->argv[1], hash, end, call->argv + 2, call->argc - 2);
    reply_integer(call->client, e ? (int64_t)quicklist_count(list_in(e)) : 0);
    if (e) notify_pushed(call->keyspace, call->argv[1], end);
}

static void command_lpush(struct call *call) { push_generic(call, QUICKLIST_HEAD, false); }
static void command_rpush(struct call *call) { push_generic(call, QUICKLIST_TAIL, false); }
static void command_lpushx(struct call *call) { push_generic(call, QUICKLIST_HEAD, true); }
static void command_rpushx(struct call *call) { push_generic(call, QUICKLIST_TAIL, true); }

static void command_linsert(struct call *call) {
    struct entry *e;
    struct value v;
    struct quicklist_cursor at;
    bool after = argument_is(call, 2, "after");
    if (!after && !argument_is(call, 2, "before")) {
        reply_syntax_error(call->client);
        return;
    }
    if (!argument_find_typed(call, 1, ENTRY_LIST, &e)) return;
    if (!e) {
        reply_integer(call->client, 0);
        return;
    }
    e = keyspace_object_begin(call->keyspace, e, call_key_hash(call, 1), &v);
    bool there = quicklist_seek(list_of(v), 0, false, &at);
    while (there && !quicklist_equal(&at, call->argv[3])) there = quicklist_step(&at);
    if (!there)
        quicklist_end(&at);
    else if (after)
        quicklist_insert_after(&at, call->argv[4]);
    else
        quicklist_insert_before(&at, call->argv[4]);
    keyspace_object_end(call->keyspace, e, v);
    if (there) {
        keyspace_note_change(call->keyspace, call->argv[1], call_key_hash(call, 1), 1);
        notify_event(call->keyspace, NOTIFY_LIST, "linsert", call->argv[1]);
    }
    reply_integer(call->client, there ? (int64_t)quicklist_count(list_of(v)) : -1);
}

static void command_lset(struct call *call) {
    struct entry *e;
    struct value v;
    struct quicklist_cursor at;
    int64_t index;
    if (!argument_find_typed(call, 1, ENTRY_LIST, &e)) return;
    if (!e) {
        reply_error(call->client, "no such key");
        return;
    }
    if (!argument_int64(call, 2, &index, NULL)) return;
    e = keyspace_object_begin(call->keyspace, e, call_key_hash(call, 1), &v);
    bool there = quicklist_seek(list_of(v), index, false, &at);
    if (there) quicklist_replace(&at, call->argv[3]);
    keyspace_object_end(call->keyspace, e, v);
    if (!there) {
        reply_error(call->client, "index out of range");
        return;
    }
    keyspace_note_change(call->keyspace, call->argv[1], call_key_hash(call, 1), 1);
    reply_ok(call->client);
    notify_event(call->keyspace, NOTIFY_LIST, "lset", call->argv[1]);
}

/* ---- taking away ---- */

static void pop_generic(struct call *call, enum quicklist_end end) {
    struct client *c = call->client;
    struct entry *e;
    uint64_t hash = call_key_hash(call, 1);
    int64_t count = 1;
    if (call->argc > 3) {
        reply_error_format(c, "wrong number of arguments for '%s' command", call->command->name);
        return;
    }
    bool counted = call->argc == 3;
    if (counted && !argument_from_zero(call, 2, &count)) return;
    if (!argument_find_typed(call, 1, ENTRY_LIST, &e)) return;
    if (!e) {
        if (counted)
            reply_null_array(c);
        else
            reply_null(c);
        return;
    }
    size_t there = quicklist_count(list_in(e));
    if ((uint64_t)count > there) count = (int64_t)there;
    if (counted) reply_array(c, count);
    for (int64_t i = 0; i < count; i++) e = reply_and_drop(c, call->keyspace, e, hash, end);
    if (count) notify_popped(call->keyspace, call->argv[1], end);
    delete_if_empty(call->keyspace, e, call->argv[1], hash);
}

static void command_lpop(struct call *call) { pop_generic(call, QUICKLIST_HEAD); }
static void command_rpop(struct call *call) { pop_generic(call, QUICKLIST_TAIL); }

static void command_lrem(struct call *call) {
    struct entry *e;
    struct value v;
    int64_t count;
    uint64_t hash = call_key_hash(call, 1);
    if (!argument_int64(call, 2, &count, NULL)) return;
    if (!argument_find_typed(call, 1, ENTRY_LIST, &e)) return;
    if (!e) {
        reply_integer(call->client, 0);
        return;
    }
    /* Unsigned, for the smallest count has no opposite. */
    uint64_t most = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    e = keyspace_object_begin(call->keyspace, e, hash, &v);
    size_t removed = list_remove_equal(v, call->argv[3], most, count < 0);
    keyspace_object_end(call->keyspace, e, v);
    keyspace_note_change(call->keyspace, call->argv[1], hash, removed);
    if (removed) notify_event(call->keyspace, NOTIFY_LIST, "lrem", call->argv[1]);
    delete_if_empty(call->keyspace, e, call->argv[1], hash);
    reply_integer(call->client, (int64_t)removed);
}

static void command_ltrim(struct call *call) {
    struct entry *e;
    struct value v;
    int64_t start, stop;
    size_t count;
    uint64_t hash = call_key_hash(call, 1);
    if (!argument_int64(call, 2, &start, NULL) || !argument_int64(call, 3, &stop, NULL)) return;
    if (!argument_find_typed(call, 1, ENTRY_LIST, &e)) return;
    if (e) {
        e = keyspace_object_begin(call->keyspace, e, hash, &v);
        size_t before = quicklist_count(list_of(v));
        clip(&start, stop, before, &count);
        list_trim(v, (size_t)start, count);
        keyspace_count_changes(before - quicklist_count(list_of(v)));
        keyspace_announce(call->keyspace, call->argv[1], hash); /* also where none goes: as 6.2 */
        keyspace_object_end(call->keyspace, e, v);
        notify_event(call->keyspace, NOTIFY_LIST, "ltrim", call->argv[1]);
        delete_if_empty(call->keyspace, e, call->argv[1], hash);
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
    if (e) clip(&start, stop, quicklist_count(list_in(e)), &count);
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
    int64_t rank, count, compare_max; /* count < 0: only the first, and not as an array */
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

static void keep_index(size_t index, void *context) {
    buffer_append(context, &index, sizeof(index));
}

static void command_lpos(struct call *call) {
    struct entry *e;
    struct lpos p;
    struct buffer found;
    if (!lpos_parse(call, &p)) return;
    if (!argument_read_typed(call, 1, ENTRY_LIST, &e)) return;
    buffer_init(&found, MEMORY_OTHER);
    if (e)
        list_positions(entry_object(e), call->argv[2], p.rank, p.count < 0 ? 1 : (size_t)p.count,
                       (size_t)p.compare_max, keep_index, &found);
    const size_t *indexes = (const size_t *)(const void *)found.bytes;
    size_t count = found.length / sizeof(*indexes);
    if (p.count >= 0) reply_array(call->client, (int64_t)count);
    if (p.count < 0 && !count) reply_null(call->client);
    for (size_t i = 0; i < count; i++) reply_integer(call->client, (int64_t)indexes[i]);
    buffer_free(&found);
}

/* ---- from one list to another ---- */

struct move {
    enum quicklist_end from, to;
};

/* Moves an element of `source`, a list, to the key `target`, and replies it. False, with nothing
 * changed, after a reply of wrong type where the target is no list. */
static bool move_element(struct client *c, struct keyspace *ks, struct entry *source,
                         struct slice source_key, uint64_t source_hash, struct slice target_key,
                         struct move move) {
    char scratch[LISTPACK_SCRATCH];
    struct listpack_value element;
    struct buffer text;
    struct value v;
    uint64_t target_hash = hash_bytes(target_key.bytes, target_key.length);
    struct entry *target = keyspace_find(ks, target_key, target_hash);
    if (target && target->type != ENTRY_LIST) {
        reply_wrong_type(c);
        return false;
    }
    /* Copied: the target may be the source. */
    buffer_init(&text, MEMORY_OTHER);
    source = keyspace_object_begin(ks, source, source_hash, &v);
    quicklist_peek(list_of(v), move.from, &element);
    struct slice shown = listpack_value_text(&element, scratch);
    buffer_append(&text, shown.bytes, shown.length);
    quicklist_drop(list_of(v), move.from);
    keyspace_object_end(ks, source, v);
    struct slice moved = buffer_slice(&text);
    reply_bulk(c, moved); /* who has waited is told of the change of the target after its element */
    target = keyspace_find(ks, target_key, target_hash);
    tracking_credit(c); /* where it waited, another client's request runs */
    if (target)
        push(ks, target, target_hash, move.to, &moved, 1);
    else
        create(ks, target_key, target_hash, move.to, &moved, 1);
    tracking_credit(NULL);
    keyspace_announce(ks, source_key, source_hash);
    notify_pushed(ks, target_key, move.to);
    buffer_free(&text);
    notify_popped(ks, source_key, move.from);
    source = keyspace_find(ks, source_key, source_hash);
    delete_if_empty(ks, source, source_key, source_hash);
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

/* True where the command has been answered: the source has an element, or is no list. */
static bool move_now(struct call *call, struct move move) {
    struct entry *e;
    if (!argument_find_typed(call, 1, ENTRY_LIST, &e)) return true;
    if (!e) return false;
    move_element(call->client, call->keyspace, e, call->argv[1], call_key_hash(call, 1),
                 call->argv[2], move);
    return true;
}

static void command_rpoplpush(struct call *call) {
    if (!move_now(call, (struct move){QUICKLIST_TAIL, QUICKLIST_HEAD})) reply_null(call->client);
}

static void command_lmove(struct call *call) {
    struct move move;
    if (!parse_end(call, 3, &move.from) || !parse_end(call, 4, &move.to)) return;
    if (!move_now(call, move)) reply_null(call->client);
}

/* ---- waiting ---- */

static void reply_waited_in_vain(struct client *c, void *state) { reply_null_array(c); }

/* Takes an element of a key's list for a client that asked for one, with the key's name. */
static void pop_named(struct client *c, struct keyspace *ks, struct entry *e, struct slice key,
                      uint64_t hash, enum quicklist_end end) {
    reply_array(c, 2);
    reply_bulk(c, key);
    e = reply_and_drop(c, ks, e, hash, end);
    notify_popped(ks, key, end);
    delete_if_empty(ks, e, key, hash);
}

static struct entry *list_made_ready(struct keyspace *ks, struct slice key, uint64_t hash) {
    struct entry *e = keyspace_find(ks, key, hash);
    return e && e->type == ENTRY_LIST ? e : NULL;
}

static bool serve_pop(struct client *c, struct keyspace *ks, struct slice key, uint64_t hash,
                      enum quicklist_end end) {
    struct entry *e = list_made_ready(ks, key, hash);
    if (e) pop_named(c, ks, e, key, hash, end);
    return e != NULL;
}

static bool serve_blpop(struct client *c, void *state, struct keyspace *ks, struct slice key,
                        uint64_t hash) {
    return serve_pop(c, ks, key, hash, QUICKLIST_HEAD);
}

static bool serve_brpop(struct client *c, void *state, struct keyspace *ks, struct slice key,
                        uint64_t hash) {
    return serve_pop(c, ks, key, hash, QUICKLIST_TAIL);
}

static const struct blocked_kind blpop_kind = {serve_blpop, reply_waited_in_vain, NULL};
static const struct blocked_kind brpop_kind = {serve_brpop, reply_waited_in_vain, NULL};

static void blocking_pop(struct call *call, enum quicklist_end end) {
    int64_t timeout_msec;
    int last = call->argc - 2;
    if (!blocked_parse_timeout(call, last + 1, &timeout_msec)) return;
    for (int i = 1; i <= last; i++) {
        struct entry *e;
        if (!argument_find_typed(call, i, ENTRY_LIST, &e)) return;
        if (!e) continue;
        pop_named(call->client, call->keyspace, e, call->argv[i], call_key_hash(call, i), end);
        return;
    }
    blocked_begin(call, end == QUICKLIST_HEAD ? &blpop_kind : &brpop_kind, 1, last, 1, timeout_msec,
                  NULL);
}

static void command_blpop(struct call *call) { blocking_pop(call, QUICKLIST_HEAD); }
static void command_brpop(struct call *call) { blocking_pop(call, QUICKLIST_TAIL); }

/* A client that waits to move: where to. */
struct waiting_move {
    struct move move;
    size_t length;
    char target[];
};

static bool serve_move(struct client *c, void *state, struct keyspace *ks, struct slice key,
                       uint64_t hash) {
    struct waiting_move *w = state;
    struct entry *e = list_made_ready(ks, key, hash);
    if (e) move_element(c, ks, e, key, hash, (struct slice){w->target, w->length}, w->move);
    return e != NULL;
}

static void free_waiting_move(void *state) { memory_free(state, MEMORY_OTHER); }

static const struct blocked_kind move_kind = {serve_move, reply_waited_in_vain, free_waiting_move};

static void blocking_move(struct call *call, struct move move, int timeout_index) {
    int64_t timeout_msec;
    if (!blocked_parse_timeout(call, timeout_index, &timeout_msec)) return;
    if (move_now(call, move)) return;
    if (call->client->flags & CLIENT_MAY_NOT_WAIT) { /* not what it gets when its time is up */
        reply_null(call->client);
        return;
    }
    struct slice target = call->argv[2];
    struct waiting_move *w = memory_alloc(sizeof(*w) + target.length, MEMORY_OTHER);
    *w = (struct waiting_move){move, target.length};
    memcpy(w->target, target.bytes, target.length);
    blocked_begin(call, &move_kind, 1, 1, 1, timeout_msec, w);
}

static void command_blmove(struct call *call) {
    struct move move;
    if (!parse_end(call, 3, &move.from) || !parse_end(call, 4, &move.to)) return;
    blocking_move(call, move, 5);
}

static void command_brpoplpush(struct call *call) {
    blocking_move(call, (struct move){QUICKLIST_TAIL, QUICKLIST_HEAD}, 3);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("lpush", command_lpush, -3, GROW | FAST, ACL_LIST, ONE_KEY,
            "Adds elements at the head; returns the length."),
    COMMAND("rpush", command_rpush, -3, GROW | FAST, ACL_LIST, ONE_KEY,
            "Adds elements at the tail; returns the length."),
    COMMAND("lpushx", command_lpushx, -3, GROW | FAST, ACL_LIST, ONE_KEY,
            "LPUSH only where there is a list."),
    COMMAND("rpushx", command_rpushx, -3, GROW | FAST, ACL_LIST, ONE_KEY,
            "RPUSH only where there is a list."),
    COMMAND("linsert", command_linsert, 5, GROW, ACL_LIST, ONE_KEY,
            "Adds an element BEFORE or AFTER the first that equals a pivot."),
    COMMAND("lpop", command_lpop, -2, WRITE | FAST, ACL_LIST, ONE_KEY,
            "Takes an element, or so many, from the head."),
    COMMAND("rpop", command_rpop, -2, WRITE | FAST, ACL_LIST, ONE_KEY,
            "Takes an element, or so many, from the tail."),
    COMMAND("lset", command_lset, 4, GROW, ACL_LIST, ONE_KEY, "Replaces the element at an index."),
    COMMAND("lrem", command_lrem, 4, WRITE, ACL_LIST, ONE_KEY,
            "Deletes elements that equal a text: a count from the head, a "
            "negative one from the tail, 0 = all."),
    COMMAND("ltrim", command_ltrim, 4, WRITE, ACL_LIST, ONE_KEY, "Keeps a range of elements only."),
    COMMAND("llen", command_llen, 2, READ | FAST, ACL_LIST, ONE_KEY, "The number of elements."),
    COMMAND("lindex", command_lindex, 3, READ, ACL_LIST, ONE_KEY,
            "The element at an index; -1 is the last."),
    COMMAND("lrange", command_lrange, 4, READ, ACL_LIST, ONE_KEY,
            "A range of elements; negative indexes count from the tail."),
    COMMAND("lpos", command_lpos, -3, READ, ACL_LIST, ONE_KEY,
            "Indexes of elements that equal a text, with RANK, COUNT, MAXLEN."),
    COMMAND("rpoplpush", command_rpoplpush, 3, GROW, ACL_LIST, TWO_KEYS,
            "LMOVE from the tail to the head."),
    COMMAND("lmove", command_lmove, 5, GROW, ACL_LIST, TWO_KEYS,
            "Moves an element from an end of one list to an end of another."),
    COMMAND("blpop", command_blpop, -3, WRITE | NO_SCRIPT, ACL_LIST | ACL_BLOCKING, KEYS(1, -2, 1),
            "LPOP from the first list that has an element, waiting for one if need be."),
    COMMAND("brpop", command_brpop, -3, WRITE | NO_SCRIPT, ACL_LIST | ACL_BLOCKING, KEYS(1, -2, 1),
            "RPOP from the first list that has an element, waiting for one if need be."),
    COMMAND("brpoplpush", command_brpoplpush, 4, GROW | NO_SCRIPT, ACL_LIST | ACL_BLOCKING,
            TWO_KEYS, "RPOPLPUSH that waits for an element."),
    COMMAND("blmove", command_blmove, 6, GROW | NO_SCRIPT, ACL_LIST | ACL_BLOCKING, TWO_KEYS,
            "LMOVE that waits for an element."),
};

void commands_list_register(void) { command_register(COMMAND_ROWS(rows)); }
