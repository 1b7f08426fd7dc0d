/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of command/scan: cursors, patterns, and when the loop ends.
 */
#include "command/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_cursors(void **state) {
    static const struct {
        struct slice text;
        bool fits;
        uint64_t cursor;
    } cases[] = {
        {SLICE("0"), true, 0},
        {SLICE("17"), true, 17},
        {SLICE("+17"), true, 17},
        {SLICE("-1"), true, UINT64_MAX},
        {SLICE(""), true, 0},
        {SLICE("5\0x"), true, 5},
        {SLICE("18446744073709551615"), true, UINT64_MAX},
        {SLICE("18446744073709551616"), false, 0},
        {SLICE("-"), false, 0},
        {SLICE("+"), false, 0},
        {SLICE(" 1"), false, 0},
        {SLICE("1x"), false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t cursor = 99;
        assert_true(scan_parse_cursor(cases[i].text, &cursor) == cases[i].fits);
        if (cases[i].fits) assert_true(cursor == cases[i].cursor);
    }
    uint64_t cursor = 99;
    assert_true(scan_parse_cursor((struct slice){NULL, 0}, &cursor));
    assert_true(cursor == 0);
}

static void test_patterns(void **state) {
    struct scan s = {.any = true};
    assert_true(scan_fits(&s, SLICE("x")));
    scan_set_pattern(&s, SLICE("a*"));
    assert_true(scan_fits(&s, SLICE("abc")));
    assert_false(scan_fits(&s, SLICE("bc")));
    scan_set_pattern(&s, SLICE("*"));
    assert_true(scan_fits(&s, SLICE("")));
    assert_true(s.seen == 4);
}

/* A table of so many positions, each with so many texts, and what was visited of it. */
struct walk {
    struct scan scan;
    uint64_t positions, each, visited;
};

static uint64_t step(struct scan *scan) {
    struct walk *w = (struct walk *)scan;
    assert_true(scan->cursor == w->visited);
    for (uint64_t i = 0; i < w->each; i++) scan_fits(scan, SLICE("x"));
    w->visited++;
    return scan->cursor + 1 < w->positions ? scan->cursor + 1 : 0;
}

static uint64_t visited_of(uint64_t positions, uint64_t each, int64_t count) {
    struct walk w = {.scan = {.any = true, .count = count}, .positions = positions, .each = each};
    scan_run(&w.scan, step);
    assert_true(w.scan.seen == w.visited * each);
    assert_true(w.scan.cursor == (w.visited < positions ? w.visited : 0));
    return w.visited;
}

static void test_run(void **state) {
    assert_true(visited_of(1, 0, 10) == 1);
    assert_true(visited_of(1, 500, 1) == 1);
    assert_true(visited_of(1000, 1, 10) == 10);
    assert_true(visited_of(1000, 7, 10) == 2);
    assert_true(visited_of(5, 1, 10) == 5);
    /* Where nothing stands, ten positions are looked at for each one wanted. */
    assert_true(visited_of(1000, 0, 10) == 100);
    assert_true(visited_of(1000, 0, 1) == 10);
    assert_true(visited_of(1000, 1, INT64_MAX) == 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
