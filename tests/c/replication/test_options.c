/* SPDX-License-Identifier: BSD-3-Clause
 * Options of replication before it is built: what is kept, in which form, and what is refused.
 */
#include "metric/metric.h"
#include "option/settings.h"
#include "replication/options.h"

static int setup(void **state) {
    replication_options_register();
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    metric_forget_all();
    return 0;
}

static void test_replicaof(void **state) {
    assert_loads("replicaof no one\n");
    assert_value("slaveof", "");
    assert_line_refused("replicaof host 1", "replication is not built yet");
    assert_line_refused("slaveof host x", "Invalid master port");
    assert_line_refused("slaveof host 70000", "Invalid master port");
    assert_line_refused("replicaof host", "Bad directive or wrong number of arguments");
}

static void test_rewrite(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    assert_takes("replica-priority", "1", "1");
    option_rewrite_text(SLICE("#\nslave-priority 5\n"), false, &out);
    assert_string_equal(out.bytes, "#\nreplica-priority 1\n");
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replicaof, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
