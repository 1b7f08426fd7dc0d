/* SPDX-License-Identifier: BSD-3-Clause
 * Glob patterns. The table's answers are those of a stock Redis 6.2.16 (KEYS; the rows without
 * case: CONFIG GET). */
#include "base/glob.h"

#include "seed.h"

struct row {
    const char *pattern, *text;
    bool matches;
};

static const struct row rows[] = {
    {"", "", true},
    {"", "a", false},
    {"*", "", false},
    {"**", "", false},
    {"?", "", false},
    {"abc", "abc", true},
    {"abc", "abd", false},
    {"abc", "ab", false},
    {"ab", "abc", false},
    {"abc", "ABC", false},
    {"*", "anything", true},
    {"***", "a", true},
    {"a*", "a", true},
    {"a**", "a", true},
    {"*a", "ba", true},
    {"*a", "ab", false},
    {"a*c", "abcbc", true},
    {"a*c*e", "abcde", true},
    {"a*c*e", "abcdf", false},
    {"*ab*", "aab", true},
    {"*aab", "aaab", true},
    {"?", "a", true},
    {"?", "ab", false},
    {"a?c", "abc", true},
    {"a?", "a", false},
    {"*?", "a", true},
    {"?*?", "a", false},
    {"[abc]", "b", true},
    {"[abc]", "d", false},
    {"[abc]", "abc", false},
    {"[^abc]", "b", false},
    {"[^abc]", "d", true},
    {"[a-c]x", "bx", true},
    {"[a-c]", "d", false},
    {"[c-a]", "b", true},
    {"[^a-c]", "b", false},
    {"[a-cx-z]", "y", true},
    {"[a-]", "^", true},
    {"[a-]", "-", false},
    {"[a-]", "a", true},
    {"[-a]", "-", true},
    {"[]", "]", false},
    {"[]", "a", false},
    {"[]a]", "a]", false},
    {"[^]", "a", true},
    {"[^]", "]", true},
    {"[a^]", "^", true},
    {"[", "[", false},
    {"[^", "x", true},
    {"[abc", "b", true},
    {"[abc", "bc", false},
    {"[a-", "-", true},
    {"[a-c", "b", true},
    {"[\\]]", "]", true},
    {"[\\]a]", "a", true},
    {"[\\-a]", "-", true},
    {"[\\", "\\", true},
    {"[a\\]", "]", true},
    {"[*]", "*", true},
    {"[*]", "a", false},
    {"[?]", "a", false},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\?x", "?x", true},
    {"\\[a]", "[a]", true},
    {"\\a", "a", true},
    {"\\\\", "\\", true},
    {"\\", "\\", true},
    {"a\\", "a\\", true},
    {"a\\", "a", false},
    {"*\\", "x\\", true},
    {"]", "]", true},
    {"a]", "a]", true},
    {"[\x80-\xff]", "\x90", true},
    {"[\x80-\xff]", "a", false},
    {"[a-\xff]", "b", false}, /* signed characters: -1 to 97 */
    {"[a-\xff]", "A", true},
    {"[a-\xff]", "\x80", false},
    {"\xff", "\xff", true},
};

static const struct row nocase_rows[] = {
    {"maxMEMORY", "MAXmemory", true},      {"*m[A-Z]xMEMORY", "maxmemory", true},
    {"max\\MEMORY", "maxmemory", true},    {"max[\\M]EMORY", "maxmemory", false},
    {"max[M]emory", "maxmemory", true},    {"max[^M]emory", "maxmemory", false},
    {"max[_-z]emory", "maxmemory", true},  {"max[K-_]emory", "maxmemory", false},
    {"max[L-n]emory", "maxmemory", true},  {"max[n-L]emory", "maxmemory", true},
    {"max[Z-a]emory", "maxmemory", false}, {"maxmemorz", "maxmemory", false},
};

