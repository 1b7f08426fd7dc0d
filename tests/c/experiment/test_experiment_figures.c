/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of experiment/experiment_figures: names, directions, limits.
 */
#include "experiment/experiment_figures.h"

#include <math.h>
#include <string.h>

#include "base/seed.h"

static char reason[256];

static const char *found(const char *name, bool has_load) {
    int index = experiment_figure_find(name, strlen(name), has_load);
    return index < 0 ? "none" : experiment_figure_row((unsigned)index)->name;
}

static void test_names(void **state) {
    assert_string_equal(found("p99", true), "p99_usec");
    assert_string_equal(found("p99", false), "probe_p99_usec");
    assert_string_equal(found("P99.9", true), "p999_usec");
    assert_string_equal(found("p99.9", false), "none");
    assert_string_equal(found("hit_percent", false), "hit_percent");
    assert_string_equal(found("nosuch", true), "none");
    for (unsigned i = 0; i < experiment_figure_count(); i++)
        assert_string_equal(found(experiment_figure_row(i)->name, true),
                            experiment_figure_row(i)->name);
}

/* A name that is misspelt in the lists of directions would go unnoticed. */
static void test_directions(void **state) {
    unsigned less = 0, more = 0;
    for (unsigned i = 0; i < experiment_figure_count(); i++) {
        less += experiment_figure_better(i) < 0;
        more += experiment_figure_better(i) > 0;
    }
    assert_int_equal(less, 25);
    assert_int_equal(more, 3);
}

static void assert_limit(const char *text, const char *name, bool above, double limit) {
    struct experiment_limit l;
    assert_true(experiment_limit_parse(&l, text, true, reason, sizeof(reason)));
    assert_string_equal(experiment_figure_row(l.figure)->name, name);
    assert_true(l.above == above && fabs(l.limit - limit) < 1e-6);
}

static void refused(const char *text, const char *why) {
    struct experiment_limit l;
    assert_false(experiment_limit_parse(&l, text, true, reason, sizeof(reason)));
    assert_string_equal(reason, why);
}

static void test_limits(void **state) {
    struct experiment_limit l;
    assert_limit("p99>50ms", "p99_usec", true, 50000);
    assert_limit("p99>1.5S", "p99_usec", true, 1.5e6);
    assert_limit("max>200", "max_usec", true, 200);
    assert_limit("hit_percent<80%", "hit_percent", false, 80);
    assert_limit("overshoot_bytes>2mb", "overshoot_bytes", true, 2 * 1024 * 1024);
    assert_limit("evicted_per_sec>10", "evicted_per_sec", true, 10);
    refused("p99", "--stop-if wants figure>limit or figure<limit: p99");
    refused("nosuch>1", "--stop-if: no figure is called nosuch");
    refused(">1", "--stop-if: no figure is called ");
    refused("p99>", "--stop-if: the limit is no number with a unit of the figure: p99>");
    refused("p99>ms", "--stop-if: the limit is no number with a unit of the figure: p99>ms");
    refused("p99>1kb", "--stop-if: the limit is no number with a unit of the figure: p99>1kb");
    assert_true(experiment_limit_parse(&l, "hits<80", true, reason, sizeof(reason)));
    assert_true(experiment_limit_is_passed(&l, 79));
    assert_false(experiment_limit_is_passed(&l, 80));
    assert_false(experiment_limit_is_passed(&l, NAN));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
