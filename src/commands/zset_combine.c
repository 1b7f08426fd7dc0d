/* SPDX-License-Identifier: BSD-3-Clause
 * Unions, intersections and differences of sorted sets, and of plain sets, whose members have the
 * score 1. The rows stand at the end.
 *
 * The result's members are gathered in an array (with a hash index where a member may come twice),
 * sorted once, and then replied, or stored from the lowest score on.
 *
 *   union         walks all sources, from the smallest on
 *   intersection  walks the smallest and asks the others, from the smallest on
 *   difference    walks the first and asks the others, or, where that would be more work, gathers
 *                 the first and takes the members of the others out
 *
 * A key that is named several times is a run of sources, which is walked and looked up once. For
 * each further naming a member costs one operation on doubles, in the order of the arguments,
 * because the order decides the rounding; or one for the whole run, where scores and weights are
 * integers whose sums are exact in any order. (Keys of the same size that are named alternately are
 * no runs.)
 *
 * Invariants
 *  1. A member's scores are combined in order of their sources' sizes, equal sizes in order of the
 *     arguments, as in 6.2, because sums of doubles depend on the order.
 *  2. No score of a result is NaN: a NaN as the first score of a member, or as a sum, becomes 0.
 *  3. Gathered texts stay valid until the end: those of a table stand in their source, which lives
 *     until the command ends; those of other forms are copied first.
 */
#include "commands/zset_combine.h"

#include <math.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/arguments.h"
#include "command/command_keys.h"
#include "command/members.h"
#include "command/row.h"
#include "commands/zset_internal.h"
#include "value/set.h"

/* The score of a plain set's member. */
#define SCORE_OF_SET 1.0
/* The first size of an array that grows on demand. The sizes of the sources say little about the
 * result, because the same members may stand in each, and a key may be named a thousand times. */
#define ITEMS_AT_FIRST 64
/* The index has at least twice as many places as the array has items. */
#define INDEX_PLACES_PER_MEMBER 2
/* In a place of the index the upper bits are the hash's, the lower bits the member's number + 1. */
#define INDEX_NUMBER_BITS 40
/* Integers up to this, and their sums, are exact. */
#define EXACT_MAX 0x1p53

enum operation { OPERATION_UNION, OPERATION_INTERSECTION, OPERATION_DIFFERENCE };
enum aggregate { AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX };

struct source {
    struct value value; /* where count is not 0 */
    enum entry_type type;
    size_t count, place; /* number of members; number of its argument */
    double weight;
    struct text_list texts; /* copies of its members, where `listed` */
    struct buffer scores;   /* the scores of `texts`, as doubles */
    bool listed;
};

/* ---- sources ---- */

typedef void source_visit(struct slice member, double score, void *context);

static void list_scored(struct slice member, double score, void *context) {
    struct source *s = context;
    text_list_add(&s->texts, member);
    buffer_append(&s->scores, &score, sizeof(score));
}

static void list_plain(struct slice member, void *context) {
    list_scored(member, SCORE_OF_SET, context);
}

/* Whether the members' texts stay valid as long as the source does. */
static bool source_is_stable(const struct source *s) {
    return s->type == ENTRY_ZSET ? s->value.encoding == ZSET_ORDERED
                                 : s->value.encoding == SET_TABLE;
}

/* Passes on plain members with a score. */
struct scored {
    source_visit *visit;
    void *context;
};

static void visit_plain(struct slice member, void *context) {
    const struct scored *to = context;
    to->visit(member, SCORE_OF_SET, to->context);
}

