/* SPDX-License-Identifier: BSD-3-Clause
 * Bells: rung before, while and after somebody waits.
 */
#include "io/bell.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Longer than any run of the tests. */
#define LONG_NSEC (INT64_C(3600) * 1000000000)

static struct bell bell;

static void *ring(void *unused) {
    bell_ring(&bell);
    return NULL;
}

static void test_rung_before(void **state) {
    struct bell own = {0};
    assert_false(bell_has_rung(&own));
    bell_ring(&own);
    bell_ring(&own);
    assert_true(bell_has_rung(&own));
    bell_wait(&own, LONG_NSEC);
}

static void test_not_rung(void **state) {
    struct bell own = {0};
    bell_wait(&own, 0);
    bell_wait(&own, -1);
    bell_wait(&own, 1000000);
    assert_false(bell_has_rung(&own));
}

/* Before somebody waits, or while: nobody knows which. */
static void test_rung_by_another(void **state) {
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        bell = (struct bell){0};
        assert_int_equal(pthread_create(&thread, NULL, ring, NULL), 0);
        while (!bell_has_rung(&bell)) bell_wait(&bell, LONG_NSEC);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rung_before),
        cmocka_unit_test(test_not_rung),
        cmocka_unit_test(test_rung_by_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
