/* SPDX-License-Identifier: BSD-3-Clause
 * The option registry: each type's good values and refusals, and that a refusal changes nothing.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "option/settings.h"

static bool flag, flag_missing;
static int64_t number, bytes, mode, share, number_missing;
static int color;
static char *text, *secret;
static int64_t pair[2];
static unsigned pair_lines; /* lines that added to each other */
static bool apply_refuses;
static unsigned apply_calls;
static int64_t seen_number;
static char seen_text[64];

static const struct option_name colors[] = {
    {"red", 1}, {"green", 2}, {"lime", 2}, {"blue", 3}, {NULL, 0}};

static bool apply(const struct option_row *row, char *reason, size_t reason_size) {
    apply_calls++;
    seen_number = number;
    snprintf(seen_text, sizeof(seen_text), "%s", text);
    if (apply_refuses) snprintf(reason, reason_size, "apply says no");
    return !apply_refuses;
}

static bool check_even(const struct option_row *row, struct slice value, char *reason,
                       size_t reason_size) {
    if (value.length > 0 && (value.bytes[value.length - 1] - '0') % 2 == 0) return true;
    snprintf(reason, reason_size, "argument must be even");
    return false;
}

/* Two words from "ab", one each; repeated lines are counted. */
static bool pair_parse(const struct option_row *row, const struct slice *words, size_t count,
                       char *reason, size_t reason_size) {
    if (count != 2) return false;
    for (size_t i = 0; i < 2; i++) {
        if (words[i].length == 1 && strchr("ab", words[i].bytes[0])) continue;
        snprintf(reason, reason_size, "word %zu is bad", i + 1);
        return false;
    }
    pair_lines = option_is_repeated() ? pair_lines + 1 : 1;
    for (size_t i = 0; i < 2; i++) pair[i] = words[i].bytes[0];
    return true;
}

static void pair_print(const struct option_row *row, struct buffer *out) {
    buffer_printf(out, "%c %c", (char)pair[0], (char)pair[1]);
}

static const struct option_row rows[] = {
    OPTION_BOOL("flag", &flag, true, OPTION_MUTABLE, "second", 20, "A flag."),
    {.name = "number",
     .alias = "zahl",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "first",
     .place = 20,
     .fallback = "4",
     .variable = &number,
     .low = -10,
     .high = 100,
     .help = "A number.",
     .apply = apply,
     .check = check_even},
    OPTION_BYTES("bytes", &bytes, "1mb", 1, INT64_MAX, OPTION_MUTABLE, "second", 10, "Bytes."),
    {.name = "mode",
     .type = OPTION_TYPE_OCTAL,
     .flags = OPTION_MUTABLE,
     .section = "second",
     .place = 30,
     .fallback = "0",
     .variable = &mode,
     .low = 0,
     .high = 0777,
     .help = "Octal."},
    {.name = "share",
     .type = OPTION_TYPE_BYTES_OR_PERCENT,
     .flags = OPTION_MUTABLE,
     .section = "second",
     .place = 40,
     .fallback = "120%",
     .variable = &share,
     .low = -1000,
     .high = INT64_MAX,
     .help = "Bytes or a share."},
    OPTION_ENUM("color", &color, "green", colors, OPTION_MUTABLE, "first", 10, "A color."),
    {.name = "text",
     .type = OPTION_TYPE_STRING,
     .flags = OPTION_MUTABLE,
     .section = "first",
     .place = 30,
     .fallback = "hello",
     .variable = &text,
     .help = "A text.",
     .apply = apply},
    OPTION_STRING("secret", &secret, "", OPTION_MUTABLE | OPTION_SECRET, "first", 30, "A secret."),
    {.name = "pair",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE | OPTION_MULTI,
     .section = "first",
     .place = 5,
     .fallback = "a b",
     .help = "A pair.",
     .parse = pair_parse,
     .print = pair_print,
     .apply = apply},
    {.name = "flag-missing",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE | OPTION_MISSING,
     .section = "third",
     .fallback = "no",
     .variable = &flag_missing,
     .help = "Not there.",
     .refusal = "flags are not built yet"},
    {.name = "number-missing",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE | OPTION_MISSING,
     .section = "third",
     .fallback = "7",
     .variable = &number_missing,
     .low = 1,
     .high = 9,
     .help = "Kept."},
    OPTION_INT("fixed", &seen_number, "1", 0, 9, 0, "third", 5, "Set at start."),
};

