/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/quicklist: a model under every kind of fill and depth, how elements fall into nodes,
 * compression, walks with deletions.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/quicklist.h"

#include "base/seed.h"

#include "base/memory.h"
#include "ds/listpacks.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

/* ---- The model: an array of texts ---- */

#define MODEL_MAX 700

struct model {
    struct buffer texts[MODEL_MAX];
    size_t count;
};

static struct model model;

static void model_insert(size_t index, struct slice text) {
    struct model *m = &model;
    memmove(&m->texts[index + 1], &m->texts[index], (m->count - index) * sizeof(m->texts[0]));
    m->count++;
    buffer_init(&m->texts[index], MEMORY_OTHER);
    buffer_append(&m->texts[index], text.bytes, text.length);
}

static void model_delete(size_t index, size_t count) {
    struct model *m = &model;
    for (size_t i = index; i < index + count; i++) buffer_free(&m->texts[i]);
    memmove(&m->texts[index], &m->texts[index + count],
            (m->count - index - count) * sizeof(m->texts[0]));
    m->count -= count;
}

static void assert_at(const struct quicklist_cursor *c, size_t index) {
    char scratch[LISTPACK_SCRATCH];
    struct listpack_value v = quicklist_get(c);
    struct slice expected = buffer_slice(&model.texts[index]);
    assert_true(slice_equal(listpack_value_text(&v, scratch), expected));
    assert_true(quicklist_equal(c, expected));
    assert_false(quicklist_equal(c, SLICE("not this")));
}

static void compare(struct quicklist *q) {
    struct quicklist_cursor c;
    quicklist_check(q);
    assert_int_equal(quicklist_count(q), model.count);
    assert_int_equal(quicklist_bytes(q), memory_used(MEMORY_DATASET) - used_before);
    bool there = quicklist_seek(q, 0, false, &c);
    for (size_t i = 0; i < model.count; i++, there = quicklist_step(&c)) {
        assert_true(there);
        assert_at(&c, i);
    }
    assert_false(there);
    quicklist_end(&c);
    there = quicklist_seek(q, -1, true, &c);
    for (size_t i = model.count; i-- > 0; there = quicklist_step(&c)) {
        assert_true(there);
        assert_at(&c, i);
    }
    assert_false(there);
    quicklist_end(&c);
    assert_int_equal(quicklist_bytes(q), memory_used(MEMORY_DATASET) - used_before);
}

#define TEXT_MAX 20000
static char scratch_text[TEXT_MAX];

/* Short and compressible mostly, long ones now and then. */
static struct slice random_text(void) {
    if (random_below(4) == 0)
        return (struct slice){scratch_text,
                              number_format_int64(scratch_text, (int64_t)random_below(100000))};
    size_t length = random_below(60) == 0 ? random_below(TEXT_MAX) : random_below(70);
    for (size_t i = 0; i < length; i++) scratch_text[i] = (char)('a' + random_below(3));
    return (struct slice){scratch_text, length};
}

static void step_push(struct quicklist *q, struct slice text) {
    enum quicklist_end end = random_below(2) ? QUICKLIST_HEAD : QUICKLIST_TAIL;
    quicklist_push(q, end, text);
    model_insert(end == QUICKLIST_HEAD ? 0 : model.count, text);
    struct listpack_value v;
    char scratch[LISTPACK_SCRATCH];
    assert_true(quicklist_peek(q, end, &v));
    assert_true(slice_equal(listpack_value_text(&v, scratch), text));
}

static void step_insert(struct quicklist *q, size_t index, struct slice text) {
    struct quicklist_cursor c;
    bool after = random_below(2);
    int64_t at = random_below(2) ? (int64_t)index : (int64_t)index - (int64_t)model.count;
    assert_true(quicklist_seek(q, at, random_below(2), &c));
    if (after)
        quicklist_insert_after(&c, text);
    else
        quicklist_insert_before(&c, text);
    quicklist_end(&c);
    model_insert(index + after, text);
}

static void step_replace(struct quicklist *q, size_t index, struct slice text) {
    struct quicklist_cursor c;
    assert_true(quicklist_seek(q, (int64_t)index, false, &c));
    quicklist_replace(&c, text);
    quicklist_end(&c);
    model_delete(index, 1);
    model_insert(index, text);
}

/* Walks from `index` and deletes about a third of what it meets. */
static void step_walk(struct quicklist *q, size_t index) {
    struct quicklist_cursor c;
    bool backwards = random_below(2);
    size_t steps = random_below(40);
    bool there = quicklist_seek(q, (int64_t)index, backwards, &c);
    for (; there && steps > 0; steps--) {
        assert_at(&c, index);
        if (random_below(3) == 0) {
            there = quicklist_delete(&c);
            model_delete(index, 1);
            if (backwards) index--;
        } else {
            there = quicklist_step(&c);
            index += backwards ? (size_t)-1 : 1;
        }
        assert_int_equal(there, index < model.count);
    }
    quicklist_end(&c);
}

