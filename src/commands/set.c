/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on sets. The rows stand at the end.
 *
 * A key's set is never empty: the command that removes the last member deletes the key.
 * Intersections walk the smallest set and look up its members in the others. Differences walk the
 * first set and look up its members in the others, or, where that would be more work, copy the
 * first set and remove the others' members from the copy.
 */
#include "commands/set.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/draw.h"
#include "command/members.h"
#include "command/row.h"
#include "ds/intset.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "value/set.h"

static struct value set_in(const struct entry *e) { return entry_object(e); }

/* ---- members in and out ---- */

static void command_sadd(struct call *call) {
    struct edit edit;
    uint64_t added = 0;
    if (!edit_open(&edit, call, 1, ENTRY_SET)) return;
    struct value *v = edit_value(&edit, set_create);
    for (int i = 2; i < call->argc; i++) added += set_add(v, call->argv[i]);
    edit_close(&edit, added, NOTIFY_SET, "sadd");
    reply_integer(call->client, (int64_t)added);
}

static void command_srem(struct call *call) {
    struct edit edit;
    uint64_t removed = 0;
    if (!edit_open(&edit, call, 1, ENTRY_SET)) return;
    struct value *v = edit_value(&edit, NULL);
    for (int i = 2; v && i < call->argc; i++) removed += set_remove(v, call->argv[i]);
    edit_close(&edit, removed, NOTIFY_SET, "srem");
    reply_integer(call->client, (int64_t)removed);
}

static void command_smove(struct call *call) {
    struct edit source, target;
    if (!edit_open(&source, call, 1, ENTRY_SET)) return;
    if (!source.entry) {
        reply_integer(call->client, 0);
        return;
    }
    if (!edit_open(&target, call, 2, ENTRY_SET)) return;
    bool there = set_has(set_in(source.entry), call->argv[3]);
    if (there && source.entry != target.entry) {
        set_remove(edit_value(&source, NULL), call->argv[3]);
        edit_close(&source, 1, NOTIFY_SET, "srem");
        bool added = set_add(edit_value(&target, set_create), call->argv[3]);
        edit_close(&target, added, NOTIFY_SET, "sadd");
    }
    reply_integer(call->client, there);
}

static void command_sismember(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_SET, &e)) return;
    reply_integer(call->client, e && set_has(set_in(e), call->argv[2]));
}

static void command_smismember(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_SET, &e)) return;
    reply_array(call->client, call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        reply_integer(call->client, e && set_has(set_in(e), call->argv[i]));
}

static void command_scard(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_SET, &e)) return;
    reply_integer(call->client, e ? (int64_t)set_count(set_in(e)) : 0);
}

/* ---- chance ---- */

static void reply_visited(struct slice member, void *client) { reply_bulk(client, member); }

static void set_reply_all(struct client *c, struct value v) {
    reply_set(c, (int64_t)set_count(v));
    set_each(v, reply_visited, c);
}

/* Replies a popped member. Log and replicas get an SREM with its name. */
static void note_popped(const struct call *call, struct slice text) {
    const struct slice effect[] = {SLICE("SREM"), call->argv[1], text};
    reply_bulk(call->client, text);
    effect_add(call->keyspace, EFFECT_BOTH, 3, effect);
}

/* Replies a random member, and removes it. */
static void set_pop_one(const struct call *call, struct value *v) {
    char scratch[LISTPACK_SCRATCH];
    struct listpack_value member = set_random(*v);
    struct slice text = listpack_value_text(&member, scratch);
    note_popped(call, text);
    set_remove(v, text);
}