static int setup(void **state) {
    apply_refuses = false;
    apply_calls = 0;
    option_register(rows, sizeof(rows) / sizeof(rows[0]));
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    return 0;
}

static void test_defaults(void **state) {
    assert_true(flag);
    assert_int_equal(number, 4);
    assert_int_equal(bytes, 1 << 20);
    assert_int_equal(share, -120);
    assert_int_equal(color, 2);
    assert_string_equal(text, "hello");
    assert_string_equal(secret, "");
    assert_value("pair", "a b");
    assert_int_equal(apply_calls, 0);
    for (size_t i = 0; i < option_count(); i++) assert_true(option_is_default(option_at(i)));
    assert_takes("number", "6", "6");
    assert_false(option_is_default(row_of("number")));
    assert_takes("text", "bye", "bye");
    assert_false(option_is_default(row_of("text")));
    assert_takes("pair", "b b", "b b");
    assert_false(option_is_default(row_of("pair")));
}

static void test_order(void **state) {
    static const char *const expected[] = {"bytes",  "flag",         "mode",           "share",
                                           "pair",   "color",        "number",         "text",
                                           "secret", "flag-missing", "number-missing", "fixed"};
    assert_int_equal(option_count(), sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < option_count(); i++) {
        assert_string_equal(option_at(i)->name, expected[i]);
    }
}

static void test_names(void **state) {
    assert_ptr_equal(option_find(SLICE("NumBer")), &rows[1]);
    assert_ptr_equal(option_find(SLICE("ZAHL")), &rows[1]);
    assert_null(option_find(SLICE("numbe")));
    assert_null(option_find(SLICE("numbers")));
    assert_null(option_find(SLICE("")));
    assert_takes("zahl", "8", "8");
    assert_int_equal(number, 8);
}

static void test_bool(void **state) {
    assert_takes("flag", "no", "no");
    assert_takes("flag", "YES", "yes");
    assert_refuses("flag", "", "argument must be 'yes' or 'no'");
    assert_refuses("flag", "1", "argument must be 'yes' or 'no'");
    assert_refuses("flag", "yes ", "argument must be 'yes' or 'no'");
}

static void test_int(void **state) {
    static const char no_integer[] = "argument couldn't be parsed into an integer";
    static const char no_range[] = "argument must be between -10 and 100 inclusive";
    assert_takes("number", "-10", "-10");
    assert_takes("number", "100", "100");
    assert_refuses("number", "", no_integer);
    assert_refuses("number", "+6", no_integer);
    assert_refuses("number", "06", no_integer);
    assert_refuses("number", " 6", no_integer);
    assert_refuses("number", "0x6", no_integer);
    assert_refuses("number", "9999999999999999999999", no_integer);
    assert_refuses("number", "101", no_range);
    assert_refuses("number", "-11", no_range);
    assert_refuses("number", "7", "argument must be even");
}

static void test_bytes(void **state) {
    static const char no_memory[] = "argument must be a memory value";
    assert_takes("bytes", "1k", "1000");
    assert_takes("bytes", "1KB", "1024");
    assert_takes("bytes", "3gb", "3221225472");
    assert_takes("bytes", "5b", "5");
    assert_takes("bytes", "18446744073709551615", "9223372036854775807");
    assert_takes("bytes", "99999999999999999999", "9223372036854775807");
    assert_refuses("bytes", "-1", no_memory);
    assert_refuses("bytes", "0.5gb", no_memory);
    assert_refuses("bytes", "1tb", no_memory);
    assert_refuses("bytes", "1 2", no_memory);
    assert_refuses("bytes", "x", no_memory);
    assert_refuses("bytes", "0", "argument must be between 1 and 9223372036854775807 inclusive");
    /* As 6.2, no digits are a zero, which is out of this row's range. */
    assert_refuses("bytes", "", "argument must be between 1 and 9223372036854775807 inclusive");
    assert_refuses("bytes", "gb", "argument must be between 1 and 9223372036854775807 inclusive");
    assert_takes("share", "", "0");
}

