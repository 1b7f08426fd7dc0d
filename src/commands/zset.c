/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on members of sorted sets: adding, asking, popping, choosing. Ranges are in
 * zset_range.c; unions, intersections and differences in zset_combine.c. The rows stand at the end.
 *
 * A key's sorted set is never empty: the command that removes the last member deletes the key. A
 * blocking command that finds no sorted set blocks its client (exec/blocked); the creation of the
 * sorted set wakes it.
 *
 * Invariants
 *  1. ZADD checks all its arguments before it changes anything.
 *  2. No score is NaN: number_parse_double accepts none, and a sum that is NaN changes nothing.
 *  3. A member that is given its present score stays unchanged, so that 0 does not become -0.
 */
#include "commands/zset.h"

#include <math.h>

#include "base/number.h"
#include "command/arguments.h"
#include "command/draw.h"
#include "command/members.h"
#include "command/row.h"
#include "commands/zset_internal.h"
#include "exec/blocked.h"
#include "exec/effects.h"
#include "publish/notify.h"
#include "publish/tracking.h"

/* How many scores of a ZADD need no allocation. */
#define SCORES_ON_STACK 32

static struct value zset_in(const struct entry *e) { return entry_object(e); }

/* ---- ZADD ---- */

enum zadd_flags {
    ZADD_NX = 1 << 0,
    ZADD_XX = 1 << 1,
    ZADD_GT = 1 << 2,
    ZADD_LT = 1 << 3,
    ZADD_CH = 1 << 4,
    ZADD_INCR = 1 << 5,
};

static const struct {
    const char *word;
    unsigned flag;
} zadd_words[] = {
    {"nx", ZADD_NX}, {"xx", ZADD_XX}, {"gt", ZADD_GT},
    {"lt", ZADD_LT}, {"ch", ZADD_CH}, {"incr", ZADD_INCR},
};

struct zadd {
    unsigned flags;
    int first;    /* the argument of the first score */
    size_t pairs; /* number of pairs of a score and a member */
    size_t added, updated;
    bool processed; /* the last pair was applied, even if it changed nothing */
};

static unsigned zadd_word(const struct call *call, int index) {
    size_t length = call->argv[index].length;
    if (length != 2 && length != 4) return 0;
    for (size_t i = 0; i < sizeof(zadd_words) / sizeof(zadd_words[0]); i++)
        if (argument_is(call, index, zadd_words[i].word)) return zadd_words[i].flag;
    return 0;
}

/* Parses the options; false after an error reply. */
static bool zadd_parse(const struct call *call, struct zadd *z) {
    unsigned flag;
    for (z->first = 2; z->first < call->argc && (flag = zadd_word(call, z->first)); z->first++)
        z->flags |= flag;
    int left = call->argc - z->first;
    if (left == 0 || left % 2) {
        reply_syntax_error(call->client);
        return false;
    }
    z->pairs = (size_t)left / 2;
    bool nx = z->flags & ZADD_NX, gt = z->flags & ZADD_GT, lt = z->flags & ZADD_LT;
    const char *error = NULL;
    if (nx && z->flags & ZADD_XX)
        error = "XX and NX options at the same time are not compatible";
    else if ((gt && nx) || (lt && nx) || (gt && lt))
        error = "GT, LT, and/or NX options at the same time are not compatible";
    else if (z->flags & ZADD_INCR && z->pairs > 1)
        error = "INCR option supports a single increment-element pair";
    if (error) reply_error(call->client, error);
    return !error;
}

static bool zadd_parse_scores(const struct call *call, const struct zadd *z, double *scores) {
    for (size_t i = 0; i < z->pairs; i++) {
        struct slice text = call->argv[z->first + (int)i * 2];
        if (number_parse_double(text.bytes, text.length, &scores[i])) continue;
        reply_error(call->client, "value is not a valid float");
        return false;
    }
    return true;
}

/* Applies one pair, as the options say. With INCR *score becomes the sum. False, with nothing
 * changed, where the sum is not a number. */
static bool zadd_apply(struct value *v, struct slice member, double *score, struct zadd *z) {
    double old;
    z->processed = false;
    if (!zset_score(*v, member, &old)) {
        if (z->flags & ZADD_XX) return true;
        zset_set(v, member, *score);
        z->added++;
        z->processed = true;
        return true;
    }
    if (z->flags & ZADD_NX) return true;
    if (z->flags & ZADD_INCR) {
        *score += old;
        if (isnan(*score)) return false;
    }
    if (z->flags & ZADD_GT && *score <= old) return true;
    if (z->flags & ZADD_LT && *score >= old) return true;
    z->processed = true;
    if (*score != old) {
        zset_set(v, member, *score);
        z->updated++;
    }
    return true;
}

