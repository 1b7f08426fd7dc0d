/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of script/engine: what Lua is given, and at which byte no more.
 */
#include "script/engine.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>
#include <pthread.h>

#include "base/seed.h"

#include "base/memory.h"
#include "option/option.h"

static struct lua_State *state;
static lua_Alloc allocate;
static void *context;

static void set_limit(size_t bytes) {
    char text[32], reason[128];
    snprintf(text, sizeof(text), "%zu", bytes);
    struct slice word = slice_of(text);
    assert_true(option_set(option_find(SLICE("lua-memory-limit")), &word, 1, OPTION_FROM_CONFIG_SET,
                           reason, sizeof(reason)));
}

static int begin(void **test) {
    set_limit(0);
    state = engine_create();
    allocate = lua_getallocf(state, &context);
    return 0;
}

static int end(void **test) {
    set_limit(0);
    engine_free(state);
    assert_int_equal(engine_bytes(), 0);
    assert_int_equal(memory_used(MEMORY_LUA), 0);
    return 0;
}

/* The last byte below the limit is given, the one above is not. */
static void test_limit(void **test) {
    size_t used = engine_bytes();
    set_limit(used + 1000);
    assert_null(allocate(context, NULL, 0, 1001));
    assert_int_equal(engine_bytes(), used);
    void *block = allocate(context, NULL, 0, 1000);
    assert_non_null(block);
    assert_int_equal(engine_bytes(), used + 1000);
    assert_null(allocate(context, block, 1000, 1001));
    allocate(context, block, 1000, 0);
    assert_int_equal(engine_bytes(), used);
}

/* Growing counts what is more; shrinking is never refused, also far above the limit. */
static void test_resized(void **test) {
    size_t used = engine_bytes();
    void *block = allocate(context, NULL, 0, 1000);
    set_limit(used + 3000);
    assert_null(allocate(context, block, 1000, 3001));
    block = allocate(context, block, 1000, 3000);
    assert_non_null(block);
    set_limit(1);
    assert_null(allocate(context, NULL, 0, 1));
    block = allocate(context, block, 3000, 500);
    assert_non_null(block);
    assert_int_equal(engine_bytes(), used + 500);
    allocate(context, block, 500, 0);
}

/* What may not fail is given whatever the limit is. */
static void test_held(void **test) {
    set_limit(1);
    engine_hold();
    void *block = allocate(context, NULL, 0, 100000);
    engine_let_go();
    assert_non_null(block);
    assert_null(allocate(context, block, 100000, 100001));
    allocate(context, block, 100000, 0);
}

/* What Lua itself counts, to the byte. */
static void test_bytes_are_counted(void **test) {
    size_t empty = engine_bytes();
    assert_true(memory_used(MEMORY_LUA) >= empty);
    luaL_openlibs(state);
    assert_int_equal(luaL_dostring(state, "t = {} for i = 1, 1000 do t[i] = ('x'):rep(i) end"), 0);
    assert_true(engine_bytes() > empty + 500000);
    assert_int_equal((lua_gc(state, LUA_GCCOUNT, 0) << 10) + lua_gc(state, LUA_GCCOUNTB, 0),
                     engine_bytes());
    assert_int_equal(luaL_dostring(state, "t = nil"), 0);
    lua_gc(state, LUA_GCCOLLECT, 0);
    assert_true(engine_bytes() < empty + 200000);
}

static lua_State *filled_state(void) {
    lua_State *L = engine_create();
    luaL_openlibs(L);
    assert_int_equal(luaL_dostring(L, "t = {} for i = 1, 60000 do t[i] = {tostring(i)} end"), 0);
    return L;
}

static void *free_state(void *L) {
    engine_free(L);
    memory_publish();
    return NULL;
}