/* Visits all members; the texts stay valid until the source is freed. */
static void source_each(struct source *s, source_visit *visit, void *context) {
    struct scored to = {visit, context};
    if (!s->count) return;
    if (source_is_stable(s)) {
        if (s->type == ENTRY_ZSET)
            zset_each(s->value, visit, context);
        else
            set_each(s->value, visit_plain, &to);
        return;
    }
    if (!s->listed) {
        s->listed = true;
        text_list_init(&s->texts);
        buffer_init(&s->scores, MEMORY_OTHER);
        if (s->type == ENTRY_ZSET)
            zset_each(s->value, list_scored, s);
        else
            set_each(s->value, list_plain, s);
    }
    const double *scores = (const double *)(const void *)s->scores.bytes;
    for (size_t i = 0; i < s->count; i++) visit(text_list_at(&s->texts, i), scores[i], context);
}

static bool source_score(const struct source *s, struct slice member, double *score) {
    if (!s->count) return false;
    if (s->type == ENTRY_ZSET) return zset_score(s->value, member, score);
    *score = SCORE_OF_SET;
    return set_has(s->value, member);
}

/* Orders sources by size; equal ones in order of the arguments. */
static int compare_sources(const void *a, const void *b) {
    const struct source *left = a, *right = b;
    if (left->count != right->count) return left->count < right->count ? -1 : 1;
    return left->place < right->place ? -1 : left->place > right->place;
}

/* ---- what is gathered ---- */

struct gathered {
    struct slice text;
    double score; /* NaN: removed again */
};

struct combination {
    enum operation operation;
    enum aggregate aggregate;
    struct source *sources;
    size_t source_count;
    bool with_scores;
    const struct source *walked; /* the first of a run */
    size_t walked_run;
    double weights_sum, weights_reach; /* sums of the run's weights, and of their absolute values */
    bool weights_whole;                /* the weights are integers, and none is 0 */
    struct gathered *items;
    size_t count, capacity;
    uint64_t *places; /* NULL: no member comes twice */
    size_t mask;
};

static uint64_t index_entry(uint64_t hash, uint64_t number) {
    return hash >> INDEX_NUMBER_BITS << INDEX_NUMBER_BITS | number;
}

/* Rebuilds the index with at least twice as many places as the array has room for items. */
static void index_grow(struct combination *c) {
    size_t places = 16;
    ASSERT(c->capacity < (size_t)1 << INDEX_NUMBER_BITS);
    while (places < c->capacity * INDEX_PLACES_PER_MEMBER) places *= 2;
    memory_free(c->places, MEMORY_OTHER);
    c->places = memory_zalloc(places * sizeof(*c->places), MEMORY_OTHER);
    c->mask = places - 1;
    for (size_t i = 0; i < c->count; i++) {
        uint64_t hash = hash_bytes(c->items[i].text.bytes, c->items[i].text.length);
        size_t at = hash & c->mask;
        while (c->places[at]) at = (at + 1) & c->mask;
        c->places[at] = index_entry(hash, i + 1);
    }
}

/* Makes room for `most` members; the array grows beyond that. */
static void gather_open(struct combination *c, size_t most, bool indexed) {
    c->capacity = most;
    c->items = memory_alloc((most + 1) * sizeof(*c->items), MEMORY_OTHER);
    if (indexed) index_grow(c);
}

static void gather_grow(struct combination *c) {
    c->capacity *= 2;
    c->items = memory_realloc(c->items, (c->capacity + 1) * sizeof(*c->items), MEMORY_OTHER);
    if (c->places) index_grow(c);
}

/* Adds an item, for which the array has room. */
static void gather_add(struct combination *c, struct slice text, double score) {
    ASSERT_SLOW(c->count < c->capacity);
    c->items[c->count++] = (struct gathered){text, score};
}

/* Finds the member in the index; NULL where it is not there: then *vacant is the place for it. */
static struct gathered *index_find(struct combination *c, struct slice text, uint64_t hash,
                                   uint64_t **vacant) {
    const uint64_t number_mask = ((uint64_t)1 << INDEX_NUMBER_BITS) - 1;
    for (size_t at = hash & c->mask;; at = (at + 1) & c->mask) {
        uint64_t place = c->places[at];
        if (!place) {
            *vacant = &c->places[at];
            return NULL;
        }
        if ((place ^ hash) >> INDEX_NUMBER_BITS) continue;
        struct gathered *item = &c->items[(place & number_mask) - 1];
        if (slice_equal(item->text, text)) return item;
    }
}

