/* SPDX-License-Identifier: BSD-3-Clause
 * Hello messages: those that count, and one with each fault.
 */
#include "sentinel/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/string.h"

#define ID "0123456789abcdefABCDEF000000000000000000"
#define HOST_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HOST_255 HOST_63 "." HOST_63 "." HOST_63 "." HOST_63

static const char *const sound[] = {
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379,3",
    "::1,1," ID ",0,a name with blanks,fe80::1%eth0,65535,0",
    "db-1.example_x.org,26379," ID ",9223372036854775807,m,127.0.0.1,6379,9223372036854775807",
    HOST_255 ",26379," ID ",7,m," HOST_255 ",6379,3",
};

static void test_what_is_read_is_what_is_written(void **state) {
    for (size_t at = 0; at < sizeof(sound) / sizeof(sound[0]); at++) {
        struct sentinel_hello hello;
        struct buffer out;
        buffer_init(&out, MEMORY_OTHER);
        assert_true(sentinel_hello_parse(slice_of(sound[at]), &hello));
        sentinel_hello_write(&hello, &out);
        assert_string_equal(out.bytes, sound[at]);
        buffer_free(&out);
    }
}

static void test_the_fields(void **state) {
    struct sentinel_hello hello;
    assert_true(sentinel_hello_parse(slice_of(sound[0]), &hello));
    assert_true(slice_is(hello.host, "10.0.0.1"));
    assert_int_equal(hello.port, 26379);
    assert_true(slice_is(hello.run_id, ID));
    assert_int_equal(hello.current_epoch, 7);
    assert_true(slice_is(hello.name, "mymaster"));
    assert_true(slice_is(hello.primary_host, "10.0.0.2"));
    assert_int_equal(hello.primary_port, 6379);
    assert_int_equal(hello.config_epoch, 3);
}

static const char *const unsound[] = {
    "",
    ",",
    ",,,,,,,",
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379",     /* seven fields */
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379,3,4", /* nine */
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379,3,",
    ",26379," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0 0.1,26379," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1\n,26379," ID ",7,mymaster,10.0.0.2,6379,3",
    "\"10.0.0.1\",26379," ID ",7,mymaster,10.0.0.2,6379,3",
    HOST_255 "a,26379," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,0," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,65536," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,-1," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379x," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,," ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379,,7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379,0" ID ",7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379,g123456789abcdefABCDEF000000000000000000,7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379," ID ",-7,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379," ID ",9223372036854775808,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379," ID ",18446744073709551615,mymaster,10.0.0.2,6379,3",
    "10.0.0.1,26379," ID ",7,,10.0.0.2,6379,3",
    "10.0.0.1,26379," ID ",7,mymaster,,6379,3",
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2\",6379,3",
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,0,3",
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379,",
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379, 3",
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379,9223372036854775808",
    "10.0.0.1,26379," ID ",7,mymaster,10.0.0.2,6379,8", /* above its current epoch */
};

static void test_one_bad_field_drops_the_message(void **state) {
    for (size_t at = 0; at < sizeof(unsound) / sizeof(unsound[0]); at++) {
        struct sentinel_hello hello;
        if (sentinel_hello_parse(slice_of(unsound[at]), &hello)) fail_msg("%s", unsound[at]);
    }
}

static void test_bytes_of_nothing(void **state) {
    struct sentinel_hello hello;
    assert_false(sentinel_hello_parse((struct slice){NULL, 0}, &hello));
    assert_false(
        sentinel_hello_parse(SLICE("10.0.0.1\0,26379," ID ",7,m,10.0.0.2,6379,3"), &hello));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_read_is_what_is_written),
                                       cmocka_unit_test(test_the_fields),
                                       cmocka_unit_test(test_one_bad_field_drops_the_message),
                                       cmocka_unit_test(test_bytes_of_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
