/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/next_due: against a plain array of bounds.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/next_due.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/seed.h"

#define DATABASES 1000
#define ROUNDS 20000

static int64_t model[DATABASES];

static void test_nothing_is_due_at_first(void **state) {
    int found[DATABASES];
    assert_true(next_due_earliest() == INT64_MAX);
    assert_int_equal(next_due_collect(INT64_MAX - 1, found), 0);
    next_due_check();
}

static int64_t model_earliest(void) {
    int64_t earliest = INT64_MAX;
    for (int i = 0; i < DATABASES; i++)
        if (model[i] < earliest) earliest = model[i];
    return earliest;
}

/* Each that is due is found once, and no other. */
static void check_collected(int64_t now) {
    int found[DATABASES], due = 0;
    char seen[DATABASES] = {0};
    int n = next_due_collect(now, found);
    for (int i = 0; i < DATABASES; i++) due += model[i] <= now;
    assert_int_equal(n, due);
    for (int i = 0; i < n; i++) {
        assert_true(found[i] >= 0 && found[i] < DATABASES);
        assert_true(model[found[i]] <= now);
        assert_int_equal(seen[found[i]]++, 0);
    }
}

static int64_t random_deadline(void) {
    uint64_t kind = random_below(20);
    if (kind == 0) return INT64_MAX;
    if (kind == 1) return INT64_MIN;
    return (int64_t)random_below(1000);
}

static void test_model(void **state) {
    for (int i = 0; i < DATABASES; i++) model[i] = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        int database = (int)random_below(DATABASES);
        int64_t deadline = random_deadline();
        if (random_below(2)) {
            next_due_set(database, deadline);
            model[database] = deadline;
        } else {
            next_due_lower(database, deadline);
            if (deadline < model[database]) model[database] = deadline;
        }
        assert_true(next_due_bound(database) == model[database]);
        assert_true(next_due_earliest() == model_earliest());
        assert_true(model[next_due_first()] == model_earliest());
        if (round % 100 == 0) {
            next_due_check();
            check_collected(random_deadline());
            check_collected(INT64_MAX);
        }
    }
}

static int begin(void **state) {
    seed_from_environment();
    next_due_open(DATABASES);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_due_at_first),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
