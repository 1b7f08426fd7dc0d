/* SPDX-License-Identifier: BSD-3-Clause
 * Save points, and the other options of persistence: names of files, what is refused.
 */
#include "aof/aof_options.h"
#include "metric/metric.h"
#include "option/settings.h"
#include "rdb/sanitize.h"
#include "save/snapshot.h"

static bool refuse(char *reason, size_t reason_size) {
    snprintf(reason, reason_size, "there is no log here");
    return false;
}

static int setup(void **state) {
    snapshot_options_register();
    aof_options_register(refuse);
    sanitize_register();
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    metric_forget_all();
    return 0;
}

/* A line without a pair is passed over, and takes the default away as any line does. */
static void test_save_without_pairs(void **state) {
    assert_loads("save '\"\"'\n");
    assert_value("save", "");
    assert_loads("save 1\nsave 1 2 3\n");
    assert_value("save", "");
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
    assert_line_refused("save a b", "Invalid save parameters");
    assert_line_refused("save 1 -1", "Invalid save parameters");
    assert_loads("save 900 1\nsave '\"\"'\nsave x\nsave 10 5\nsave\n");
    assert_value("save", "5 5 900 1 10 5");
    assert_loads("save 900 1\nsave \"\"\nsave 10 5\n");
    assert_value("save", "10 5");
    assert_refuses("save", "\"\"", "");
    struct buffer many;
    buffer_init(&many, MEMORY_OTHER);
    for (int i = 0; i < 300; i++) buffer_append_c_string(&many, i == 0 ? "1 1" : " 1 1");
    assert_refuses("save", many.bytes, "");
    buffer_free(&many);
}

static void test_file_names(void **state) {
    assert_refuses("dbfilename", "a/b", "dbfilename can't be a path, just a filename");
    assert_line_refused("appendfilename a/b", "appendfilename can't be a path, just a filename");
}

/* The log's owner may refuse, and then all is as it was. A file's line is not his matter. */
static void test_log_is_refused(void **state) {
    assert_refuses("appendonly", "yes", "there is no log here");
    assert_value("appendonly", "no");
    assert_refuses("appendonly", "maybe", "argument must be 'yes' or 'no'");
    assert_loads("appendonly yes\n");
    assert_value("appendonly", "yes");
}

static void test_rewrite(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    assert_takes("save", "5 5 6 6", "5 5 6 6");
    option_rewrite_text(SLICE("save 1 1\n#\n"), false, &out);
    assert_string_equal(out.bytes, "save 5 5\nsave 6 6\n#\n");
    /* With all defaults, too, the file can be read again. */
    buffer_clear(&out);
    option_rewrite_text(SLICE(""), true, &out);
    option_reset_all();
    metric_forget_all();
    snapshot_options_register();
    aof_options_register(refuse);
    sanitize_register();
    assert_loads(out.bytes);
    assert_value("save", "5 5 6 6");
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_save, setup, teardown),
        cmocka_unit_test_setup_teardown(test_save_without_pairs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_log_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