static void test_octal(void **state) {
    assert_takes("mode", "700", "700");
    assert_int_equal(mode, 0700);
    assert_refuses("mode", "799", "argument couldn't be parsed as an octal number");
    assert_refuses("mode", "", "argument couldn't be parsed as an octal number");
    assert_refuses("mode", "1000", "argument must be between 0 and 777 inclusive");
}

static void test_bytes_or_percent(void **state) {
    assert_takes("share", "50%", "50%");
    assert_int_equal(share, -50);
    assert_takes("share", "1kb", "1024");
    assert_takes("share", "0%", "0");
    assert_refuses("share", "-5%", "argument must be a memory or percent value");
    assert_refuses("share", "%", "argument must be a memory or percent value");
    assert_refuses("share", "5%%", "argument must be a memory or percent value");
    assert_false(set("share", "1001%"));
}

static void test_enum(void **state) {
    assert_takes("color", "BLUE", "blue");
    assert_takes("color", "lime", "green"); /* two names of one value: the first is shown */
    assert_refuses("color", "", "argument must be one of the following: red, green, lime, blue");
    assert_refuses("color", "re", "argument must be one of the following: red, green, lime, blue");
}

static void test_string(void **state) {
    assert_takes("text", "", "");
    assert_takes("text", "a \"b\"\n\x01", "a \"b\"\n\x01");
    assert_takes("text", "kept", "kept");
    assert_false(set_bytes("text", "a\0b", 3));
    assert_string_equal(text, "kept");
    char *large = memory_alloc(OPTION_LINE_BYTES_MAX + 1, MEMORY_OTHER);
    memset(large, 1, OPTION_LINE_BYTES_MAX); /* takes four bytes each in a file */
    assert_false(set_bytes("text", large, OPTION_LINE_BYTES_MAX / 4));
    assert_string_equal(text, "kept");
    assert_true(set_bytes("text", large, OPTION_LINE_BYTES_MAX / 4 - 8));
    memset(large, 'x', OPTION_LINE_BYTES_MAX);
    assert_true(set_bytes("text", large, OPTION_LINE_BYTES_MAX - 8));
    assert_false(set_bytes("text", large, OPTION_LINE_BYTES_MAX - 7));
    memory_free(large, MEMORY_OTHER);
}

static void test_custom(void **state) {
    struct slice words[] = {SLICE("b"), SLICE("a"), SLICE("a")};
    assert_takes("pair", "b a", "b a");
    assert_refuses("pair", "b", "");
    assert_refuses("pair", "", "");
    assert_refuses("pair", "a  b", "");
    assert_refuses("pair", "a c", "word 2 is bad");
    assert_true(
        option_set(row_of("pair"), words, 2, OPTION_FROM_FILE, last_reason, sizeof(last_reason)));
    assert_int_equal(pair_lines, 1);
    assert_false(
        option_set(row_of("pair"), words, 3, OPTION_FROM_FILE, last_reason, sizeof(last_reason)));
    assert_true(option_set(row_of("pair"), words + 1, 2, OPTION_FROM_COMMAND_LINE, last_reason,
                           sizeof(last_reason)));
    assert_int_equal(pair_lines, 2);
    assert_value("pair", "a a");
    assert_takes("pair", "b b", "b b"); /* CONFIG SET begins anew */
    assert_int_equal(pair_lines, 1);
}

static void test_word_count(void **state) {
    struct slice words[] = {SLICE("2"), SLICE("4")};
    assert_false(
        option_set(row_of("number"), words, 2, OPTION_FROM_FILE, last_reason, sizeof(last_reason)));
    assert_string_equal(last_reason, "wrong number of arguments");
    assert_false(
        option_set(row_of("number"), words, 0, OPTION_FROM_FILE, last_reason, sizeof(last_reason)));
    assert_string_equal(last_reason, "wrong number of arguments");
    assert_int_equal(number, 4);
}

static void test_apply(void **state) {
    assert_takes("number", "6", "6");
    assert_int_equal(apply_calls, 1);
    assert_int_equal(seen_number, 6); /* called with the new value in place */
    assert_takes("text", "one", "one");
    assert_string_equal(seen_text, "one");
    apply_refuses = true;
    assert_refuses("number", "8", "apply says no");
    assert_int_equal(seen_number, 8);
    assert_refuses("text", "two", "apply says no");
    assert_string_equal(seen_text, "two");
    assert_refuses("pair", "b b", "apply says no");
    assert_int_equal(apply_calls, 5);
    assert_refuses("number", "9", "argument must be even");
    assert_int_equal(apply_calls, 5); /* not asked about a value that was refused before */
}

