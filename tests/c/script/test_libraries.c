/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of script/libraries: what scripts must not be able to do with any of them.
 *
 * Values go to text and back at random (SEED=n repeats a run); memory ends at every allocation;
 * finalizers call the libraries in the midst of their calls; tables and texts are as deep as they
 * can be.
 */
#include <math.h>

#include "script/expressions.h"
#include "script/lib_internal.h"

#define ROUNDS 3000

/* An allocator that counts, and fails once when `countdown` reaches 0. */
struct counted {
    size_t bytes;
    long countdown;
};

static void *counted_alloc(void *context, void *block, size_t old_size, size_t size) {
    struct counted *counted = context;
    if (size > old_size && counted->countdown >= 0 && counted->countdown-- == 0) return NULL;
    if (size == 0) {
        counted->bytes -= block ? old_size : 0;
        free(block);
        return NULL;
    }
    void *moved = realloc(block, size);
    if (moved) counted->bytes += size - (block ? old_size : 0);
    return moved;
}

static const char *const hungry[] = {
    "local t = {} for i = 1, 300 do t[i] = {i, ('x'):rep(i), {k = 'a\"b'}} end\n"
    "return cjson.decode(cjson.encode(t))",
    "local t = {} for i = 1, 200 do t = {t, k = i} end\n"
    "return cjson.encode(t), cjson.decode(('['):rep(900) .. '\"a\\\\nb\"' .. (']'):rep(900))",
    "local t = {} for i = 1, 300 do t[i] = {i, ('x'):rep(i), {k = i}} end\n"
    "return cmsgpack.unpack(cmsgpack.pack(t, t))",
    "return cmsgpack.unpack(('\\145'):rep(900) .. '\\1')",
    "return struct.unpack('c900sdi4', struct.pack('c900sdi4', ('x'):rep(1000), 'y', 1, 2))",
    "return bit.tohex(1), cjson.new()",
};

static void test_memory_ends_anywhere(void **state) {
    for (size_t i = 0; i < sizeof(hungry) / sizeof(hungry[0]); i++) {
        long step = 0;
        for (int status = LUA_ERRMEM; status != 0; step++) {
            struct counted counted = {.countdown = -1};
            lua_State *L = lua_newstate(counted_alloc, &counted);
            luaL_openlibs(L);
            script_libraries_open(L);
            assert_int_equal(luaL_loadstring(L, hungry[i]), 0);
            counted.countdown = step;
            status = lua_pcall(L, 0, LUA_MULTRET, 0);
            assert_true(status == 0 || status == LUA_ERRMEM);
            counted.countdown = -1;
            lua_close(L);
            assert_int_equal(counted.bytes, 0);
            if (step > 50) step += step / 16; /* The rest by sample. */
        }
        assert_true(step > 1);
    }
}

/* The collector runs at each allocation, and what it finalizes calls the libraries deeply. */
static void test_finalizers_within_calls(void **state) {
    lua_State *L = open_state();
    assert_string_equal(
        shown(L,
              "(function()\n"
              "collectgarbage('setpause', 0) collectgarbage('setstepmul', 100000)\n"
              "cjson.decode_max_depth(100000) cjson.encode_max_depth(100000)\n"
              "local depth, most = 0, 0\n"
              "local function finalize()\n"
              "  depth = depth + 1\n"
              "  if depth > most then most = depth end\n"
              "  if depth < 100 then\n"
              "    for i = 1, 2 do getmetatable(newproxy(true)).__gc = finalize end\n"
              "    cjson.decode(('['):rep(500) .. (']'):rep(500))\n"
              "    cmsgpack.unpack(cmsgpack.pack({{{{1, ('x'):rep(3000)}}}}))\n"
              "    collectgarbage()\n"
              "  end\n"
              "  depth = depth - 1\n"
              "end\n"
              "getmetatable(newproxy(true)).__gc = finalize\n"
              "local t = {} for i = 1, 3000 do t = {t} end\n"
              "local text = cjson.encode(t)\n"
              "local back = cjson.encode(cjson.decode(text))\n"
              "return back == text, most > 1\n"
              "end)()"),
        "true true");
    lua_close(L);
}

