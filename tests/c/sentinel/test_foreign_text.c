/* SPDX-License-Identifier: BSD-3-Clause
 * Fields of foreign texts, at the ends of their ranges.
 */
#include "sentinel/foreign_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_hosts(void **state) {
    const struct {
        const char *text;
        bool is_host;
    } rows[] = {{"127.0.0.1", true}, {"::1", true},   {"fe80::1%eth0", true}, {"Db-1_x.org", true},
                {"", false},         {"a b", false},  {"a\tb", false},        {"a,b", false},
                {"a\"", false},      {"a'", false},   {"a\\", false},         {"a\n", false},
                {"a/b", false},      {"\x7f", false}, {"h\xc3\xb6st", false}, {"*", false},
                {"a#", false},       {"0", true}};
    char longest[SENTINEL_HOST_CHARS_MAX + 2];
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++)
        if (sentinel_foreign_is_host(slice_of(rows[at].text)) != rows[at].is_host)
            fail_msg("%s", rows[at].text);
    memset(longest, 'a', sizeof(longest));
    assert_true(sentinel_foreign_is_host((struct slice){longest, SENTINEL_HOST_CHARS_MAX}));
    assert_false(sentinel_foreign_is_host((struct slice){longest, SENTINEL_HOST_CHARS_MAX + 1}));
}

static void test_ids(void **state) {
    assert_true(sentinel_foreign_is_id(SLICE("0123456789abcdefABCDEF000000000000000000")));
    assert_false(sentinel_foreign_is_id(SLICE("0123456789abcdefABCDEF00000000000000000")));
    assert_false(sentinel_foreign_is_id(SLICE("0123456789abcdefABCDEF0000000000000000000")));
    assert_false(sentinel_foreign_is_id(SLICE("0123456789abcdefABCDEG000000000000000000")));
    assert_false(sentinel_foreign_is_id(SLICE("0123456789abcdefABCDEF00000000000000000\0")));
    assert_false(sentinel_foreign_is_id(SLICE("")));
}

static void test_ports(void **state) {
    const struct {
        const char *text;
        int port; /* 0 = refused */
    } rows[] = {{"1", 1},         {"6379", 6379},
                {"65535", 65535}, {"0", 0},
                {"65536", 0},     {"4294967297", 0},
                {"01", 0},        {"+1", 0},
                {"-1", 0},        {" 1", 0},
                {"1 ", 0},        {"", 0},
                {"x", 0},         {"99999999999999999999999", 0}};
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        int port = 0;
        bool is_port = sentinel_foreign_port(slice_of(rows[at].text), &port);
        if (port != rows[at].port || is_port != (rows[at].port != 0)) fail_msg("%s", rows[at].text);
    }
}

static void test_epochs(void **state) {
    uint64_t epoch = 1;
    assert_true(sentinel_foreign_epoch(SLICE("0"), &epoch));
    assert_int_equal(epoch, 0);
    assert_true(sentinel_foreign_epoch(SLICE("9223372036854775807"), &epoch));
    assert_true(epoch == SENTINEL_EPOCH_MAX);
    assert_false(sentinel_foreign_epoch(SLICE("9223372036854775808"), &epoch));
    assert_false(sentinel_foreign_epoch(SLICE("18446744073709551616"), &epoch));
    assert_false(sentinel_foreign_epoch(SLICE("-1"), &epoch));
    assert_false(sentinel_foreign_epoch(SLICE(""), &epoch));
    assert_true(epoch == SENTINEL_EPOCH_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hosts), cmocka_unit_test(test_ids),
                                       cmocka_unit_test(test_ports), cmocka_unit_test(test_epochs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