static void test_missing(void **state) {
    assert_takes("flag-missing", "no", "no");
    assert_refuses("flag-missing", "yes", "flags are not built yet");
    assert_refuses("flag-missing", "maybe", "argument must be 'yes' or 'no'");
    assert_takes("number-missing", "9", "9");
    assert_refuses("number-missing", "10", "argument must be between 1 and 9 inclusive");
}

static void test_immutable(void **state) {
    struct slice word = SLICE("5");
    assert_refuses("fixed", "5", "can't set immutable config");
    assert_true(option_set(row_of("fixed"), &word, 1, OPTION_FROM_COMMAND_LINE, last_reason,
                           sizeof(last_reason)));
    assert_value("fixed", "5");
}

/* What is our own fault ends the process. */
static void assert_aborts(const struct option_row *row) {
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(1);
        option_register(row, 1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* What is refused takes no row and sets no variable. */
static void test_refused(void **state) {
    int64_t variable = 7;
    size_t count = option_count();
    struct option_row pair_of_rows[2];
    for (int i = 0; i < 2; i++)
        pair_of_rows[i] = (struct option_row)OPTION_INT("new", &variable, "5", 0, 9, OPTION_MUTABLE,
                                                        "first", 1, "New.");
    assert_false(option_try_register(pair_of_rows, 2));
    pair_of_rows[1].name = "NUMBER";
    assert_false(option_try_register(pair_of_rows, 2));
    pair_of_rows[1].name = "zahl"; /* an alias */
    assert_false(option_try_register(pair_of_rows, 2));
    pair_of_rows[1].name = "newer";
    pair_of_rows[1].alias = "new";
    assert_false(option_try_register(pair_of_rows, 2));
    pair_of_rows[1].alias = "number";
    assert_false(option_try_register(pair_of_rows, 2));
    assert_int_equal(variable, 7);
    assert_int_equal(option_count(), count);
    assert_null(option_find(SLICE("new")));
    pair_of_rows[1].alias = NULL;
    assert_true(option_try_register(pair_of_rows, 2));
    assert_int_equal(variable, 5);
    assert_ptr_equal(option_find(SLICE("newer")), &pair_of_rows[1]);
    option_unregister(pair_of_rows, 1);
    assert_null(option_find(SLICE("new")));
    assert_ptr_equal(option_find(SLICE("newer")), &pair_of_rows[1]);
    assert_int_equal(option_count(), count + 1);
    variable = 6;
    assert_true(option_try_register(pair_of_rows, 1)); /* at its default again */
    assert_int_equal(variable, 5);
    option_unregister(pair_of_rows, 2);
    assert_int_equal(option_count(), count);
    for (size_t i = 0; i < count; i++) assert_ptr_not_equal(option_at(i), &pair_of_rows[1]);
    option_reset_all(); /* the rows go with this function */
}

static void test_faults_of_ours(void **state) {
    struct option_row row = rows[1];
    assert_aborts(&row); /* the name stands twice */
    row.name = "other";
    row.alias = NULL;
    row.fallback = "101";
    assert_aborts(&row);
    row.fallback = "x";
    assert_aborts(&row);
}

static void test_no_leak(void **state) {
    option_reset_all();
    size_t before = memory_used(MEMORY_OTHER);
    setup(state);
    assert_takes("text", "some text", "some text");
    apply_refuses = true;
    assert_refuses("text", "other", "apply says no");
    assert_refuses("color", "other",
                   "argument must be one of the following: red, green, lime, blue");
    option_reset_all();
    assert_null(text);
    assert_int_equal(memory_used(MEMORY_OTHER), before);
    setup(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bool, setup, teardown),
        cmocka_unit_test_setup_teardown(test_int, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_octal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bytes_or_percent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_enum, setup, teardown),
        cmocka_unit_test_setup_teardown(test_string, setup, teardown),
        cmocka_unit_test_setup_teardown(test_custom, setup, teardown),
        cmocka_unit_test_setup_teardown(test_word_count, setup, teardown),
        cmocka_unit_test_setup_teardown(test_apply, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_immutable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults_of_ours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_leak, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