static void check_rows(const struct row *table, size_t count, bool nocase) {
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &table[i];
        if (glob_match(slice_of(row->pattern), slice_of(row->text), nocase) != row->matches) {
            fail_msg("pattern \"%s\", text \"%s\"", row->pattern, row->text);
        }
    }
}

static void test_tables(void **state) {
    check_rows(rows, sizeof(rows) / sizeof(rows[0]), false);
    check_rows(nocase_rows, sizeof(nocase_rows) / sizeof(nocase_rows[0]), true);
}

static void test_any_byte(void **state) {
    struct slice zero = SLICE("a\0b");
    assert_true(glob_match(SLICE("a\0b"), zero, false));
    assert_true(glob_match(SLICE("a?b"), zero, false));
    assert_true(glob_match(SLICE("*b"), zero, false));
    assert_true(glob_match(SLICE("a[\0]b"), zero, false));
    assert_false(glob_match(SLICE("a"), zero, false));
    /* Not terminated: only the slice counts. */
    assert_true(glob_match((struct slice){"a*bc", 2}, (struct slice){"axyz", 2}, false));
    assert_false(glob_match((struct slice){"[a-c]", 3}, (struct slice){"b", 1}, false));
}

/* Trying all splits for every star would never come to an end here. */
static void test_time_is_bounded(void **state) {
    char pattern[401], text[5000];
    for (int i = 0; i < 200; i++) memcpy(pattern + 2 * i, "a*", 2);
    pattern[400] = 'b';
    memset(text, 'a', sizeof(text));
    struct slice whole = {text, sizeof(text)};
    assert_false(glob_match((struct slice){pattern, 401}, whole, false));
    assert_true(glob_match((struct slice){pattern, 400}, whole, false));
    text[4999] = 'b';
    assert_true(glob_match((struct slice){pattern, 401}, whole, false));
}

/* 6.2.16 gives up after 1,000 stars that something follows; stars side by side are one. */
static void test_many_stars(void **state) {
    char pattern[4008], text[2002];
    memset(text, 'a', sizeof(text));
    for (int i = 0; i < 2004; i++) memcpy(pattern + 2 * i, "a*", 2);
    for (size_t stars = 999; stars < 1004; stars++) {
        struct slice whole = {text, stars};
        assert_int_equal(glob_match((struct slice){pattern, 2 * stars}, whole, false),
                         stars <= 1001);
        assert_int_equal(glob_match((struct slice){pattern + 1, 2 * stars}, whole, false),
                         stars <= 1000);
    }
    memset(pattern, '*', 2000);
    pattern[2000] = 'a';
    assert_true(glob_match((struct slice){pattern, 2001}, (struct slice){text, 9}, false));
}

/* The definition of * ? and literal letters, as slow as it is plain. */
static bool slow_match(const char *pattern, const char *text) {
    if (*pattern == '\0') return *text == '\0';
    if (*pattern == '*') {
        return slow_match(pattern + 1, text) || (*text != '\0' && slow_match(pattern, text + 1));
    }
    return *text != '\0' && (*pattern == '?' || *pattern == *text) &&
           slow_match(pattern + 1, text + 1);
}

static void random_text(char *out, const char *letters, size_t length) {
    for (size_t i = 0; i < length; i++) out[i] = letters[random_below(strlen(letters))];
    out[length] = '\0';
}

static void test_against_definition(void **state) {
    seed_from_environment();
    int matched = 0;
    for (int i = 0; i < 50000; i++) {
        char pattern[12], text[12];
        random_text(pattern, "ab**?", random_below(9));
        random_text(text, "ab", 1 + random_below(9));
        bool expected = slow_match(pattern, text);
        matched += expected;
        if (glob_match(slice_of(pattern), slice_of(text), false) != expected) {
            fail_msg("pattern \"%s\", text \"%s\"", pattern, text);
        }
    }
    assert_true(matched > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_any_byte),
        cmocka_unit_test(test_time_is_bounded),
        cmocka_unit_test(test_many_stars),
        cmocka_unit_test(test_against_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
