/* SPDX-License-Identifier: BSD-3-Clause
 * `bit`: operations on 32 bits.
 *
 * A number is taken modulo 2^32, its fraction rounded to even; results are signed. The interface is
 * that of Mike Pall's BitOp, http://bitop.luajit.org/api.html.
 *
 * The conversion adds 2^52 + 2^51: for a number within 2^51 the sum has its integer in the low bits
 * of the mantissa. BitOp leaves the results for larger numbers open; ours are those of 6.2.
 */
#include "script/lib_internal.h"

#define HEX_DIGITS_MAX 8

static uint32_t bits_of(lua_Number number) {
    lua_Number sum = number + (0x1p52 + 0x1p51);
    uint64_t bits;
    _Static_assert(sizeof(bits) == sizeof(sum), "a number is a double");
    memcpy(&bits, &sum, sizeof(bits));
    return (uint32_t)bits;
}

static uint32_t check_bits(lua_State *L, int index) { return bits_of(luaL_checknumber(L, index)); }

static int push_bits(lua_State *L, uint32_t bits) {
    lua_pushnumber(L, lib_int32(bits));
    return 1;
}

static int bit_tobit(lua_State *L) { return push_bits(L, check_bits(L, 1)); }
static int bit_bnot(lua_State *L) { return push_bits(L, ~check_bits(L, 1)); }
static int bit_bswap(lua_State *L) { return push_bits(L, __builtin_bswap32(check_bits(L, 1))); }

/* These functions take one argument or more. The last is checked first, because an error names it.
 */
static int bit_band(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    for (int i = lua_gettop(L); i > 1; i--) bits &= check_bits(L, i);
    return push_bits(L, bits);
}

static int bit_bor(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    for (int i = lua_gettop(L); i > 1; i--) bits |= check_bits(L, i);
    return push_bits(L, bits);
}

static int bit_bxor(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    for (int i = lua_gettop(L); i > 1; i--) bits ^= check_bits(L, i);
    return push_bits(L, bits);
}

/* Distances are taken modulo 32. */
static unsigned check_distance(lua_State *L) { return check_bits(L, 2) & 31; }

static uint32_t rotate_left(uint32_t bits, unsigned by) {
    return bits << by | bits >> ((32 - by) & 31);
}

static int bit_lshift(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    return push_bits(L, bits << check_distance(L));
}

static int bit_rshift(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    return push_bits(L, bits >> check_distance(L));
}

static int bit_arshift(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    unsigned by = check_distance(L);
    uint32_t signs = bits >> 31 ? ~(UINT32_MAX >> by) : 0;
    return push_bits(L, bits >> by | signs);
}

static int bit_rol(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    return push_bits(L, rotate_left(bits, check_distance(L)));
}

static int bit_ror(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    return push_bits(L, rotate_left(bits, (32 - check_distance(L)) & 31));
}

/* The count of digits may be negative, which asks for upper case. It is made positive without
 * negating INT32_MIN, which has no positive counterpart. */
static int bit_tohex(lua_State *L) {
    uint32_t bits = check_bits(L, 1);
    int32_t count = lua_isnone(L, 2) ? HEX_DIGITS_MAX : lib_int32(check_bits(L, 2));
    const char *digits = count < 0 ? "0123456789ABCDEF" : "0123456789abcdef";
    if (count < -HEX_DIGITS_MAX || count > HEX_DIGITS_MAX) count = HEX_DIGITS_MAX;
    if (count < 0) count = -count;
    char text[HEX_DIGITS_MAX];
    for (int32_t i = count; i-- > 0; bits >>= 4) text[i] = digits[bits & 15];
    lua_pushlstring(L, text, (size_t)count);
    return 1;
}

void lib_bit_push(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"arshift", bit_arshift},
        {"band", bit_band},
        {"bnot", bit_bnot},
        {"bor", bit_bor},
        {"bswap", bit_bswap},
        {"bxor", bit_bxor},
        {"lshift", bit_lshift},
        {"rol", bit_rol},
        {"ror", bit_ror},
        {"rshift", bit_rshift},
        {"tobit", bit_tobit},
        {"tohex", bit_tohex},
        {NULL, NULL},
    };
    lua_newtable(L);
    luaL_register(L, NULL, functions);
}
