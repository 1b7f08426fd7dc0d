/* SPDX-License-Identifier: BSD-3-Clause
 * Slices, buffers, quoting and word splitting. The splitter's answers are those that a stock
 * Redis 6.2.16 gives to inline requests. */
#include "base/string.h"

#include "seed.h"

static size_t used_before;

static int note_used(void **state) {
    used_before = memory_used_total();
    return 0;
}

static int check_used(void **state) { return memory_used_total() == used_before ? 0 : -1; }

static void test_slices(void **state) {
    struct slice empty = {NULL, 0};
    assert_true(slice_equal(empty, SLICE("")));
    assert_true(slice_equal(SLICE("a\0b"), SLICE("a\0b")));
    assert_false(slice_equal(SLICE("a\0b"), SLICE("a\0c")));
    assert_false(slice_equal(SLICE("a"), SLICE("ab")));
    assert_true(slice_equal_nocase(SLICE("GeT[{"), SLICE("gEt[{")));
    assert_false(slice_equal_nocase(SLICE("@"), SLICE("`")));
    assert_false(slice_equal_nocase(SLICE("["), SLICE("{")));
    assert_false(slice_equal_nocase(SLICE("\xc4"), SLICE("\xe4")));
    assert_true(slice_is(SLICE("NX"), "nx"));
    assert_false(slice_is(SLICE("nx\0"), "nx"));
    assert_true(slice_is(empty, ""));
    assert_int_equal(slice_of("four").length, 4);
    assert_true(slice_compare(SLICE("a"), SLICE("b")) < 0);
    assert_true(slice_compare(SLICE("b"), SLICE("a")) > 0);
    assert_true(slice_compare(SLICE("a"), SLICE("ab")) < 0);
    assert_true(slice_compare(SLICE("ab"), SLICE("a")) > 0);
    assert_true(slice_compare(SLICE("\xff"), SLICE("a")) > 0);
    assert_int_equal(slice_compare(SLICE("ab"), SLICE("ab")), 0);
    assert_int_equal(slice_compare(empty, SLICE("")), 0);
    assert_true(slice_compare(empty, SLICE("a")) < 0);
    char *copy = slice_dup_c_string((struct slice){"hello", 4}, MEMORY_OTHER);
    assert_string_equal(copy, "hell");
    memory_free(copy, MEMORY_OTHER);
    copy = slice_dup_c_string(empty, MEMORY_OTHER);
    assert_string_equal(copy, "");
    memory_free(copy, MEMORY_OTHER);
    for (int c = 0; c < 256; c++) {
        int expected = c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
        assert_int_equal((unsigned char)string_lower((char)c), expected);
    }
}

static void test_buffer(void **state) {
    struct buffer b = {.class = MEMORY_CLIENTS};
    size_t clients = memory_used(MEMORY_CLIENTS);
    assert_int_equal(buffer_slice(&b).length, 0);
    assert_non_null(buffer_slice(&b).bytes);
    buffer_clear(&b);
    buffer_free(&b);
    buffer_append(&b, NULL, 0);
    assert_string_equal(b.bytes, "");
    buffer_append(&b, "a\0b", 3);
    buffer_append_char(&b, 'c');
    buffer_append_c_string(&b, "def");
    assert_int_equal(b.length, 7);
    assert_memory_equal(b.bytes, "a\0bcdef", 8);
    assert_true(slice_equal(buffer_slice(&b), SLICE("a\0bcdef")));
    assert_int_equal(memory_used(MEMORY_CLIENTS) - clients, b.capacity);
    size_t capacity = b.capacity;
    buffer_clear(&b);
    assert_int_equal(b.length, 0);
    assert_int_equal(b.capacity, capacity);
    assert_string_equal(b.bytes, "");
    char *room = buffer_reserve(&b, 100000);
    memset(room, 'x', 100000); /* all of it may be written */
    b.length += 100000;
    assert_true(b.length < b.capacity);
    buffer_append_char(&b, 'y');
    assert_int_equal(b.bytes[99999], 'x');
    assert_string_equal(b.bytes + 100000, "y");
    buffer_free(&b);
    assert_null(b.bytes);
    assert_int_equal(b.class, MEMORY_CLIENTS);
    assert_int_equal(memory_used(MEMORY_CLIENTS), clients);
}

static void test_buffer_growth(void **state) {
    struct buffer b;
    buffer_init(&b, MEMORY_OTHER);
    unsigned moves = 0;
    for (size_t i = 0; i < 3000000; i++) {
        size_t before = b.capacity;
        buffer_append_char(&b, (char)i);
        assert_true(b.length < b.capacity);
        moves += b.capacity != before;
    }
    assert_true(moves < 40); /* amortised */
    for (size_t i = 0; i < 3000000; i++) {
        if (b.bytes[i] != (char)i) fail_msg("byte %zu", i);
    }
    buffer_free(&b);
    buffer_append(&b, "0123456789012345678901234567890123456789", 40);
    assert_int_equal(b.capacity, memory_good_size(41)); /* the first fits */
    buffer_free(&b);
}

