/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of value/list: removing by value, positions, trimming, options, the row.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/list.h"

#include <sys/mman.h>

#include "value/saved.h"
#include "value/types.h"
#include "values.h"

#define LENGTH_MAX 400
#define POSITIONS_MAX LENGTH_MAX

static const char *const words[] = {"a", "b", "12", "a longer word than the others"};

/* A list of words by number, and the same in an array. */
struct model {
    struct value list;
    unsigned words[LENGTH_MAX];
    size_t count;
};

static void model_fill(struct model *m) {
    m->list = list_create();
    m->count = random_below(LENGTH_MAX);
    for (size_t i = 0; i < m->count; i++) {
        m->words[i] = (unsigned)random_below(4);
        quicklist_push(list_of(m->list), QUICKLIST_TAIL, slice_of(words[m->words[i]]));
    }
}

static void model_check(const struct model *m) {
    struct quicklist_cursor c;
    quicklist_check(list_of(m->list));
    assert_int_equal(quicklist_count(list_of(m->list)), m->count);
    bool there = quicklist_seek(list_of(m->list), 0, false, &c);
    for (size_t i = 0; i < m->count; i++, there = quicklist_step(&c)) {
        assert_true(there);
        assert_true(quicklist_equal(&c, slice_of(words[m->words[i]])));
    }
    assert_false(there);
    quicklist_end(&c);
    assert_int_equal(value_type(VALUE_LIST)->bytes(m->list),
                     memory_used(MEMORY_DATASET) - used_before);
}

static size_t model_remove(struct model *m, unsigned word, size_t count, bool backwards) {
    size_t removed = 0;
    for (size_t step = 0, size = m->count; step < size; step++) {
        size_t i = backwards ? size - 1 - step : step - removed;
        if (m->words[i] != word || (count && removed == count)) continue;
        memmove(&m->words[i], &m->words[i + 1], (m->count - i - 1) * sizeof(m->words[0]));
        m->count--;
        removed++;
    }
    return removed;
}

struct positions {
    size_t at[POSITIONS_MAX];
    size_t count;
};

static void note_position(size_t index, void *context) {
    struct positions *p = context;
    assert_true(p->count < POSITIONS_MAX);
    p->at[p->count++] = index;
}

static void check_positions(const struct model *m) {
    unsigned word = (unsigned)random_below(4);
    int64_t rank = (int64_t)random_below(8) - 4;
    if (rank == 0) rank = INT64_MIN;
    size_t count = random_below(4), compare_max = random_below(2) ? 0 : random_below(200);
    struct positions got = {.count = 0}, expected = {.count = 0};
    list_positions(m->list, slice_of(words[word]), rank, count, compare_max, note_position, &got);
    uint64_t skip = (uint64_t)(rank == INT64_MIN ? 1 : rank < 0 ? -rank : rank) - 1;
    for (size_t step = 0; step < m->count && (!compare_max || step < compare_max); step++) {
        size_t i = rank < 0 ? m->count - 1 - step : step;
        if (m->words[i] != word) continue;
        if (skip > 0)
            skip--;
        else if (count == 0 || expected.count < count)
            note_position(i, &expected);
    }
    assert_int_equal(got.count, expected.count);
    assert_memory_equal(got.at, expected.at, got.count * sizeof(got.at[0]));
}

static void test_model(void **state) {
    static const char *const fills[] = {"-2", "1", "5", "-1"};
    static const char *const depths[] = {"0", "1", "3"};
    seed_from_environment();
    for (size_t run = 0; run < 400; run++) {
        struct model m;
        set_option("list-max-ziplist-size", fills[random_below(4)]);
        set_option("list-compress-depth", depths[random_below(3)]);
        model_fill(&m);
        for (int i = 0; i < 20; i++) check_positions(&m);
        model_check(&m);
        unsigned word = (unsigned)random_below(4);
        size_t count = random_below(3) ? random_below(20) : 0;
        bool backwards = random_below(2);
        assert_int_equal(list_remove_equal(m.list, slice_of(words[word]), count, backwards),
                         model_remove(&m, word, count, backwards));
        model_check(&m);
        size_t from = random_below(m.count + 10), kept = random_below(m.count + 10);
        list_trim(m.list, from, kept);
        if (from > m.count) from = m.count;
        if (kept > m.count - from) kept = m.count - from;
        memmove(m.words, &m.words[from], kept * sizeof(m.words[0]));
        m.count = kept;
        model_check(&m);
        value_type(VALUE_LIST)->release(m.list);
    }
}

