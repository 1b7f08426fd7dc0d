/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/ordered: against a sorted array, growth in order, scores at their limits, bytes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/ordered.h"

#include <math.h>

#include "base/seed.h"

#include "base/memory.h"
#include "base/number.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

static void release_element(struct ordered_element *e, void *context) {
    if (context) ++*(size_t *)context;
    ordered_element_free(e);
}

/* ---- The model: a sorted array ---- */

#define MODEL_MAX 20000

struct model {
    struct ordered *order;
    struct ordered_element **sorted;
    size_t count, element_bytes;
    uint64_t next_name;
    unsigned scores; /* how many different ones */
};

static int model_compare(const struct ordered_element *a, double score,
                         const struct ordered_element *b) {
    if (score != b->score) return score < b->score ? -1 : 1;
    return slice_compare(ordered_element_text(a), ordered_element_text(b));
}

/* Where an element of this score belongs. */
static size_t model_place(const struct model *m, const struct ordered_element *e, double score) {
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (model_compare(e, score, m->sorted[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void model_put(struct model *m, size_t at, struct ordered_element *e) {
    memmove(&m->sorted[at + 1], &m->sorted[at], (m->count - at) * sizeof(e));
    m->sorted[at] = e;
    m->count++;
}

static void model_take(struct model *m, size_t at, size_t count) {
    memmove(&m->sorted[at], &m->sorted[at + count], (m->count - at - count) * sizeof(m->sorted[0]));
    m->count -= count;
}

static double random_score(const struct model *m) {
    if (m->scores == 1) return 0;
    uint64_t pick = random_below(m->scores + 2);
    if (pick == m->scores) return random_below(2) ? INFINITY : -INFINITY;
    return ((double)pick - (double)m->scores / 2) / 4;
}

static struct ordered_element *model_new(struct model *m) {
    char name[40];
    size_t length = number_format_uint64(name, random_below(7) * 1000003 ^ m->next_name++);
    struct ordered_element *e =
        ordered_element_create(random_score(m), (struct slice){name, length});
    m->element_bytes += ordered_element_bytes(e);
    return e;
}

static void model_check_bound(const struct model *m) {
    struct ordered_bound bound = {.score = random_score(m), .after = random_below(2)};
    size_t expected = 0;
    while (expected < m->count && (m->sorted[expected]->score < bound.score ||
                                   (bound.after && m->sorted[expected]->score == bound.score)))
        expected++;
    assert_int_equal(ordered_count_before(m->order, &bound), expected);
    if (m->scores > 1 || m->count == 0) return;
    /* A text only says where all scores are equal. */
    bound.by_text = true;
    bound.text = ordered_element_text(m->sorted[random_below(m->count)]);
    if (bound.text.length > 1) bound.text.length -= random_below(2);
    for (expected = 0; expected < m->count; expected++) {
        int order = slice_compare(ordered_element_text(m->sorted[expected]), bound.text);
        if (order > 0 || (order == 0 && !bound.after)) break;
    }
    assert_int_equal(ordered_count_before(m->order, &bound), expected);
}

static void model_check(const struct model *m) {
    struct ordered_cursor c;
    ordered_check(m->order);
    assert_int_equal(ordered_count(m->order), m->count);
    assert_int_equal(ordered_bytes(m->order) + m->element_bytes,
                     memory_used(MEMORY_DATASET) - used_before);
    bool there = ordered_seek(m->order, 0, &c);
    for (size_t i = 0; i < m->count; i++, there = ordered_next(&c)) {
        assert_true(there);
        assert_ptr_equal(ordered_get(&c), m->sorted[i]);
    }
    assert_false(there);
    there = m->count && ordered_seek(m->order, m->count - 1, &c);
    for (size_t i = m->count; i-- > 0; there = ordered_prev(&c)) {
        assert_true(there);
        assert_ptr_equal(ordered_get(&c), m->sorted[i]);
    }
    assert_false(there);
    assert_false(ordered_seek(m->order, m->count, &c));
    model_check_bound(m);
}

static void step_insert(struct model *m) {
    struct ordered_element *e = model_new(m);
    size_t at = model_place(m, e, e->score);
    if (at < m->count && model_compare(e, e->score, m->sorted[at]) == 0) {
        m->element_bytes -= ordered_element_bytes(e);
        ordered_element_free(e);
        return;
    }
    ordered_insert(m->order, e);
    model_put(m, at, e);
}

static void step_delete_range(struct model *m, size_t at) {
    size_t wanted = random_below(20) ? random_below(200) : random_below(MODEL_MAX);
    size_t count = wanted < m->count - at ? wanted : m->count - at, released = 0;
    for (size_t i = 0; i < count; i++) m->element_bytes -= ordered_element_bytes(m->sorted[at + i]);
    assert_int_equal(ordered_delete_range(m->order, at, wanted, release_element, &released), count);
    assert_int_equal(released, count);
    model_take(m, at, count);
}

static void step_set_score(struct model *m, size_t at) {
    struct ordered_element *e = m->sorted[at];
    double score = random_below(2) ? random_score(m) : e->score + 0.001;
    model_take(m, at, 1);
    size_t place = model_place(m, e, score);
    ordered_set_score(m->order, e, score);
    model_put(m, place, e);
    assert_int_equal(ordered_rank(m->order, e), place);
}

static void model_run(unsigned scores, size_t steps) {
    struct model m = {.order = ordered_create(), .scores = scores};
    m.sorted = memory_alloc(sizeof(m.sorted[0]) * (MODEL_MAX + 1), MEMORY_OTHER);
    unsigned insert_percent = 0;
    for (size_t step = 0; step < steps; step++) {
        if (step % 10000 == 0)
            insert_percent = random_below(2) ? 90 : 10 + (unsigned)random_below(60);
        size_t at = m.count ? random_below(m.count) : 0;
        if (m.count == 0 || (m.count < MODEL_MAX && random_below(100) < insert_percent)) {
            step_insert(&m);
        } else if (random_below(300) == 0) {
            step_delete_range(&m, at);
        } else if (scores > 1 && random_below(2)) {
            step_set_score(&m, at);
        } else {
            struct ordered_element *e = m.sorted[at];
            assert_int_equal(ordered_rank(m.order, e), at);
            ordered_remove(m.order, e);
            model_take(&m, at, 1);
            m.element_bytes -= ordered_element_bytes(e);
            ordered_element_free(e);
        }
        if (step % 1000 == 0) model_check(&m);
    }
    model_check(&m);
    size_t released = 0;
    ordered_free(m.order, release_element, &released);
    assert_int_equal(released, m.count);
    memory_free(m.sorted, MEMORY_OTHER);
}

static void test_model(void **state) {
    seed_from_environment();
    model_run(1000000, 100000);
    model_run(100, 100000);
    model_run(3, 60000);
    model_run(1, 60000);
}

/* ---- Growth in order, and how much it takes ---- */

static struct ordered *filled(size_t count, double step, double start) {
    struct ordered *o = ordered_create();
    for (size_t i = 0; i < count; i++) {
        char name[24];
        size_t length = number_format_uint64(name, i);
        ordered_insert(
            o, ordered_element_create(start + step * (double)i, (struct slice){name, length}));
    }
    ordered_check(o);
    return o;
}

static void test_in_order(void **state) {
    enum { COUNT = 100000 };
    struct ordered *up = filled(COUNT, 1, 0), *down = filled(COUNT, -1, 0);
    /* Pointers in full leaves, and little besides. */
    assert_true(ordered_bytes(up) < COUNT * 10);
    assert_true(ordered_bytes(down) < COUNT * 10);
    for (size_t rank = 0; rank < COUNT; rank += 777) {
        struct ordered_cursor c;
        assert_true(ordered_seek(up, rank, &c));
        assert_true(ordered_get(&c)->score == (double)rank);
        assert_int_equal(ordered_rank(up, ordered_get(&c)), rank);
        assert_true(ordered_seek(down, rank, &c));
        assert_true(ordered_get(&c)->score == (double)rank - (COUNT - 1));
    }
    /* What is deleted from either end gives its memory back. */
    size_t bytes = ordered_bytes(up);
    for (size_t i = 0; i < 90; i++) ordered_delete_range(up, 0, COUNT / 100, release_element, NULL);
    for (size_t i = 0; i < COUNT / 20; i++)
        ordered_delete_range(up, ordered_count(up) - 1, 1, release_element, NULL);
    ordered_check(up);
    assert_true(ordered_bytes(up) < bytes / 10);
    ordered_free(up, release_element, NULL);
    ordered_free(down, release_element, NULL);
}

static void test_random_order_bytes(void **state) {
    enum { COUNT = 200000 };
    seed_from_environment();
    struct ordered *o = ordered_create();
    for (size_t i = 0; i < COUNT; i++) {
        char name[24];
        size_t length = number_format_uint64(name, i);
        ordered_insert(o, ordered_element_create(random_double(), (struct slice){name, length}));
    }
    ordered_check(o);
    /* Leaves two thirds full on average: 12 bytes, inner nodes one or two. */
    assert_true(ordered_bytes(o) < COUNT * 14);
    ordered_free(o, release_element, NULL);
}

static void test_limits(void **state) {
    static const double scores[] = {-INFINITY, -1.7976931348623157e308, -1,      -5e-324, 0, 5e-324,
                                    1,         1.7976931348623157e308,  INFINITY};
    enum { COUNT = sizeof(scores) / sizeof(*scores) };
    struct ordered *o = ordered_create();
    struct ordered_cursor c;
    assert_false(ordered_seek(o, 0, &c));
    for (size_t i = COUNT; i-- > 0;)
        ordered_insert(o, ordered_element_create(scores[i], SLICE("")));
    ordered_insert(o, ordered_element_create(-0.0, SLICE("a"))); /* equals 0: after "" */
    ordered_check(o);
    for (size_t i = 0; i < COUNT; i++) {
        size_t shift = scores[i] > 0;
        assert_true(ordered_seek(o, i + shift, &c));
        assert_true(ordered_get(&c)->score == scores[i]);
        struct ordered_bound bound = {.score = scores[i]};
        assert_int_equal(ordered_count_before(o, &bound), i + shift);
        bound.after = true;
        assert_int_equal(ordered_count_before(o, &bound), i + 1 + (scores[i] >= 0));
    }
    ordered_delete_range(o, 0, SIZE_MAX, release_element, NULL);
    assert_int_equal(ordered_count(o), 0);
    ordered_check(o);
    ordered_insert(o, ordered_element_create(1, SLICE("again")));
    ordered_check(o);
    ordered_free(o, release_element, NULL);
}

/* All scores equal: order and ranges are those of the texts. */
static void test_texts(void **state) {
    static const char *const names[] = {"", "a", "aa", "ab", "b", "bb", "c"};
    struct ordered *o = ordered_create();
    for (size_t i = 7; i-- > 0;) ordered_insert(o, ordered_element_create(0, slice_of(names[i])));
    ordered_insert(o, ordered_element_create(0, (struct slice){"a\0", 2}));
    const struct {
        const char *text;
        bool after;
        size_t count;
    } cases[] = {{"", false, 0},   {"", true, 1},  {"a", false, 1}, {"a", true, 2},
                 {"aa", false, 3}, {"b", true, 6}, {"bz", true, 7}, {"z", false, 8}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ordered_bound bound = {
            .by_text = true, .text = slice_of(cases[i].text), .after = cases[i].after};
        assert_int_equal(ordered_count_before(o, &bound), cases[i].count);
    }
    ordered_free(o, release_element, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_model),  TEST(test_in_order), TEST(test_random_order_bytes),
        TEST(test_limits), TEST(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