/* Puts the array's last member into a place of the index. */
static void index_note(struct combination *c, uint64_t *place, uint64_t hash) {
    *place = index_entry(hash, c->count);
}

/* Orders by score, equal scores by text, as a sorted set does. */
static int compare_gathered(const void *a, const void *b) {
    const struct gathered *left = a, *right = b;
    if (left->score != right->score) return left->score < right->score ? -1 : 1;
    return slice_compare(left->text, right->text);
}

static void gather_sort(struct combination *c) {
    for (size_t i = 1; i < c->count; i++) {
        if (compare_gathered(&c->items[i - 1], &c->items[i]) <= 0) continue;
        qsort(c->items, c->count, sizeof(*c->items), compare_gathered);
        return;
    }
}

/* ---- the operations ---- */

static bool same_source(const struct source *a, const struct source *b) {
    return a->count && b->count && a->value.pointer == b->value.pointer;
}

/* How many sources from number `first` on are equal. */
static size_t run_at(const struct combination *c, size_t first) {
    size_t end = first + 1;
    while (end < c->source_count && same_source(&c->sources[first], &c->sources[end])) end++;
    return end - first;
}

static double weighted_score(const struct source *s, double score) {
    double product = s->weight * score;
    return isnan(product) ? 0 : product;
}

static double aggregated_score(enum aggregate how, double old, double more) {
    switch (how) {
    case AGGREGATE_MIN: return more < old ? more : old;
    case AGGREGATE_MAX: return more > old ? more : old;
    case AGGREGATE_SUM: break;
    }
    double sum = old + more;
    return isnan(sum) ? 0 : sum;
}

/* Whether all sums with the run's scores are exact. A score of 0 is excluded, because the sign of 0
 * would depend on the order. */
static bool run_is_exact(const struct combination *c, double old, double score) {
    return c->aggregate == AGGREGATE_SUM && c->weights_whole && score != 0 &&
           trunc(score) == score && trunc(old) == old &&
           fabs(old) + c->weights_reach * fabs(score) <= EXACT_MAX;
}

/* Aggregates a member's score with those of the walked run, from its number `from` on (0 or 1).
 */
static double run_aggregated(const struct combination *c, double old, double score, size_t from) {
    if (c->walked_run - from > 1 && run_is_exact(c, old, score)) {
        double weights = c->weights_sum - (from ? c->walked->weight : 0);
        return weights == 0 ? old + 0.0 : old + weights * score;
    }
    for (size_t i = from; i < c->walked_run; i++)
        old = aggregated_score(c->aggregate, old, weighted_score(&c->walked[i], score));
    return old;
}

static void unite_visit(struct slice member, double score, void *context) {
    struct combination *c = context;
    double first = weighted_score(c->walked, score);
    if (!c->places) {
        gather_add(c, member, run_aggregated(c, first, score, 1));
        return;
    }
    uint64_t hash = hash_bytes(member.bytes, member.length), *vacant;
    struct gathered *there = index_find(c, member, hash, &vacant);
    if (there) {
        there->score = run_aggregated(c, there->score, score, 0);
        return;
    }
    gather_add(c, member, run_aggregated(c, first, score, 1));
    index_note(c, vacant, hash);
    if (c->count == c->capacity) gather_grow(c);
}

static void walk_run(struct combination *c, size_t first) {
    c->walked = &c->sources[first];
    c->walked_run = run_at(c, first);
    c->weights_sum = c->weights_reach = 0;
    c->weights_whole = true;
    for (size_t i = 0; i < c->walked_run; i++) {
        double weight = c->walked[i].weight;
        c->weights_sum += weight;
        c->weights_reach += fabs(weight);
        c->weights_whole = c->weights_whole && weight != 0 && trunc(weight) == weight;
    }
    source_each(&c->sources[first], unite_visit, c);
}

