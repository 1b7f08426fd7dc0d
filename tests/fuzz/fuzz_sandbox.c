/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes what scripts are run in: texts that are compiled and run, byte code that is refused, and
 * calls of all that a script can reach, with odd arguments. Whatever a script does, nothing of ours
 * is changed, its memory is bounded, and nothing of it is left.
 *
 * Covers: src/script/sandbox.c src/script/engine.c src/script/random.c src/script/lib.c
 * src/script/lib_bit.c src/script/lib_json.c src/script/lib_msgpack.c src/script/lib_struct.c
 *
 * The input's first byte chooses: a text; byte code; or calls, whose functions and arguments are
 * drawn by the bytes that follow.
 */
#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <string.h>

#include "base/panic.h"
#include "option/option.h"
#include "script/engine.h"
#include "script/libraries.h"
#include "script/sandbox.h"

#define MEMORY_MAX "16mb"
/* Of one input: so many looks, each after so many instructions or a library's steps. */
#define LOOKS 20
#define LOOK_INSTRUCTIONS 10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum mode { TEXT, CODE, CALLS, MODES };

static bool is_open;
static int looks;

/* Draws calls from the bytes of ..., each under pcall; results are arguments of later calls. All
 * names are local: what is called may change this function's environment. */
static const char calls[] =
    "local data = ...\n"
    "local pcall, byte, sub, type, pairs, next = pcall, string.byte, string.sub, type, pairs, "
    "next\n"
    "local create, setmetatable = coroutine.create, setmetatable\n"
    "local names, found = {}, {}\n"
    "for library, members in pairs(_G) do\n"
    "  if type(members) == 'function' then found[library] = members names[#names + 1] = library\n"
    "  elseif type(members) == 'table' and members ~= _G then\n"
    "    for name, member in pairs(members) do\n"
    "      if type(member) == 'function' then\n"
    "        found[library .. name] = member names[#names + 1] = library .. name\n"
    "      end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "found.print = type\n" /* the log is no part of this */
    "table.sort(names)\n"
    "local place, length = 0, #data\n"
    "local function draw() place = place + 1 return byte(data, place) or 0 end\n"
    "local numbers = {0, -0, 1, -1, 2, 0.5, -0.5, 3, 7, 8, 9, 16, 31, 32, 33, 64, 100, 127, 128,\n"
    "  255, 256, 300, 999, 7999, 8000, 8001, 65535, 65536, 100000, 2^24, 2^30, 2^31 - 1, 2^31,\n"
    "  -2^31, -2^31 - 1, 2^32 - 1, 2^32, 2^52, 2^53, 2^53 + 2, 2^62, 2^63, -2^63, 2^64, 1e15,\n"
    "  1e100, -1e100, 5e-324, 1.7e308, 1/0, -1/0, 0/0, 0.1, 1e-10, 123456789.5}\n"
    "local results = {}\n"
    "local loop = {} loop.loop = loop loop[1] = loop\n"
    "local wide = {} for i = 1, 300 do wide[i] = 'v' .. i wide['k' .. i] = i end\n"
    "local deep = {} for i = 1, 200 do deep = {deep, k = i} end\n"
    "local odd = {[0] = 1, [-1] = 2, [2^53] = 3, [0.5] = 4, [true] = 5, x = false}\n"
    "local cursed = setmetatable({}, {__index = function() return cursed end,\n"
    "  __tostring = function() return 5 end, __newindex = function() end,\n"
    "  __call = function() return 1 end, __len = function() return -1 end,\n"
    "  __concat = function() return {} end, __mode = 'kv', __metatable = false})\n"
    "local given = {loop, wide, deep, odd, cursed, _G, string, table, math, cjson, cmsgpack,\n"
    "  struct, bit, coroutine, data, '', '%', '%b', '%f[', '[', '[]', '[%', '(', '()', '%1', "
    "'.-',\n"
    "  'n', '#', 'k', '*t', '!', '>!8i16', 'c0', 'i99999999999', '%99.99f', '%c%q', '%5.5s%s',\n"
    "  '\\27Lua', '[[[[', '{\"a\":[1,2,{}]}', '\\222\\0\\1\\1', '\\221\\255\\255\\255\\255', "
    "'return ...',\n"
    "  function(...) return ... end, function() return data end, function() return {} end,\n"
    "  function(a, b) return a < b end, pcall, true, false, 'x = 1', ' '}\n"
    "local value\n"
    "local function array()\n"
    "  local t = {} for i = 1, draw() % 12 do t[draw() % 3 == 0 and draw() or i] = value() end\n"
    "  return t\n"
    "end\n"
    "local depth = 0\n"
    "function value()\n"
    "  local kind = draw()\n"
    "  if kind < 80 then return numbers[kind % #numbers + 1] end\n"
    "  if kind < 100 then local from = draw() return sub(data, from, from + draw()) end\n"
    "  if kind < 180 then return given[kind % #given + 1] end\n"
    "  if kind < 220 then return results[draw()] end\n"
    "  if kind < 235 and depth < 5 then depth = depth + 1 local t = array() depth = depth - 1\n"
    "    return t end\n"
    "  if kind < 240 then return create(given[draw() % #given + 1] == pcall and pcall or value) "
    "end\n"
    "  if kind < 250 then return found[names[draw() % #names + 1]] end\n"
    "  return nil\n"
    "end\n"
    "local function keep(fine, ...)\n"
    "  results[draw()] = (...) results[draw()] = select(2, ...)\n"
    "end\n"
    "while place < length do\n"
    "  local f = found[names[draw() % #names + 1]]\n"
    "  local count = draw() % 6\n"
    "  local a, b, c, d, e = value(), value(), value(), value(), value()\n"
    "  if count == 0 then keep(pcall(f))\n"
    "  elseif count == 1 then keep(pcall(f, a))\n"
    "  elseif count == 2 then keep(pcall(f, a, b))\n"
    "  elseif count == 3 then keep(pcall(f, a, b, c))\n"
    "  elseif count == 4 then keep(pcall(f, a, b, c, d))\n"
    "  else keep(pcall(f, a, b, c, d, e)) end\n"
    "end\n";

