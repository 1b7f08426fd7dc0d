/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of script/lib_msgpack: what expressions with cmsgpack give in 6.2.
 */
#include "script/expressions.h"

static const struct expression rows[] = {
    {"cmsgpack",
     "{'_COPYRIGHT'='Copyright (C) 2012, Salvatore Sanfilippo', '_DESCRIPTION'='MessagePack C i"
     "mplementation for Lua', '_NAME'='cmsgpack', '_VERSION'='lua-cmsgpack 0.4.0', 'pack'=funct"
     "ion, 'unpack'=function, 'unpack_limit'=function, 'unpack_one'=function}"},
    {"cmsgpack.pack()", "!bad argument #0 to 'pack' (MessagePack pack needs input.)"},
    {"cmsgpack.pack(nil)", "'\\xc0'"},
    {"cmsgpack.pack(1,2,3)", "'\\x01\\x02\\x03'"},
    {"cmsgpack.pack(0,127,128,255,256,65535,65536,2^32-1,2^32,2^53,2^62,2^63,2^64,-1,-32,-33,-1"
     "28,-129,-32768,-32769,-2^31,-2^31-1,-2^63,-2^64)",
     "'\\x00\\x7f\\xcc\\x80\\xcc\\xff\\xcd\\x01\\x00\\xcd\\xff\\xff\\xce\\x00\\x01\\x00\\x00"
     "\\xce\\xff\\xff\\xff\\xff\\xcf\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\xcf\\x00 \\x00"
     "\\x00\\x00\\x00\\x00\\x00\\xcf@\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xca_\\x00\\x00\\x00"
     "\\xca_\\x80\\x00\\x00\\xff\\xe0\\xd0\\xdf\\xd0\\x80\\xd1\\xff\\x7f\\xd1\\x80\\x00\\xd2"
     "\\xff\\xff\\x7f\\xff\\xd2\\x80\\x00\\x00\\x00\\xd3\\xff\\xff\\xff\\xff\\x7f\\xff\\xff\\xf"
     "f\\xd3\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xca\\xdf\\x80\\x00\\x00'"},
    {"cmsgpack.pack(0.5,0.1,1e300,1/0,-1/0,0/0,-0,1e18,1e19,3.4e38,3.5e38,2^70)",
     "'\\xca?\\x00\\x00\\x00\\xcb?\\xb9\\x99\\x99\\x99\\x99\\x99\\x9a\\xcb~7\\xe4<\\x88\\x00u"
     "\\x9c\\xca\\x7f\\x80\\x00\\x00\\xca\\xff\\x80\\x00\\x00\\xcb\\xff\\xf8\\x00\\x00\\x00\\x0"
     "0\\x00\\x00\\x00\\xcf\\x0d\\xe0\\xb6\\xb3\\xa7d\\x00\\x00\\xcbC\\xe1X\\xe4`\\x91=\\x00"
     "\\xcbG\\xef\\xf93\\xc7\\x8c\\xdf\\xad\\xcbG\\xf0t\\xf8\\xc4\\xd3\\xcd{\\xcab\\x80\\x00"
     "\\x00'"},
    {"cmsgpack.pack(\"\",(\"a\"):rep(31),(\"a\"):rep(32))",
     "'\\xa0\\xbfaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\xd9 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"},
    {"#cmsgpack.pack((\"a\"):rep(255)),#cmsgpack.pack((\"a\"):rep(256)),#cmsgpack.pack((\"a\"):"
     "rep(65535)),#cmsgpack.pack((\"a\"):rep(65536))",
     "257 259 65538 65541"},
    {"cmsgpack.pack((\"a\"):rep(256)):sub(1,4), cmsgpack.pack((\"a\"):rep(65536)):sub(1,6)",
     "'\\xda\\x01\\x00a' '\\xdb\\x00\\x01\\x00\\x00a'"},
    {"cmsgpack.pack(true,false,nil)", "'\\xc3\\xc2\\xc0'"},
    {"cmsgpack.pack({},{1,2,3},{a=1},{[1]=1,[3]=3},{[2]=1},{[0]=1},{[1]=1,a=2},{[1.5]=1},{[true"
     "]=1},{1,nil,3})",
     "'\\x90\\x93\\x01\\x02\\x03\\x81\\xa1a\\x01\\x82\\x01\\x01\\x03\\x03\\x81\\x02\\x01\\x81"
     "\\x00\\x01\\x82\\x01\\x01\\xa1a\\x02\\x81\\xca?\\xc0\\x00\\x00\\x01\\x81\\xc3\\x01\\x82"
     "\\x01\\x01\\x03\\x03'"},
    {"cmsgpack.pack(print)", "'\\xc0'"},
    {"cmsgpack.pack(cjson.null)", "'\\xc0'"},
    {"cmsgpack.pack(coroutine.create(function() end))", "'\\xc0'"},
    {"cmsgpack.pack({print})", "'\\x91\\xc0'"},
    {"(function() local t={} for i=1,20 do t={t} end return cmsgpack.pack(t) end)()",
     "'\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\x91\\xc0'"},
    {"(function() local t={} for i=1,20 do t={a=t} end return cmsgpack.pack(t) end)()",
     "'\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a"
     "\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a\\x81\\xa1a"
     "\\xc0'"},
    {"(function() local t={} t.t=t return cmsgpack.pack(t) end)()",
     "'\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t"
     "\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t\\x81\\xa1t"
     "\\xc0'"},
    {"(function() local t={} for i=1,20 do t[i]=i end return cmsgpack.pack(t) end)()",
     "'\\xdc\\x00\\x14\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\x09\\x0a\\x0b\\x0c\\x0d\\x0e"
     "\\x0f\\x10\\x11\\x12\\x13\\x14'"},
    {"(function() local t={} for i=1,20 do t['k'..i]=i end return cmsgpack.unpack(cmsgpack.pack"
     "(t)) end)()",
     "{'k1'=1, 'k10'=10, 'k11'=11, 'k12'=12, 'k13'=13, 'k14'=14, 'k15'=15, 'k16'=16, 'k17'=17, "
     "'k18'=18, 'k19'=19, 'k2'=2, 'k20'=20, 'k3'=3, 'k4'=4, 'k5'=5, 'k6'=6, 'k7'=7, 'k8'=8, 'k9"
     "'=9}"},
    {"cmsgpack.unpack()", "!bad argument #1 to 'unpack' (string expected, got no value)"},
    {"cmsgpack.unpack(\"\")", ""},
    {"cmsgpack.unpack(1)", "49"},
    {"cmsgpack.unpack({})", "!bad argument #1 to 'unpack' (string expected, got table)"},
    {"cmsgpack.unpack(\"\\1\\2\\3\")", "1 2 3"},
    {"cmsgpack.unpack(\"\\1\",\"\\2\")", "1"},
    {"cmsgpack.unpack(\"\\193\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\192\\194\\195\")", "nil false true"},
    {"cmsgpack.unpack(\"\\196\\1a\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\197\\0\\1a\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\198\\0\\0\\0\\1a\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\199\\1\\1a\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\212\\1a\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\202\\63\\128\\0\\0\")", "1"},
    {"cmsgpack.unpack(\"\\203\\63\\240\\0\\0\\0\\0\\0\\0\")", "1"},
    {"cmsgpack.unpack(\"\\204\\255\\205\\255\\255\\206\\255\\255\\255\\255\\207\\255\\255\\255"
     "\\255\\255\\255\\255\\255\")",
     "255 65535 4294967295 -1"},
    {"cmsgpack.unpack(\"\\208\\255\\209\\255\\255\\210\\255\\255\\255\\255\\211\\255\\255\\255"
     "\\255\\255\\255\\255\\255\\224\\255\")",
     "-1 -1 -1 -1 -32 -1"},
    {"cmsgpack.unpack(\"\\217\\1a\\218\\0\\1a\\219\\0\\0\\0\\1a\\161a\")", "'a' 'a' 'a' 'a'"},
    {"cmsgpack.unpack(\"\\217\\2a\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\219\\255\\255\\255\\255\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\220\\0\\1\\1\\221\\0\\0\\0\\1\\2\\145\\3\")", "{1=1} {1=2} {1=3}"},
    {"cmsgpack.unpack(\"\\222\\0\\1\\1\\2\\223\\0\\0\\0\\1\\2\\4\\129\\3\\3\")",
     "{1=2} {2=4} {3=3}"},
    {"cmsgpack.unpack(\"\\221\\255\\255\\255\\255\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\223\\255\\255\\255\\255\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\129\\192\\1\")", "!table index is nil"},
    {"cmsgpack.unpack(\"\\129\\203\\127\\248\\0\\0\\0\\0\\0\\0\\1\")", "!table index is NaN"},
    {"cmsgpack.unpack(\"\\129\\128\\1\") ~= nil", "true"},
    {"cmsgpack.unpack(\"\\130\\1\\2\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\205\\1\")", "!Missing bytes in input."},
    {"cmsgpack.unpack((\"\\145\"):rep(100)..\"\\1\")",
     "{1={1={1={1={1={1={1={1={1={1={1={1={...}}}}}}}}}}}}}"},
    {"#{cmsgpack.unpack((\"\\1\"):rep(7000))}", "7000"},
    {"#{cmsgpack.unpack((\"\\1\"):rep(9000))}",
     "!stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\")", "1 1"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",1)", "2 2"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",2)", "-1 3"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",3)", "-1"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",4)", "!Start offset 4 greater than input length 3."},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",-1)",
     "!Invalid request to unpack with offset of -1 and limit of 3."},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",0)", "1 1"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",1,2)", "2 2"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",\"1\")", "2 2"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",\"x\")",
     "!bad argument #2 to 'unpack_one' (number expected, got string)"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",2^31)",
     "!Start offset -2147483648 greater than input length 3."},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",2^32)", "!Start offset 0 greater than input length 3."},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",2^32+1)", "!Start offset 1 greater than input length 3."},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",0/0)",
     "!Invalid request to unpack with offset of 0 and limit of 3."},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",1.5)", "2 2"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",-2^31)",
     "!Invalid request to unpack with offset of -2147483648 and limit of 3."},
    {"cmsgpack.unpack_one(\"\")", "-1"},
    {"cmsgpack.unpack_one()", "!bad argument #1 to 'unpack_one' (string expected, got no value)"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",2)", "2 1 2"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",2,1)", "-1 2 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",2,2)", "-1 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",0)", "1 2 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",0,1)", "1"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",-1)",
     "!Invalid request to unpack with offset of 0 and limit of 3."},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",10)", "-1 1 2 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",3)", "-1 1 2 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\")",
     "!bad argument #2 to 'unpack_limit' (number expected, got no value)"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",1,2,3)", "-1 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",2^31)", "-1 1 2 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",2^32+1)", "-1 1 2 3"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",0/0)",
     "!Invalid request to unpack with offset of 0 and limit of 3."},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",-2^31,-2^31)",
     "!Invalid request to unpack with offset of -2147483648 and limit of 3."},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",1,4)", "!Start offset 4 greater than input length 3."},
    {"cmsgpack.unpack_limit(\"\",1)", "-1"},
    {"cmsgpack.pack({{},{}}), cmsgpack.pack({a={}})", "'\\x92\\x90\\x90' '\\x81\\xa1a\\x90'"},
    {"cmsgpack.unpack(\"\\145\"), 1", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\146\\1\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\193\\1\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\1\\193\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\145\\193\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\207\\128\\0\\0\\0\\0\\0\\0\\0\"), cmsgpack.unpack(\"\\211\\128"
     "\\0\\0\\0\\0\\0\\0\\0\")",
     "-9.2233720368547758e+18 -9.2233720368547758e+18"},
    {"cmsgpack.pack({[{}]=1}), cmsgpack.pack({[print]=1}), cmsgpack.pack({[{1}]={2}})",
     "'\\x81\\x90\\x01' '\\x81\\xc0\\x01' '\\x81\\x91\\x01\\x91\\x02'"},
    {"(function() local t={} for i=1,20 do t={[t]=1} end return cmsgpack.pack(t) end)()",
     "'\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\x81\\xc0"
     "\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01'"},
    {"cmsgpack.pack(setmetatable({},{__index={1}})), cmsgpack.pack(setmetatable({1,2},{__index="
     "{1}}))",
     "'\\x90' '\\x92\\x01\\x02'"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",\"x\")",
     "!bad argument #2 to 'unpack_limit' (number expected, got string)"},
    {"cmsgpack.unpack_limit(\"\\1\\2\\3\",1,\"x\")",
     "!bad argument #3 to 'unpack_limit' (number expected, got string)"},
    {"cmsgpack.unpack_one(\"\\1\\2\\3\",nil), cmsgpack.unpack_limit(\"\\1\\2\\3\",1,nil)", "1 1 1"},
    {"cmsgpack.unpack_limit({},{})",
     "!bad argument #2 to 'unpack_limit' (number expected, got table)"},
    {"cmsgpack.unpack_limit(1,{})",
     "!bad argument #2 to 'unpack_limit' (number expected, got table)"},
    {"cmsgpack.unpack_limit({},1)",
     "!bad argument #1 to 'unpack_limit' (string expected, got table)"},
    {"cmsgpack.unpack(\"\\145\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\129\\1\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\204\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\161\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\218\\1\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\220\"), 2", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\220\\0\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\222\\0\\2\\1\\1\\2\")", "!Missing bytes in input."},
    {"cmsgpack.unpack(\"\\146\\192\\1\"), cmsgpack.unpack(\"\\129\\1\\192\")", "{2=1} {}"},
    {"cmsgpack.unpack(\"\\200\")", "!Bad data format in input."},
    {"cmsgpack.unpack(\"\\145\\200\")", "!Bad data format in input."},
    {"cmsgpack.unpack_one(\"\\193\")", "!Bad data format in input."},
    {"cmsgpack.unpack_limit(\"\\1\\193\",1)", "1 1"},
};

static void test_expressions(void **state) { CHECK_EXPRESSIONS(rows); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
