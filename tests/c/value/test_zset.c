/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of value/zset: a model in both encodings, ranges, limits, scores, walks, copies.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/zset.h"

#include "values.h"

#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "value/types.h"

#define MEMBERS 400
#define LONG_MEMBER 300

/* ---- The model: a score by member number, and an order made by sorting ---- */

struct item {
    unsigned number;
    double score;
};

static struct value zset;
static double scores[MEMBERS]; /* NAN = not there */
static bool seen[MEMBERS];
static struct item sorted[MEMBERS];
static size_t count;

/* Every second one is a number, which a listpack keeps as one. */
static struct slice member_name(unsigned member, char out[32]) {
    size_t length = 0;
    if (member % 2) out[length++] = 'm';
    return (struct slice){out, length + number_format_uint64(out + length, member * 7919)};
}

static unsigned member_number(struct slice name) {
    uint64_t number;
    size_t skip = name.bytes[0] == 'm';
    assert_true(number_parse_uint64(name.bytes + skip, name.length - skip, &number));
    return (unsigned)(number / 7919);
}

static int compare_items(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    char first[32], second[32];
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return slice_compare(member_name(x->number, first), member_name(y->number, second));
}

static void model_sort(void) {
    count = 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (!isnan(scores[i])) sorted[count++] = (struct item){i, scores[i]};
    qsort(sorted, count, sizeof(sorted[0]), compare_items);
}

static void model_clear(void) {
    for (unsigned i = 0; i < MEMBERS; i++) scores[i] = NAN;
    model_sort();
}

static bool same_score(double a, double b) { return a == b && signbit(a) == signbit(b); }

static void assert_item(struct zset_item item, size_t rank) {
    char scratch[LISTPACK_SCRATCH];
    assert_int_equal(member_number(listpack_value_text(&item.member, scratch)),
                     sorted[rank].number);
    assert_true(same_score(item.score, sorted[rank].score));
}

static void see(struct slice member, double score, void *context) {
    unsigned number = member_number(member);
    assert_true(number < MEMBERS && same_score(score, scores[number]));
    assert_true(context || !seen[number]); /* with a context it may come twice */
    seen[number] = true;
}

static void assert_all_seen(void) {
    for (unsigned i = 0; i < MEMBERS; i++) assert_int_equal(seen[i], !isnan(scores[i]));
    memset(seen, 0, sizeof(seen));
}

static void check_order(void) {
    struct zset_cursor c;
    char name[32];
    size_t rank = 0, found;
    for (bool more = zset_seek(zset, 0, &c); more; more = zset_next(&c))
        assert_item(zset_get(&c), rank++);
    assert_int_equal(rank, count);
    if (!count) return;
    for (bool more = zset_seek(zset, count - 1, &c); more; more = zset_prev(&c))
        assert_item(zset_get(&c), --rank);
    assert_int_equal(rank, 0);
    rank = random_below(count);
    assert_true(zset_seek(zset, rank, &c));
    assert_item(zset_get(&c), rank);
    assert_true(zset_rank(zset, member_name(sorted[rank].number, name), &found));
    assert_int_equal(found, rank);
    assert_false(zset_seek(zset, count, &c));
}

static void assert_span(struct zset_span span, bool (*within)(const struct item *i, const void *),
                        const void *range) {
    size_t first = 0, end;
    while (first < count && !within(&sorted[first], range)) first++;
    for (end = first; end < count && within(&sorted[end], range);) end++;
    assert_int_equal(span.count, end - first);
    if (span.count) assert_int_equal(span.first, first);
}

static bool within_scores(const struct item *i, const void *range) {
    const struct zset_scores *r = range;
    return (r->min_excluded ? i->score > r->min : i->score >= r->min) &&
           (r->max_excluded ? i->score < r->max : i->score <= r->max);
}

static bool within_texts(const struct item *i, const void *range) {
    const struct zset_texts *r = range;
    char name[32];
    struct slice text = member_name(i->number, name);
    bool above = r->min_end == ZSET_TEXT_LOWEST ||
                 (r->min_end == ZSET_TEXT_INCLUDED && slice_compare(text, r->min) >= 0) ||
                 (r->min_end == ZSET_TEXT_EXCLUDED && slice_compare(text, r->min) > 0);
    return above && (r->max_end == ZSET_TEXT_HIGHEST ||
                     (r->max_end == ZSET_TEXT_INCLUDED && slice_compare(text, r->max) <= 0) ||
                     (r->max_end == ZSET_TEXT_EXCLUDED && slice_compare(text, r->max) < 0));
}

static double random_score(void) {
    static const double odd[] = {0.0, -0.0, 0.1, 1e300, -1e-300, 9007199254740993.0};
    if (random_below(20) == 0) return random_below(2) ? INFINITY : -INFINITY;
    if (random_below(5) == 0) return odd[random_below(sizeof(odd) / sizeof(odd[0]))];
    double score = (double)random_below(40) - 20;
    return random_below(3) ? score : score / 7;
}

