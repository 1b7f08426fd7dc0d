/* SPDX-License-Identifier: BSD-3-Clause
 * Random members: one; several that may repeat; several different ones.
 *
 * How different members are drawn depends on how the value can be reached:
 *
 *   rank    ranks are chosen, and asked for
 *   walk    in one walk, each taken with the chance that is left for it: in the value's order
 *   chance  picks, those drawn before drawn again
 *
 * Where more than a third is wanted of a value without ranks, all members are copied and chosen
 * from. Every choice has the same probability; the order is 6.2's: any, except in a walk.
 */
#include "command/draw.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/members.h"
#include "net/client.h"
#include "net/reply.h"

/* So many picks, each half a walk, are made; for more, all members are copied once instead. */
#define PICKS_BY_WALK 10
/* Up to this share of all, a number that was drawn before is drawn again; above it, all are
 * shuffled. */
#define MIX_SHARE 3

struct draw {
    const struct draw_type *type;
    struct client *client;
    struct value v;
    bool with;
};

/* ---- numbers ---- */

/* A set of numbers other than 0: what was drawn already. */
struct noted {
    uint64_t *places;
    size_t mask;
};

/* Room for `most` numbers. */
static void noted_init(struct noted *n, size_t most) {
    size_t places = 16;
    while (places < most * 2) places *= 2;
    *n = (struct noted){memory_zalloc(places * sizeof(*n->places), MEMORY_OTHER), places - 1};
}

static void noted_free(struct noted *n) { memory_free(n->places, MEMORY_OTHER); }

/* Adds a number; false where it is there already. */
static bool noted_add(struct noted *n, uint64_t number) {
    size_t place = hash_bytes(&number, sizeof(number)) & n->mask;
    for (; n->places[place]; place = (place + 1) & n->mask)
        if (n->places[place] == number) return false;
    n->places[place] = number;
    return true;
}

/* The first `wanted` steps of a shuffle of 0 to count - 1. */
static size_t *choose_by_mixing(size_t count, size_t wanted) {
    size_t *all = memory_alloc(count * sizeof(*all), MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) all[i] = i;
    for (size_t i = 0; i < wanted; i++) {
        size_t other = i + random_below(count - i), kept = all[i];
        all[i] = all[other];
        all[other] = kept;
    }
    return all;
}

/* Draws numbers, and draws again where a number was drawn before. */
static size_t *choose_by_drawing(size_t count, size_t wanted) {
    struct noted drawn;
    size_t *chosen = memory_alloc(wanted * sizeof(*chosen) + 1, MEMORY_OTHER);
    noted_init(&drawn, wanted);
    for (size_t done = 0; done < wanted;) {
        size_t number = random_below(count);
        if (noted_add(&drawn, number + 1)) chosen[done++] = number;
    }
    noted_free(&drawn);
    return chosen;
}

size_t *draw_numbers(size_t count, size_t wanted) {
    ASSERT_COMPARE(wanted, <=, count);
    return wanted > count / MIX_SHARE ? choose_by_mixing(count, wanted)
                                      : choose_by_drawing(count, wanted);
}

/* ---- replies ---- */

/* In RESP3 a member and its second text are an array of their own, in RESP2 they follow each other.
 * The reply is never a set: a request with a count always gets an array. */
static void draw_begin(const struct draw *d, uint64_t count) {
    reply_array(d->client, (int64_t)(d->with && d->client->protocol != 3 ? count * 2 : count));
}

static void reply_texts(const struct draw *d, struct slice member, struct slice second) {
    if (d->with && d->client->protocol == 3) reply_array(d->client, 2);
    reply_bulk(d->client, member);
    if (d->with) d->type->reply_second(d->client, second);
}

static void reply_visited(const struct draw_item *item, void *context) {
    reply_texts(context, item->member, item->second);
}

/* ---- copies ---- */

/* Copies a member and its second text. */
static void copy_visited(const struct draw_item *item, void *context) {
    text_list_add(context, item->member);
    text_list_add(context, item->second);
}

static void copy_all(const struct draw *d, struct text_list *all) {
    text_list_init(all);
    d->type->each(d->v, copy_visited, all);
}

static void reply_copy(const struct draw *d, const struct text_list *all, size_t index) {
    reply_texts(d, text_list_at(all, index * 2), text_list_at(all, index * 2 + 1));
}

/* ---- draws ---- */

static void reply_pick(const struct draw *d) {
    struct draw_item item;
    d->type->pick(d->v, &item);
    reply_texts(d, item.member, item.second);
}

