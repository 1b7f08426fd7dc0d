/* SPDX-License-Identifier: BSD-3-Clause
 * A session's lines and breakpoints.
 */
#include "script/debug_session.h"

#include "base/seed.h"
#include "script/sandbox.h"

static struct debug_session session;

static bool never(void) { return false; }

static void open_session(const char *text) {
    debug_session_open(&session, NULL, slice_of(text), never);
}

static void assert_shown(const char *expected) {
    struct buffer out = {.class = MEMORY_OTHER};
    debug_lines_finish(&session.lines, &out);
    assert_string_equal(out.bytes, expected);
    buffer_free(&out);
}

static const struct {
    const char *text;
    int count;
} texts[] = {{"", 0}, {"\n", 0}, {"a", 1}, {"a\n", 1}, {"\na", 2}, {"a\n\nb\n\n\n", 3}};

static void test_lines(void **state) {
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        open_session(texts[i].text);
        assert_int_equal(session.line_count, texts[i].count);
        debug_session_close(&session);
    }
    open_session("one\n\tthree\r\n\nfour");
    session.line = 2;
    assert_int_equal(debug_session_set(&session, 4), DEBUG_BREAKPOINT_SET);
    debug_session_show_lines(&session, 1, 100);
    assert_shown("*4\r\n+   1   one\r\n+-> 2   \tthree \r\n+   3   \r\n+  #4   four\r\n");
    debug_session_show_lines(&session, 3, 0);
    assert_shown("*1\r\n+   3   \r\n");
    debug_session_show_lines(&session, 2, -1);
    assert_shown("*0\r\n");
    debug_session_show_line(&session, 0);
    debug_session_show_line(&session, 123);
    assert_shown(
        "*2\r\n+   0   <out of range source code line>\r\n"
        "+   123 <out of range source code line>\r\n");
    debug_session_close(&session);
}

static void test_lines_of_large_texts(void **state) {
    const size_t most = SANDBOX_TEXT_BYTES_MAX;
    char *text = memory_alloc(most + 2, MEMORY_SAVES);
    memset(text, '\n', most + 1);
    text[most + 1] = '\0';
    text[most - 1] = 'x';
    size_t before = memory_used(MEMORY_OTHER);
    debug_session_open(&session, NULL, (struct slice){text, most}, never);
    assert_true(memory_used(MEMORY_OTHER) - before < most * sizeof(uint32_t) + 10000);
    debug_session_show_lines(&session, INT32_MAX, 0);
    assert_shown("*0\r\n");
    debug_session_show_lines(&session, (int64_t)most, 1);
    assert_shown("*2\r\n+   67108863 \r\n+   67108864 x\r\n");
    debug_session_close(&session);

    /* It is not compiled. */
    text[most] = 'x';
    before = memory_used(MEMORY_OTHER);
    debug_session_open(&session, NULL, (struct slice){text, most + 1}, never);
    assert_true(memory_used(MEMORY_OTHER) - before < 10000);
    debug_session_show_lines(&session, 1, INT32_MAX);
    assert_shown("*0\r\n");
    debug_session_close(&session);
    memory_free(text, MEMORY_SAVES);
}

static void test_breakpoints(void **state) {
    struct buffer text = {.class = MEMORY_OTHER};
    for (int i = 0; i < 100; i++) buffer_append_c_string(&text, "x\n");
    open_session(text.bytes);
    assert_int_equal(debug_session_set(&session, 0), DEBUG_BREAKPOINT_WRONG);
    assert_int_equal(debug_session_set(&session, 101), DEBUG_BREAKPOINT_WRONG);
    assert_int_equal(debug_session_set(&session, INT64_MAX), DEBUG_BREAKPOINT_WRONG);
    assert_false(debug_session_unset(&session, 1));
    for (int i = 1; i <= DEBUG_BREAKPOINTS_MAX; i++)
        assert_int_equal(debug_session_set(&session, i), DEBUG_BREAKPOINT_SET);
    assert_int_equal(debug_session_set(&session, 1), DEBUG_BREAKPOINT_WRONG);
    assert_int_equal(debug_session_set(&session, 100), DEBUG_BREAKPOINTS_TOO_MANY);
    for (int i = 2; i <= DEBUG_BREAKPOINTS_MAX; i += 2)
        assert_true(debug_session_unset(&session, i));
    assert_int_equal(session.breakpoint_count, DEBUG_BREAKPOINTS_MAX / 2);
    for (int i = 1; i <= DEBUG_BREAKPOINTS_MAX; i++)
        assert_int_equal(debug_session_breaks_at(&session, i), i % 2);
    debug_session_close(&session);
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_lines_of_large_texts),
                                       cmocka_unit_test(test_breakpoints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
