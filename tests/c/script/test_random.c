/* SPDX-License-Identifier: BSD-3-Clause
 * Random numbers of scripts: those that POSIX' lrand48 draws, whoever else draws there.
 */
#include "script/random.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/seed.h"

#define DRAWS 1000
#define LARGEST 2147483647

static lua_State *L;

static int open_state(void **state) {
    L = luaL_newstate();
    luaL_openlibs(L);
    lua_getglobal(L, "math");
    script_random_open(L);
    lua_settop(L, 0);
    return 0;
}

static int close_state(void **state) {
    lua_close(L);
    return 0;
}

/* What an expression gives; an error fails the test. */
static double number(const char *text) {
    lua_settop(L, 0);
    lua_pushfstring(L, "return %s", text);
    if (luaL_dostring(L, lua_tostring(L, -1))) fail_msg("%s: %s", text, lua_tostring(L, -1));
    return lua_tonumber(L, -1);
}

static const char *fault(const char *text) {
    lua_settop(L, 0);
    assert_int_not_equal(luaL_dostring(L, text), 0);
    return lua_tostring(L, -1);
}

static void check_against_lrand48(void) {
    for (int i = 0; i < DRAWS; i++) {
        double share = (double)(lrand48() % LARGEST) / LARGEST;
        if (i % 3 == 0) assert_true(number("math.random()") == share);
        if (i % 3 == 1) assert_true(number("math.random(1000)") == floor(share * 1000) + 1);
        if (i % 3 == 2) assert_true(number("math.random(-5, 5)") == floor(share * 11) - 5);
    }
}

static void test_numbers_are_those_of_lrand48(void **state) {
    static const uint32_t seeds[] = {0, 1, 7, 2147483647, 4294967295};
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        script_random_seed(seeds[i]);
        srand48((long)seeds[i]);
        check_against_lrand48();
    }
    number("math.randomseed(123456)");
    srand48(123456);
    check_against_lrand48();
    number("math.randomseed(-3)");
    srand48(-3);
    check_against_lrand48();
}

static void test_the_same_seed_draws_the_same(void **state) {
    script_random_seed(0);
    double first = number("math.random()"), second = number("math.random()");
    assert_true(first != second);
    script_random_seed(0);
    random_u64(); /* another generator */
    assert_true(number("math.random()") == first);
    assert_true(number("math.random()") == second);
}

static void test_intervals(void **state) {
    for (int i = 0; i < DRAWS; i++) {
        double share = number("math.random()");
        assert_true(share >= 0 && share < 1);
        assert_true(number("math.random(1)") == 1);
        assert_true(number("math.random(3, 3)") == 3);
        double wide = number("math.random(-2147483648, 2147483647)");
        assert_true(wide >= INT32_MIN && wide <= INT32_MAX && floor(wide) == wide);
    }
    assert_non_null(strstr(fault("math.random(0)"), "interval is empty"));
    assert_non_null(strstr(fault("math.random(2, 1)"), "interval is empty"));
    assert_non_null(strstr(fault("math.random(1, 2, 3)"), "wrong number of arguments"));
    assert_non_null(strstr(fault("math.random({})"), "number expected"));
    assert_non_null(strstr(fault("math.randomseed()"), "number expected"));
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_those_of_lrand48),
        cmocka_unit_test(test_the_same_seed_draws_the_same),
        cmocka_unit_test(test_intervals),
    };
    return cmocka_run_group_tests(tests, open_state, close_state);
}