static void step_drop(struct quicklist *q) {
    bool head = random_below(2);
    quicklist_drop(q, head ? QUICKLIST_HEAD : QUICKLIST_TAIL);
    model_delete(head ? 0 : model.count - 1, 1);
}

static void step_delete_range(struct quicklist *q, size_t index) {
    size_t wanted = random_below(30) ? random_below(20) : random_below(1000);
    size_t count = wanted < model.count - index ? wanted : model.count - index;
    assert_int_equal(quicklist_delete_range(q, index, wanted), count);
    model_delete(index, count);
}

static void model_step(struct quicklist *q, unsigned insert_percent) {
    size_t index = model.count ? random_below(model.count) : 0;
    bool adds = random_below(100) < insert_percent;
    struct slice text = random_text();
    if (model.count == 0 || (adds && model.count < MODEL_MAX && random_below(2)))
        step_push(q, text);
    else if (adds && model.count < MODEL_MAX)
        step_insert(q, index, text);
    else if (random_below(4) == 0)
        step_replace(q, index, text);
    else if (random_below(8) == 0)
        step_walk(q, index);
    else if (random_below(20) == 0)
        step_delete_range(q, index);
    else
        step_drop(q);
}

static void test_model(void **state) {
    static const int fills[] = {-2, -1, 0, 1, 3, 50, -5};
    static const unsigned depths[] = {0, 1, 2, 5};
    seed_from_environment();
    for (size_t f = 0; f < sizeof(fills) / sizeof(*fills); f++) {
        for (size_t d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
            struct quicklist *q = quicklist_create(fills[f], depths[d]);
            unsigned insert_percent = 0;
            for (size_t step = 0; step < 3000; step++) {
                if (step % 300 == 0) insert_percent = 20 + (unsigned)random_below(60);
                model_step(q, insert_percent);
                if (step % 20 == 0) compare(q);
            }
            compare(q);
            struct quicklist *copy = quicklist_dup(q);
            while (!quicklist_free_step(q, 3)) continue;
            compare(copy);
            quicklist_free(copy);
            model_delete(0, model.count);
        }
    }
}

/* ---- Nodes ---- */

/* What 6.2.16 shows in DEBUG OBJECT (ql_nodes) for 3,000 elements of 100 bytes. */
static void test_nodes(void **state) {
    static const struct {
        int fill;
        size_t nodes;
    } cases[] = {{-5, 5}, {-4, 10}, {-3, 19}, {-2, 38}, {-1, 77}, {4, 750}, {0, 3000}, {1, 3000}};
    char text[100];
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct quicklist *q = quicklist_create(cases[i].fill, 0);
        for (int j = 0; j < 3000; j++)
            quicklist_push(q, QUICKLIST_TAIL, (struct slice){text, sizeof(text)});
        assert_int_equal(quicklist_nodes(q), cases[i].nodes);
        quicklist_check(q);
        quicklist_free(q);
    }
}

static void test_compression(void **state) {
    enum { COUNT = 20000, DEPTH = 3 };
    struct quicklist *plain = quicklist_create(-2, 0), *q = quicklist_create(-2, DEPTH);
    struct quicklist_stats stats;
    struct quicklist_cursor c;
    for (int i = 0; i < COUNT; i++) {
        struct slice text = SLICE("the same words over and over again, the same words");
        quicklist_push(q, QUICKLIST_TAIL, text);
        quicklist_push(plain, QUICKLIST_TAIL, text);
    }
    quicklist_stats(q, &stats);
    assert_int_equal(stats.compressed_nodes, quicklist_nodes(q) - 2 * DEPTH);
    assert_true(quicklist_bytes(q) < quicklist_bytes(plain) / 4);
    /* Reading leaves every node as it is. */
    size_t bytes = quicklist_bytes(q), read = 0;
    for (bool there = quicklist_seek(q, 0, false, &c); there; there = quicklist_step(&c)) {
        assert_int_equal(quicklist_bytes(q), bytes);
        read++;
    }
    quicklist_end(&c);
    assert_int_equal(read, COUNT);
    quicklist_check(q);
    quicklist_stats(plain, &stats);
    assert_int_equal(stats.compressed_nodes, 0);
    /* An element dropped at each end in turn: the middle opens as the ends come near. */
    for (int i = 0; i < COUNT; i++) {
        quicklist_drop(q, i % 2 ? QUICKLIST_HEAD : QUICKLIST_TAIL);
        if (i % 1000 == 0) quicklist_check(q);
    }
    assert_int_equal(quicklist_nodes(q), 0);
    quicklist_free(q);
    quicklist_free(plain);
}

