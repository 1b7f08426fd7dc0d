/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers: tables (their odd rows asked of a stock Redis 6.2.16) and random values against the C
 * library. */
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "seed.h"

struct text_row {
    const char *text;
    bool valid;
};

/* Numbers of all lengths, not only of the longest. */
static uint64_t random_magnitude(void) { return random_u64() >> random_below(64); }

static void assert_int64(int64_t value) {
    char expected[32], out[32];
    int length = snprintf(expected, sizeof(expected), "%" PRId64, value);
    memset(out, '#', sizeof(out));
    assert_int_equal(number_format_int64(out, value), length);
    assert_memory_equal(out, expected, length);
    assert_int_equal(out[length], '#'); /* no NUL */
    int64_t parsed = ~value;
    assert_true(number_parse_int64(expected, (size_t)length, &parsed));
    assert_true(parsed == value);
}

static void assert_uint64(uint64_t value) {
    char expected[32], out[32];
    int length = snprintf(expected, sizeof(expected), "%" PRIu64, value);
    assert_int_equal(number_format_uint64(out, value), length);
    assert_memory_equal(out, expected, length);
    uint64_t parsed = ~value;
    assert_true(number_parse_uint64(expected, (size_t)length, &parsed));
    assert_true(parsed == value);
}

static void test_integers(void **state) {
    seed_from_environment();
    assert_int64(INT64_MIN);
    assert_int64(INT64_MAX);
    for (int64_t i = -20000; i <= 20000; i++) assert_int64(i);
    for (uint64_t power = 1, i = 0; i < 20; i++, power *= 10) {
        for (uint64_t near = power - 2; near != power + 3; near++) {
            assert_uint64(near);
            assert_int64((int64_t)near);
            assert_int64((int64_t)(0 - near));
        }
    }
    assert_uint64(UINT64_MAX);
    for (int i = 0; i < 50000; i++) {
        assert_uint64(random_magnitude());
        assert_int64((int64_t)random_magnitude());
        assert_int64(-(int64_t)(random_magnitude() >> 1));
    }
}

static const struct text_row int64_rows[] = {
    {"0", true},
    {"-1", true},
    {"9223372036854775807", true},
    {"-9223372036854775808", true},
    {"", false},
    {"-", false},
    {"-0", false},
    {"00", false},
    {"01", false},
    {"-01", false},
    {"+1", false},
    {" 1", false},
    {"1 ", false},
    {"1.0", false},
    {"1e3", false},
    {"0x1", false},
    {"--1", false},
    {"1-", false},
    {"/", false},
    {":", false},
    {"9223372036854775808", false},
    {"-9223372036854775809", false},
    {"10000000000000000000", false},
    {"18446744073709551615", false},
    {"18446744073709551616", false},
    {"99999999999999999999", false},
    {"111111111111111111111", false},
};

static void test_refused_integers(void **state) {
    int64_t value;
    uint64_t magnitude;
    for (size_t i = 0; i < sizeof(int64_rows) / sizeof(int64_rows[0]); i++) {
        const char *text = int64_rows[i].text;
        value = 77;
        bool valid = number_parse_int64(text, strlen(text), &value);
        if (valid != int64_rows[i].valid) fail_msg("\"%s\"", text);
        if (!valid) assert_int_equal(value, 77);
        if (valid) assert_true(value == strtoll(text, NULL, 10));
    }
    assert_false(number_parse_int64("1\0", 2, &value));
    assert_true(number_parse_int64("123", 2, &value)); /* the length counts */
    assert_int_equal(value, 12);
    assert_true(number_parse_uint64("18446744073709551615", 20, &magnitude));
    assert_false(number_parse_uint64("18446744073709551616", 20, &magnitude));
    assert_false(number_parse_uint64("99999999999999999999", 20, &magnitude));
    assert_false(number_parse_uint64("1844674407370955161x", 20, &magnitude));
    assert_false(number_parse_uint64("-1", 2, &magnitude));
}