static void zadd_run(struct call *call, struct zadd *z, double *scores) {
    struct client *c = call->client;
    struct edit edit;
    bool is_number = true;
    if (!edit_open(&edit, call, 1, ENTRY_ZSET)) return;
    struct value *v = edit_value(&edit, z->flags & ZADD_XX ? NULL : zset_create);
    for (size_t i = 0; v && i < z->pairs && is_number; i++)
        is_number = zadd_apply(v, call->argv[z->first + (int)i * 2 + 1], &scores[i], z);
    if (!is_number)
        reply_error(c, "resulting score is not a number (NaN)");
    else if (!(z->flags & ZADD_INCR))
        reply_integer(c, (int64_t)(z->added + (z->flags & ZADD_CH ? z->updated : 0)));
    else if (z->processed)
        reply_double(c, scores[0]);
    else
        reply_null(c);
    edit_close(&edit, z->added + z->updated, NOTIFY_ZSET, z->flags & ZADD_INCR ? "zincr" : "zadd");
}

static void zadd_generic(struct call *call, unsigned flags) {
    struct zadd z = {.flags = flags};
    double few[SCORES_ON_STACK], *scores = few;
    if (!zadd_parse(call, &z)) return;
    size_t bytes = z.pairs * sizeof(*scores);
    if (z.pairs > SCORES_ON_STACK) scores = memory_alloc(bytes, MEMORY_OTHER);
    if (zadd_parse_scores(call, &z, scores)) zadd_run(call, &z, scores);
    if (scores != few) memory_free_sized(scores, bytes, MEMORY_OTHER);
}

static void command_zadd(struct call *call) { zadd_generic(call, 0); }
static void command_zincrby(struct call *call) { zadd_generic(call, ZADD_INCR); }

static void command_zrem(struct call *call) {
    struct edit edit;
    uint64_t removed = 0;
    if (!edit_open(&edit, call, 1, ENTRY_ZSET)) return;
    struct value *v = edit_value(&edit, NULL);
    for (int i = 2; v && i < call->argc && zset_count(*v); i++)
        removed += zset_remove(v, call->argv[i]);
    edit_close(&edit, removed, NOTIFY_ZSET, "zrem");
    reply_integer(call->client, (int64_t)removed);
}

/* ---- asking ---- */

static void command_zcard(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    reply_integer(call->client, e ? (int64_t)zset_count(zset_in(e)) : 0);
}

static void reply_score(struct client *c, const struct entry *e, struct slice member) {
    double score;
    if (e && zset_score(zset_in(e), member, &score))
        reply_double(c, score);
    else
        reply_null(c);
}

static void command_zscore(struct call *call) {
    struct entry *e;
    if (argument_read_typed(call, 1, ENTRY_ZSET, &e)) reply_score(call->client, e, call->argv[2]);
}

static void command_zmscore(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    reply_array(call->client, call->argc - 2);
    for (int i = 2; i < call->argc; i++) reply_score(call->client, e, call->argv[i]);
}

static void rank_generic(struct call *call, bool from_top) {
    struct entry *e;
    size_t rank;
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    if (!e || !zset_rank(zset_in(e), call->argv[2], &rank)) {
        reply_null(call->client);
        return;
    }
    if (from_top) rank = zset_count(zset_in(e)) - 1 - rank;
    reply_integer(call->client, (int64_t)rank);
}

static void command_zrank(struct call *call) { rank_generic(call, false); }
static void command_zrevrank(struct call *call) { rank_generic(call, true); }

static void zset_scan_visit(struct slice member, double score, void *context) {
    struct member_scan *s = context;
    char digits[NUMBER_DOUBLE_CHARS];
    if (!scan_fits(&s->scan, member)) return;
    text_list_add(&s->found, member);
    size_t length = number_format_double(digits, sizeof(digits), score);
    text_list_add(&s->found, (struct slice){digits, length});
}

static uint64_t zset_scan_position(struct value v, uint64_t cursor, struct member_scan *s) {
    return zset_scan(v, cursor, scan_wanted(&s->scan), zset_scan_visit, s);
}

static void command_zscan(struct call *call) {
    member_scan_run(call, ENTRY_ZSET, zset_scan_position);
}

/* ---- popping ---- */