/* Sources come in order of size. At least as many members will be gathered as the largest source
 * has. */
static void combine_union(struct combination *c) {
    size_t largest = c->sources[c->source_count - 1].count, filled = 0;
    for (size_t i = 0; i < c->source_count; i += run_at(c, i)) filled += c->sources[i].count != 0;
    bool indexed = filled > 1;
    if (indexed && largest < ITEMS_AT_FIRST) largest = ITEMS_AT_FIRST;
    gather_open(c, indexed ? largest + 1 : largest, indexed);
    for (size_t i = 0; i < c->source_count; i += c->walked_run) walk_run(c, i);
}

static void intersect_visit(struct slice member, double score, void *context) {
    struct combination *c = context;
    double result = weighted_score(&c->sources[0], score), other = score;
    for (size_t i = 1; i < c->source_count; i++) {
        bool known = same_source(&c->sources[i - 1], &c->sources[i]);
        if (!known && !source_score(&c->sources[i], member, &other)) return;
        result = aggregated_score(c->aggregate, result, c->sources[i].weight * other);
    }
    gather_add(c, member, result);
}

static void combine_intersection(struct combination *c) {
    gather_open(c, c->sources[0].count, false);
    source_each(&c->sources[0], intersect_visit, c);
}

static void subtract_asking(struct slice member, double score, void *context) {
    struct combination *c = context;
    double other;
    for (size_t i = 1; i < c->source_count; i++) {
        bool known = i > 1 && same_source(&c->sources[i - 1], &c->sources[i]);
        if (!known && source_score(&c->sources[i], member, &other)) return;
    }
    gather_add(c, member, score);
}

static void index_visit(struct slice member, double score, void *context) {
    struct combination *c = context;
    uint64_t hash = hash_bytes(member.bytes, member.length), *vacant;
    const struct gathered *there = index_find(c, member, hash, &vacant);
    ASSERT(!there);
    gather_add(c, member, score);
    index_note(c, vacant, hash);
}

static void take_out_visit(struct slice member, double score, void *context) {
    struct combination *c = context;
    uint64_t *vacant;
    struct gathered *there =
        index_find(c, member, hash_bytes(member.bytes, member.length), &vacant);
    if (there) there->score = NAN;
}

static void combine_difference(struct combination *c) {
    size_t first = c->sources[0].count, others = 0, left = 0;
    for (size_t i = 1; i < c->source_count; i++) others += c->sources[i].count;
    bool asks = first * (c->source_count - 1) <= first + others;
    gather_open(c, first, !asks);
    if (asks) {
        source_each(&c->sources[0], subtract_asking, c);
        return;
    }
    source_each(&c->sources[0], index_visit, c);
    if (!c->count) return;
    for (size_t i = 1; i < c->source_count; i += run_at(c, i))
        source_each(&c->sources[i], take_out_visit, c);
    for (size_t i = 0; i < c->count; i++)
        if (!isnan(c->items[i].score)) c->items[left++] = c->items[i];
    c->count = left;
}

static void combine_sources(struct combination *c) {
    if (c->operation != OPERATION_DIFFERENCE)
        qsort(c->sources, c->source_count, sizeof(*c->sources), compare_sources);
    switch (c->operation) {
    case OPERATION_UNION: combine_union(c); break;
    case OPERATION_INTERSECTION: combine_intersection(c); break;
    case OPERATION_DIFFERENCE: combine_difference(c); break;
    }
    gather_sort(c);
}

/* ---- arguments ---- */

