/* SPDX-License-Identifier: BSD-3-Clause
 * Pseudo-random numbers of scripts: the linear congruential generator that POSIX describes for
 * drand48. Its state has 48 bits, and each number is the upper 31 of them.
 *
 * Source: POSIX.1-2017, System Interfaces, drand48.
 */
#include "script/random.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <math.h>

#define MULTIPLIER UINT64_C(0x5DEECE66D)
#define INCREMENT UINT64_C(0xB)
#define SEED_LOW UINT64_C(0x330E)
#define MASK ((UINT64_C(1) << 48) - 1)
#define LARGEST 2147483647 /* 6.2 divides by this */

static uint64_t state = SEED_LOW;

void script_random_seed(uint32_t seed) { state = (uint64_t)seed << 16 | SEED_LOW; }

static int64_t next_number(void) {
    state = (state * MULTIPLIER + INCREMENT) & MASK;
    return (int64_t)(state >> 17);
}

/* Returns a number from 0 on, below 1. */
static double next_share(void) { return (double)(next_number() % LARGEST) / LARGEST; }

static int random_number(lua_State *L) {
    double share = next_share();
    int count = lua_gettop(L);
    if (count == 0) {
        lua_pushnumber(L, share);
        return 1;
    }
    if (count > 2) return luaL_error(L, "wrong number of arguments");
    int low = count == 1 ? 1 : luaL_checkint(L, 1), high = luaL_checkint(L, count);
    luaL_argcheck(L, low <= high, count, "interval is empty");
    double width = (double)high - (double)low + 1;
    lua_pushnumber(L, floor(share * width) + low);
    return 1;
}

static int math_random_seed(lua_State *L) {
    script_random_seed((uint32_t)luaL_checkint(L, 1));
    return 0;
}

void script_random_open(struct lua_State *L) {
    lua_pushcfunction(L, random_number);
    lua_setfield(L, -2, "random");
    lua_pushcfunction(L, math_random_seed);
    lua_setfield(L, -2, "randomseed");
}
