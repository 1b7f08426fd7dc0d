/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of value/packed: both forms of one text and of two, at the lengths where the form changes.
 */
#include "value/packed.h"

#include "base/hash.h"
#include "value/values.h"

#define LONGEST 300

static const size_t lengths[] = {0, 1, 252, 253, 254, 255, LONGEST};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static char letters[LONGEST], digits[LONGEST];

static struct slice of_letters(size_t length) { return (struct slice){letters, length}; }
static struct slice of_digits(size_t length) { return (struct slice){digits, length}; }

/* Adds it, finds it as it was given, and returns it. */
static void *add(unsigned texts, struct packed *p, struct slice first, struct slice second) {
    uint64_t hash = hash_bytes(first.bytes, first.length);
    void *element = packed_new(texts, p, first, second);
    table_insert(p->table, hash, element);
    assert_ptr_equal(table_find(p->table, hash, first.bytes, first.length), element);
    struct packed_texts found = packed_texts(texts, element);
    assert_true(slice_equal(found.first, first));
    assert_true(slice_equal(found.second, second));
    assert_true(slice_equal(packed_first(texts, element), first));
    assert_int_equal(packed_size(texts, element),
                     packed_allocation(texts, first.length, second.length));
    return element;
}

static void test_one_text(void **state) {
    struct packed *p = packed_create(&packed_one);
    for (size_t i = 0; i < LENGTHS; i++) add(1, p, of_letters(lengths[i]), (struct slice){NULL, 0});
    assert_int_equal(packed_allocation(1, 253, 0), 254);
    assert_int_equal(packed_allocation(1, 254, 0), 259);
    packed_check(1, p);
    assert_int_equal(table_count(p->table), LENGTHS);
    assert_true(packed_release_step(1, p, SIZE_MAX));
}

static void test_two_texts(void **state) {
    struct packed *p = packed_create(&packed_two);
    assert_int_equal(packed_allocation(2, 253, 253), 508);
    assert_int_equal(packed_allocation(2, 254, 0), 263);
    assert_int_equal(packed_allocation(2, 0, 254), 263);
    for (size_t i = 0; i < LENGTHS; i++) {
        for (size_t j = 0; j < LENGTHS; j++) {
            void *element = add(2, p, of_letters(lengths[i]), of_digits(lengths[j]));
            packed_check(2, p);
            struct slice first = packed_first(2, element);
            table_remove_element(p->table, hash_bytes(first.bytes, first.length), element);
            packed_free(2, p, element);
        }
    }
    assert_true(packed_release_step(2, p, SIZE_MAX));
}

/* The second text is written anew, the first stays where it stands. */
static void test_second_anew(void **state) {
    struct packed *p = packed_create(&packed_two);
    void *element = add(2, p, of_letters(253), of_digits(10));
    packed_write(2, element, 253, of_letters(9));
    struct packed_texts found = packed_texts(2, element);
    assert_true(slice_equal(found.first, of_letters(253)));
    assert_true(slice_equal(found.second, of_letters(9)));
    packed_release_step(2, p, SIZE_MAX);
}

static void test_steps(void **state) {
    struct packed *p = packed_create(&packed_one);
    int steps = 1;
    char text[LONGEST];
    memcpy(text, letters, sizeof(text));
    for (unsigned i = 0; i < 1000; i++) {
        memcpy(text, &i, sizeof(i));
        add(1, p, (struct slice){text, i % LONGEST < sizeof(i) ? sizeof(i) : i % LONGEST},
            (struct slice){NULL, 0});
    }
    packed_check(1, p);
    size_t before = packed_bytes(p);
    assert_false(packed_release_step(1, p, 100));
    assert_true(packed_bytes(p) < before);
    while (!packed_release_step(1, p, 100)) steps++;
    assert_in_range(steps, 3, 1000);
}

static int fill_texts(void **state) {
    memset(letters, 'x', sizeof(letters));
    memset(digits, '7', sizeof(digits));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_one_text),
        TEST(test_two_texts),
        TEST(test_second_anew),
        TEST(test_steps),
    };
    return cmocka_run_group_tests(tests, fill_texts, NULL);
}
