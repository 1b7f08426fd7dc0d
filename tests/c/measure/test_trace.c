/* SPDX-License-Identifier: BSD-3-Clause
 * Traces are read line by line, and a line that is no request is named by its number.
 */
#include "../../measure/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../measure/trace.c"

static char path[] = "/tmp/evenkeel-trace-XXXXXX";

static bool read_text(const char *text, struct trace *trace, char *reason, size_t reason_size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(text, 1, strlen(text), file);
    assert_int_equal(fclose(file), 0);
    return trace_read(trace, path, reason, reason_size);
}

static void test_rows_are_read(void **state) {
    struct trace trace;
    char reason[200];
    assert_true(
        read_text("# of a cache\n0.5 get k1 200 60\n\n0.5 SET key-2 7\n1 del\tk1\r\n2 get k3",
                  &trace, reason, sizeof(reason)));
    assert_int_equal(trace.count, 4);
    assert_int_equal(trace.rows[0].operation, TRACE_GET);
    assert_int_equal(trace.rows[0].size, 200);
    assert_int_equal(trace.rows[0].ttl_s, 60);
    assert_int_equal(trace.rows[1].operation, TRACE_SET);
    assert_int_equal(trace.rows[1].key_length, 5);
    assert_memory_equal(trace.rows[1].key, "key-2", 5);
    assert_int_equal(trace.rows[1].ttl_s, 0);
    assert_int_equal(trace.rows[2].operation, TRACE_DEL);
    assert_int_equal(trace.rows[2].key_length, 2);
    assert_true(trace.rows[3].time_s == 2);
    trace_free(&trace);
}

static void test_wrong_lines_are_named(void **state) {
    static const char *const wrong[] = {
        "1 put k 1 1", "x get k",  "1 get",         "1 get k -1",
        "1 get k 1 x", "-1 get k", "1 get k 1 1 1", "0 get a\n-0.1 get b"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct trace trace;
        char reason[200], text[100];
        snprintf(text, sizeof(text), "0 get first\n%s", wrong[i]);
        assert_false(read_text(text, &trace, reason, sizeof(reason)));
        assert_non_null(strstr(reason, strchr(wrong[i], '\n') ? ":3:" : ":2:"));
        assert_null(trace.rows);
    }
}

static void test_time_does_not_fall(void **state) {
    struct trace trace;
    char reason[200];
    assert_false(read_text("2 get a\n1 get b\n", &trace, reason, sizeof(reason)));
    assert_non_null(strstr(reason, ":2:"));
}

static void test_a_file_that_is_missing_is_told(void **state) {
    struct trace trace;
    char reason[200];
    assert_false(trace_read(&trace, "/nowhere/trace", reason, sizeof(reason)));
    assert_non_null(strstr(reason, "/nowhere/trace"));
}

static int make_file(void **state) {
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) { return unlink(path); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_read),
                                       cmocka_unit_test(test_wrong_lines_are_named),
                                       cmocka_unit_test(test_time_does_not_fall),
                                       cmocka_unit_test(test_a_file_that_is_missing_is_told)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