static const char *pop_event(bool from_top) { return from_top ? "zpopmax" : "zpopmin"; }

/* Replies the lowest or highest member and its score, side by side in RESP3 too, and removes it. */
static void zset_pop_one(struct client *c, struct edit *edit, bool from_top) {
    char scratch[LISTPACK_SCRATCH];
    struct zset_cursor at;
    struct value v = zset_in(edit->entry);
    size_t rank = from_top ? zset_count(v) - 1 : 0;
    zset_seek(v, rank, &at);
    struct zset_item item = zset_get(&at);
    reply_bulk(c, listpack_value_text(&item.member, scratch));
    reply_double(c, item.score);
    zset_take_out(edit, (struct zset_span){rank, 1}, pop_event(from_top));
}

static void zset_pop_many(struct client *c, struct edit *edit, uint64_t wanted, bool from_top) {
    struct value v = zset_in(edit->entry);
    size_t there = zset_count(v), count = wanted < there ? (size_t)wanted : there;
    zset_reply_begin(c, count, true);
    zset_reply_walk(c, v, from_top ? there - 1 : 0, count, from_top, true);
    zset_take_out(edit, (struct zset_span){from_top ? there - count : 0, count},
                  pop_event(from_top));
}

static void zset_pop_generic(struct call *call, bool from_top) {
    struct client *c = call->client;
    struct edit edit = {.entry = NULL};
    int64_t wanted = 1;
    bool counted = call->argc == 3;
    if (call->argc > 3) {
        reply_syntax_error(c);
        return;
    }
    if (counted && !argument_int64(call, 2, &wanted, NULL)) return;
    /* With a count of 0 the key's type is not checked. */
    if (wanted > 0 && !edit_open(&edit, call, 1, ENTRY_ZSET)) return;
    if (!edit.entry) {
        reply_array(c, 0);
    } else if (counted) {
        zset_pop_many(c, &edit, (uint64_t)wanted, from_top);
    } else {
        reply_array(c, 2);
        zset_pop_one(c, &edit, from_top);
    }
}

static void command_zpopmin(struct call *call) { zset_pop_generic(call, false); }
static void command_zpopmax(struct call *call) { zset_pop_generic(call, true); }

/* ---- waiting ---- */

static void zset_pop_named(struct client *c, struct edit *edit, bool from_top) {
    const struct slice effect[] = {from_top ? SLICE("ZPOPMAX") : SLICE("ZPOPMIN"), edit->key.name};
    reply_array(c, 3);
    reply_bulk(c, edit->key.name);
    zset_pop_one(c, edit, from_top);
    effect_add(edit->key.keyspace, EFFECT_BOTH, 2, effect);
}

static bool zset_serve_pop(struct client *c, const struct key *key, bool from_top) {
    struct edit edit;
    if (!edit_open_key(&edit, key, ENTRY_ZSET) || !edit.entry) return false;
    tracking_credit(c); /* another client's request runs */
    zset_pop_named(c, &edit, from_top);
    tracking_credit(NULL);
    return true;
}

static bool serve_popmin(struct client *c, void *state, const struct key *key) {
    return zset_serve_pop(c, key, false);
}

static bool serve_popmax(struct client *c, void *state, const struct key *key) {
    return zset_serve_pop(c, key, true);
}

static const struct blocked_kind popmin_kind = {.serve = serve_popmin,
                                                .timed_out = blocked_reply_none};
static const struct blocked_kind popmax_kind = {.serve = serve_popmax,
                                                .timed_out = blocked_reply_none};

static void zset_blocking_pop(struct call *call, bool from_top) {
    int64_t timeout_msec;
    int last = call->argc - 2;
    if (!blocked_parse_timeout(call, last + 1, &timeout_msec)) return;
    for (int i = 1; i <= last; i++) {
        struct edit edit;
        if (!edit_open(&edit, call, i, ENTRY_ZSET)) return;
        if (!edit.entry) continue;
        zset_pop_named(call->client, &edit, from_top);
        return;
    }
    blocked_begin(call, from_top ? &popmax_kind : &popmin_kind, 1, last, 1, timeout_msec, NULL);
}

static void command_bzpopmin(struct call *call) { zset_blocking_pop(call, false); }
static void command_bzpopmax(struct call *call) { zset_blocking_pop(call, true); }

/* ---- ZRANDMEMBER ---- */

static enum draw_reach zset_draw_reach(struct value v) {
    return v.encoding == ZSET_LISTPACK ? DRAW_BY_WALK : DRAW_BY_RANK;
}

