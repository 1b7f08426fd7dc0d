/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/hyperloglog: the sparse and the dense form against plain registers, the estimate
 * against true counts, and corrupt bytes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/hyperloglog.h"

#include "base/memory.h"
#include "base/seed.h"

#define SPARSE_MAX 3000
#define ELEMENT_BYTES 8
/* Four standard errors: a run in some ten thousand passes it. */
#define TOLERANCE (4 * 0.0081)

static char room[HYPERLOGLOG_ROOM_BYTES], dense[HYPERLOGLOG_ROOM_BYTES];
static char other[HYPERLOGLOG_ROOM_BYTES], both[HYPERLOGLOG_ROOM_BYTES];
static size_t length;

static struct slice random_element(uint64_t *storage) {
    *storage = random_u64();
    return (struct slice){(const char *)storage, ELEMENT_BYTES};
}

static void assert_covers(void) {
    struct slice all = {room, length};
    struct hyperloglog_run run = {.at = HYPERLOGLOG_HEADER_BYTES};
    assert_true(hyperloglog_is_valid(all));
    if (hyperloglog_is_dense(room)) return;
    while (hyperloglog_run_at(all, &run)) {
        run.at += run.bytes;
        run.first += run.length;
    }
    assert_int_equal(run.at, length);
    assert_int_equal(run.first, HYPERLOGLOG_REGISTERS);
}

static void test_empty(void **state) {
    uint64_t cardinality = 1;
    length = hyperloglog_init(room);
    assert_int_equal(length, HYPERLOGLOG_HEADER_BYTES + 2);
    assert_covers();
    assert_true(hyperloglog_count((struct slice){room, length}, &cardinality));
    assert_int_equal(cardinality, 0);
    assert_true(hyperloglog_kept_count(room, &cardinality));
    assert_int_equal(cardinality, 0);
}

/* The same elements with room for runs and with none end in the same registers. */
static void test_forms_agree(void **state) {
    for (int round = 0; round < 20; round++) {
        size_t dense_length = hyperloglog_init(dense);
        size_t elements = random_below(6000) + 1;
        length = hyperloglog_init(room);
        for (size_t i = 0; i < elements; i++) {
            uint64_t storage;
            struct slice element = random_element(&storage);
            enum hyperloglog_result a = hyperloglog_add(room, &length, element, SPARSE_MAX);
            enum hyperloglog_result b = hyperloglog_add(dense, &dense_length, element, 0);
            assert_int_equal(a, b);
            assert_int_equal(hyperloglog_add(room, &length, element, SPARSE_MAX), HYPERLOGLOG_SAME);
            if (i % 64 == 0) assert_covers();
        }
        uint8_t x[HYPERLOGLOG_REGISTERS] = {0}, y[HYPERLOGLOG_REGISTERS] = {0};
        assert_true(hyperloglog_merge(x, (struct slice){room, length}));
        assert_true(hyperloglog_merge(y, (struct slice){dense, dense_length}));
        assert_memory_equal(x, y, sizeof(x));
        assert_true(hyperloglog_make_dense(room, &length));
        assert_int_equal(length, dense_length);
        assert_memory_equal(room + HYPERLOGLOG_HEADER_BYTES, dense + HYPERLOGLOG_HEADER_BYTES,
                            length - HYPERLOGLOG_HEADER_BYTES);
    }
}

static void test_estimate(void **state) {
    size_t added = 0;
    uint64_t cardinality, from_registers;
    length = hyperloglog_init(room);
    for (size_t target = 10; target <= 1000000; target *= 10) {
        for (; added < target; added++) {
            uint64_t storage;
            struct slice element = random_element(&storage);
            hyperloglog_add(room, &length, element, SPARSE_MAX);
        }
        assert_true(hyperloglog_count((struct slice){room, length}, &cardinality));
        double error = ((double)cardinality - (double)target) / (double)target;
        /* Two elements of one register count as one: of ten elements, once in 360 runs. */
        assert_true(error > -TOLERANCE - 1 / (double)target && error < TOLERANCE + 0.1);
        if (target > 100) assert_true(error < TOLERANCE);
        uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
        assert_true(hyperloglog_merge(registers, (struct slice){room, length}));
        from_registers = hyperloglog_count_registers(registers);
        assert_int_equal(from_registers, cardinality);
    }
}

static void test_raise_is_union(void **state) {
    size_t other_length = hyperloglog_init(other), both_length = hyperloglog_init(both);
    uint8_t registers[HYPERLOGLOG_REGISTERS] = {0}, united[HYPERLOGLOG_REGISTERS] = {0};
    length = hyperloglog_init(room);
    for (int i = 0; i < 900; i++) {
        uint64_t storage;
        struct slice element = random_element(&storage);
        if (i % 3) hyperloglog_add(room, &length, element, SPARSE_MAX);
        if (i % 2) hyperloglog_add(other, &other_length, element, SPARSE_MAX);
        if (i % 3 || i % 2) hyperloglog_add(both, &both_length, element, SPARSE_MAX);
    }
    assert_true(hyperloglog_merge(registers, (struct slice){other, other_length}));
    assert_true(hyperloglog_raise(room, &length, registers, SPARSE_MAX));
    assert_covers();
    memset(registers, 0, sizeof(registers));
    assert_true(hyperloglog_merge(registers, (struct slice){room, length}));
    assert_true(hyperloglog_merge(united, (struct slice){both, both_length}));
    assert_memory_equal(registers, united, sizeof(united));
}