/* Finds the keys from argument `first` on; false after a reply of wrong type. */
static bool find_sources(const struct call *call, int first, bool for_write,
                         struct combination *c) {
    for (size_t i = 0; i < c->source_count; i++) {
        struct source *s = &c->sources[i];
        int index = first + (int)i;
        struct entry *e = for_write ? call_find(call, index) : call_read(call, index);
        *s = (struct source){.place = i, .weight = 1};
        if (!e) continue;
        if (e->type != ENTRY_ZSET && e->type != ENTRY_SET) {
            reply_wrong_type(call->client);
            return false;
        }
        if (for_write) keyspace_note_access(e);
        s->type = e->type;
        s->value = entry_object(e);
        s->count = e->type == ENTRY_ZSET ? zset_count(s->value) : set_count(s->value);
    }
    return true;
}

static bool parse_weights(const struct call *call, int first, struct combination *c) {
    for (size_t i = 0; i < c->source_count; i++) {
        struct slice text = call->argv[first + (int)i];
        if (number_parse_double(text.bytes, text.length, &c->sources[i].weight)) continue;
        reply_error(call->client, "weight value is not a float");
        return false;
    }
    return true;
}

static bool parse_aggregate(const struct call *call, int index, enum aggregate *how) {
    if (argument_is(call, index, "sum"))
        *how = AGGREGATE_SUM;
    else if (argument_is(call, index, "min"))
        *how = AGGREGATE_MIN;
    else if (argument_is(call, index, "max"))
        *how = AGGREGATE_MAX;
    else
        return false;
    return true;
}