static void reserve_too_much(void) {
    struct buffer b;
    buffer_init(&b, MEMORY_OTHER);
    buffer_reserve(&b, SIZE_MAX);
}

static void test_absurd_reserve_aborts(void **state) { assert_aborts(reserve_too_much, "more"); }

static void test_buffer_printf(void **state) {
    struct buffer b;
    buffer_init(&b, MEMORY_OTHER);
    buffer_printf(&b, "%s", "");
    assert_string_equal(b.bytes, "");
    for (int length = 0; length < 200; length++) {
        buffer_clear(&b);
        buffer_printf(&b, "%*d|%d", length, 7, length);
        char expected[300];
        snprintf(expected, sizeof(expected), "%*d|%d", length, 7, length);
        assert_string_equal(b.bytes, expected);
        assert_int_equal(b.length, strlen(expected));
        buffer_printf(&b, "%s", "+more");
        assert_string_equal(b.bytes + strlen(expected), "+more");
    }
    buffer_free(&b);
}

static void test_quoted(void **state) {
    struct buffer b;
    buffer_init(&b, MEMORY_OTHER);
    buffer_append_quoted(&b, SLICE("a \"b\" \\ \n\r\t\a\b \0\x01\x7f\xff~'"));
    assert_string_equal(b.bytes, "\"a \\\"b\\\" \\\\ \\n\\r\\t\\a\\b \\x00\\x01\\x7f\\xff~'\"");
    buffer_clear(&b);
    buffer_append_quoted(&b, (struct slice){NULL, 0});
    assert_string_equal(b.bytes, "\"\"");
    buffer_free(&b);
}

struct split_row {
    struct slice line;
    int count;
    const char *joined; /* the words, a | after each */
};

#define LINE(text) \
    { text, sizeof(text) - 1 }

static const struct split_row split_rows[] = {
    {LINE(""), 0, ""},
    {LINE("   \t\r\n"), 0, ""},
    {LINE("echo"), 1, "echo|"},
    {LINE("echo a  b\t c "), 4, "echo|a|b|c|"},
    {LINE("echo \"\""), 2, "echo||"},
    {LINE("echo ''"), 2, "echo||"},
    {LINE("\"\" '' x"), 3, "||x|"},
    {LINE("echo \"a b\""), 2, "echo|a b|"},
    {LINE("echo \"a\" \"b\""), 3, "echo|a|b|"},
    {LINE("echo \"a\"b"), -1, ""},
    {LINE("echo 'a'b"), -1, ""},
    {LINE("echo \"a\"\"b\""), -1, ""},
    {LINE("echo a'b'"), 2, "echo|ab|"},
    {LINE("echo a\"b c\""), 2, "echo|ab c|"},
    {LINE("echo a\"b"), -1, ""},
    {LINE("echo 'a"), -1, ""},
    {LINE("\""), -1, ""},
    {LINE("echo \"a\\x41\\x4g\\n\\q\\\\\""), 2, "echo|aAx4g\nq\\|"},
    {LINE("\"\\n\\r\\t\\a\\b\\\"\\xfF\""), 1, "\n\r\t\a\b\"\xff|"},
    {LINE("echo 'a\\'b\\n'"), 2, "echo|a'b\\n|"},
    {LINE("echo '\\\\'"), -1, ""},
    {LINE("echo '\\x41'"), 2, "echo|\\x41|"},
    {LINE("echo '\"'"), 2, "echo|\"|"},
    {LINE("echo \"'\""), 2, "echo|'|"},
    {LINE("echo a\\ "), 2, "echo|a\\|"},
    {LINE("echo a\\\"b\""), 2, "echo|a\\b|"},
    {LINE("echo \"a\\"), -1, ""},
    {LINE("echo 'a\\"), -1, ""},
    {LINE("echo \"\\x4\""), 2, "echo|x4|"},
    {LINE("echo \"\\x"), -1, ""},
    {LINE("echo \"\\X41\""), 2, "echo|X41|"},
    {LINE("echo a\"\\x41\""), 2, "echo|aA|"},
    {LINE("echo \"\\\"\""), 2, "echo|\"|"},
    {LINE("echo\va"), 1, "echo\va|"},
    {LINE("echo \va"), 2, "echo|a|"},
    {LINE("echo \"a\"\vb"), 3, "echo|a|b|"},
    {LINE("echo a\fb"), 2, "echo|a\fb|"},
    {LINE("echo a\rb"), 3, "echo|a|b|"},
    {LINE("echo \"a\rb\""), 2, "echo|a\rb|"},
    {LINE("echo \xff"), 2, "echo|\xff|"},
    /* A NUL ends the line, as it ends a C string. */
    {LINE("echo a\0b c"), 2, "echo|a|"},
    {LINE("\0echo"), 0, ""},
    {LINE("echo \"a\"\0b"), 2, "echo|a|"},
    {LINE("echo \"a\0b\""), -1, ""},
    {LINE("echo \"a\\\0b\""), -1, ""},
};

