/* SPDX-License-Identifier: BSD-3-Clause
 * Which checks of packed values INFO counts, by sanitize-dump-payload. Those of what clients send
 * are counted in tests/unit/dump.tcl.
 */
#include "rdb/sanitize.h"

#include "metric/metric.h"
#include "option/settings.h"

static int counted(void) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    metric_print(SLICE("stats"), &text);
    buffer_append(&text, "", 1);
    const char *field = strstr(text.bytes, "dump_payload_sanitizations:");
    assert_non_null(field);
    int count = (int)strtol(strchr(field, ':') + 1, NULL, 10);
    buffer_free(&text);
    return count;
}

static void test_files(void **state) {
    sanitize_register();
    assert_value("sanitize-dump-payload", "no");
    sanitize_note_file(3);
    assert_int_equal(counted(), 0);
    assert_takes("sanitize-dump-payload", "clients", "clients");
    sanitize_note_file(3);
    assert_int_equal(counted(), 0);
    assert_takes("sanitize-dump-payload", "yes", "yes");
    sanitize_note_file(3);
    sanitize_note_file(2);
    assert_int_equal(counted(), 5);
    assert_refuses("sanitize-dump-payload", "maybe",
                   "argument must be one of the following: no, yes, clients");
    metric_reset_all();
    assert_int_equal(counted(), 0);
    option_reset_all();
    metric_forget_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