/* Deletions in the middle of a list leave no long row of nearly empty nodes. */
static void test_joining(void **state) {
    enum { COUNT = 40000 };
    struct quicklist *q = quicklist_create(-2, 0);
    struct quicklist_cursor c;
    for (int i = 0; i < COUNT; i++)
        quicklist_push(q, QUICKLIST_TAIL, SLICE("twenty bytes of text"));
    size_t nodes = quicklist_nodes(q), left = 0;
    bool there = quicklist_seek(q, 0, false, &c);
    for (size_t i = 0; there; i++) {
        if (i % 50 == 0) {
            left++;
            there = quicklist_step(&c);
        } else {
            there = quicklist_delete(&c);
        }
    }
    quicklist_end(&c);
    assert_int_equal(quicklist_count(q), left);
    assert_true(quicklist_nodes(q) <= nodes / 15);
    quicklist_check(q);
    quicklist_free(q);
}

static void test_empty(void **state) {
    struct quicklist *q = quicklist_create(-2, 1);
    struct quicklist_cursor c;
    struct listpack_value v;
    assert_false(quicklist_peek(q, QUICKLIST_HEAD, &v));
    assert_false(quicklist_seek(q, 0, false, &c));
    quicklist_end(&c);
    assert_false(quicklist_seek(q, -1, true, &c));
    quicklist_end(&c);
    assert_int_equal(quicklist_delete_range(q, 0, 10), 0);
    quicklist_push(q, QUICKLIST_HEAD, SLICE(""));
    assert_false(quicklist_seek(q, 1, false, &c));
    quicklist_end(&c);
    assert_false(quicklist_seek(q, -2, false, &c));
    quicklist_end(&c);
    quicklist_drop(q, QUICKLIST_TAIL);
    quicklist_check(q);
    quicklist_free(q);
}

static void replace_at(struct quicklist *q, int64_t index, struct slice text) {
    struct quicklist_cursor c;
    assert_true(quicklist_seek(q, index, false, &c));
    quicklist_replace(&c, text);
    quicklist_end(&c);
}

/* Elements that grow where they stand do not make a node larger than the list's bound, whichever
 * they are and whatever their order. */
static void test_growing_elements(void **state) {
    static const struct {
        int fill;
        size_t bound;
    } cases[] = {{-5, 65536}, {-2, 8192}, {-1, 4096}, {100, 8192}};
    enum { COUNT = 3000, ROUNDS = 3 };
    struct quicklist_stats stats;
    seed_from_environment();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (unsigned depth = 0; depth < 2; depth++) {
            struct quicklist *q = quicklist_create(cases[i].fill, depth);
            char *text = memory_alloc(cases[i].bound, MEMORY_OTHER);
            memset(text, 'x', cases[i].bound);
            for (int j = 0; j < COUNT; j++) quicklist_push(q, QUICKLIST_TAIL, SLICE("1"));
            for (int j = 0; j < COUNT * ROUNDS; j++) {
                size_t length = cases[i].bound >> random_below(12);
                int64_t index = j < COUNT ? j : (int64_t)random_below(COUNT);
                replace_at(q, index, (struct slice){text, length - random_below(40) % length});
                if (j % 100) continue;
                quicklist_stats(q, &stats);
                assert_in_range(stats.widest_bytes, 0, cases[i].bound);
            }
            quicklist_check(q);
            assert_int_equal(quicklist_count(q), COUNT);
            quicklist_free(q);
            memory_free(text, MEMORY_OTHER);
        }
    }
}

/* A node of a file may be larger than the list's bound: an element in it may shrink where it
 * stands, and one that grows splits it. */
static void test_node_beyond_bound(void **state) {
    struct quicklist *q = quicklist_create(-1, 0);
    struct quicklist_stats stats;
    struct listpack *lp = listpack_create();
    char text[1000];
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 20; i++) listpack_append(&lp, (struct slice){text, sizeof(text) - 1});
    quicklist_take_pack(q, lp);
    replace_at(q, 10, SLICE("short"));
    assert_int_equal(quicklist_nodes(q), 1);
    replace_at(q, 10, (struct slice){text, sizeof(text)});
    assert_true(quicklist_nodes(q) > 1);
    quicklist_stats(q, &stats);
    assert_true(stats.widest_bytes < 12000);
    assert_int_equal(quicklist_count(q), 20);
    quicklist_check(q);
    quicklist_free(q);
}

static void test_take_pack(void **state) {
    struct quicklist *q = quicklist_create(2, 0);
    struct listpack *lp = listpack_create();
    for (int i = 0; i < 5; i++) append_integer(&lp, i);
    quicklist_push(q, QUICKLIST_TAIL, SLICE("before"));
    quicklist_take_pack(q, lp);
    assert_int_equal(quicklist_count(q), 6);
    assert_int_equal(quicklist_nodes(q), 2);
    quicklist_check(q);
    quicklist_free(q);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_model),
        TEST(test_nodes),
        TEST(test_compression),
        TEST(test_joining),
        TEST(test_empty),
        TEST(test_take_pack),
        TEST(test_growing_elements),
        TEST(test_node_beyond_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