/* Parses the options behind the keys; false after an error reply. */
static bool combination_parse_options(const struct call *call, int first, bool stores,
                                      struct combination *c) {
    bool weighs = c->operation != OPERATION_DIFFERENCE;
    for (int i = first; i < call->argc; i++) {
        size_t behind = (size_t)(call->argc - i - 1);
        if (weighs && behind >= c->source_count && argument_is(call, i, "weights")) {
            if (!parse_weights(call, i + 1, c)) return false;
            i += (int)c->source_count;
        } else if (weighs && behind >= 1 && argument_is(call, i, "aggregate") &&
                   parse_aggregate(call, i + 1, &c->aggregate)) {
            i++;
        } else if (!stores && argument_is(call, i, "withscores")) {
            c->with_scores = true;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

/* Parses the number of keys that follow argument `index`; false after an error reply. */
static bool parse_key_count(const struct call *call, int index, size_t *count) {
    int64_t wanted;
    if (!argument_int64(call, index, &wanted, NULL)) return false;
    if (wanted < 1) {
        reply_error_format(call->client, "at least 1 input key is needed for %s",
                           call->command->name);
        return false;
    }
    if (wanted > call->argc - index - 1) {
        reply_syntax_error(call->client);
        return false;
    }
    *count = (size_t)wanted;
    return true;
}

/* ---- results ---- */

static void reply_gathered(struct client *client, const struct combination *c) {
    zset_reply_begin(client, c->count, c->with_scores);
    for (size_t i = 0; i < c->count; i++)
        zset_reply_member(client, c->items[i].text, c->items[i].score, c->with_scores);
}

static const char *const store_events[] = {[OPERATION_UNION] = "zunionstore",
                                           [OPERATION_INTERSECTION] = "zinterstore",
                                           [OPERATION_DIFFERENCE] = "zdiffstore"};

static void store_gathered(struct call *call, const struct combination *c) {
    struct value v = zset_create();
    size_t longest = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].text.length > longest) longest = c->items[i].text.length;
    if (c->count) zset_expect(&v, c->count, longest);
    for (size_t i = 0; i < c->count; i++) zset_set(&v, c->items[i].text, c->items[i].score);
    zset_store_result(call, v, store_events[c->operation]);
}

static void combination_free(struct combination *c) {
    for (size_t i = 0; i < c->source_count; i++) {
        if (!c->sources[i].listed) continue;
        text_list_free(&c->sources[i].texts);
        buffer_free(&c->sources[i].scores);
    }
    memory_free(c->sources, MEMORY_OTHER);
    memory_free(c->items, MEMORY_OTHER);
    memory_free(c->places, MEMORY_OTHER);
}

/* Runs the whole command. Argument 1 is the number of keys, or, where the result is stored, the
 * target. */
static void combine_generic(struct call *call, enum operation operation, bool stores) {
    struct combination c = {.operation = operation};
    int count_at = stores ? 2 : 1, keys_at = count_at + 1;
    if (!parse_key_count(call, count_at, &c.source_count)) return;
    c.sources = memory_zalloc(c.source_count * sizeof(*c.sources), MEMORY_OTHER);
    if (find_sources(call, keys_at, stores, &c) &&
        combination_parse_options(call, keys_at + (int)c.source_count, stores, &c)) {
        combine_sources(&c);
        if (stores)
            store_gathered(call, &c);
        else
            reply_gathered(call->client, &c);
    }
    combination_free(&c);
}

static void command_zunion(struct call *call) { combine_generic(call, OPERATION_UNION, false); }
static void command_zinter(struct call *call) {
    combine_generic(call, OPERATION_INTERSECTION, false);
}
static void command_zdiff(struct call *call) { combine_generic(call, OPERATION_DIFFERENCE, false); }
static void command_zunionstore(struct call *call) { combine_generic(call, OPERATION_UNION, true); }
static void command_zinterstore(struct call *call) {
    combine_generic(call, OPERATION_INTERSECTION, true);
}
static void command_zdiffstore(struct call *call) {
    combine_generic(call, OPERATION_DIFFERENCE, true);
}

/* ---- rows ---- */

static bool combine_read_keys(const struct key_search *s) {
    int count = keys_counted(s, 1);
    keys_named(s, 2, count);
    return count > 0;
}
/* The target comes last, as in 6.2. */
static bool combine_store_keys(const struct key_search *s) {
    int count = keys_counted(s, 2);
    if (!count) return false;
    if (keys_named(s, 3, count)) key_named(s, 1);
    return true;
}

static struct command rows[] = {
    COMMAND("zunion", command_zunion, -3, READ | MOVABLE, ACL_SORTEDSET, NO_KEYS,
            "Members of any of the sorted sets; with WEIGHTS, AGGREGATE, WITHSCORES.",
            .keys = combine_read_keys, .traced = "1#"),
    COMMAND("zinter", command_zinter, -3, READ | MOVABLE, ACL_SORTEDSET, NO_KEYS,
            "Members that all have; with WEIGHTS, AGGREGATE, WITHSCORES.",
            .keys = combine_read_keys, .traced = "1#"),
    COMMAND("zdiff", command_zdiff, -3, READ | MOVABLE, ACL_SORTEDSET, NO_KEYS,
            "Members of the first sorted set that no other has; with WITHSCORES.",
            .keys = combine_read_keys, .traced = "1#"),
    COMMAND("zunionstore", command_zunionstore, -4, GROW | MOVABLE, ACL_SORTEDSET,
            CHANGES(WHOLE, ONE_KEY), "Stores what ZUNION gives; returns how many.",
            .keys = combine_store_keys, .traced = "2#"),
    COMMAND("zinterstore", command_zinterstore, -4, GROW | MOVABLE, ACL_SORTEDSET,
            CHANGES(WHOLE, ONE_KEY), "Stores what ZINTER gives; returns how many.",
            .keys = combine_store_keys, .traced = "2#"),
    COMMAND("zdiffstore", command_zdiffstore, -4, GROW | MOVABLE, ACL_SORTEDSET,
            CHANGES(WHOLE, ONE_KEY), "Stores what ZDIFF gives; returns how many.",
            .keys = combine_store_keys, .traced = "2#"),
};

void commands_zset_combine_register(void) { command_register(COMMAND_ROWS(rows)); }
