/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on ranges of sorted sets: by rank, by score, by text. The rows stand at the end.
 *
 * All of them take the same steps: parse the arguments, look up the key, convert the range to a
 * span of ranks; then reply, count, store or remove the span. OFFSET and LIMIT cut the span, so
 * that a far offset costs no more than a near one.
 *
 * Invariants
 *  1. A span lies within the sorted set.
 *  2. Arguments are parsed before the key is looked up.
 *
 * The result of a range of texts is undefined where scores differ, as in 6.2.
 */
#include "commands/zset_range.h"

#include <math.h>

#include "base/number.h"
#include "command/arguments.h"
#include "command/row.h"
#include "commands/zset_internal.h"

enum range_by { RANGE_BY_RANK, RANGE_BY_SCORE, RANGE_BY_TEXT };

struct range {
    enum range_by by;
    int64_t start, stop; /* ranks as given, from the end where negative */
    struct zset_scores scores;
    struct zset_texts texts;
};

/* ---- bounds ---- */

/* Parses a score by strtod. As in 6.2, more is accepted here than elsewhere: leading blanks, an
 * empty text, numbers out of range, and texts that end at a NUL. */
static bool parse_lenient(struct slice text, double *score) {
    char *end, *copy = slice_dup_c_string(text, MEMORY_OTHER);
    *score = strtod(copy, &end);
    bool whole = *end == 0;
    memory_free(copy, MEMORY_OTHER);
    return whole && !isnan(*score);
}

/* Parses a bound: "(5" is 5, excluded. */
static bool parse_score(struct slice text, double *score, bool *excluded) {
    *excluded = text.length && *text.bytes == '(';
    if (*excluded) {
        text.bytes++;
        text.length--;
    }
    return number_parse_double(text.bytes, text.length, score) || parse_lenient(text, score);
}

/* Parses "[text", "(text", "-" or "+"; the latter two may be followed by a NUL and anything. */
static bool parse_text(struct slice argument, struct slice *text, enum zset_text_end *end) {
    if (!argument.length) return false;
    bool alone = argument.length == 1 || !argument.bytes[1];
    *text = (struct slice){argument.bytes + 1, argument.length - 1};
    switch (*argument.bytes) {
    case '[': *end = ZSET_TEXT_INCLUDED; return true;
    case '(': *end = ZSET_TEXT_EXCLUDED; return true;
    case '-': *end = ZSET_TEXT_LOWEST; return alone;
    case '+': *end = ZSET_TEXT_HIGHEST; return alone;
    default: return false;
    }
}

/* Parses the bounds from arguments `min` and `max`; false after an error reply. */
static bool range_parse(const struct call *call, int min, int max, struct range *r) {
    const struct slice *argv = call->argv;
    switch (r->by) {
    case RANGE_BY_RANK:
        return argument_int64(call, min, &r->start, NULL) &&
               argument_int64(call, max, &r->stop, NULL);
    case RANGE_BY_SCORE:
        if (parse_score(argv[min], &r->scores.min, &r->scores.min_excluded) &&
            parse_score(argv[max], &r->scores.max, &r->scores.max_excluded))
            return true;
        reply_error(call->client, "min or max is not a float");
        return false;
    case RANGE_BY_TEXT:
        if (parse_text(argv[min], &r->texts.min, &r->texts.min_end) &&
            parse_text(argv[max], &r->texts.max, &r->texts.max_end))
            return true;
        reply_error(call->client, "min or max not valid string range item");
        return false;
    }
    return false;
}

/* Converts indexes from either end to a span; ranks count from the top where `from_top`. */
static struct zset_span span_of_ranks(const struct range *r, size_t there, bool from_top) {
    int64_t start = r->start, stop = r->stop, size = (int64_t)there;
    if (start < 0) start += size;
    if (stop < 0) stop += size;
    if (start < 0) start = 0;
    if (stop >= size) stop = size - 1;
    if (start > stop) return (struct zset_span){0, 0};
    size_t count = (size_t)(stop - start + 1);
    return (struct zset_span){from_top ? (size_t)(size - 1 - stop) : (size_t)start, count};
}

static struct zset_span span_of(const struct range *r, struct value v, bool from_top) {
    if (r->by == RANGE_BY_RANK) return span_of_ranks(r, zset_count(v), from_top);
    return r->by == RANGE_BY_SCORE ? zset_span_of_scores(v, &r->scores)
                                   : zset_span_of_texts(v, &r->texts);
}

/* ---- ZRANGE and its kin ---- */