static void draw_fill(struct draw_item *item, const struct zset_item *from) {
    item->member = listpack_value_text(&from->member, item->scratch[0]);
    memcpy(item->scratch[1], &from->score, sizeof(from->score));
    item->second = (struct slice){item->scratch[1], sizeof(from->score)};
}

static void zset_draw_pick(struct value v, struct draw_item *item) {
    const struct zset_item found = zset_random(v);
    draw_fill(item, &found);
}

static void zset_draw_at(struct value v, size_t rank, struct draw_item *item) {
    struct zset_cursor at;
    zset_seek(v, rank, &at);
    const struct zset_item found = zset_get(&at);
    draw_fill(item, &found);
}

static void zset_draw_each(struct value v, draw_visit *visit, void *context) {
    struct zset_cursor at;
    struct draw_item item;
    for (bool more = zset_seek(v, 0, &at); more; more = zset_next(&at)) {
        const struct zset_item found = zset_get(&at);
        draw_fill(&item, &found);
        visit(&item, context);
    }
}

static void draw_reply_score(struct client *c, struct slice second) {
    double score;
    memcpy(&score, second.bytes, sizeof(score));
    reply_double(c, score);
}

static const struct draw_type members = {
    .type = ENTRY_ZSET,
    .with = "withscores",
    .reach = zset_draw_reach,
    .count = zset_count,
    .pick = zset_draw_pick,
    .at = zset_draw_at,
    .each = zset_draw_each,
    .reply_second = draw_reply_score,
};

static void command_zrandmember(struct call *call) { draw_run(call, &members); }

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("zadd", command_zadd, -4, GROW | FAST, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Gives members scores; returns how many are new. With NX, XX, GT, LT, CH and INCR.",
            .traced = "2.. nx xx gt lt ch incr"),
    COMMAND("zincrby", command_zincrby, 4, GROW | FAST, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Adds to a member's score; returns the sum."),
    COMMAND("zrem", command_zrem, -3, WRITE | FAST, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Deletes members; returns how many were there."),
    COMMAND("zcard", command_zcard, 2, READ | FAST, ACL_SORTEDSET, ONE_KEY,
            "The number of members."),
    COMMAND("zscore", command_zscore, 3, READ | FAST, ACL_SORTEDSET, ONE_KEY,
            "The score of a member."),
    COMMAND("zmscore", command_zmscore, -3, READ | FAST, ACL_SORTEDSET, ONE_KEY,
            "The scores of members."),
    COMMAND("zrank", command_zrank, 3, READ | FAST, ACL_SORTEDSET, ONE_KEY,
            "How many members come before a member, from the lowest score."),
    COMMAND("zrevrank", command_zrevrank, 3, READ | FAST, ACL_SORTEDSET, ONE_KEY,
            "How many members come before a member, from the highest score."),
    COMMAND("zscan", command_zscan, -3, READ | BY_CHANCE, ACL_SORTEDSET, ONE_KEY,
            "Some members and scores from a cursor on, and the next cursor; with MATCH and COUNT.",
            .traced = "2# 3.. match? count#"),
    COMMAND("zpopmin", command_zpopmin, -2, WRITE | FAST, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Removes and returns the members of the lowest scores: one, or so many.",
            .traced = "2#"),
    COMMAND("zpopmax", command_zpopmax, -2, WRITE | FAST, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Removes and returns the members of the highest scores: one, or so many.",
            .traced = "2#"),
    COMMAND("bzpopmin", command_bzpopmin, -3, WRITE | FAST | NO_SCRIPT,
            ACL_SORTEDSET | ACL_BLOCKING, CHANGES(ZSET, KEYS(1, -2, 1)),
            "ZPOPMIN from the first sorted set that has a member; waits if none has.",
            .traced = "each -1#"),
    COMMAND("bzpopmax", command_bzpopmax, -3, WRITE | FAST | NO_SCRIPT,
            ACL_SORTEDSET | ACL_BLOCKING, CHANGES(ZSET, KEYS(1, -2, 1)),
            "ZPOPMAX from the first sorted set that has a member; waits if none has.",
            .traced = "each -1#"),
    COMMAND("zrandmember", command_zrandmember, -2, READ | BY_CHANCE, ACL_SORTEDSET, ONE_KEY,
            "One random member, or several: different ones, or with a negative count any.",
            .traced = "2# 3.. withscores"),
};

void commands_zset_register(void) { command_register(COMMAND_ROWS(rows)); }
