/* SPDX-License-Identifier: BSD-3-Clause
 * The numbers of types: those of this folder are theirs, others are given the next one.
 */
#include "value/value.h"

#include "base/seed.h"
#include "value/types.h"

/* Types of folders above, as many as there may be, are each given a number of their own; a number
 * that is taken, and one more than there may be, are refused. */
static void test_numbers(void **state) {
    static const struct value_type row = {.name = "other"};
    value_register();
    for (unsigned kind = 0; kind < VALUE_KIND_NEXT; kind++) {
        const struct value_type *built = value_type(kind);
        assert_int_equal(value_type_register((enum value_kind)kind, &row), VALUE_KINDS);
        assert_ptr_equal(value_type(kind), built);
    }
    for (unsigned kind = VALUE_KIND_NEXT; kind < VALUE_KINDS; kind++) {
        assert_int_equal(value_type_register(VALUE_KIND_NEXT, &row), kind);
        assert_ptr_equal(value_type(kind), &row);
    }
    assert_int_equal(value_type_register(VALUE_KIND_NEXT, &row), VALUE_KINDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
