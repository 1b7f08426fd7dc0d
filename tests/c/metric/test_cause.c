/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of metric/cause: registration, and that all time is in exactly one sum.
 */
#include "metric/cause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct cause late = {.name = "late", .place = 30}, early = {.name = "early", .place = 10},
                    middle = {.name = "middle", .place = 20}, unknown = {.name = "unknown"};

/* Reports have the causes by place, and numbers are by registration. */
static void test_registration(void **state) {
    struct cause *const rows[] = {&late, &early, &middle, &early};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) cause_register(rows[i]);
    assert_int_equal(cause_count(), 4);
    assert_ptr_equal(cause_at(0), &cause_other);
    assert_ptr_equal(cause_at(1), &early);
    assert_ptr_equal(cause_at(2), &middle);
    assert_ptr_equal(cause_at(3), &late);
    assert_int_equal(cause_other.number, 0);
    assert_int_equal(late.number, 1);
    assert_int_equal(early.number, 2);
    assert_int_equal(middle.number, 3);
}

static void assert_sums(uint64_t other, uint64_t of_early, uint64_t of_middle, uint64_t of_late) {
    assert_int_equal(cause_nsec(&cause_other), other);
    assert_int_equal(cause_nsec(&early), of_early);
    assert_int_equal(cause_nsec(&middle), of_middle);
    assert_int_equal(cause_nsec(&late), of_late);
}

static void test_times(void **state) {
    cause_enter(&cause_other, 1000);
    const struct cause *outer = cause_enter(&early, 1100), *inner = cause_enter(&late, 1130);
    assert_ptr_equal(outer, &cause_other);
    assert_ptr_equal(inner, &early);
    cause_leave(inner, 1135);
    cause_leave(outer, 1200);
    assert_sums(100, 95, 0, 5);
    cause_snapshot();
    cause_leave(cause_enter(&middle, 1200), 1207);
    assert_int_equal(cause_since_snapshot(&middle), 7);
    assert_int_equal(cause_since_snapshot(&early), 0);
    cause_leave(cause_enter(&unknown, 1210), 1220); /* not registered */
    assert_sums(113, 95, 7, 5);
    cause_leave(cause_enter(&middle, 1000), 1001); /* a clock that was set back */
    assert_sums(113, 95, 8, 5);
    cause_reset();
    assert_sums(0, 0, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_registration),
                                       cmocka_unit_test(test_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
