/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of clusterctl/ctl_slots: ranges as text, both ways.
 */
#include "clusterctl/ctl_slots.h"

#include "base/seed.h"

static struct buffer out = {.class = MEMORY_OTHER};

static const char *format_slots(const struct ctl_slots *s, char dash) {
    buffer_clear(&out);
    ctl_slots_format(s, dash, &out);
    return out.length ? out.bytes : "";
}

static void test_ranges(void **state) {
    struct ctl_slots s = {0};
    assert_string_equal(format_slots(&s, '-'), "");
    assert_int_equal(ctl_slots_next(&s, 0), -1);
    assert_true(ctl_slots_parse(&s, SLICE("0-3")));
    assert_true(ctl_slots_parse(&s, SLICE("7")));
    assert_true(ctl_slots_parse(&s, SLICE("16382-16383")));
    assert_string_equal(format_slots(&s, '-'), "[0-3],[7],[16382-16383]");
    assert_string_equal(format_slots(&s, ','), "[0,3],[7],[16382,16383]");
    assert_int_equal(ctl_slots_count(&s), 7);
    assert_int_equal(ctl_slots_next(&s, 4), 7);
    ctl_slots_remove(&s, 1);
    ctl_slots_add(&s, 64);
    assert_string_equal(format_slots(&s, '-'), "[0],[2-3],[7],[64],[16382-16383]");
    assert_true(ctl_slots_has(&s, 64) && !ctl_slots_has(&s, 1));
}

static void test_refused(void **state) {
    const char *const texts[] = {"", "-", "1-", "-1", "16384", "5-4", "1-16384", "01", "a", "1 2"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct ctl_slots s = {0};
        assert_false(ctl_slots_parse(&s, slice_of(texts[i])));
        assert_int_equal(ctl_slots_count(&s), 0);
    }
}

static void test_all(void **state) {
    struct ctl_slots s = {0};
    assert_true(ctl_slots_parse(&s, SLICE("0-16383")));
    assert_int_equal(ctl_slots_count(&s), KEY_SLOTS);
    assert_string_equal(format_slots(&s, '-'), "[0-16383]");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