/* Short changes to a valid number must never be taken for a number that strtoll reads otherwise. */
static void test_changed_integers(void **state) {
    static const char letters[] = "0123456789-+ .e";
    seed_from_environment();
    for (int i = 0; i < 100000; i++) {
        char text[40], again[40];
        size_t length =
            (size_t)snprintf(text, sizeof(text), "%" PRId64, (int64_t)random_magnitude());
        text[random_below(length)] = letters[random_below(sizeof(letters) - 1)];
        errno = 0;
        long long expected = strtoll(text, NULL, 10);
        snprintf(again, sizeof(again), "%lld", expected);
        bool canonical = errno == 0 && strcmp(again, text) == 0;
        int64_t value = 0;
        if (number_parse_int64(text, length, &value) != canonical) fail_msg("\"%s\"", text);
        if (canonical) assert_true(value == expected);
    }
}

static const struct text_row double_rows[] = {
    {"1", true},
    {"1e5", true},
    {"0x1p3", true},
    {"+5", true},
    {"-0", true},
    {".5", true},
    {"5.", true},
    {"-.5", true},
    {"inf", true},
    {"+inf", true},
    {"-inf", true},
    {"INF", true},
    {"infinity", true},
    {"4e-320", true},
    {"1e308", true},
    {"0.0000001", true},
    {"123456789012345", true},
    {"1234567890123456", true},
    {"", false},
    {" 1", false},
    {"1 ", false},
    {"\t1", false},
    {"\v1", false},
    {"nan", false},
    {"-nan", false},
    {"nan(1)", false},
    {"1e400", false},
    {"-1e400", false},
    {"1e-400", false},
    {"1_0", false},
    {"1e", false},
    {"0x", false},
    {"--1", false},
    {"+", false},
    {"-", false},
    {".", false},
    {"-.", false},
    {"1..2", false},
    {"1.2.3", false},
    {"1,5", false},
};

static void test_double_table(void **state) {
    for (size_t i = 0; i < sizeof(double_rows) / sizeof(double_rows[0]); i++) {
        const char *text = double_rows[i].text;
        double value = 77;
        bool valid = number_parse_double(text, strlen(text), &value);
        if (valid != double_rows[i].valid) fail_msg("\"%s\"", text);
        double expected = valid ? strtod(text, NULL) : 77;
        assert_memory_equal(&value, &expected, sizeof(value)); /* -0 is not 0 */
        long double long_value = 77;
        /* These fit a long double. */
        bool fits = strcmp(text, "1e400") == 0 || strcmp(text, "-1e400") == 0 ||
                    strcmp(text, "1e-400") == 0;
        bool long_valid = number_parse_long_double(text, strlen(text), &long_value);
        if (long_valid != (valid || fits)) fail_msg("long \"%s\"", text);
        assert_true(long_value == (long_valid ? strtold(text, NULL) : 77));
    }
    double value;
    assert_false(number_parse_double("1\0", 2, &value));
    assert_true(number_parse_double("1.25junk", 4, &value));
    assert_true(value == 1.25);
}

static void test_long_texts(void **state) {
    char text[7000];
    double value;
    long double long_value;
    memset(text, '0', sizeof(text));
    memcpy(text, "1.", 2);
    for (size_t length = 250; length < 260; length++) {
        assert_true(number_parse_double(text, length, &value));
        assert_true(value == 1);
    }
    assert_true(number_parse_double(text, sizeof(text), &value));
    text[6999] = 'x';
    assert_false(number_parse_double(text, sizeof(text), &value));
    assert_true(number_parse_long_double(text, 5119, &long_value)); /* as 6.2 */
    assert_false(number_parse_long_double(text, 5120, &long_value));
    assert_false(number_parse_long_double("1e5000", 6, &long_value));
}

static void test_random_doubles(void **state) {
    static const char *const formats[] = {"%.0f", "%.1f",  "%.3f",  "%.15f", "%g",
                                          "%.9g", "%.15g", "%.17g", "%a",    "%e"};
    seed_from_environment();
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_u64();
        double drawn = (double)(int64_t)random_magnitude() / (double)(random_magnitude() >> 20 | 1);
        if (i % 4 == 0) memcpy(&drawn, &bits, sizeof(drawn));
        if (i % 4 == 1) drawn = (double)(int64_t)(random_magnitude() >> 8);
        if (i % 2 == 0) drawn = -drawn;
        char text[400], expected[400];
        size_t length = (size_t)snprintf(text, sizeof(text), formats[random_below(10)], drawn);
        errno = 0;
        double read = strtod(text, NULL);
        bool valid = !isnan(read) && !(errno == ERANGE && (isinf(read) || read == 0));
        double value = 0;
        if (number_parse_double(text, length, &value) != valid) fail_msg("\"%s\"", text);
        if (valid) assert_memory_equal(&value, &read, sizeof(value));
        if (isnan(drawn)) continue;
        size_t written = number_format_double(text, NUMBER_DOUBLE_CHARS, drawn);
        snprintf(expected, sizeof(expected), "%.17g", drawn);
        assert_string_equal(text, expected);
        assert_int_equal(written, strlen(expected));
    }
}