/* What one call has used the next may use: not while it is in use, and not what it held. */
static void test_buffers_are_used_again(void **state) {
    lua_State *L = open_state();
    struct lib_buffer outer, inner;
    char big[5000];
    memset(big, 'x', sizeof(big));
    lua_settop(L, 2);
    lib_buffer_init(&outer, L, 1);
    lib_buffer_append(&outer, big, sizeof(big));
    const unsigned char *used = outer.bytes;
    lib_buffer_push(&outer); /* it goes on */
    lib_buffer_init(&inner, L, 2);
    lib_buffer_append(&inner, big, 600);
    assert_ptr_not_equal(inner.bytes, used);
    lib_buffer_finish(&inner); /* the smaller one */
    lib_buffer_finish(&outer);
    assert_int_equal(lua_gettop(L), 5);
    lua_settop(L, 2);
    lib_buffer_init(&inner, L, 1);
    lib_buffer_append(&inner, "text", 4);
    lib_buffer_append(&inner, big, 600);
    assert_ptr_equal(inner.bytes, used);
    assert_memory_equal(inner.bytes, "textxxxx", 8);
    lib_buffer_init(&outer, L, 2);
    lib_buffer_append(&outer, big, 600); /* it has been taken */
    assert_ptr_not_equal(outer.bytes, used);
    lib_buffer_finish(&outer);
    lib_buffer_finish(&inner);
    assert_int_equal(lua_objlen(L, 4), 604);
    /* And it is garbage like any other. */
    int before = lua_gc(L, LUA_GCCOUNT, 0);
    lua_settop(L, 2);
    lua_pushnil(L);
    lua_replace(L, 1);
    lua_pushnil(L);
    lua_replace(L, 2);
    lua_gc(L, LUA_GCCOLLECT, 0);
    assert_true(lua_gc(L, LUA_GCCOUNT, 0) <= before - 5);
    lib_buffer_init(&inner, L, 1);
    lib_buffer_append(&inner, big, 600);
    lib_buffer_finish(&inner);
    lua_close(L);
}

static void test_depth_has_a_bound(void **state) {
    static const struct expression rows[] = {
        {"#select(2, pcall(cjson.decode, ('['):rep(2^20))) < 80", "true"},
        {"select('#', cjson.decode_max_depth(2^31 - 1), cjson.encode_max_depth(2^31 - 1))", "2"},
        {"(pcall(cjson.decode, ('['):rep(2^20)))", "false"},
        {"(pcall(cjson.decode, ('{\"a\":'):rep(2^20)))", "false"},
        {"(pcall(cjson.decode, ('[{\"a\":'):rep(2^20)))", "false"},
        {"(function() local t = {} for i = 1, 2^20 do t = {t} end return (pcall(cjson.encode, t)) "
         "end)()",
         "false"},
        {"(function() local t = {} t.t = t return (pcall(cjson.encode, t)) end)()", "false"},
        {"(function() local t = {} t[1] = t return (pcall(cjson.encode, t)) end)()", "false"},
        {"(pcall(cmsgpack.unpack, ('\\145'):rep(2^20)))", "false"},
        {"(pcall(cmsgpack.unpack, ('\\129'):rep(2^20)))", "false"},
        {"(pcall(cmsgpack.unpack, ('\\129\\1'):rep(2^20)))", "false"},
        {"(pcall(cmsgpack.unpack, ('\\1'):rep(2^20)))", "false"},
        {"(pcall(struct.unpack, ('b'):rep(2^20), ('a'):rep(2^20)))", "false"},
        {"cjson.decode(cjson.encode({1, {a = {2}}}))", "{1=1, 2={'a'={1=2}}}"},
    };
    CHECK_EXPRESSIONS(rows);
}