static void test_kept_count(void **state) {
    uint64_t cardinality;
    length = hyperloglog_init(room);
    hyperloglog_keep_count(room, 0x1122334455667788);
    assert_true(hyperloglog_kept_count(room, &cardinality));
    assert_true(cardinality == 0x1122334455667788);
    assert_int_equal(room[8], (char)0x88);
    hyperloglog_forget_count(room);
    assert_false(hyperloglog_kept_count(room, &cardinality));
    hyperloglog_keep_count(room, 3);
    assert_int_equal(hyperloglog_add(room, &length, SLICE("a"), SPARSE_MAX), HYPERLOGLOG_CHANGED);
    assert_false(hyperloglog_kept_count(room, &cardinality));
}

/* Registers that no element gives: an estimate that is never kept, and no assertion. */
static void test_beyond_every_count(void **state) {
    static const uint8_t values[] = {50, 51, 52, 63};
    uint8_t registers[HYPERLOGLOG_REGISTERS];
    uint64_t cardinality;
    length = hyperloglog_init(room);
    assert_true(hyperloglog_make_dense(room, &length));
    for (size_t i = 0; i < sizeof(values); i++) {
        memset(registers, values[i], sizeof(registers));
        assert_true(hyperloglog_raise(room, &length, registers, SPARSE_MAX));
        assert_true(hyperloglog_count((struct slice){room, length}, &cardinality));
        assert_true(cardinality == HYPERLOGLOG_BEYOND);
        assert_true(hyperloglog_count_registers(registers) == HYPERLOGLOG_BEYOND);
        hyperloglog_keep_count(room, cardinality);
        assert_false(hyperloglog_kept_count(room, &cardinality));
    }
    memset(registers, 49, sizeof(registers));
    assert_true(hyperloglog_count_registers(registers) == 6653256548922161152);
}

/* Behind the last run, a run of values ends the walk of all but hyperloglog_count; a run of zeros,
 * or half of one, is corrupt. */
static void test_bytes_behind(void **state) {
    static const struct {
        const char *const bytes;
        bool passes;
    } cases[] = {{"\x80", true},      {"\xff\x7f", true}, {"\x80\x01", true},     {"\x01", false},
                 {"\x7f\xff", false}, {"\x7f", false},    {"\x01\x80\x80", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
        uint64_t cardinality;
        length = hyperloglog_init(room);
        memcpy(room + length, cases[i].bytes, strlen(cases[i].bytes));
        length += strlen(cases[i].bytes);
        struct slice all = {room, length};
        assert_false(hyperloglog_count(all, &cardinality));
        assert_int_equal(hyperloglog_merge(registers, all), cases[i].passes);
        assert_int_equal(hyperloglog_make_dense(room, &length), cases[i].passes);
    }
}

/* Any bytes after a header: no crash, and no length beyond the room. */
static void test_corrupt(void **state) {
    for (int round = 0; round < 3000; round++) {
        uint64_t cardinality, storage;
        uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
        length = hyperloglog_init(room);
        size_t runs = random_below(60);
        for (size_t i = 0; i < runs; i++) room[length + i - 2] = (char)random_u64();
        length += runs;
        struct slice all = {room, length};
        bool counted = hyperloglog_count(all, &cardinality);
        bool merged = hyperloglog_merge(registers, all); /* bytes may follow the runs */
        assert_true(merged || !counted);
        struct slice element = random_element(&storage);
        hyperloglog_add(room, &length, element, random_below(2) ? 0 : SPARSE_MAX);
        assert_true(length <= sizeof(room));
        if (!merged && !hyperloglog_is_dense(room))
            assert_false(hyperloglog_make_dense(room, &length));
    }
    assert_false(hyperloglog_is_valid(SLICE("HYLL")));
    assert_false(hyperloglog_is_valid(SLICE("hyll............")));
    memset(room + 4, 0, 1);
    assert_false(hyperloglog_is_valid((struct slice){room, HYPERLOGLOG_DENSE_BYTES - 1}));
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),        cmocka_unit_test(test_forms_agree),
        cmocka_unit_test(test_estimate),     cmocka_unit_test(test_raise_is_union),
        cmocka_unit_test(test_kept_count),   cmocka_unit_test(test_beyond_every_count),
        cmocka_unit_test(test_bytes_behind), cmocka_unit_test(test_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