static int compare_places(const void *a, const void *b) {
    const size_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* Pops `count` members of an intset. The members are chosen first and removed in one pass, because
 * each single removal would move all members behind it. */
static void pop_of_intset(const struct call *call, struct value *v, size_t count) {
    size_t *places = draw_numbers(set_count(*v), count);
    for (size_t i = 0; i < count; i++) {
        char digits[NUMBER_INT64_CHARS];
        size_t length = number_format_int64(digits, intset_at(set_intset(*v), places[i]));
        note_popped(call, (struct slice){digits, length});
    }
    qsort(places, count, sizeof(*places), compare_places);
    set_remove_places(v, places, count);
    memory_free(places, MEMORY_OTHER);
}

static void pop_all(struct call *call, struct edit *edit) {
    struct value v = set_in(edit->entry);
    uint64_t count = set_count(v);
    keyspace_count_hit(); /* 6.2 reads the set here, where a smaller count does not */
    set_reply_all(call->client, v);
    edit_remove(edit, lazyfree_wanted(LAZYFREE_SERVER_DEL));
    edit_close(edit, count, NOTIFY_GENERIC, "del");
    effect_add_delete(&edit->key, false);
}

static void set_pop_many(struct call *call, struct edit *edit, uint64_t count) {
    edit_announce(edit, NOTIFY_SET, "spop"); /* before the reply, as 6.2 */
    if (count >= set_count(set_in(edit->entry))) {
        pop_all(call, edit);
        return;
    }
    struct value *v = edit_value(edit, NULL);
    reply_set(call->client, (int64_t)count);
    if (v->encoding == SET_INTSET)
        pop_of_intset(call, v, (size_t)count);
    else
        for (uint64_t i = 0; i < count; i++) set_pop_one(call, v);
    edit_close(edit, count, NOTIFY_SET, NULL);
}

static void command_spop(struct call *call) {
    struct edit edit;
    int64_t count = 1;
    bool counted = call->argc == 3;
    if (call->argc > 3) {
        reply_syntax_error(call->client);
        return;
    }
    if (counted && !argument_from_zero(call, 2, &count)) return;
    if (!edit_open(&edit, call, 1, ENTRY_SET)) return;
    if (counted) {
        if (edit.entry && count)
            set_pop_many(call, &edit, (uint64_t)count);
        else
            reply_set(call->client, 0);
        return;
    }
    if (!edit.entry) {
        reply_null(call->client);
        return;
    }
    edit_announce(&edit, NOTIFY_SET, "spop");
    set_pop_one(call, edit_value(&edit, NULL));
    edit_close(&edit, 1, NOTIFY_SET, NULL);
}

static enum draw_reach set_draw_reach(struct value v) {
    return v.encoding == SET_INTSET ? DRAW_BY_RANK : DRAW_BY_CHANCE;
}

static void set_draw_pick(struct value v, struct draw_item *item) {
    struct listpack_value member = set_random(v);
    item->member = listpack_value_text(&member, item->scratch[0]);
    item->second = SLICE("");
}

static void set_draw_at(struct value v, size_t rank, struct draw_item *item) {
    size_t length = number_format_int64(item->scratch[0], intset_at(set_intset(v), rank));
    item->member = (struct slice){item->scratch[0], length};
    item->second = SLICE("");
}

struct draw_pass {
    draw_visit *visit;
    void *context;
};

static void set_draw_visited(struct slice member, void *context) {
    const struct draw_pass *pass = context;
    const struct draw_item item = {.member = member};
    pass->visit(&item, pass->context);
}

static void set_draw_each(struct value v, draw_visit *visit, void *context) {
    struct draw_pass pass = {visit, context};
    set_each(v, set_draw_visited, &pass);
}

static const struct draw_type members = {
    .type = ENTRY_SET,
    .reach = set_draw_reach,
    .count = set_count,
    .pick = set_draw_pick,
    .at = set_draw_at,
    .each = set_draw_each,
};

static void command_srandmember(struct call *call) { draw_run(call, &members); }

/* ---- several sets ---- */

struct sets {
    struct value *values; /* the existing keys' values, in order */
    size_t count;
    bool first_missing, any_missing;
};

/* Finds the sets of the arguments from `first` on. False after a reply of wrong type. Their values
 * live until the command ends, also where it stores over one of them. */
static bool sets_find(struct call *call, int first, bool for_write, struct sets *sets) {
    *sets = (struct sets){0};
    sets->values = memory_alloc((size_t)(call->argc - first) * sizeof(*sets->values), MEMORY_OTHER);
    for (int i = first; i < call->argc; i++) {
        struct entry *e;
        bool fits = for_write ? argument_find_typed(call, i, ENTRY_SET, &e)
                              : argument_read_typed(call, i, ENTRY_SET, &e);
        if (!fits) {
            memory_free(sets->values, MEMORY_OTHER);
            return false;
        }
        if (e) sets->values[sets->count++] = set_in(e);
        if (!e && i == first) sets->first_missing = true;
        if (!e) sets->any_missing = true;
    }
    return true;
}

/* A walk over one set that passes on the members that fit. */
struct filter {
    const struct sets *sets;
    size_t skip; /* the set that is walked */
    bool wanted; /* true: members of all other sets; false: of none */
    void (*found)(struct slice member, void *context);
    void *context;
};

static void filter_visit(struct slice member, void *context) {
    const struct filter *f = context;
    for (size_t i = 0; i < f->sets->count; i++)
        if (i != f->skip && set_has(f->sets->values[i], member) != f->wanted) return;
    f->found(member, f->context);
}

static void sets_intersect(const struct sets *sets, void (*found)(struct slice, void *),
                           void *context) {
    struct filter f = {sets, 0, true, found, context};
    if (sets->any_missing) return;
    for (size_t i = 1; i < sets->count; i++)
        if (set_count(sets->values[i]) < set_count(sets->values[f.skip])) f.skip = i;
    set_each(sets->values[f.skip], filter_visit, &f);
}

static void add_to(struct slice member, void *context) { set_add(context, member); }
static void remove_from(struct slice member, void *context) { set_remove(context, member); }

/* These two need a temporary set: that of the result, where it is a set (`found` is add_to, whose
 * context is an empty set). */
static void sets_subtract(const struct sets *sets, void (*found)(struct slice, void *),
                          void *context) {
    size_t others = 0;
    if (sets->first_missing) return;
    size_t first = set_count(sets->values[0]);
    for (size_t i = 1; i < sets->count; i++) others += set_count(sets->values[i]);
    if (first * (sets->count - 1) <= first + others) {
        struct filter f = {sets, 0, false, found, context};
        set_each(sets->values[0], filter_visit, &f);
        return;
    }
    struct value copy = set_create(), *left = found == add_to ? context : &copy;
    set_each(sets->values[0], add_to, left);
    for (size_t i = 1; i < sets->count && set_count(*left); i++)
        set_each(sets->values[i], remove_from, left);
    if (left == &copy) set_each(copy, found, context);
    lazyfree_value(VALUE_SET, copy);
}

static void sets_unite(const struct sets *sets, void (*found)(struct slice, void *),
                       void *context) {
    struct value made = set_create(), *all = found == add_to ? context : &made;
    for (size_t i = 0; i < sets->count; i++) set_each(sets->values[i], add_to, all);
    if (all == &made) set_each(made, found, context);
    lazyfree_value(VALUE_SET, made);
}

/* One of the three operations above. */
typedef void combine(const struct sets *sets, void (*found)(struct slice, void *), void *context);

struct combined {
    struct client *client;
    int64_t count;
};

static void set_reply_member(struct slice member, void *context) {
    struct combined *found = context;
    reply_bulk(found->client, member);
    found->count++;
}

static void reply_combined(struct call *call, combine *how) {
    struct sets sets;
    struct combined found = {.client = call->client};
    if (!sets_find(call, 1, false, &sets)) return;
    struct reply_group all = reply_set_begin(call->client);
    how(&sets, set_reply_member, &found);
    reply_group_end(&all, found.count);
    memory_free(sets.values, MEMORY_OTHER);
}

static void store_combined(struct call *call, combine *how, const char *event) {
    struct sets sets;
    if (!sets_find(call, 2, true, &sets)) return;
    struct value result = set_create();
    how(&sets, add_to, &result);
    memory_free(sets.values, MEMORY_OTHER);
    const struct key key = call_key(call, 1);
    reply_integer(call->client, (int64_t)set_count(result));
    edit_store(&key, ENTRY_SET, result, 1, NOTIFY_SET, event);
}

static void command_sinter(struct call *call) { reply_combined(call, sets_intersect); }
static void command_sunion(struct call *call) { reply_combined(call, sets_unite); }
static void command_sdiff(struct call *call) { reply_combined(call, sets_subtract); }
static void command_sinterstore(struct call *call) {
    store_combined(call, sets_intersect, "sinterstore");
}
static void command_sunionstore(struct call *call) {
    store_combined(call, sets_unite, "sunionstore");
}
static void command_sdiffstore(struct call *call) {
    store_combined(call, sets_subtract, "sdiffstore");
}

static void command_smembers(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_SET, &e)) return;
    if (e)
        set_reply_all(call->client, set_in(e));
    else
        reply_set(call->client, 0);
}