static void assert_double_text(double value, const char *expected) {
    char out[NUMBER_DOUBLE_CHARS];
    assert_int_equal(number_format_double(out, sizeof(out), value), strlen(expected));
    assert_string_equal(out, expected);
}

static void test_double_texts(void **state) {
    assert_double_text(0, "0");
    assert_double_text(-0.0, "-0");
    assert_double_text(1, "1");
    assert_double_text(-3, "-3");
    assert_double_text(0.1, "0.10000000000000001");
    assert_double_text(3.14, "3.1400000000000001");
    assert_double_text(1e16, "10000000000000000");
    assert_double_text(99999999999999984.0, "99999999999999984");
    assert_double_text(-99999999999999984.0, "-99999999999999984");
    assert_double_text(1e17, "1e+17");
    assert_double_text(-1e17, "-1e+17");
    assert_double_text(9007199254740993.0, "9007199254740992");
    assert_double_text(INFINITY, "inf");
    assert_double_text(-INFINITY, "-inf");
    assert_double_text(NAN, "nan");
    assert_double_text(-NAN, "nan");
}

static void assert_fixed(const char *text, const char *expected) {
    char out[NUMBER_LONG_DOUBLE_CHARS];
    long double value;
    assert_true(number_parse_long_double(text, strlen(text), &value));
    size_t length = number_format_long_double_fixed(out, sizeof(out), value);
    assert_string_equal(out, expected);
    assert_int_equal(length, strlen(expected));
}

static void test_long_double_fixed(void **state) {
    assert_fixed("-0.0", "0");
    assert_fixed("0", "0");
    assert_fixed("1e-20", "0");
    assert_fixed("-1e-20", "0");
    assert_fixed("5", "5");
    assert_fixed("10", "10");
    assert_fixed("100", "100");
    assert_fixed("1.0", "1");
    assert_fixed("3.0e3", "3000");
    assert_fixed("-2.50", "-2.5");
    assert_fixed("0.1", "0.1");
    assert_fixed("0x10", "16");
    assert_fixed("1e-17", "0.00000000000000001");
    assert_fixed("123456789012345678901234567890", "123456789012345678899921813504");
    assert_fixed("inf", "inf");
    assert_fixed("-inf", "-inf");
    char out[NUMBER_LONG_DOUBLE_CHARS], shorter[4];
    long double largest;
    assert_true(number_parse_long_double("-1e4932", 7, &largest));
    assert_int_equal(number_format_long_double_fixed(out, sizeof(out), largest), 4934);
    assert_int_equal(number_format_long_double_fixed(shorter, 4, (long double)NAN), 3);
}

/* number_format_fixed against printf, which is exact too. */
static void assert_fixed_as_printf(double value) {
    char out[NUMBER_DOUBLE_CHARS], expected[NUMBER_DOUBLE_CHARS];
    for (int decimals = 1; decimals <= 17; decimals++) {
        size_t length = number_format_fixed(out, sizeof(out), value, decimals);
        snprintf(expected, sizeof(expected), "%.*f", decimals, value);
        assert_string_equal(out, expected);
        assert_int_equal(length, strlen(expected));
    }
}

