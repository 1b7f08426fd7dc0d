/* SPDX-License-Identifier: BSD-3-Clause
 * The load writes requests as the protocol has them.
 */
#include "../../measure/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../measure/wire.c"

static void test_requests_are_written_as_the_protocol_has_them(void **state) {
    char text[200], *end = wire_put_head(text, 3);
    end = wire_put_word(end, "SET", 3);
    end = wire_put_key(end, 42, 18);
    end = wire_put_number_word(end, 1234567890123);
    static const char expected[] =
        "*3\r\n$3\r\nSET\r\n$18\r\nkey:000000000042xx\r\n$13\r\n1234567890123\r\n";
    assert_int_equal(end - text, sizeof(expected) - 1);
    assert_memory_equal(text, expected, sizeof(expected) - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_are_written_as_the_protocol_has_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
