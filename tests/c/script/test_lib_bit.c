/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of script/lib_bit: what expressions with bit give in 6.2.
 */
#include "script/expressions.h"

static const struct expression rows[] = {
    {"bit",
     "{'arshift'=function, 'band'=function, 'bnot'=function, 'bor'=function, 'bswap'=function, "
     "'bxor'=function, 'lshift'=function, 'rol'=function, 'ror'=function, 'rshift'=function, 't"
     "obit'=function, 'tohex'=function}"},
    {"bit.tobit(nil)", "!bad argument #1 to 'tobit' (number expected, got nil)"},
    {"bit.tobit()", "!bad argument #1 to 'tobit' (number expected, got no value)"},
    {"bit.tobit(\"12\")", "12"},
    {"bit.tobit(\"x\")", "!bad argument #1 to 'tobit' (number expected, got string)"},
    {"bit.tobit(1,2)", "1"},
    {"bit.tobit(0xffffffff), bit.tobit(0xffffffff+1), bit.tobit(2^40+1234), bit.tobit(2^51), bi"
     "t.tobit(2^52+1), bit.tobit(2^53-1), bit.tobit(-2^51-1), bit.tobit(1e300), bit.tobit(1/0),"
     " bit.tobit(-1/0), bit.tobit(0/0), bit.tobit(0.5), bit.tobit(1.5), bit.tobit(2.5), bit.tob"
     "it(-1.5), bit.tobit(2^31), bit.tobit(-2^31-1)",
     "-1 0 1234 0 0 0 -2 -2013235812 0 0 0 0 2 2 -2 -2147483648 2147483647"},
    {"bit.tobit(2^60), bit.tobit(2^63), bit.tobit(3*2^50+7), bit.tobit(2^54+12), bit.tobit(1e17"
     "+123), bit.tobit(1e18+1024)",
     "0 0 4 3 -2049400824 1733216264"},
    {"bit.tohex(1), bit.tohex(-1), bit.tohex(-1,-8), bit.tohex(0x21,4), bit.tohex(0x87654321,4)"
     ", bit.tohex(255,0), bit.tohex(255,-1), bit.tohex(255,9), bit.tohex(255,100), bit.tohex(25"
     "5,-100)",
     "'00000001' 'ffffffff' 'FFFFFFFF' '0021' '4321' '' 'F' '000000ff' '000000ff' '000000FF'"},
    {"bit.tohex(65535,-2147483648)", "'0000FFFF'"},
    {"bit.tohex(65535,2147483648), bit.tohex(1,0/0), bit.tohex(1,\"x\")",
     "!bad argument #2 to 'tohex' (number expected, got string)"},
    {"bit.tohex(65535,-2147483647), bit.tohex(65535,-2147483649), bit.tohex(1,1e10), bit.tohex("
     "1,-1e300), bit.tohex(1,\"3\"), bit.tohex(1,2.7), bit.tohex(1,nil)",
     "!bad argument #2 to 'tohex' (number expected, got nil)"},
    {"bit.tohex(1,nil)", "!bad argument #2 to 'tohex' (number expected, got nil)"},
    {"bit.band(), 1", "!bad argument #1 to 'band' (number expected, got no value)"},
    {"bit.band(1), bit.bor(1,2,4), bit.bxor(1,2,3,4,5), bit.band(0xff,\"15\"), bit.bnot(0), bit"
     ".bnot(\"1\")",
     "1 7 1 15 -1 -2"},
    {"bit.band(1,nil)", "!bad argument #2 to 'band' (number expected, got nil)"},
    {"bit.bor(1,2,{})", "!bad argument #3 to 'bor' (number expected, got table)"},
    {"bit.bnot()", "!bad argument #1 to 'bnot' (number expected, got no value)"},
    {"bit.lshift(1), 2", "!bad argument #2 to 'lshift' (number expected, got no value)"},
    {"bit.lshift(1,31), bit.lshift(1,32), bit.lshift(1,33), bit.lshift(1,-1), bit.rshift(-1,1),"
     " bit.arshift(-256,4), bit.rol(0x12345678,12), bit.ror(0x12345678,12), bit.rol(1,32), bit."
     "ror(1,0), bit.bswap(0x12345678), bit.lshift(1,1.5),bit.lshift(1,2^52+1), bit.arshift(1,0/"
     "0)",
     "-2147483648 1 2 -2147483648 2147483647 -16 1164411171 1736516421 1 1 2018915346 4 1 1"},
    {"bit.lshift(nil,nil)", "!bad argument #1 to 'lshift' (number expected, got nil)"},
    {"bit.lshift(1,\"x\")", "!bad argument #2 to 'lshift' (number expected, got string)"},
    {"bit.band(true)", "!bad argument #1 to 'band' (number expected, got boolean)"},
    {"bit.bor({},{},{})", "!bad argument #1 to 'bor' (number expected, got table)"},
    {"bit.bor(1,{},{})", "!bad argument #3 to 'bor' (number expected, got table)"},
    {"bit.lshift({},{})", "!bad argument #1 to 'lshift' (number expected, got table)"},
    {"bit.tohex({},{})", "!bad argument #1 to 'tohex' (number expected, got table)"},
};

static void test_expressions(void **state) { CHECK_EXPRESSIONS(rows); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
