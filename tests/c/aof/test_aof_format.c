/* SPDX-License-Identifier: BSD-3-Clause
 * The form of commands in the append only file.
 */
#include "aof/aof_format.h"

#include "base/number.h"
#include "base/seed.h"

static const struct slice set[] = {{"SET", 3}, {"k", 1}, {"a\r\n\0b", 5}};
#define SET_TEXT "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\na\r\n\0b\r\n"
#define SELECT_TEXT "*2\r\n$6\r\nSELECT\r\n$2\r\n15\r\n"

static void assert_text(const struct buffer *b, const char *text, size_t length) {
    assert_int_equal(b->length, length);
    assert_memory_equal(b->bytes, text, length);
}

static void test_command(void **state) {
    struct buffer b;
    buffer_init(&b, MEMORY_OTHER);
    aof_format_append(&b, 3, set);
    assert_text(&b, SET_TEXT, sizeof(SET_TEXT) - 1);
    assert_true(aof_format_bytes_max(3, set) >= b.length);
    assert_int_equal(b.bytes[b.length], 0);
    buffer_free(&b);
}

/* Lengths and counts of one, two and more digits. */
static void test_lengths(void **state) {
    static const size_t lengths[] = {0, 9, 10, 99, 100, 65536};
    char *bytes = memory_zalloc(65536, MEMORY_OTHER);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct slice words[120];
        for (int w = 0; w < 120; w++) words[w] = (struct slice){bytes, 0};
        words[119].length = lengths[i];
        char head[32], tail[32];
        struct buffer b;
        buffer_init(&b, MEMORY_OTHER);
        aof_format_append(&b, 120, words);
        snprintf(head, sizeof(head), "*120\r\n$0\r\n\r\n");
        snprintf(tail, sizeof(tail), "$%zu\r\n", lengths[i]);
        assert_memory_equal(b.bytes, head, strlen(head));
        const char *last = b.bytes + b.length - 2 - lengths[i] - strlen(tail);
        assert_memory_equal(last, tail, strlen(tail));
        assert_int_equal(b.length, 6 + 119 * 6 + strlen(tail) + lengths[i] + 2);
        buffer_free(&b);
    }
    memory_free(bytes, MEMORY_OTHER);
}

static void test_select(void **state) {
    char room[AOF_FORMAT_SELECT_BYTES_MAX];
    size_t length = (size_t)(aof_format_write_select(room, 15) - room);
    assert_int_equal(length, sizeof(SELECT_TEXT) - 1);
    assert_memory_equal(room, SELECT_TEXT, length);
    assert_true((size_t)(aof_format_write_select(room, INT32_MAX) - room) <= sizeof(room));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_select),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
