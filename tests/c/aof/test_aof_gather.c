/* SPDX-License-Identifier: BSD-3-Clause
 * How long the next sync waits: for whom, until when, and when for nobody.
 */
#include "aof/aof_gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MSEC INT64_C(1000000)

static int begin(void **state) {
    aof_gather_reset();
    return 0;
}

static void test_nobody_has_left(void **state) {
    assert_int_equal(aof_gather_begin(0, 5 * MSEC), 0);
    assert_int_equal(aof_gather_begin(7, 5 * MSEC), 0);
}

/* Ten leave when twelve units have ended. */
static void test_until_they_are_back(void **state) {
    aof_gather_released(10, 12, 100 * MSEC, 2 * MSEC);
    assert_int_equal(aof_gather_begin(13, 100 * MSEC), MSEC);
    assert_false(aof_gather_is_complete(21));
    assert_true(aof_gather_is_complete(22));
    aof_gather_ended(22);
    assert_int_equal(aof_gather_begin(22, 100 * MSEC), 0);
}

static void test_not_for_longer(void **state) {
    aof_gather_released(10, 12, 100 * MSEC, 2 * MSEC);
    assert_int_equal(aof_gather_begin(12, 101 * MSEC - 1), 1);
    assert_int_equal(aof_gather_begin(12, 101 * MSEC), 0);
    aof_gather_released(10, 12, 100 * MSEC, 3000 * MSEC);
    assert_int_equal(aof_gather_begin(12, 100 * MSEC), AOF_GATHER_NSEC_MAX);
}

/* How many syncs wait for nobody before the next one that does. */
static unsigned skips(void) {
    unsigned count = 0;
    aof_gather_released(10, 0, 0, 2 * MSEC);
    while (!aof_gather_begin(0, 0)) count++;
    return count;
}

/* Waits in vain become seldom; one that is not makes them usual again. */
static void test_in_vain(void **state) {
    static const unsigned wanted[] = {0, 1, 2, 4, 8, 16, 32, 64, 64, 64};
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        assert_int_equal(skips(), wanted[i]);
        aof_gather_ended(4);
    }
    assert_int_equal(skips(), AOF_GATHER_SKIPS_MAX);
    aof_gather_ended(5);
    assert_int_equal(skips(), 0);
    aof_gather_ended(10);
    assert_int_equal(skips(), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(test_nobody_has_left),
        TEST(test_until_they_are_back),
        TEST(test_not_for_longer),
        TEST(test_in_vain),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