/* Replies so many members, which may repeat. */
static void draw_repeated(const struct draw *d, uint64_t wanted) {
    struct text_list all;
    size_t there = d->type->count(d->v);
    bool copied = wanted > PICKS_BY_WALK && d->type->reach(d->v) == DRAW_BY_WALK;
    if (copied) copy_all(d, &all);
    draw_begin(d, wanted);
    /* A client that asks for more than its output limit is closed meanwhile, and a script's capture
     * drops what exceeds its memory. */
    for (uint64_t i = 0; i < wanted && !(d->client->flags & CLIENT_REPLIES_DROPPED); i++) {
        if (copied)
            reply_copy(d, &all, random_below(there));
        else
            reply_pick(d);
    }
    if (copied) text_list_free(&all);
}

struct sampling {
    const struct draw *draw;
    size_t left, wanted;
};

static void sample_visited(const struct draw_item *item, void *context) {
    struct sampling *s = context;
    if (!s->wanted || random_below(s->left--) >= s->wanted) return;
    s->wanted--;
    reply_texts(s->draw, item->member, item->second);
}

static void distinct_by_walk(const struct draw *d, size_t wanted) {
    struct sampling s = {d, d->type->count(d->v), wanted};
    d->type->each(d->v, sample_visited, &s);
    ASSERT(!s.wanted);
}

static void distinct_by_rank(const struct draw *d, size_t wanted) {
    size_t *ranks = draw_numbers(d->type->count(d->v), wanted);
    for (size_t i = 0; i < wanted; i++) {
        struct draw_item item;
        d->type->at(d->v, ranks[i], &item);
        reply_texts(d, item.member, item.second);
    }
    memory_free(ranks, MEMORY_OTHER);
}

static void distinct_of_copies(const struct draw *d, size_t wanted) {
    struct text_list all;
    copy_all(d, &all);
    size_t *chosen = draw_numbers(d->type->count(d->v), wanted);
    for (size_t i = 0; i < wanted; i++) reply_copy(d, &all, chosen[i]);
    memory_free(chosen, MEMORY_OTHER);
    text_list_free(&all);
}

static void distinct_by_chance(const struct draw *d, size_t wanted) {
    struct noted drawn;
    noted_init(&drawn, wanted);
    for (size_t done = 0; done < wanted;) {
        struct draw_item item;
        d->type->pick(d->v, &item);
        if (!noted_add(&drawn, (uint64_t)(uintptr_t)item.member.bytes)) continue;
        reply_texts(d, item.member, item.second);
        done++;
    }
    noted_free(&drawn);
}

/* Replies so many different members of a value that has more. */
static void draw_distinct(const struct draw *d, size_t wanted) {
    enum draw_reach reach = d->type->reach(d->v);
    draw_begin(d, wanted);
    if (reach == DRAW_BY_RANK)
        distinct_by_rank(d, wanted);
    else if (wanted > d->type->count(d->v) / MIX_SHARE)
        distinct_of_copies(d, wanted);
    else if (reach == DRAW_BY_WALK)
        distinct_by_walk(d, wanted);
    else
        distinct_by_chance(d, wanted);
}

/* ---- the command ---- */

static void draw_one(struct call *call, struct draw *d) {
    struct entry *e;
    if (!argument_read_typed(call, 1, d->type->type, &e)) return;
    if (!e) {
        reply_null(call->client);
        return;
    }
    d->v = entry_object(e);
    reply_pick(d);
}

/* Parses the count and the option; false after an error reply. The order of the errors is 6.2's. */
static bool draw_parse(const struct call *call, struct draw *d, int64_t *count) {
    const char *with = d->type->with;
    bool fits = with ? call->argc <= 4 : call->argc <= 3;
    if (with && !argument_int64_between(call, 2, -INT64_MAX, INT64_MAX, count)) return false;
    if (!fits || (call->argc == 4 && !argument_is(call, 3, with))) {
        reply_syntax_error(call->client);
        return false;
    }
    if (!with && !argument_int64_between(call, 2, -INT64_MAX, INT64_MAX, count)) return false;
    d->with = call->argc == 4;
    if (d->with && (*count < -INT64_MAX / 2 || *count > INT64_MAX / 2)) {
        reply_error(call->client, "value is out of range");
        return false;
    }
    return true;
}

void draw_run(struct call *call, const struct draw_type *type) {
    struct draw d = {.type = type, .client = call->client};
    struct entry *e;
    int64_t count;
    if (call->argc == 2) {
        draw_one(call, &d);
        return;
    }
    if (!draw_parse(call, &d, &count) || !argument_read_typed(call, 1, type->type, &e)) return;
    if (!e || !count) {
        reply_array(call->client, 0);
        return;
    }
    d.v = entry_object(e);
    size_t there = type->count(d.v);
    if (count < 0) {
        draw_repeated(&d, (uint64_t)-count);
    } else if ((uint64_t)count >= there) {
        draw_begin(&d, there);
        type->each(d.v, reply_visited, &d);
    } else {
        draw_distinct(&d, (size_t)count);
    }
}