/* Two thirds of Lua's 8,000 slots hold what is deepest still. */
static void test_deep_is_right(void **state) {
    static const struct expression rows[] = {
        {"cjson.decode_max_depth(7000), cjson.encode_max_depth(7000)", "7000 7000"},
        {"(function() local s = ('['):rep(7000) .. '1' .. (']'):rep(7000)\n"
         "return cjson.encode(cjson.decode(s)) == s end)()",
         "true"},
        {"(function() local s = ('{\"a\":'):rep(3900) .. '1' .. ('}'):rep(3900)\n"
         "return cjson.encode(cjson.decode(s)) == s end)()",
         "true"},
        {"(function() local t, n = cmsgpack.unpack(('\\145'):rep(3900) .. '\\7'), 0\n"
         "while type(t) == 'table' do t, n = t[1], n + 1 end return t, n end)()",
         "7 3900"},
        {"(function() local t, n = cmsgpack.unpack(('\\129\\1'):rep(3900) .. '\\7'), 0\n"
         "while type(t) == 'table' do t, n = t[1], n + 1 end return t, n end)()",
         "7 3900"},
    };
    CHECK_EXPRESSIONS(rows);
}

static int grow_beyond(lua_State *L) {
    struct lib_buffer buffer;
    lua_settop(L, 1);
    lib_buffer_init(&buffer, L, 1);
    buffer.used = LIB_RESULT_MAX - 1;
    lib_buffer_grow(&buffer, (size_t)lua_tointeger(L, lua_upvalueindex(1)));
    return 0;
}

static void test_results_have_a_bound(void **state) {
    static const lua_Integer more[] = {2, 4096, PTRDIFF_MAX, -1};
    lua_State *L = open_state();
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        lua_pushinteger(L, more[i]);
        lua_pushcclosure(L, grow_beyond, 1);
        assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
        assert_string_equal(lua_tostring(L, -1), "result larger than 512 MB");
    }
    lua_close(L);
}

static int hook_calls;

static void stop_script(lua_State *L, lua_Debug *debug) {
    if (++hook_calls == 5) luaL_error(L, "stopped");
}

/* What would take hours is stopped by the hook that stops scripts. */
static void test_long_calls_run_the_hook(void **state) {
    static const char *const endless[] = {
        "local t = {} for i = 1, 60 do t = {t, t} end cjson.encode(t)",
        "cjson.encode_sparse_array(false, 0) cjson.encode({[2^31 - 1] = 1})",
        ("local t = {} for i = 1, 16 do local u = {} for j = 1, 99 do u[j] = t end t = u end\n"
         "cmsgpack.pack(t)"),
        "cjson.decode('[' .. ('1,'):rep(2^21) .. '1]')",
        "cmsgpack.unpack('\\221\\0\\64\\0\\0' .. ('\\1'):rep(2^22))",
    };
    lua_State *L = open_state();
    for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
        assert_int_equal(luaL_loadstring(L, endless[i]), 0);
        hook_calls = 0;
        lua_sethook(L, stop_script, LUA_MASKCOUNT, 100000);
        assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
        lua_sethook(L, NULL, 0, 0);
        assert_non_null(strstr(lua_tostring(L, -1), "stopped"));
        lua_settop(L, 0);
    }
    lua_close(L);
}

static void test_numbers_to_integers(void **state) {
    static const struct {
        double number;
        int64_t with_sign;
        uint64_t without;
    } rows[] = {
        {0, 0, 0},
        {-0.9, 0, 0},
        {1.9, 1, 1},
        {-1.9, -1, UINT64_MAX},
        {0x1p63, INT64_MIN, UINT64_C(1) << 63},
        {-0x1p63, INT64_MIN, UINT64_C(1) << 63},
        {0x1p63 + 2048, INT64_MIN, (UINT64_C(1) << 63) + 2048},
        {0x1p64, INT64_MIN, 0},
        {-0x1p64, INT64_MIN, UINT64_C(1) << 63},
        {1e300, INT64_MIN, 0},
        {INFINITY, INT64_MIN, 0},
        {-INFINITY, INT64_MIN, UINT64_C(1) << 63},
        {NAN, INT64_MIN, UINT64_C(1) << 63},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(lib_int64(rows[i].number), rows[i].with_sign);
        assert_int_equal(lib_uint64(rows[i].number), rows[i].without);
    }
    assert_int_equal(lib_int32(INT64_C(1) << 31), INT32_MIN);
    assert_int_equal(lib_int32((INT64_C(1) << 32) + 5), 5);
    assert_int_equal(lib_int32(-1), -1);
}

