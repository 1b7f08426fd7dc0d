/* SPDX-License-Identifier: BSD-3-Clause
 * Lines of a debugging session: one status each, cut, bounded, counted.
 */
#include "script/debug_lines.h"

#include "base/seed.h"

static struct debug_lines lines;

static int begin(void **state) {
    debug_lines_init(&lines);
    return 0;
}

static int end(void **state) {
    debug_lines_free(&lines);
    return 0;
}

static void assert_sent(const char *expected) {
    struct buffer out = {.class = MEMORY_OTHER};
    debug_lines_finish(&lines, &out);
    assert_string_equal(out.bytes, expected);
    buffer_free(&out);
}

static void add_long(size_t length) {
    struct buffer *line = debug_line_begin(&lines);
    for (size_t i = 0; i < length; i++) buffer_append_char(line, 'x');
    debug_line_end_cut(&lines);
}

static void test_lines(void **state) {
    assert_sent("*0\r\n");
    debug_line(&lines, "%s %d", "line", 1);
    debug_line(&lines, "a\r\nb\tc");
    debug_line(&lines, "%s", "");
    assert_sent("*3\r\n+line 1\r\n+a  b\tc\r\n+\r\n");
    assert_sent("*0\r\n");
}

static void test_cut(void **state) {
    lines.cut_to = 60;
    add_long(60);
    assert_int_equal(lines.count, 1);
    add_long(61);
    assert_int_equal(lines.count, 3); /* and how to set it */
    add_long(61);
    assert_int_equal(lines.count, 4);
    assert_string_equal(lines.line.bytes + 59, "x ...");
    lines.cut_to = 0;
    add_long(100000);
    assert_int_equal(lines.line.length, 100000);
    add_long(DEBUG_LINE_BYTES_MAX + 1);
    assert_int_equal(lines.line.length, DEBUG_LINE_BYTES_MAX + 4);
}

static char large[4 * DEBUG_LINE_BYTES_MAX];

/* Whatever they show, and whatever is appended. */
static void test_each_is_bounded(void **state) {
    memset(large, 'x', sizeof(large));
    for (size_t head = 0; head < 2; head++) {
        struct buffer *line = debug_line_begin(&lines);
        for (size_t i = 0; i < 5; i++) {
            if (head) buffer_append_char(line, 'h');
            debug_line_add(&lines, (struct slice){large, sizeof(large)});
        }
        assert_true(line->capacity <= 2 * DEBUG_LINE_BYTES_MAX + 1000);
        debug_line_end(&lines);
        assert_int_equal(line->length, DEBUG_LINE_BYTES_MAX + 4);
        assert_string_equal(line->bytes + DEBUG_LINE_BYTES_MAX, " ...");
    }
    debug_line_begin(&lines);
    debug_line_add(&lines, (struct slice){large, DEBUG_LINE_BYTES_MAX});
    debug_line_end(&lines);
    assert_int_equal(lines.line.length, DEBUG_LINE_BYTES_MAX);
}

static void test_left_out(void **state) {
    size_t taken = 0;
    while (debug_lines_take(&lines)) {
        debug_line(&lines, "a line");
        taken++;
    }
    assert_true(lines.text.length < DEBUG_LINES_BYTES_MAX + 100);
    assert_false(debug_lines_take(&lines));
    assert_false(debug_lines_take(&lines));
    debug_line(&lines, "the end"); /* always */
    struct buffer out = {.class = MEMORY_OTHER};
    char head[32], tail[128];
    snprintf(head, sizeof(head), "*%zu\r\n", taken + 2);
    snprintf(tail, sizeof(tail), "+the end\r\n+<hint> 3 more lines were left out.\r\n");
    debug_lines_finish(&lines, &out);
    assert_memory_equal(out.bytes, head, strlen(head));
    assert_string_equal(out.bytes + out.length - strlen(tail), tail);
    buffer_free(&out);
    assert_true(debug_lines_take(&lines));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {TEST(test_lines), TEST(test_cut), TEST(test_each_is_bounded),
                                       TEST(test_left_out)};
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
