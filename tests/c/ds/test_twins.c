/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/twins: a model of elements of all sizes, sharing, what comes back.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/twins.h"

#include "base/seed.h"

#include "base/memory.h"
#include "base/random.h"

#define ELEMENTS 500
#define SIZE_MAX_TESTED 80

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

struct model {
    unsigned char *elements[ELEMENTS];
    size_t sizes[ELEMENTS];
};

static struct twins t;
static struct model m;

static unsigned char mark_of(unsigned index) { return (unsigned char)(index % 251); }

static void model_add(unsigned index) {
    size_t size = 1 + random_below(SIZE_MAX_TESTED);
    m.elements[index] = twins_alloc(&t, size);
    m.sizes[index] = size;
    memset(m.elements[index], mark_of(index), size);
}

static void model_remove(unsigned index) {
    for (size_t i = 0; i < m.sizes[index]; i++)
        assert_int_equal(m.elements[index][i], mark_of(index));
    twins_free(&t, m.elements[index], m.sizes[index]);
    m.elements[index] = NULL;
}

static void model_check(void) {
    size_t bytes = 0;
    for (unsigned i = 0; i < ELEMENTS; i++) {
        if (!m.elements[i]) continue;
        bytes += twins_good_size(m.sizes[i]);
        assert_int_equal((uintptr_t)m.elements[i] % 8, 0);
    }
    twins_check(&t, bytes);
    assert_int_equal(memory_used(MEMORY_DATASET) - used_before, t.bytes);
}

static void test_model(void **state) {
    seed_from_environment();
    unsigned add_percent = 50;
    for (size_t step = 0; step < 50000; step++) {
        if (step % 3000 == 0) add_percent = 20 + (unsigned)random_below(60);
        unsigned index = (unsigned)random_below(ELEMENTS);
        bool adds = random_below(100) < add_percent;
        if (adds && !m.elements[index]) model_add(index);
        if (!adds && m.elements[index]) model_remove(index);
        if (step % 500 == 0) model_check();
    }
    for (unsigned i = 0; i < ELEMENTS; i++)
        if (m.elements[i]) model_remove(i);
    model_check();
    assert_int_equal(t.bytes, 0);
}

/* A structure freed whole, with vacant halves in it, in any order. */
static void test_release(void **state) {
    seed_from_environment();
    for (unsigned i = 0; i < ELEMENTS; i++) model_add(i);
    for (unsigned i = 0; i < ELEMENTS; i++)
        if (random_below(3) == 0) model_remove(i);
    unsigned start = (unsigned)random_below(ELEMENTS);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        unsigned index = (start + i * 7) % ELEMENTS; /* 7 and 500 have no common divisor */
        if (m.elements[index]) twins_release(&t, m.elements[index], m.sizes[index]);
        m.elements[index] = NULL;
    }
    assert_int_equal(t.bytes, 0);
    memset(&t, 0, sizeof(t));
}

#ifndef EVENKEEL_SANITIZER
/* So many elements of one size, and what they take. */
static size_t bytes_of(size_t size, size_t count) {
    unsigned char *elements[100];
    assert_true(count <= 100);
    for (size_t i = 0; i < count; i++) {
        elements[i] = twins_alloc(&t, size);
        elements[i][0] = 1;
    }
    size_t bytes = memory_used(MEMORY_DATASET) - used_before;
    for (size_t i = 0; i < count; i++) twins_free(&t, elements[i], size);
    return bytes;
}

static void test_sizes(void **state) {
    for (size_t size = 1; size <= SIZE_MAX_TESTED; size++) {
        size_t expected = size <= 16 ? 16 : size <= 64 ? (size + 7) / 8 * 8 : 80;
        assert_int_equal(twins_good_size(size), expected);
        assert_int_equal(bytes_of(size, 100), expected * 100);
    }
    /* One alone takes a block. */
    assert_int_equal(bytes_of(20, 1), 48);
    assert_int_equal(bytes_of(33, 1), 80);
    assert_int_equal(bytes_of(56, 3), 224);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_model),
        TEST(test_release),
#ifndef EVENKEEL_SANITIZER
        TEST(test_sizes),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
