/* SPDX-License-Identifier: BSD-3-Clause
 * Strings as values: the form that a text takes, and what the row does with each.
 */
#include "value/string.h"

#include "value/types.h"
#include "value/values.h"

static struct string_value of(const char *text) {
    return string_value_of_text((struct slice){text, strlen(text)});
}

static void test_forms(void **state) {
    char scratch[STRING_SCRATCH];
    static const char longest[] = "12345678901234567890123456789012345678901234";
    struct string_value s = of("-9223372036854775808");
    assert_int_equal(s.encoding, STRING_INT);
    assert_true(slice_is(string_value_text(&s, scratch), "-9223372036854775808"));
    assert_int_equal(of("01").encoding, STRING_EMBSTR);
    assert_int_equal(of("").encoding, STRING_EMBSTR);
    assert_int_equal(sizeof(longest) - 1, STRING_EMBSTR_MAX);
    assert_int_equal(of(longest).encoding, STRING_EMBSTR);
    assert_int_equal(of("123456789012345678901234567890123456789012345").encoding, STRING_RAW);
    assert_int_equal(string_value_raw(SLICE("1")).encoding, STRING_RAW);
}

/* The same text has one digest, in whichever form. */
static void test_digest(void **state) {
    struct string_value number = string_value_of_integer(1200);
    struct string_value same = string_value_raw(SLICE("1200"));
    struct string_value other = string_value_raw(SLICE("1201"));
    struct value v = {&number, STRING_INT};
    assert_true(digests_equal(VALUE_STRING, v, (struct value){&same, STRING_RAW}));
    assert_false(digests_equal(VALUE_STRING, v, (struct value){&other, STRING_RAW}));
}

/* Short zeros are borrowed, many own a block, which releasing gives back. */
static void test_release(void **state) {
    const struct value_type *row = value_type(VALUE_STRING);
    struct string_value few = string_value_zeros(1000), many = string_value_zeros(100000);
    assert_null(few.blob);
    assert_int_equal(row->bytes((struct value){&few, STRING_RAW}), 0);
    assert_int_equal(many.text.length, 100000);
    assert_int_equal(many.text.bytes[99999], 0);
    assert_int_equal(row->bytes((struct value){&many, STRING_RAW}),
                     memory_used(MEMORY_DATASET) - used_before);
    row->release((struct value){&few, STRING_RAW});
    row->release((struct value){&many, STRING_RAW});
}

int main(void) {
    value_register();
    const struct CMUnitTest tests[] = {
        TEST(test_forms),
        TEST(test_digest),
        TEST(test_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