static void set_scan_visit(struct slice member, void *context) {
    struct member_scan *s = context;
    if (scan_fits(&s->scan, member)) text_list_add(&s->found, member);
}

static uint64_t set_scan_position(struct value v, uint64_t cursor, struct member_scan *s) {
    return set_scan(v, cursor, scan_wanted(&s->scan), set_scan_visit, s);
}

static void command_sscan(struct call *call) {
    member_scan_run(call, ENTRY_SET, set_scan_position);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("sadd", command_sadd, -3, GROW | FAST, ACL_SET, CHANGES(SET, ONE_KEY),
            "Adds members; returns how many are new."),
    COMMAND("srem", command_srem, -3, WRITE | FAST, ACL_SET, CHANGES(SET, ONE_KEY),
            "Deletes members; returns how many were there."),
    COMMAND("smove", command_smove, 4, WRITE | FAST, ACL_SET, CHANGES(SET, TWO_KEYS),
            "Moves a member from one set to another."),
    COMMAND("sismember", command_sismember, 3, READ | FAST, ACL_SET, ONE_KEY,
            "Whether there is such a member."),
    COMMAND("smismember", command_smismember, -3, READ | FAST, ACL_SET, ONE_KEY,
            "Whether there are such members, one by one."),
    COMMAND("scard", command_scard, 2, READ | FAST, ACL_SET, ONE_KEY, "The number of members."),
    COMMAND("spop", command_spop, -2, WRITE | BY_CHANCE | FAST, ACL_SET, CHANGES(SET, ONE_KEY),
            "Removes and returns random members: one, or so many.", .traced = "2#"),
    COMMAND("srandmember", command_srandmember, -2, READ | BY_CHANCE, ACL_SET, ONE_KEY,
            "One random member, or several: different ones, or with a negative count any.",
            .traced = "2#"),
    COMMAND("sinter", command_sinter, -2, READ | UNORDERED, ACL_SET, ALL_KEYS,
            "Members that all sets have.", .traced = "each"),
    COMMAND("sinterstore", command_sinterstore, -3, GROW, ACL_SET, CHANGES(WHOLE, ALL_KEYS),
            "Stores the members that all sets have; returns how many."),
    COMMAND("sunion", command_sunion, -2, READ | UNORDERED, ACL_SET, ALL_KEYS,
            "Members that any of the sets has.", .traced = "each"),
    COMMAND("sunionstore", command_sunionstore, -3, GROW, ACL_SET, CHANGES(WHOLE, ALL_KEYS),
            "Stores the members that any set has; returns how many."),
    COMMAND("sdiff", command_sdiff, -2, READ | UNORDERED, ACL_SET, ALL_KEYS,
            "Members of the first set that no other has.", .traced = "each"),
    COMMAND("sdiffstore", command_sdiffstore, -3, GROW, ACL_SET, CHANGES(WHOLE, ALL_KEYS),
            "Stores the members of the first set that no other has; returns how many."),
    COMMAND("smembers", command_smembers, 2, READ | UNORDERED, ACL_SET, ONE_KEY, "All members."),
    COMMAND("sscan", command_sscan, -3, READ | BY_CHANCE, ACL_SET, ONE_KEY,
            "Some members from a cursor on, and the next cursor; with MATCH and COUNT.",
            .traced = "2# 3.. match? count#"),
};

void commands_set_register(void) { command_register(COMMAND_ROWS(rows)); }
