/* SPDX-License-Identifier: BSD-3-Clause
 * All modules together: configurations of 6.2 load, and what needs a feature that is not built is
 * refused by the folder that will own it.
 */
#include "command/command.h"
#include "command/command_keys.h"
#include "option/settings.h"
#include "server/mode.h"
#include "server/modes.h"
#include "store/entry.h"

/* The lines of upstream's test configurations that belong to these options. */
static void test_upstream_configuration(void **state) {
    assert_loads(
        "save 900 1\nsave 300 10\n"
        "save 60 10000\nrdbcompression yes\ndbfilename dump.rdb\nslave-serve-stale-data yes\n"
        "appendonly no\nappendfsync everysec\nno-appendfsync-on-rewrite no\n");
    assert_value("save", "900 1 300 10 60 10000");
}

static void test_own_value_is_taken(void **state) {
    size_t looked_at = 0;
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (!(row->flags & OPTION_MUTABLE) || !(row->flags & OPTION_MISSING)) continue;
        struct buffer value;
        buffer_init(&value, MEMORY_OTHER);
        option_print(row, &value);
        assert_takes(row->name, value.bytes ? value.bytes : "", value.bytes ? value.bytes : "");
        assert_true(option_is_default(row));
        buffer_free(&value);
        looked_at++;
    }
    assert_true(looked_at > 0);
}

static void test_refusals(void **state) {
#ifdef EVENKEEL_SANITIZER /* the allocator cannot tell */
    assert_false(set("activedefrag", "yes"));
    assert_non_null(strstr(last_reason, "Active defragmentation cannot be enabled: it requires"));
#endif
    assert_false(set("gopher-enabled", "yes"));
    assert_line_refused("io-threads 200", "argument must be between 1 and 128 inclusive");
    assert_line_refused("loadmodule /x.so a", "modules are not built yet");
    assert_line_refused("loadmodule", "Bad directive or wrong number of arguments");
    assert_line_refused("sentinel monitor a", "sentinel directive while not in sentinel mode");
    assert_line_refused("tls-port 65536", "argument must be between 0 and 65535 inclusive");
}

static void test_old_directives_are_passed_over(void **state) {
    assert_loads("list-max-ziplist-entries 7\nlist-max-ziplist-value 8\n");
    assert_line_refused("list-max-ziplist-value a b", "Bad directive or wrong number of arguments");
}

/* A row that writes says what it changes of its keys, and one that reads, nothing. PFCOUNT keeps
 * what it has counted in the value. */
static void test_rows_say_what_they_change(void **state) {
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *row = command_at(i);
        bool writes = row->flags & COMMAND_WRITE && command_has_keys(row);
        if (strcmp(row->name, "pfcount") == 0) writes = true;
        if (writes != (row->changes != ENTRY_CHANGES_NOTHING)) fail_msg("%s", row->name);
    }
}

static int setup(void **state) {
    mode_register(&mode_server);
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_say_what_they_change),
        cmocka_unit_test(test_own_value_is_taken),
        cmocka_unit_test(test_upstream_configuration),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_old_directives_are_passed_over),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