/* One that another thread frees counts until it has, and the main thread's count is not touched. */
static void test_parted_with(void **test) {
    size_t before = engine_bytes();
    lua_State *old = filled_state();
    pthread_t thread;
    size_t both = engine_bytes();
    assert_true(both > before + 60000 * sizeof(void *));
    engine_part_with(old);
    assert_int_equal(engine_bytes(), both);
    assert_int_equal(pthread_create(&thread, NULL, free_state, old), 0);
    for (int i = 0; i < 10000; i++) {
        lua_pushfstring(state, "%d", i);
        lua_pop(state, 1);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    size_t own = (size_t)lua_gc(state, LUA_GCCOUNT, 0) * 1024;
    assert_int_equal(engine_bytes(), own + (size_t)lua_gc(state, LUA_GCCOUNTB, 0));
}

/* What is on its way out is held still: it leaves as much less room. */
static void test_limit_with_another(void **test) {
    lua_State *old = filled_state();
    engine_part_with(old);
    set_limit(engine_bytes() + 500000);
    assert_null(allocate(context, NULL, 0, 700000));
    engine_free(old);
    void *block = allocate(context, NULL, 0, 700000);
    assert_non_null(block);
    allocate(context, block, 700000, 0);
}

/* ---- spare blocks ---- */

#ifdef EVENKEEL_SANITIZER
#define SPARES_ARE_KEPT false
#else
#define SPARES_ARE_KEPT true
#endif
#define MANY 10000

/* The last one that was freed is given for whatever needs as much room. */
static void test_small_blocks_are_given_again(void **test) {
    if (!SPARES_ARE_KEPT) skip();
    size_t used = engine_bytes();
    void *first = allocate(context, NULL, 0, 33), *second = allocate(context, NULL, 0, 48);
    allocate(context, first, 33, 0);
    allocate(context, second, 48, 0);
    assert_int_equal(engine_bytes(), used);
    void *larger = allocate(context, NULL, 0, 49);
    assert_ptr_not_equal(larger, second);
    assert_ptr_equal(allocate(context, NULL, 0, 40), second);
    assert_ptr_equal(allocate(context, NULL, 0, 35), first);
    assert_int_equal(engine_bytes(), used + 49 + 40 + 35);
    allocate(context, larger, 49, 0);
    allocate(context, second, 40, 0);
    allocate(context, first, 35, 0);
}

/* One that is given again grows, shrinks and is counted as any other. */
static void test_a_spare_block_is_like_others(void **test) {
    size_t used = engine_bytes();
    for (int i = 0; i < 3; i++) {
        char *block = allocate(context, NULL, 0, 20);
        memset(block, 'a', 20);
        block = allocate(context, block, 20, 100);
        assert_memory_equal(block, "aaaaaaaaaaaaaaaaaaaa", 20);
        block = allocate(context, block, 100, 17);
        assert_memory_equal(block, "aaaaaaaaaaaaaaaaa", 17);
        assert_int_equal(engine_bytes(), used + 17);
        allocate(context, block, 17, 0);
    }
    set_limit(engine_bytes() + 10);
    assert_null(allocate(context, NULL, 0, 17)); /* one lies there, and yet is not given */
    assert_int_equal(engine_bytes(), used);
}

/* What is kept is bounded, and is no larger than small. */
static void test_few_blocks_are_kept(void **test) {
    void **blocks = memory_alloc(MANY * sizeof(*blocks), MEMORY_OTHER);
    size_t before = memory_used(MEMORY_LUA);
    for (size_t size = 1; size <= 1024; size *= 2) {
        for (int i = 0; i < MANY; i++) blocks[i] = allocate(context, NULL, 0, size);
        for (int i = 0; i < MANY; i++) allocate(context, blocks[i], size, 0);
    }
    assert_true(memory_used(MEMORY_LUA) - before < 512 * 1024);
    before = memory_used(MEMORY_LUA);
    allocate(context, allocate(context, NULL, 0, 500), 500, 0);
    assert_int_equal(memory_used(MEMORY_LUA), before);
    memory_free(blocks, MEMORY_OTHER);
}

static void test_no_limit(void **test) {
    assert_true(engine_bytes_max() == SIZE_MAX);
    set_limit(5);
    assert_int_equal(engine_bytes_max(), 5);
}

static int open_all(void **test) {
    engine_register();
    return 0;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_limit),
        TEST(test_resized),
        TEST(test_held),
        TEST(test_bytes_are_counted),
        TEST(test_parted_with),
        TEST(test_limit_with_another),
        TEST(test_no_limit),
        TEST(test_small_blocks_are_given_again),
        TEST(test_a_spare_block_is_like_others),
        TEST(test_few_blocks_are_kept),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