static void check_spans(bool scores_are_equal) {
    char low[32], high[32];
    for (int i = 0; i < 10; i++) {
        struct zset_scores r = {random_score(), random_score(), random_below(2), random_below(2)};
        assert_span(zset_span_of_scores(zset, &r), within_scores, &r);
        struct zset_texts t = {member_name((unsigned)random_below(MEMBERS), low),
                               member_name((unsigned)random_below(MEMBERS), high),
                               random_below(2) ? ZSET_TEXT_INCLUDED : ZSET_TEXT_EXCLUDED,
                               random_below(2) ? ZSET_TEXT_INCLUDED : ZSET_TEXT_EXCLUDED};
        if (random_below(5) == 0) t.min_end = ZSET_TEXT_LOWEST;
        if (random_below(5) == 0) t.max_end = ZSET_TEXT_HIGHEST;
        if (scores_are_equal) assert_span(zset_span_of_texts(zset, &t), within_texts, &t);
    }
}

static void model_check(bool scores_are_equal) {
    char name[32], scratch[LISTPACK_SCRATCH];
    double score;
    bool twice = true;
    uint64_t cursor = 0;
    model_sort();
    zset_check(zset);
    assert_int_equal(zset_count(zset), count);
    assert_int_equal(value_type(VALUE_ZSET)->bytes(zset),
                     memory_used(MEMORY_DATASET) - used_before);
    for (unsigned i = 0; i < MEMBERS; i++) {
        bool there = zset_score(zset, member_name(i, name), &score);
        assert_int_equal(there, !isnan(scores[i]));
        if (there) assert_true(same_score(score, scores[i]));
    }
    check_order();
    check_spans(scores_are_equal);
    zset_each(zset, see, NULL);
    assert_all_seen();
    do {
        cursor = zset_scan(zset, cursor, 3, see, &twice);
    } while (cursor);
    assert_all_seen();
    if (!count) return;
    struct zset_item item = zset_random(zset);
    unsigned number = member_number(listpack_value_text(&item.member, scratch));
    assert_true(same_score(item.score, scores[number]));
}

static void model_set(unsigned member, double score) {
    char name[32];
    assert_int_equal(zset_set(&zset, member_name(member, name), score), isnan(scores[member]));
    /* Zeros of either sign are one score: what stands there stays. */
    if (scores[member] != score) scores[member] = score;
}

static void model_remove(unsigned member) {
    char name[32];
    assert_int_equal(zset_remove(&zset, member_name(member, name)), !isnan(scores[member]));
    scores[member] = NAN;
}

static void model_remove_span(void) {
    model_sort();
    struct zset_span span = {random_below(count + 1), 0};
    span.count = random_below(count - span.first + 1);
    for (size_t i = 0; i < span.count; i++) scores[sorted[span.first + i].number] = NAN;
    zset_remove_span(&zset, span);
}

static void model_run(size_t steps, bool scores_are_equal) {
    unsigned set_percent = 0;
    zset = zset_create();
    model_clear();
    for (size_t step = 0; step < steps; step++) {
        if (step % 2000 == 0) set_percent = 20 + (unsigned)random_below(60);
        unsigned member = (unsigned)random_below(MEMBERS);
        if (random_below(1000) == 0)
            model_remove_span();
        else if (random_below(100) < set_percent)
            model_set(member, scores_are_equal ? 5 : random_score());
        else
            model_remove(member);
        if (step % 250 == 0) model_check(scores_are_equal);
    }
    struct value copy = value_type(VALUE_ZSET)->copy(zset, SLICE(""), SLICE(""));
    assert_true(digests_equal(VALUE_ZSET, zset, copy));
    zset_free(zset);
    zset = copy;
    model_check(scores_are_equal);
    for (unsigned i = 0; i < MEMBERS; i++) model_remove(i);
    model_check(scores_are_equal);
    zset_free(zset);
}

static void test_model(void **state) {
    static const char *const limits[] = {"512", "0", "100"};
    seed_from_environment();
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        set_option("zset-max-ziplist-entries", limits[i]);
        model_run(10000, false);
        model_run(10000, true);
    }
    set_option("zset-max-ziplist-entries", "128");
}

/* ---- Limits and forms ---- */

static void fill(struct value *v, unsigned members) {
    char name[32];
    for (unsigned i = 0; i < members; i++) zset_set(v, member_name(i, name), i);
}

