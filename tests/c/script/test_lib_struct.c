/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of script/lib_struct: what expressions with struct give in 6.2.
 */
#include "script/expressions.h"

static const struct expression rows[] = {
    {"struct", "{'pack'=function, 'size'=function, 'unpack'=function}"},
    {"struct.pack()", "!bad argument #1 to 'pack' (string expected, got no value)"},
    {"struct.pack(\"\")", "''"},
    {"struct.pack(1)", "!bad argument #1 to 'pack' (invalid format option '1')"},
    {"struct.pack(\"i4\",1), struct.pack(\"<i4\",1), struct.pack(\">i4\",1), struct.pack(\">I2"
     "\",65536), struct.pack(\"b\",300), struct.pack(\"B\",-1), struct.pack(\"h\",1), struct.pa"
     "ck(\"H\",65535), struct.pack(\"l\",-1), struct.pack(\"L\",2^63), struct.pack(\"T\",1), st"
     "ruct.pack(\"i\",1), struct.pack(\"I\",1)",
     "'\\x01\\x00\\x00\\x00' '\\x01\\x00\\x00\\x00' '\\x00\\x00\\x00\\x01' '\\x00\\x00' ',' '"
     "\\xff' '\\x01\\x00' '\\xff\\xff' '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff' '\\x00\\x00"
     "\\x00\\x00\\x00\\x00\\x00\\x80' '\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00' '\\x01\\x00"
     "\\x00\\x00' '\\x01\\x00\\x00\\x00'"},
    {"struct.pack(\"f\",1.5), struct.pack(\"d\",1.5), struct.pack(\">f\",1.5), struct.pack(\">d"
     "\",1.5), struct.pack(\"n\",1)",
     "!bad argument #1 to 'pack' (invalid format option 'n')"},
    {"struct.pack(\"f\",1e300), struct.pack(\"f\",0/0), struct.pack(\"d\",0/0), struct.pack(\"f"
     "\",1/0)",
     "'\\x00\\x00\\x80\\x7f' '\\x00\\x00\\xc0\\xff' '\\x00\\x00\\x00\\x00\\x00\\x00\\xf8\\xff' "
     "'\\x00\\x00\\x80\\x7f'"},
    {"struct.pack(\"s\",\"abc\"), struct.pack(\"c3\",\"abc\"), struct.pack(\"c0\",\"abcd\"), st"
     "ruct.pack(\"c\",\"abcd\"), struct.pack(\"c2\",\"abcd\"), struct.pack(\"x\")",
     "'abc\\x00' 'abc' 'abcd' 'a' 'ab' '\\x00'"},
    {"struct.pack(\"c5\",\"abc\")", "!bad argument #3 to 'pack' (string too short)"},
    {"struct.pack(\"s\",\"a\\0b\")", "'a\\x00b\\x00'"},
    {"struct.pack(\"i0\",1)", "''"},
    {"struct.pack(\"i3\",-2), struct.pack(\"i32\",-2), struct.pack(\"i33\",1)",
     "!integral size 33 is larger than limit of 32"},
    {"struct.pack(\"i16\",-2), struct.pack(\"I16\",2^64), struct.pack(\">i9\",-2), struct.pack("
     "\">I9\",5)",
     "'\\xfe\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00' '\\x00"
     "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00' '\\x00\\xff"
     "\\xff\\xff\\xff\\xff\\xff\\xff\\xfe' '\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05'"},
    {"struct.pack(\"i99999999999\",1)", "!integral size overflow"},
    {"struct.pack(\"i2147483648\",1)", "!integral size overflow"},
    {"struct.pack(\"i2147483647\",1)", "!integral size 2147483647 is larger than limit of 32"},
    {"struct.pack(\"i4294967297\",1)", "!integral size overflow"},
    {"struct.pack(\"c2147483647\",\"a\")", "!bad argument #3 to 'pack' (string too short)"},
    {"struct.pack(\"c2147483648\",\"a\")", "!integral size overflow"},
    {"struct.pack(\"c99999999999\",\"a\")", "!integral size overflow"},
    {"struct.pack(\"!4bi4\",1,2), struct.pack(\"!8bi8\",1,2), struct.pack(\"!bi4\",1,2), struct"
     ".pack(\"!2bi4\",1,2), struct.pack(\"!bd\",1,2), struct.pack(\"bd\",1,2), struct.pack(\"!4"
     "bd\",1,2), struct.pack(\"!16bi16\",1,2),struct.pack(\"!1bi4\",1,2)",
     "'\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00' '\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02"
     "\\x00\\x00\\x00\\x00\\x00\\x00\\x00' '\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00' '\\x01"
     "\\x00\\x02\\x00\\x00\\x00' '\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00@' '\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00@' '\\x01\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00\\x00\\x00\\x00@' '\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x0"
     "0\\x00\\x00\\x00' '\\x01\\x02\\x00\\x00\\x00'"},
    {"struct.pack(\"!3i4\",1)", "!alignment 3 is not a power of 2"},
    {"struct.pack(\"!0i4\",1)", "!alignment 0 is not a power of 2"},
    {"struct.pack(\"!64i4\",1)", "'\\x01\\x00\\x00\\x00'"},
    {"struct.pack(\"!32bi32b\",1,2,3)",
     "'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\x0"
     "0\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x03'"},
    {"struct.pack(\"!bi3\",1,2)", "'\\x01\\x00\\x00\\x02\\x00\\x00'"},
    {"struct.pack(\"z\",1)", "!bad argument #1 to 'pack' (invalid format option 'z')"},
    {"struct.pack(\"i4\")", "!bad argument #2 to 'pack' (number expected, got nil)"},
    {"struct.pack(\"i4\",\"x\")", "!bad argument #2 to 'pack' (number expected, got string)"},
    {"struct.pack(\"i4\",\"7\"), struct.pack(\"i4\",1.7), struct.pack(\"i4\",-1.7), struct.pack"
     "(\"i8\",2^63), struct.pack(\"i8\",-2^63), struct.pack(\"I8\",2^64), struct.pack(\"I4\",-1"
     "), struct.pack(\"I4\",2^32), struct.pack(\"i8\",0/0), struct.pack(\"i8\",1/0), struct.pac"
     "k(\"i8\",-1/0), struct.pack(\"I8\",-1), struct.pack(\"I8\",2^63+2048), struct.pack(\"i8"
     "\",1e300)",
     "'\\x07\\x00\\x00\\x00' '\\x01\\x00\\x00\\x00' '\\xff\\xff\\xff\\xff' '\\x00\\x00\\x00\\x0"
     "0\\x00\\x00\\x00\\x80' '\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80' '\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00\\x00' '\\xff\\xff\\xff\\xff' '\\x00\\x00\\x00\\x00' '\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00\\x80' '\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00' '\\x00\\x00\\x00\\x00"
     "\\x00\\x00\\x00\\x80' '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff' '\\x00\\x08\\x00\\x00"
     "\\x00\\x00\\x00\\x80' '\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'"},
    {"struct.pack(\"s\",1), struct.pack(\"d\",\"1.5\")",
     "'1\\x00' '\\x00\\x00\\x00\\x00\\x00\\x00\\xf8?'"},
    {"struct.pack(\"d\",{})", "!bad argument #2 to 'pack' (number expected, got table)"},
    {"struct.pack(\"s\",{})", "!bad argument #2 to 'pack' (string expected, got table)"},
    {"struct.pack(\"i4 i4\",1,2), struct.pack(\" < i2 > i2 = i2\",1,2,3), struct.pack(\"i4\",1,"
     "2,3)",
     "!bad argument #1 to 'pack' (invalid format option '=')"},
    {"struct.pack(\"\\0i4\",1), struct.pack(\"i4\\0zzz\",1)", "'' '\\x01\\x00\\x00\\x00'"},
    {"struct.pack(\"X\",1)", "!bad argument #1 to 'pack' (invalid format option 'X')"},
    {"struct.pack(\"@i4\",1)", "!bad argument #1 to 'pack' (invalid format option '@')"},
    {"struct.pack(\"-\",1)", "!bad argument #1 to 'pack' (invalid format option '-')"},
    {"struct.pack(\"\\200\",1)", "!bad argument #1 to 'pack' (invalid format option '\310')"},
    {"struct.unpack()", "!bad argument #1 to 'unpack' (string expected, got no value)"},
    {"struct.unpack(\"i4\")", "!bad argument #2 to 'unpack' (string expected, got no value)"},
    {"struct.unpack(\"i4\",\"\")", "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\")", "1 5"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",5)", "2 9"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",6)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",0)",
     "!bad argument #3 to 'unpack' (offset must be 1 or greater)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",-1)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",2^31)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",2^53)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",2^64)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",0/0)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",-2^63)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",1.9)", "1 5"},
    {"struct.unpack(\"i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",\"x\")",
     "!bad argument #3 to 'unpack' (number expected, got string)"},
    {"struct.unpack(\"\",\"abc\",4), struct.unpack(\"\",\"abc\",5), struct.unpack(\"\",\"abc\","
     "100)",
     "4 5 100"},
    {"struct.unpack(\"bBhHlLT\",\"\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255"
     "\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255\\255"
     "\\255\\255\\255\\255\\255\\255\")",
     "-1 255 -1 65535 -1 1.8446744073709552e+19 1.8446744073709552e+19 31"},
    {"struct.unpack(\"f\",\"\\0\\0\\192\\63\"), struct.unpack(\"d\",\"\\0\\0\\0\\0\\0\\0\\240"
     "\\63\"), struct.unpack(\">f\",\"\\63\\192\\0\\0\")",
     "1.5 1 1.5 5"},
    {"struct.unpack(\"s\",\"abc\\0def\"), struct.unpack(\"s\",\"abc\")",
     "!unfinished string in data"},
    {"struct.unpack(\"ss\",\"abc\\0def\\0\")", "'abc' 'def' 9"},
    {"struct.unpack(\"c3\",\"abcdef\")", "'abc' 4"},
    {"struct.unpack(\"c\",\"abcdef\")", "'a' 2"},
    {"struct.unpack(\"c0\",\"abcdef\")", "!format 'c0' needs a previous size"},
    {"struct.unpack(\"bc0\",\"\\3abcdef\")", "'abc' 5"},
    {"struct.unpack(\"bc0\",\"\\7abcdef\")",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"bc0\",\"\\255abcdef\")",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"dc0\",struct.pack(\"d\",2.5)..\"abc\")", "'ab' 11"},
    {"struct.unpack(\"dc0\",struct.pack(\"d\",0/0)..\"abc\")",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"dc0\",struct.pack(\"d\",1e300)..\"abc\")", "'' 9"},
    {"struct.unpack(\"dc0\",struct.pack(\"d\",-1)..\"abc\")",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"sc0\",\"2\\0abc\")", "'ab' 5"},
    {"struct.unpack(\"sc0\",\"x\\0abc\")", "!format 'c0' needs a previous size"},
    {"struct.unpack(\"bi4c0\",\"\\3\\1\\0\\0\\0abc\")", "3 'a' 7"},
    {"struct.unpack(\"c7\",\"abcdef\")", "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"c2147483647\",\"abcdef\")",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"c2147483648\",\"abcdef\")", "!integral size overflow"},
    {"struct.unpack(\"c4294967296\",\"abcdef\")", "!integral size overflow"},
    {"struct.unpack(\"i3\",\"\\255\\255\\127\"), struct.unpack(\"i16\",(\"\\255\"):rep(16)), st"
     "ruct.unpack(\"I16\",(\"\\255\"):rep(16)), struct.unpack(\"i32\",(\"\\1\"):rep(32)), struc"
     "t.unpack(\">i16\",(\"\\1\"):rep(16))",
     "8388607 -1 1.8446744073709552e+19 72340172838076672 72340172838076672 17"},
    {"struct.unpack(\"I7\",(\"\\255\"):rep(7)), struct.unpack(\"i7\",(\"\\255\"):rep(7)), struc"
     "t.unpack(\">i7\",\"\\127\"..(\"\\255\"):rep(6))",
     "72057594037927936 -1 36028797018963968 8"},
    {"struct.unpack(\"i33\",(\"\\1\"):rep(33))", "!integral size 33 is larger than limit of 32"},
    {"struct.unpack(\"!4bi4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\")", "1 2 9"},
    {"struct.unpack(\"!4bi4\",\"\\1\\0\\0\\0\\2\\0\\0\")",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"!4i4\",\"\\1\\0\\0\\0\\2\\0\\0\\0\",2)", "2 9"},
    {"struct.unpack(\"x\",\"a\"), struct.unpack(\"x\",\"\")",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"xb\",\"ab\")", "98 3"},
    {"struct.unpack(\"z\",\"abc\")", "!bad argument #1 to 'unpack' (invalid format option 'z')"},
    {"struct.unpack(\"i4\",{})", "!bad argument #2 to 'unpack' (string expected, got table)"},
    {"struct.unpack(\" <>=\",\"abc\")", "!bad argument #1 to 'unpack' (invalid format option '=')"},
    {"#{struct.unpack((\"b\"):rep(7000),(\"a\"):rep(7000))}", "7001"},
    {"#{struct.unpack((\"b\"):rep(9000),(\"a\"):rep(9000))}", "!stack overflow (too many results)"},
    {"struct.size(\"i4\"), struct.size(\"!4bi4\"), struct.size(\"bhlT\"), struct.size(\"c10\"),"
     " struct.size(\"d\"), struct.size(\"x\"), struct.size(\"\"), struct.size(\"i\"), struct.si"
     "ze(\"!bd\"), struct.size(\"ff\")",
     "4 8 19 10 8 1 0 4 16 8"},
    {"struct.size(\"s\")", "!bad argument #1 to 'size' (option 's' has no fixed size)"},
    {"struct.size(\"c0\")", "!bad argument #1 to 'size' (option 'c0' has no fixed size)"},
    {"struct.size(\"c\")", "1"},
    {"struct.size(\"c2147483647\")", "2147483647"},
    {"struct.size(\"c2147483647c2147483647c2147483647\")", "6442450941"},
    {"struct.size(\"c2147483647c2147483647\")", "4294967294"},
    {"struct.size(\"!32c2147483647i32\")", "2147483680"},
    {"struct.size(\"z\")", "0"},
    {"struct.size()", "!bad argument #1 to 'size' (string expected, got no value)"},
    {"struct.size(\"i33\")", "!integral size 33 is larger than limit of 32"},
    {"struct.size(\"!3\")", "!alignment 3 is not a power of 2"},
    {"struct.size(\"i4\",\"x\")", "4"},
    {"struct.size(\"i-1\")", "!bad argument #1 to 'size' (invalid format option '-')"},
    {"struct.size(\"b4\")", "1"},
    {"struct.size(\"d8\")", "8"},
    {"struct.size(\"X\"), struct.size(\"z9\"), struct.size(\"w\")", "0 0 0"},
    {"struct.size(\"=\")", "!bad argument #1 to 'size' (invalid format option '=')"},
    {"struct.size(\"@\")", "!bad argument #1 to 'size' (invalid format option '@')"},
    {"struct.size(\"\\200\")", "!bad argument #1 to 'size' (invalid format option '\310')"},
    {"struct.size(\"\\0i4\"), struct.size(\"i4\\0i4\")", "0 4"},
    {"struct.pack(\"b4\",1)", "!bad argument #1 to 'pack' (invalid format option '4')"},
    {"struct.pack(\"i4i4\",1)", "!bad argument #3 to 'pack' (number expected, got nil)"},
    {"struct.pack(\"ss\",\"a\")", "!bad argument #3 to 'pack' (string expected, got nil)"},
    {"struct.pack(\"s\")", "!bad argument #2 to 'pack' (string expected, got nil)"},
    {"struct.pack(\"c0\")", "!bad argument #2 to 'pack' (string expected, got nil)"},
    {"struct.pack(\"d\")", "!bad argument #2 to 'pack' (number expected, got nil)"},
    {"struct.pack(\"f\",\"x\")", "!bad argument #2 to 'pack' (number expected, got string)"},
    {"struct.unpack(\"\",\"abc\",-1)", "-1"},
    {"struct.unpack(\"\",\"abc\",-5), struct.unpack(\"\",\" \",2^63), struct.unpack(\"\",\"\",1"
     "/0), struct.unpack(\"\",\"\",-1/0), struct.unpack(\"\",\"\",1e300)",
     "-5 -9.2233720368547758e+18 -9.2233720368547758e+18 -9.2233720368547758e+18 -9.22337203685"
     "47758e+18"},
    {"struct.unpack(\"<\",\"abc\",100)", "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\" \",\"abc\",100)", "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\" \",\"abc\",4)", "4"},
    {"struct.unpack(\"!4\",\"abc\",100)", "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"!4i4\",\"abcdefgh\",-1)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"!4i4\",\"abcdefgh\",-2)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"!8d\",\"abcdefgh\",-3)",
     "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"i0\",\"abc\")", "0 1"},
    {"struct.unpack(\"I0\",\"abc\")", "0 1"},
    {"struct.unpack(\"i0\",\"\")", "0 1"},
    {"struct.unpack(\"i0bc0\",\"\\1abc\")", "0 'a' 3"},
    {"struct.unpack(\"s\",\"abc\\0\",5)", "!unfinished string in data"},
    {"struct.unpack(\"s\",\"abc\\0\",6)", "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"s\",\"abc\\0\",100)", "!bad argument #2 to 'unpack' (data string too short)"},
    {"struct.unpack(\"s\",\"\")", "!unfinished string in data"},
    {"struct.unpack(\"!4s\",\"abc\\0\",2)", "'bc' 5"},
    {"struct.unpack(\"!4bc3\",\"abcdefg\")", "97 'bcd' 5"},
    {"struct.unpack(\"!4bx\",\"abcdefg\")", "97 3"},
    {"struct.unpack(\"!4bs\",\"a\\0\\0\\0bc\\0\")", "97 '' 3"},
    {"struct.unpack(\"c0c0\",\"abc\")", "!format 'c0' needs a previous size"},
    {"struct.unpack(\"bbc0c0\",\"\\1\\1abc\")", "!format 'c0' needs a previous size"},
    {"struct.unpack(\"bc0b\",\"\\1abc\")", "'a' 98 4"},
    {"struct.unpack(\"bxc0\",\"\\1abc\")", "'b' 4"},
    {"struct.unpack(\"b\",\"\\1abc\",nil)", "1 2"},
    {"struct.pack(\"!4bc3i4\",1,\"abc\",2)", "'\\x01abc\\x02\\x00\\x00\\x00'"},
    {"struct.pack(\"!4bxi4\",1,2)", "'\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00'"},
    {"struct.pack(\"!4bsi4\",1,\"a\",2)", "'\\x01a\\x00\\x00\\x02\\x00\\x00\\x00'"},
    {"struct.pack(\"!8bfd\",1,2,3)",
     "'\\x01\\x00\\x00\\x00\\x00\\x00\\x00@\\x00\\x00\\x00\\x00\\x00\\x00\\x08@'"},
    {"struct.pack(\"!16bd\",1,3)",
     "'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x08@'"},
    {"struct.pack(\">!4bI4<I4>f\",1,2,3,4)",
     "'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x03\\x00\\x00\\x00@\\x80\\x00\\x00'"},
    {"struct.pack(\"b b\",1,2)", "'\\x01\\x02'"},
    {"struct.pack(\"bc0b\",1,\"abc\",2)", "'\\x01abc\\x02'"},
    {"struct.pack(\"c1\",12)", "'1'"},
    {"struct.pack(\"c\",\"\")", "!bad argument #3 to 'pack' (string too short)"},
    {"struct.pack(\"i4\",nil)", "!bad argument #2 to 'pack' (number expected, got nil)"},
    {"struct.pack(\"!99999999999i4\",1)", "!integral size overflow"},
    {"struct.pack(\"!2147483647i4\",1)", "!alignment 2147483647 is not a power of 2"},
    {"struct.pack(\"!1073741824bi4\",1,2)", "'\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00'"},
    {"struct.pack(\"x9\")", "!bad argument #1 to 'pack' (invalid format option '9')"},
    {"struct.pack(\"T\",-1)", "'\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff'"},
    {"struct.pack(\"i08\",1)", "'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00'"},
    {"struct.pack(\"i00000000000000000000000008\",1)",
     "'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00'"},
    {"struct.size(\"i00000000000000000000000008\")", "8"},
    {"struct.pack(\"i214748364700\",1)", "!integral size overflow"},
    {"struct.unpack({},\"\")", "!bad argument #1 to 'unpack' (string expected, got table)"},
    {"struct.unpack(\"z\",{})", "!bad argument #2 to 'unpack' (string expected, got table)"},
    {"struct.unpack(\"i4\",{},\"x\")", "!bad argument #2 to 'unpack' (string expected, got table)"},
};

static void test_expressions(void **state) { CHECK_EXPRESSIONS(rows); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