static void test_fixed(void **state) {
    static const double values[] = {
        0.0,  -0.0,  1.0,     0.5,    0.25,   0.125, 0.375,  2.5,    0.99999999999999999, 9.9999995,
        1e15, 1e16,  1e17,    1e300,  1e-5,   1e-18, 5e-324, 1e-300, 9007199254740991.0,  0.05,
        0.15, 0.045, 1.00005, -180.0, 0.0001, 5e-18, 1.5e-17};
    seed_from_environment();
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_fixed_as_printf(values[i]);
        assert_fixed_as_printf(-values[i]);
    }
    for (int i = 0; i < 20000; i++) {
        /* Few bits, so that halves of the last decimal occur; then all bits. */
        double few = (double)random_below(1 << 20) / (double)(1 << random_below(20));
        double many = ldexp((double)random_below(UINT64_C(1) << 53), -(int)random_below(140));
        assert_fixed_as_printf(few);
        assert_fixed_as_printf(-many);
    }
    for (int i = 0; i < 2000; i++) {
        char out[NUMBER_LONG_DOUBLE_CHARS], expected[NUMBER_LONG_DOUBLE_CHARS];
        double value = (double)random_below(1 << 30) / (double)(1 << random_below(24));
        number_format_long_double_fixed(out, sizeof(out), value);
        int length = snprintf(expected, sizeof(expected), "%.17Lf", (long double)value);
        while (expected[length - 1] == '0') length--;
        if (expected[length - 1] == '.') length--;
        expected[length] = 0;
        assert_string_equal(out, expected);
    }
}

struct bytes_row {
    const char *text;
    bool valid;
    uint64_t bytes;
};

static const struct bytes_row bytes_rows[] = {
    {"0", true, 0},
    {"1024", true, 1024},
    {"1b", true, 1},
    {"1B", true, 1},
    {"1k", true, 1000},
    {"1kb", true, 1024},
    {"1KB", true, 1024},
    {"1kB", true, 1024},
    {"3m", true, 3000000},
    {"3mb", true, 3 << 20},
    {"2g", true, 2000000000},
    {"2Gb", true, UINT64_C(2) << 30},
    {"010", true, 10},
    {"", true, 0},
    {"kb", true, 0},
    {"9007199254740993k", true, UINT64_C(9007199254740993000)},
    {"18446744073709551615", true, UINT64_MAX},
    {"18446744073709551616", true, UINT64_MAX},
    {"20000000000gb", true, UINT64_MAX},
    {"99999999999999999999999999999999kb", true, UINT64_MAX},
    {"-1", false, 0},
    {"+1", false, 0},
    {"-1kb", false, 0},
    {"--1", false, 0},
    {"-", false, 0},
    {"1 kb", false, 0},
    {" 1", false, 0},
    {"1t", false, 0},
    {"1bb", false, 0},
    {"1kbx", false, 0},
    {"1.5mb", false, 0},
    {"0x10", false, 0},
};

static void test_bytes(void **state) {
    for (size_t i = 0; i < sizeof(bytes_rows) / sizeof(bytes_rows[0]); i++) {
        const struct bytes_row *row = &bytes_rows[i];
        uint64_t bytes = 0;
        if (number_parse_bytes(row->text, strlen(row->text), &bytes) != row->valid ||
            bytes != row->bytes) {
            fail_msg("\"%s\"", row->text);
        }
    }
    char digits[128];
    uint64_t bytes;
    memset(digits, '1', sizeof(digits));
    assert_true(number_parse_bytes(digits, 127, &bytes));
    assert_false(number_parse_bytes(digits, 128, &bytes));
    assert_false(number_parse_bytes("1k\0", 3, &bytes));
}

static void assert_human(uint64_t bytes, const char *expected) {
    char out[32];
    assert_int_equal(number_format_bytes_human(out, sizeof(out), bytes), strlen(expected));
    assert_string_equal(out, expected);
}

static void test_bytes_human(void **state) {
    assert_human(0, "0B");
    assert_human(1023, "1023B");
    assert_human(1024, "1.00K");
    assert_human(1536, "1.50K");
    assert_human((UINT64_C(1) << 20) - 1, "1024.00K");
    assert_human(UINT64_C(1) << 20, "1.00M");
    assert_human(UINT64_C(1) << 30, "1.00G");
    assert_human(UINT64_C(1) << 40, "1.00T");
    assert_human(UINT64_C(1) << 50, "1.00P");
    assert_human((UINT64_C(1) << 60) - 1, "1024.00P");
    assert_human(UINT64_C(1) << 60, "1152921504606846976B");
    assert_human(UINT64_MAX, "18446744073709551615B");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_refused_integers),
        cmocka_unit_test(test_changed_integers),
        cmocka_unit_test(test_double_table),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_random_doubles),
        cmocka_unit_test(test_double_texts),
        cmocka_unit_test(test_long_double_fixed),
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bytes_human),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
