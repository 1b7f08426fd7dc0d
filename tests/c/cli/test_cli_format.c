/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of cli/cli_format: which bytes of a server's text reach the terminal.
 */
#include "cli/cli_format.h"

#include "base/seed.h"

static struct buffer out = {.class = MEMORY_OTHER};

static struct slice plain(struct slice text) {
    buffer_clear(&out);
    cli_format_plain(&out, text);
    return buffer_slice(&out);
}

#define CHECK(text, wanted) assert_true(slice_equal(plain(SLICE(text)), SLICE(wanted)))

static void test_characters(void **state) {
    CHECK("", "");
    CHECK("a b~", "a b~");
    CHECK("\a\x1b[2J\x7f\n", "\\x07\\x1b[2J\\x7f\\x0a");
    CHECK("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK("\xc4\x9b", "\xc4\x9b"); /* 9b is part of a character */
    CHECK("\xc2\xa0\xed\x9f\xbf\xee\x80\x80", "\xc2\xa0\xed\x9f\xbf\xee\x80\x80");
    CHECK("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");
}

/* Control characters of the second set: alone, in UTF-8, behind a character that is cut off. */
static void test_second_set(void **state) {
    CHECK(
        "a\x9b"
        "2Jb",
        "a\\x9b2Jb");
    CHECK("\x80\x9f", "\\x80\\x9f");
    CHECK("\xc2\x9b", "\\xc2\\x9b");
    CHECK("\xc2\x80", "\\xc2\\x80");
    CHECK("\xc2", "\\xc2");
    CHECK(
        "\xe2\x9b"
        "c",
        "\\xe2\\x9bc");
    CHECK("\xf0\x9f\x98", "\\xf0\\x9f\\x98");
    CHECK("\xc3\xa4\x9b", "\xc3\xa4\\x9b");
}

/* Numbers that are longer than they need be, surrogates, and what is beyond Unicode. */
static void test_not_utf8(void **state) {
    CHECK("\xc0\x9b", "\\xc0\\x9b");
    CHECK("\xc1\x9b", "\\xc1\\x9b");
    CHECK("\xe0\x82\x9b", "\\xe0\\x82\\x9b");
    CHECK("\xf0\x80\x82\x9b", "\\xf0\\x80\\x82\\x9b");
    CHECK("\xed\xa0\x80", "\\xed\\xa0\\x80");
    CHECK("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    CHECK("\xff\xfe", "\\xff\\xfe");
}

/* Random bytes, many of them such as characters begin with and go on with: no byte from 0x80 to
 * 0x9f and no control character stands in the text but within a character of several bytes. */
static void test_random(void **state) {
    seed_from_environment();
    for (int round = 0; round < 100000; round++) {
        char text[12];
        size_t length = random_below(sizeof(text) + 1);
        for (size_t i = 0; i < length; i++)
            text[i] = (char)(random_below(2) ? 0x80 + random_below(64) : random_below(256));
        struct slice shown = plain((struct slice){text, length});
        unsigned following = 0;
        for (size_t i = 0; i < shown.length; i++) {
            unsigned char c = (unsigned char)shown.bytes[i];
            if (following) {
                assert_true(c >= 0x80 && c <= 0xbf);
                following--;
            } else {
                assert_true((c >= ' ' && c < 0x7f) || c >= 0xc2);
                following = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
                bool second_set = c == 0xc2 && (unsigned char)shown.bytes[i + 1] < 0xa0;
                assert_false(second_set);
            }
        }
        assert_int_equal(following, 0);
    }
}

static void test_kept(void **state) {
    buffer_clear(&out);
    cli_format_text(&out, SLICE("a\tb\r\n\x1b\x9b"));
    assert_true(slice_equal(buffer_slice(&out), SLICE("a\tb\r\n\\x1b\\x9b")));
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters), cmocka_unit_test(test_second_set),
        cmocka_unit_test(test_not_utf8),   cmocka_unit_test(test_random),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