static void assert_encoding_after(unsigned members, size_t length, const char *encoding) {
    char bytes[LONG_MEMBER], name[32];
    memset(bytes, 'y', sizeof(bytes));
    struct value v = zset_create();
    fill(&v, members - 1);
    zset_set(&v, (struct slice){bytes, length}, 1);
    assert_int_equal(zset_count(v), members);
    assert_string_equal(encoding_of(VALUE_ZSET, v), encoding);
    /* It does not go back. */
    while (members-- > 1) assert_true(zset_remove(&v, member_name(members - 1, name)));
    assert_string_equal(encoding_of(VALUE_ZSET, v), encoding);
    zset_free(v);
}

static void test_limits(void **state) {
    assert_encoding_after(128, 64, "ziplist");
    assert_encoding_after(129, 1, "skiplist");
    assert_encoding_after(1, 65, "skiplist");
    set_option("zset-max-ziplist-value", "10");
    assert_encoding_after(3, 11, "skiplist");
    set_option("zset-max-ziplist-value", "64");
    set_option("zset-max-ziplist-entries", "0");
    assert_encoding_after(1, 1, "skiplist");
    set_option("zset-max-ziplist-entries", "128");
}

static void test_expect(void **state) {
    struct value v = zset_create();
    zset_expect(&v, 128, 64);
    assert_string_equal(encoding_of(VALUE_ZSET, v), "ziplist");
    zset_expect(&v, 1, 65);
    assert_string_equal(encoding_of(VALUE_ZSET, v), "skiplist");
    zset_free(v);
    v = zset_create();
    fill(&v, 3);
    zset_expect(&v, 129, 1);
    assert_string_equal(encoding_of(VALUE_ZSET, v), "skiplist");
    assert_int_equal(zset_count(v), 3);
    zset_check(v);
    zset_free(v);
}

static void test_digest(void **state) {
    struct value small = zset_create(), large = zset_create();
    char name[32];
    fill(&small, 100);
    set_option("zset-max-ziplist-entries", "10");
    for (unsigned i = 100; i-- > 0;) zset_set(&large, member_name(i, name), i);
    set_option("zset-max-ziplist-entries", "128");
    assert_string_equal(encoding_of(VALUE_ZSET, small), "ziplist");
    assert_string_equal(encoding_of(VALUE_ZSET, large), "skiplist");
    assert_true(digests_equal(VALUE_ZSET, small, large));
    zset_set(&small, member_name(7, name), 7.5);
    assert_false(digests_equal(VALUE_ZSET, small, large));
    zset_free(small);
    zset_free(large);
}

/* Every score comes back bit for bit, from either form. */
static void test_scores(void **state) {
    static const double odd[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.1,
                                 INFINITY,
                                 -INFINITY,
                                 9007199254740991.0,
                                 9007199254740992.0,
                                 -9007199254740994.0,
                                 1e308,
                                 5e-324,
                                 1.7976931348623157e308};
    for (int form = 0; form < 2; form++) {
        struct value v = zset_create();
        if (form) zset_expect(&v, 129, 0);
        for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
            char name[32];
            double score;
            zset_set(&v, member_name((unsigned)i, name), odd[i]);
            assert_true(zset_score(v, member_name((unsigned)i, name), &score));
            assert_true(same_score(score, odd[i]));
        }
        zset_check(v);
        zset_free(v);
    }
}

/* 200,000 members of 14 bytes must take less than 60 bytes each. */
static void test_bytes(void **state) {
    enum { COUNT = 200000 };
    struct value v = zset_create();
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        memcpy(name, "member:", 7);
        number_format_uint64(name + 7, i + 1000000);
        zset_set(&v, (struct slice){name, 14}, (i * 7919) % COUNT);
    }
    assert_true(value_type(VALUE_ZSET)->bytes(v) < (size_t)COUNT * 60);
    assert_int_equal(value_type(VALUE_ZSET)->free_effort(v, SLICE("")), COUNT);
    value_type(VALUE_ZSET)->unlink(v, SLICE(""));
    zset_free(v);
}

/* In steps, after each of which `bytes` is what memory is left. */
static void test_release_step(void **state) {
    enum { COUNT = 20000 };
    const struct value_type *type = value_type(VALUE_ZSET);
    struct value v = zset_create();
    size_t steps = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        zset_set(&v, (struct slice){name, number_format_uint64(name, i)}, (i * 7919) % COUNT);
    }
    type->unlink(v, SLICE(""));
    while (!type->release_step(v, COUNT / 20)) {
        assert_int_equal(type->bytes(v), memory_used(MEMORY_DATASET) - used_before);
        steps++;
    }
    /* 19 of the members before the last one, and before these some of the table's buckets. */
    assert_in_range(steps, 19 + 2, 19 + 10);
    v = zset_create();
    zset_set(&v, SLICE("small"), 1);
    assert_true(type->release_step(v, 1));
}

int main(void) {
    value_register();
    const struct CMUnitTest tests[] = {
        TEST(test_model),  TEST(test_limits), TEST(test_expect),       TEST(test_digest),
        TEST(test_scores), TEST(test_bytes),  TEST(test_release_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