static const char loads[] =
    "local code, given = ..., false\n"
    "assert(not loadstring(code))\n"
    "assert(not load(function() if not given then given = true return code end end))\n";

/* ---- what must not change ---- */

static uint64_t mixed(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return x ^ x >> 31;
}

/* Of the value at this place: which one it is. */
static uint64_t identity(lua_State *L, int index) {
    double number = lua_tonumber(L, index);
    uint64_t bits;
    _Static_assert(sizeof(bits) == sizeof(number), "a number has 64 bits");
    memcpy(&bits, &number, sizeof(bits));
    switch (lua_type(L, index)) {
    case LUA_TNUMBER: return mixed(bits, 1);
    case LUA_TBOOLEAN: return mixed((uint64_t)lua_toboolean(L, index), 2);
    case LUA_TSTRING: return mixed((uint64_t)(uintptr_t)lua_tostring(L, index), 3);
    default: return mixed((uint64_t)(uintptr_t)lua_topointer(L, index), 4);
    }
}

/* Of the table on top, which is popped, and the tables of ours in it: all pairs, in any order. */
static uint64_t digest_table(lua_State *L, int depth) {
    uint64_t sum = 0;
    sandbox_look_through(L);
    if (lua_getmetatable(L, -1)) {
        sum += depth ? digest_table(L, depth - 1) : identity(L, -1);
        if (!depth) lua_pop(L, 1);
    }
    for (lua_pushnil(L); lua_next(L, -2);) {
        sum += mixed(identity(L, -2), identity(L, -1));
        if (lua_istable(L, -1) && depth)
            sum += digest_table(L, depth - 1);
        else
            lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return sum;
}

static uint64_t digest(lua_State *L) {
    sandbox_push_globals(L);
    return digest_table(L, 2);
}

/* ---- running ---- */

static void hook(lua_State *L, lua_Debug *where) {
    if (--looks > 0) return;
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "its time is up");
    lua_error(L);
}

/* The function on top, with one argument. False where it ends with an error. */
static bool run(lua_State *L, struct slice argument) {
    looks = LOOKS;
    lua_sethook(L, hook, LUA_MASKCOUNT, LOOK_INSTRUCTIONS);
    engine_hold();
    sandbox_renew(L);
    lua_pushlstring(L, argument.bytes, argument.length);
    engine_let_go();
    int status = lua_pcall(L, 1, 1, 0);
    ASSERT(lua_gettop(L) == 1 && (status || looks > 0));
    lua_sethook(L, NULL, 0, 0);
    lua_settop(L, 0);
    return status == 0;
}

static void try_text(lua_State *L, struct slice text) {
    if (sandbox_load(L, text, "@script")) (void)run(L, SLICE("argument"));
    lua_settop(L, 0);
}

/* By the server, and by a script. */
static void try_code(lua_State *L, struct slice rest) {
    struct buffer code;
    buffer_init(&code, MEMORY_OTHER);
    buffer_append_c_string(&code, LUA_SIGNATURE);
    buffer_append(&code, rest.bytes, rest.length);
    ASSERT(!sandbox_load(L, buffer_slice(&code), "@code"));
    lua_settop(L, 0);
    ASSERT(sandbox_load(L, slice_of(loads), "@loads") && run(L, buffer_slice(&code)));
    buffer_free(&code);
}

static void try_calls(lua_State *L, struct slice drawn) {
    ASSERT(sandbox_load(L, slice_of(calls), "@calls"));
    (void)run(L, drawn);
}

static void open_once(void) {
    char reason[128];
    struct slice most = SLICE(MEMORY_MAX);
    is_open = true;
    engine_register();
    ASSERT(option_set(option_find(SLICE("lua-memory-limit")), &most, 1, OPTION_FROM_CONFIG_SET,
                      reason, sizeof(reason)));
}

static void try_input(lua_State *L, void *context) {
    const struct slice *input = context;
    struct slice rest = {input->bytes + 1, input->length - 1};
    engine_hold();
    sandbox_open(L, script_libraries_open);
    engine_let_go();
    uint64_t before = digest(L);
    switch ((unsigned char)input->bytes[0] % MODES) {
    case TEXT: try_text(L, rest); break;
    case CODE: try_code(L, rest); break;
    default: try_calls(L, rest);
    }
    ASSERT(digest(L) == before && engine_bytes() <= engine_bytes_max());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!is_open) open_once();
    if (!size) return 0;
    struct engine *engine = engine_create(NULL);
    bool entered = engine_enter(engine, try_input, &(struct slice){(const char *)data, size});
    ASSERT(entered);
    engine_free(engine);
    ASSERT(engine_bytes() == 0);
    return 0;
}