static void test_split_table(void **state) {
    for (size_t i = 0; i < sizeof(split_rows) / sizeof(split_rows[0]); i++) {
        const struct split_row *row = &split_rows[i];
        struct buffer storage, joined;
        struct slice *words = (struct slice *)state;
        buffer_init(&storage, MEMORY_OTHER);
        buffer_init(&joined, MEMORY_OTHER);
        buffer_append_c_string(&joined, "");
        int count = string_split_words(row->line, &storage, &words);
        for (int j = 0; j < count; j++) {
            assert_int_equal(words[j].bytes[words[j].length], '\0');
            buffer_append(&joined, words[j].bytes, words[j].length);
            buffer_append_char(&joined, '|');
        }
        if (count != row->count || strcmp(joined.bytes, row->joined) != 0) {
            fail_msg("\"%s\": %d words: %s", row->line.bytes, count, joined.bytes);
        }
        assert_int_equal(words == NULL, count == -1);
        memory_free(words, MEMORY_OTHER);
        buffer_free(&joined);
        buffer_free(&storage);
    }
}

/* Quoted words come back as they were, whatever is in them, also behind what storage held. */
static void test_quote_then_split(void **state) {
    seed_from_environment();
    for (int round = 0; round < 300; round++) {
        struct buffer line, storage, all;
        buffer_init(&line, MEMORY_OTHER);
        buffer_init(&storage, MEMORY_OTHER);
        buffer_init(&all, MEMORY_OTHER);
        buffer_append_c_string(&storage, "before");
        int count = (int)random_below(40);
        for (int i = 0; i < count; i++) {
            char word[60];
            size_t length = random_below(sizeof(word));
            for (size_t j = 0; j < length; j++) word[j] = (char)random_u64();
            buffer_append_quoted(&line, (struct slice){word, length});
            buffer_append_char(&line, " \t\n"[random_below(3)]);
            buffer_append(&all, word, length);
            buffer_append_char(&all, '\0');
        }
        struct slice *words;
        assert_int_equal(string_split_words(buffer_slice(&line), &storage, &words), count);
        assert_memory_equal(storage.bytes, "before", 6);
        size_t offset = 0;
        for (int i = 0; i < count; i++) {
            assert_ptr_equal(words[i].bytes, storage.bytes + 6 + offset);
            offset += words[i].length + 1;
        }
        assert_int_equal(offset, all.length);
        assert_true(slice_equal((struct slice){storage.bytes + 6, offset}, buffer_slice(&all)));
        memory_free(words, MEMORY_OTHER);
        buffer_free(&line);
        buffer_free(&storage);
        buffer_free(&all);
    }
}

/* Any bytes, and every prefix of them: no read beyond, no leak (checked by the teardown). */
static void test_split_anything(void **state) {
    static const char letters[] = "ab \t\"'\\x4n\0";
    seed_from_environment();
    for (int i = 0; i < 20000; i++) {
        size_t length = random_below(20);
        char *line = malloc(length + 1);
        for (size_t j = 0; j < length; j++) line[j] = letters[random_below(sizeof(letters))];
        struct buffer storage;
        struct slice *words;
        buffer_init(&storage, MEMORY_OTHER);
        int count = string_split_words((struct slice){line, length}, &storage, &words);
        assert_true(count >= -1 && count <= (int)length);
        memory_free(words, MEMORY_OTHER);
        buffer_free(&storage);
        free(line);
    }
}

#define CHECKED_FOR_LEAKS(function) cmocka_unit_test_setup_teardown(function, note_used, check_used)

int main(void) {
    const struct CMUnitTest tests[] = {
        CHECKED_FOR_LEAKS(test_slices),         CHECKED_FOR_LEAKS(test_buffer),
        CHECKED_FOR_LEAKS(test_buffer_growth),  cmocka_unit_test(test_absurd_reserve_aborts),
        CHECKED_FOR_LEAKS(test_buffer_printf),  CHECKED_FOR_LEAKS(test_quoted),
        CHECKED_FOR_LEAKS(test_split_table),    CHECKED_FOR_LEAKS(test_quote_then_split),
        CHECKED_FOR_LEAKS(test_split_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
