/* SPDX-License-Identifier: BSD-3-Clause
 * The options whose features are not built: what is kept, in which form, and what is refused.
 */
#include "option/settings.h"
#include "server/options_pending.h"

static int setup(void **state) {
    options_pending_register();
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    return 0;
}

/* The line must be refused, with `reason` at the end of the text. */
static void assert_fault(const char *line, const char *reason) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    if (option_load_text(slice_of(line), OPTION_FROM_FILE, &error)) fail_msg("taken: %s", line);
    const char *at = strstr(error.bytes, "'\n");
    assert_non_null(at);
    assert_memory_equal(at + 2, reason, strlen(reason));
    assert_string_equal(at + 2 + strlen(reason), "\n");
    buffer_free(&error);
}

/* The lines of upstream's test configurations that belong to these options. */
static void test_upstream_configuration(void **state) {
    assert_loads(
        "save 900 1\nsave 300 10\n"
        "save 60 10000\nrdbcompression yes\ndbfilename dump.rdb\nslave-serve-stale-data yes\n"
        "appendonly no\nappendfsync everysec\nno-appendfsync-on-rewrite no\n");
    assert_value("save", "900 1 300 10 60 10000");
}

static void test_own_value_is_taken(void **state) {
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (!(row->flags & OPTION_MUTABLE)) continue;
        struct buffer value;
        buffer_init(&value, MEMORY_OTHER);
        option_print(row, &value);
        assert_takes(row->name, value.bytes ? value.bytes : "", value.bytes ? value.bytes : "");
        assert_true(option_is_default(row));
        buffer_free(&value);
    }
}

static void test_refusals(void **state) {
    assert_refuses("appendonly", "yes", "the append only file is not built yet");
    assert_refuses("appendonly", "maybe", "argument must be 'yes' or 'no'");
    assert_false(set("activedefrag", "yes"));
    assert_non_null(strstr(last_reason, "Active defragmentation cannot be enabled: it requires"));
    assert_false(set("min-replicas-to-write", "1"));
    assert_false(set("gopher-enabled", "yes"));
    assert_fault("io-threads 4", "I/O threads are not built yet");
    assert_fault("io-threads 200", "argument must be between 1 and 128 inclusive");
    assert_fault("cluster-enabled yes", "cluster mode is not built yet");
    assert_fault("loadmodule /x.so a", "modules are not built yet");
    assert_fault("loadmodule", "Bad directive or wrong number of arguments");
    assert_fault("sentinel monitor a", "sentinel directive while not in sentinel mode");
    assert_fault("tls-port 1", "Bad directive or wrong number of arguments");
}

static void test_replicaof(void **state) {
    assert_loads("replicaof no one\n");
    assert_value("slaveof", "");
    assert_fault("replicaof host 1", "replication is not built yet");
    assert_fault("slaveof host x", "Invalid master port");
    assert_fault("slaveof host 70000", "Invalid master port");
    assert_fault("replicaof host", "Bad directive or wrong number of arguments");
}

static void test_save(void **state) {
    assert_value("save", "3600 1 300 100 60 10000");
    assert_takes("save", "10 1 20 2", "10 1 20 2");
    assert_takes("save", "1 0", "1 0");
    assert_refuses("save", "1", "");
    assert_refuses("save", "1 2 3", "");
    assert_refuses("save", "0 1", "");
    assert_refuses("save", "1 -1", "");
    assert_refuses("save", "1  2", "");
    assert_refuses("save", "a b", "");
    assert_takes("save", "", "");
    assert_loads("save 10 1\nsave 20 2 30 3\nsave \"40 4\"\n");
    assert_value("save", "10 1 20 2 30 3 40 4");
    assert_loads("save \"\"\nsave 5 5\n");
    assert_value("save", "5 5");
    assert_fault("save a b", "Invalid save parameters");
    assert_fault("save 1", "Invalid save parameters");
    struct buffer many;
    buffer_init(&many, MEMORY_OTHER);
    for (int i = 0; i < 300; i++) buffer_append_c_string(&many, i == 0 ? "1 1" : " 1 1");
    assert_refuses("save", many.bytes, "");
    buffer_free(&many);
}

static void test_values(void **state) {
    assert_takes("repl-backlog-size", "1", "16384");
    assert_takes("repl-backlog-size", "20000", "20000");
    assert_refuses("dbfilename", "a/b", "dbfilename can't be a path, just a filename");
    assert_fault("appendfilename a/b", "appendfilename can't be a path, just a filename");
    assert_loads("list-max-ziplist-entries 7\nlist-max-ziplist-value 8\n");
    assert_fault("list-max-ziplist-value a b", "Bad directive or wrong number of arguments");
}

static void test_rewrite(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    assert_loads("list-max-ziplist-entries 7\n");
    assert_takes("save", "5 5 6 6", "5 5 6 6");
    assert_takes("repl-backlog-size", "1", "16384");
    option_rewrite_text(SLICE("save 1 1\n#\nslave-priority 5\n"), false, &out);
    assert_string_equal(out.bytes,
                        "save 5 5\nsave 6 6\n#\n"
                        "replica-priority 100\n# Generated by CONFIG REWRITE\n"
                        "repl-backlog-size 16kb\n");
    /* With all defaults, too, the file can be read again. */
    buffer_clear(&out);
    option_rewrite_text(SLICE(""), true, &out);
    option_reset_all();
    options_pending_register();
    assert_loads(out.bytes);
    assert_value("save", "5 5 6 6");
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_upstream_configuration, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_value_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replicaof, setup, teardown),
        cmocka_unit_test_setup_teardown(test_save, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
