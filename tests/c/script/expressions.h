/* SPDX-License-Identifier: BSD-3-Clause
 * Lua expressions and what they give, for the tests of the libraries.
 *
 * The expected texts are what Redis 6.2.16 answers to the same expressions.
 */
#ifndef EVENKEEL_TESTS_SCRIPT_EXPRESSIONS_H
#define EVENKEEL_TESTS_SCRIPT_EXPRESSIONS_H
#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>

#include "base/seed.h"
#include "script/libraries.h"

/* An expression, and its results in one text: strings in apostrophes, tables sorted by key; or "!"
 * and the text of the error, without the place. */
struct expression {
    const char *text;
    const char *result;
};

/* Returns how the results of an expression are shown; it stands in front of each. */
#define SHOW                                                                                 \
    "local function show(v, depth)\n"                                                        \
    "  local kind = type(v)\n"                                                               \
    "  if kind == 'number' then return v ~= v and 'nan' or string.format('%.17g', v) end\n"  \
    "  if kind == 'string' then\n"                                                           \
    "    local function code(c) return string.format('\\\\x%02x', string.byte(c)) end\n"     \
    "    return \"'\" .. string.gsub(v, \"[^ -~]\", code) .. \"'\"\n"                        \
    "  end\n"                                                                                \
    "  if kind ~= 'table' then return kind == 'boolean' and tostring(v) or kind end\n"       \
    "  if depth == 12 then return '{...}' end\n"                                             \
    "  local keys, parts = {}, {}\n"                                                         \
    "  for k in pairs(v) do keys[#keys + 1] = k end\n"                                       \
    "  local function before(a, b)\n"                                                        \
    "    if type(a) == 'number' and type(b) == 'number' then return a < b end\n"             \
    "    return type(a) .. tostring(a) < type(b) .. tostring(b)\n"                           \
    "  end\n"                                                                                \
    "  table.sort(keys, before)\n"                                                           \
    "  for i, k in ipairs(keys) do\n"                                                        \
    "    parts[i] = show(k, depth + 1) .. '=' .. show(v[k], depth + 1)\n"                    \
    "  end\n"                                                                                \
    "  return '{' .. table.concat(parts, ', ') .. '}'\n"                                     \
    "end\n"                                                                                  \
    "local function shown(fine, ...)\n"                                                      \
    "  if not fine then return '!' .. string.gsub(tostring((...)), '^[%w_]+:1: ', '') end\n" \
    "  local parts = {}\n"                                                                   \
    "  for i = 1, select('#', ...) do parts[i] = show((select(i, ...)), 0) end\n"            \
    "  return table.concat(parts, ' ')\n"                                                    \
    "end\n"

/* The results of `text` in `L`, on its stack. */
static inline const char *shown(lua_State *L, const char *text) {
    lua_settop(L, 0);
    lua_pushstring(L, SHOW);
    lua_pushfstring(L, "return (shown(pcall(assert(loadstring([==[return %s]==], '=x')))))", text);
    lua_concat(L, 2);
    if (luaL_loadstring(L, lua_tostring(L, -1)) || lua_pcall(L, 0, 1, 0))
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    return lua_tostring(L, -1);
}

static inline lua_State *open_state(void) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    script_libraries_open(L);
    return L;
}

static inline void check_expressions(const struct expression *rows, size_t count) {
    lua_State *L = open_state();
    for (size_t i = 0; i < count; i++) {
        const char *result = shown(L, rows[i].text);
        if (strcmp(result, rows[i].result) != 0)
            fail_msg("%s gives %s and not %s", rows[i].text, result, rows[i].result);
    }
    lua_close(L);
}

#define CHECK_EXPRESSIONS(rows) check_expressions(rows, sizeof(rows) / sizeof((rows)[0]))
#endif