static void test_row(void **state) {
    set_option("list-max-ziplist-size", "3");
    set_option("list-compress-depth", "2");
    struct value v = list_create();
    assert_int_equal(quicklist_fill(list_of(v)), 3);
    assert_int_equal(quicklist_depth(list_of(v)), 2);
    set_option("list-max-ziplist-size", "-2");
    set_option("list-compress-depth", "0");
    struct value other = list_create();
    for (int i = 0; i < 100; i++) {
        struct slice word = slice_of(words[i % 4]);
        quicklist_push(list_of(v), QUICKLIST_TAIL, word);
        quicklist_push(list_of(other), QUICKLIST_TAIL, word);
    }
    assert_string_equal(encoding_of(VALUE_LIST, v), "quicklist");
    assert_true(digests_equal(VALUE_LIST, v, other));
    struct value copy = value_type(VALUE_LIST)->copy(v, SLICE(""), SLICE(""));
    assert_true(digests_equal(VALUE_LIST, v, copy));
    quicklist_drop(list_of(copy), QUICKLIST_HEAD);
    assert_false(digests_equal(VALUE_LIST, v, copy));
    assert_int_equal(value_type(VALUE_LIST)->free_effort(other, SLICE("")), 1);
    assert_int_equal(value_type(VALUE_LIST)->free_effort(v, SLICE("")), 34);
    value_type(VALUE_LIST)->release(v);
    value_type(VALUE_LIST)->release(copy);
    value_type(VALUE_LIST)->release(other);
}

/* In steps of so many nodes, after each of which `bytes` is what memory is left; also where nodes
 * are compressed, or long elements by themselves. */
/* What no ziplist could hold is not taken, since no snapshot could be made with it any more. */
static void test_a_text_too_long_to_be_saved(void **state) {
    static const char head[] = "\1\x81\0\0\0\0\xff\xff\xff\xff"; /* one text of so many */
    size_t size = sizeof(head) - 1 + UINT32_MAX;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0); /* never touched */
    struct buffer store = {.class = MEMORY_OTHER};
    struct source in;
    struct value v;
    assert_true(bytes != MAP_FAILED);
    memcpy(bytes, head, sizeof(head) - 1);
    slice_source_init(&in, (struct slice){bytes, size});
    assert_int_equal(value_type(VALUE_LIST)->load(SAVED_LIST, SLICE(""), &in, &store, &v),
                     VALUE_REFUSED);
    assert_string_equal(source_fault(&in), "a text is too long for a list");
    buffer_free(&store);
    munmap(bytes, size);
}

static void test_release_step(void **state) {
    enum { COUNT = 20000, NODES = 50 };
    const struct value_type *type = value_type(VALUE_LIST);
    char text[10000] = {0};
    for (int compressed = 0; compressed < 2; compressed++) {
        set_option("list-compress-depth", compressed ? "2" : "0");
        struct value v = list_create();
        for (size_t i = 0; i < COUNT; i++) {
            struct slice element = {text, i % 1000 ? i % 100 : sizeof(text)};
            quicklist_push(list_of(v), QUICKLIST_TAIL, element);
        }
        size_t nodes = type->free_effort(v, SLICE("")), steps = 0;
        assert_true(nodes > 2 * (size_t)NODES);
        while (!type->release_step(v, NODES)) {
            assert_int_equal(type->free_effort(v, SLICE("")), nodes - ++steps * NODES);
            assert_int_equal(type->bytes(v), memory_used(MEMORY_DATASET) - used_before);
        }
        assert_int_equal(steps, (nodes - 1) / NODES);
    }
    set_option("list-compress-depth", "0");
    struct value v = list_create();
    assert_true(type->release_step(v, 1));
}

int main(void) {
    value_register();
    const struct CMUnitTest tests[] = {TEST(test_model), TEST(test_row), TEST(test_release_step),
                                       TEST(test_a_text_too_long_to_be_saved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