struct query {
    struct range range;
    bool by_fixed, order_fixed; /* fixed by the command: no BYSCORE, BYLEX; no REV */
    bool downwards, with_scores, stores;
    int64_t offset, limit; /* limit < 0: none */
};

/* Parses the options from argument `first` on; false after an error reply. */
static bool query_parse_options(const struct call *call, int first, struct query *q) {
    struct range *r = &q->range;
    for (int i = first; i < call->argc; i++) {
        bool may_choose = !q->by_fixed && r->by == RANGE_BY_RANK;
        if (!q->stores && argument_is(call, i, "withscores")) {
            q->with_scores = true;
        } else if (call->argc - i > 2 && argument_is(call, i, "limit")) {
            if (!argument_int64(call, i + 1, &q->offset, NULL) ||
                !argument_int64(call, i + 2, &q->limit, NULL))
                return false;
            i += 2;
        } else if (!q->order_fixed && !q->downwards && argument_is(call, i, "rev")) {
            q->downwards = true;
        } else if (may_choose && argument_is(call, i, "byscore")) {
            r->by = RANGE_BY_SCORE;
        } else if (may_choose && argument_is(call, i, "bylex")) {
            r->by = RANGE_BY_TEXT;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

/* Parses the bounds at `first` and `first` + 1, and the options behind them; false after an error
 * reply. */
static bool query_parse(const struct call *call, int first, struct query *q) {
    const char *error = NULL;
    q->limit = -1;
    if (!query_parse_options(call, first + 2, q)) return false;
    /* A limit of -1 means none. */
    if (q->range.by == RANGE_BY_RANK && q->limit != -1)
        error = "syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX";
    else if (q->range.by == RANGE_BY_TEXT && q->with_scores)
        error = "syntax error, WITHSCORES not supported in combination with BYLEX";
    if (error) {
        reply_error(call->client, error);
        return false;
    }
    bool highest_first = q->downwards && q->range.by != RANGE_BY_RANK;
    return range_parse(call, first + highest_first, first + !highest_first, &q->range);
}

/* The span within OFFSET and LIMIT, from where the walk begins. */
static struct zset_span query_span(const struct query *q, struct value v) {
    struct zset_span span = span_of(&q->range, v, q->downwards);
    if (q->range.by == RANGE_BY_RANK) return span;
    size_t all = span.count;
    if (q->offset < 0 || (uint64_t)q->offset >= all) return (struct zset_span){0, 0};
    span.count = all - (size_t)q->offset;
    if (q->limit >= 0 && (uint64_t)q->limit < span.count) span.count = (size_t)q->limit;
    span.first += q->downwards ? all - (size_t)q->offset - span.count : (size_t)q->offset;
    return span;
}

/* The row's context has the parts of the query that the command fixes. */
static void command_zrange(struct call *call) {
    struct query q = *(const struct query *)call->command->context;
    struct entry *e;
    struct zset_span span = {0, 0};
    if (!query_parse(call, 2, &q)) return;
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    if (e) span = query_span(&q, entry_object(e));
    zset_reply_begin(call->client, span.count, q.with_scores);
    if (!span.count) return;
    zset_reply_walk(call->client, entry_object(e),
                    q.downwards ? span.first + span.count - 1 : span.first, span.count, q.downwards,
                    q.with_scores);
}

#define FIXED(by_, downwards_) \
    { .range = {.by = by_}, .by_fixed = true, .order_fixed = true, .downwards = downwards_ }

static const struct query any_query,
    ranks_downwards = FIXED(RANGE_BY_RANK, true), scores_upwards = FIXED(RANGE_BY_SCORE, false),
    scores_downwards = FIXED(RANGE_BY_SCORE, true), texts_upwards = FIXED(RANGE_BY_TEXT, false),
    texts_downwards = FIXED(RANGE_BY_TEXT, true);

static struct value copy_span(struct value v, struct zset_span span) {
    struct value copy = zset_create();
    struct zset_cursor at;
    if (!span.count) return copy;
    zset_expect(&copy, span.count, 0);
    bool more = zset_seek(v, span.first, &at);
    for (size_t i = 0; i < span.count && more; i++, more = zset_next(&at)) {
        char scratch[LISTPACK_SCRATCH];
        struct zset_item item = zset_get(&at);
        zset_set(&copy, listpack_value_text(&item.member, scratch), item.score);
    }
    return copy;
}

static void command_zrangestore(struct call *call) {
    struct query q = {.stores = true};
    struct entry *e;
    if (!query_parse(call, 3, &q)) return;
    if (!argument_find_typed(call, 2, ENTRY_ZSET, &e)) return;
    struct zset_span span = {0, 0};
    if (e) span = query_span(&q, entry_object(e));
    zset_store_result(call, e ? copy_span(entry_object(e), span) : zset_create(), "zrangestore");
}

/* ---- counting and removing ---- */

static const struct range by_rank = {.by = RANGE_BY_RANK}, by_score = {.by = RANGE_BY_SCORE},
                          by_text = {.by = RANGE_BY_TEXT};

static void command_zcount(struct call *call) {
    struct range r = *(const struct range *)call->command->context;
    struct entry *e;
    size_t count = 0;
    if (!range_parse(call, 2, 3, &r)) return;
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    if (e) count = span_of(&r, entry_object(e), false).count;
    reply_integer(call->client, (int64_t)count);
}

static void command_zremrange(struct call *call) {
    struct range r = *(const struct range *)call->command->context;
    struct edit edit;
    struct zset_span span = {0, 0};
    if (!range_parse(call, 2, 3, &r)) return;
    if (!edit_open(&edit, call, 1, ENTRY_ZSET)) return;
    if (edit.entry) {
        span = span_of(&r, entry_object(edit.entry), false);
        zset_take_out(&edit, span, call->command->name);
    }
    reply_integer(call->client, (int64_t)span.count);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("zrange", command_zrange, -4, READ, ACL_SORTEDSET, ONE_KEY,
            "A range of members: by rank, BYSCORE or BYLEX; with REV, LIMIT and WITHSCORES.",
            .context = &any_query,
            .traced = "2# 3# 2~ 3~ 4.. rev withscores limit## byscore! bylex!"),
    COMMAND("zrangestore", command_zrangestore, -5, GROW, ACL_SORTEDSET, CHANGES(WHOLE, TWO_KEYS),
            "Stores a range of members; returns how many.",
            .traced = "3# 4# 3~ 4~ 5.. rev limit## byscore! bylex!"),
    COMMAND("zrevrange", command_zrange, -4, READ, ACL_SORTEDSET, ONE_KEY,
            "A range of members by rank, the highest score first.", .context = &ranks_downwards,
            .traced = "2# 3# 4.. withscores"),
    COMMAND("zrangebyscore", command_zrange, -4, READ, ACL_SORTEDSET, ONE_KEY,
            "Members of a range of scores, the lowest first.", .context = &scores_upwards,
            .traced = "2~ 3~ 4.. withscores limit##"),
    COMMAND("zrevrangebyscore", command_zrange, -4, READ, ACL_SORTEDSET, ONE_KEY,
            "Members of a range of scores, the highest first.", .context = &scores_downwards,
            .traced = "2~ 3~ 4.. withscores limit##"),
    COMMAND("zrangebylex", command_zrange, -4, READ, ACL_SORTEDSET, ONE_KEY,
            "Members of a range of texts where all scores are equal.", .context = &texts_upwards,
            .traced = "2~ 3~ 4.. limit##"),
    COMMAND("zrevrangebylex", command_zrange, -4, READ, ACL_SORTEDSET, ONE_KEY,
            "Members of a range of texts where all scores are equal, the last first.",
            .context = &texts_downwards, .traced = "2~ 3~ 4.. limit##"),
    COMMAND("zcount", command_zcount, 4, READ | FAST, ACL_SORTEDSET, ONE_KEY,
            "The number of members in a range of scores.", .context = &by_score, .traced = "2~ 3~"),
    COMMAND("zlexcount", command_zcount, 4, READ | FAST, ACL_SORTEDSET, ONE_KEY,
            "The number of members in a range of texts.", .context = &by_text, .traced = "2~ 3~"),
    COMMAND("zremrangebyrank", command_zremrange, 4, WRITE, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Deletes the members of a range of ranks.", .context = &by_rank, .traced = "2# 3#"),
    COMMAND("zremrangebyscore", command_zremrange, 4, WRITE, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Deletes the members in a range of scores.", .context = &by_score, .traced = "2~ 3~"),
    COMMAND("zremrangebylex", command_zremrange, 4, WRITE, ACL_SORTEDSET, CHANGES(ZSET, ONE_KEY),
            "Deletes the members in a range of texts.", .context = &by_text, .traced = "2~ 3~"),
};

void commands_zset_range_register(void) { command_register(COMMAND_ROWS(rows)); }