/* Appends a random Lua value that both JSON and MessagePack keep, but for the kinds of keys. */
static void random_value(luaL_Buffer *out, int depth) {
    char text[64];
    uint64_t kind = random_below(depth < 4 ? 6 : 4);
    if (kind == 0) {
        snprintf(text, sizeof(text), "%lld", (long long)(random_u64() >> random_below(64)) >> 20);
        luaL_addstring(out, text);
    } else if (kind == 1) {
        luaL_addchar(out, '"');
        for (uint64_t n = random_below(40); n > 0; n--) {
            snprintf(text, sizeof(text), "\\%03d", (int)random_below(256));
            luaL_addstring(out, text);
        }
        luaL_addchar(out, '"');
    } else if (kind == 2) {
        luaL_addstring(out, random_below(2) ? "true" : "false");
    } else if (kind == 3) {
        snprintf(text, sizeof(text), "%.9g", (double)(int32_t)random_u64() / 1024);
        luaL_addstring(out, text);
    } else {
        luaL_addchar(out, '{');
        for (uint64_t n = random_below(5); n > 0; n--) {
            if (kind == 5) {
                snprintf(text, sizeof(text), "[\"k%d\"]=", (int)random_below(100));
                luaL_addstring(out, text);
            }
            random_value(out, depth + 1);
            luaL_addchar(out, ',');
        }
        luaL_addchar(out, '}');
    }
}

static void test_values_come_back(void **state) {
    lua_State *L = open_state();
    assert_int_equal(luaL_dostring(L, SHOW "return function(v)\n"
                                           "local text = show(v, 0)\n"
                                           "return text == show(cjson.decode(cjson.encode(v)), 0)\n"
                                           "and text == show(cmsgpack.unpack(cmsgpack.pack(v)), 0)"
                                           " end"),
                     0);
    for (int round = 0; round < ROUNDS; round++) {
        luaL_Buffer value;
        lua_pushvalue(L, 1);
        luaL_buffinit(L, &value);
        luaL_addstring(&value, "return ");
        random_value(&value, 0);
        luaL_pushresult(&value);
        const char *text = lua_tostring(L, -1);
        assert_int_equal(luaL_dostring(L, text), 0);
        lua_remove(L, -2);
        assert_int_equal(lua_pcall(L, 1, 1, 0), 0);
        assert_true(lua_toboolean(L, -1));
        lua_settop(L, 1);
    }
    lua_close(L);
}

/* Random bytes, and formats of random letters, end in a value or in an error. */
static void test_random_bytes(void **state) {
    static const char *const readers[] = {
        "local s = ... return (cjson.decode(s))",
        "local s = ... return (cmsgpack.unpack(s))",
        "local s = ... return (struct.unpack(s, s))",
        "local s = ... return (struct.pack(s, s, 1, -1, s, 2^70, s))",
        "local s = ... return (struct.size(s))",
    };
    static const char likely[] = "[]{}\",:\\u0123456789eE+-.<>!bBhHiIlLcsfdx \x91\x81\xdc\xdf\xd9";
    lua_State *L = open_state();
    for (int round = 0; round < ROUNDS; round++) {
        char bytes[64];
        size_t length = random_below(sizeof(bytes));
        for (size_t i = 0; i < length; i++)
            bytes[i] = random_below(3) ? likely[random_below(sizeof(likely))] : (char)random_u64();
        for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
            assert_int_equal(luaL_loadstring(L, readers[i]), 0);
            lua_pushlstring(L, bytes, length);
            int status = lua_pcall(L, 1, 1, 0);
            assert_true(status == 0 || status == LUA_ERRRUN);
            lua_settop(L, 0);
        }
    }
    lua_close(L);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_ends_anywhere),
        cmocka_unit_test(test_finalizers_within_calls),
        cmocka_unit_test(test_buffers_are_used_again),
        cmocka_unit_test(test_depth_has_a_bound),
        cmocka_unit_test(test_deep_is_right),
        cmocka_unit_test(test_results_have_a_bound),
        cmocka_unit_test(test_long_calls_run_the_hook),
        cmocka_unit_test(test_numbers_to_integers),
        cmocka_unit_test(test_values_come_back),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
