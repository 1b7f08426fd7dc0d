/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of script/engine: what Lua is given, and at which byte no more.
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "script/entered.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>
#include <pthread.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/seed.h"
#include "option/option.h"

static struct engine *engine;
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
    engine = engine_create(NULL);
    state = entered_state(engine);
    allocate = lua_getallocf(state, &context);
    return 0;
}

static int end(void **test) {
    set_limit(0);
    lua_setallocf(state, allocate, context);
    engine_free(engine);
    assert_int_equal(engine_bytes(), 0);
    assert_int_equal(memory_used(engine_memory), 0);
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
    assert_true(memory_used(engine_memory) >= empty);
    luaL_openlibs(state);
    assert_int_equal(luaL_dostring(state, "t = {} for i = 1, 1000 do t[i] = ('x'):rep(i) end"), 0);
    assert_true(engine_bytes() > empty + 500000);
    assert_int_equal((lua_gc(state, LUA_GCCOUNT, 0) << 10) + lua_gc(state, LUA_GCCOUNTB, 0),
                     engine_bytes());
    assert_int_equal(luaL_dostring(state, "t = nil"), 0);
    lua_gc(state, LUA_GCCOLLECT, 0);
    assert_true(engine_bytes() < empty + 200000);
}

static struct engine *filled(void) {
    struct engine *e = engine_create(NULL);
    lua_State *L = entered_state(e);
    luaL_openlibs(L);
    assert_int_equal(luaL_dostring(L, "t = {} for i = 1, 60000 do t[i] = {tostring(i)} end"), 0);
    return e;
}

static void *free_engine(void *e) {
    engine_free(e);
    memory_publish();
    return NULL;
}

/* One that another thread frees counts until it has, and the main thread's count is not touched. */
static void test_parted_with(void **test) {
    size_t before = engine_bytes();
    struct engine *old = filled();
    pthread_t thread;
    size_t both = engine_bytes();
    assert_true(both > before + 60000 * sizeof(void *));
    engine_part_with(old);
    assert_int_equal(engine_bytes(), both);
    assert_int_equal(pthread_create(&thread, NULL, free_engine, old), 0);
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
    struct engine *old = filled();
    engine_part_with(old);
    set_limit(engine_bytes() + 500000);
    assert_null(allocate(context, NULL, 0, 700000));
    engine_free(old);
    void *block = allocate(context, NULL, 0, 700000);
    assert_non_null(block);
    allocate(context, block, 700000, 0);
}

/* ---- the door ---- */

static int describe(lua_State *L) {
    lua_pushfstring(L, "described %s", lua_tostring(L, 1));
    return 1;
}

static void leave_by_error(lua_State *L, void *text) {
    assert_int_equal(lua_gettop(L), 0);
    engine_hold();
    engine_set_hook(L, NULL, 0, 0);
    lua_pushstring(L, text);
    lua_error(L);
}

/* An error ends in the door, with its text, and nothing is held any more. */
static void test_errors_end_in_the_door(void **test) {
    struct engine *e = engine_create(describe);
    assert_false(engine_enter(e, leave_by_error, "one"));
    assert_string_equal(engine_error(e).bytes, "described one");
    assert_false(engine_enter(engine, leave_by_error, "two"));
    assert_string_equal(engine_error(engine).bytes, "two");
    assert_false(engine_lacked());
    set_limit(1);
    assert_null(allocate(context, NULL, 0, 1));
    engine_free(e);
}

static void take_much(lua_State *L, void *bytes) { lua_newuserdata(L, *(size_t *)bytes); }

static void test_lacking_memory(void **test) {
    size_t bytes = 1000000;
    set_limit(engine_bytes() + 500000);
    assert_false(engine_enter(engine, take_much, &bytes));
    assert_true(engine_lacked());
    assert_string_equal(engine_error(engine).bytes, "not enough memory");
    bytes = 1000;
    assert_true(engine_enter(engine, take_much, &bytes));
    assert_false(engine_lacked());
}

static void take_without_limit(lua_State *L, void *bytes) {
    engine_lift_limit();
    take_much(L, bytes);
}

static void test_limit_is_lifted_for_one_entry(void **test) {
    size_t bytes = 1000000;
    set_limit(1);
    assert_true(engine_enter(engine, take_without_limit, &bytes));
    assert_false(engine_enter(engine, take_much, &bytes));
    assert_null(allocate(context, NULL, 0, 1));
}

/* ---- what is collected ---- */

/* The witness is garbage when it is made, so the cycle that follows frees it; who makes garbage
 * makes the next witness. */
static struct {
    const char *witness; /* NULL: it has been freed */
    int count;
} cycles;

static void *allocate_and_count(void *unused, void *block, size_t old_size, size_t size) {
    const char *from = block;
    if (!size && cycles.witness >= from && cycles.witness < from + old_size) {
        cycles.count++;
        cycles.witness = NULL;
    }
    return allocate(context, block, old_size, size);
}

static void make_witness(lua_State *L) {
    if (cycles.witness) return;
    engine_hold();
    cycles.witness = lua_newuserdata(L, 1);
    lua_pop(L, 1);
    engine_let_go();
}

#define LIVE_BYTES ((size_t)20 << 20)

static void keep_much(lua_State *L, void *unused) {
    luaL_openlibs(L);
    lua_newtable(L);
    for (int i = 1; engine_bytes() < LIVE_BYTES; i++) {
        lua_createtable(L, 4, 0);
        lua_rawseti(L, -2, i);
    }
    lua_setglobal(L, "kept");
    cycles.witness = NULL;
    lua_setallocf(L, allocate_and_count, NULL);
    make_witness(L);
}

static void make_garbage(lua_State *L, void *bytes) {
    for (size_t made = 0; made < *(size_t *)bytes; made += 128) {
        lua_createtable(L, 4, 0);
        lua_pop(L, 1);
        make_witness(L);
    }
}

/* Runs `entries` that leave so much garbage each, where `percent` of the limit are kept. Returns
 * how often everything was looked at. */
static int cycles_of(int percent, int entries, size_t bytes) {
    set_limit(0);
    engine_collect(engine);
    set_limit(LIVE_BYTES / (size_t)percent * 100);
    cycles.count = 0;
    for (int i = 0; i < entries; i++) {
        assert_true(engine_enter(engine, make_garbage, &bytes));
        assert_true(engine_bytes() <= engine_bytes_max());
    }
    return cycles.count;
}

/* What is kept is looked at in proportion to what was allocated, however small the pieces are, and
 * however near the limit is; and garbage never fills the room. */
static void test_collecting_is_paid_by_what_is_allocated(void **test) {
    assert_true(engine_enter(engine, keep_much, NULL));
    assert_in_range(cycles_of(10, 5000, 200), 0, 1);
    assert_in_range(cycles_of(90, 5000, 200), 0, 3); /* a megabyte; room for two */
    assert_in_range(cycles_of(99, 5000, 200), 0, 25);
    assert_in_range(cycles_of(90, 200, 500000), 30, 300); /* a hundred megabytes */
    assert_in_range(cycles_of(10, 200, 500000), 1, 12);
}

#define ROUNDS 200

struct piece {
    size_t bytes;
    unsigned count;
};

/* Each but the last is garbage when the next one is made. */
static void make_pieces(lua_State *L, void *pieces) {
    const struct piece *piece = pieces;
    for (unsigned i = 0; i < piece->count; i++) {
        lua_newuserdata(L, piece->bytes);
        lua_pop(L, 1);
    }
}

/* What the help of lua-memory-limit says: garbage alone is never the reason for an error, as long
 * as a value takes no more than a twelfth of what live data leaves free, and that is no less than 5
 * % of the limit. */
static void test_garbage_is_no_reason(void **test) {
    static const unsigned permille[] = {100, 500, 900, 950};
    assert_true(engine_enter(engine, keep_much, NULL));
    for (size_t i = 0; i < sizeof(permille) / sizeof(permille[0]); i++) {
        set_limit(0);
        engine_collect(engine);
        size_t live = engine_bytes(), most = live / permille[i] * 1000, room = (most - live) / 12;
        set_limit(most);
        for (int round = 0; round < ROUNDS; round++) {
            struct piece piece = {1 + (size_t)random_below(room - 64), 1};
            if (random_below(2)) piece.bytes = piece.bytes / 50 + 1;
            if (random_below(20) == 0) piece.count = (unsigned)random_below(60) + 1;
            if (!engine_enter(engine, make_pieces, &piece))
                fail_msg("round %d: %u times %zu bytes, %zu of %zu are used, %zu of them live",
                         round, piece.count, piece.bytes, engine_bytes(), most, live);
        }
    }
}

/* The memory of a limit that was lowered is looked at once in a while, and not by each call. */
static void test_above_the_limit(void **test) {
    assert_true(engine_enter(engine, keep_much, NULL));
    set_limit(LIVE_BYTES / 2);
    cycles.count = 0;
    size_t bytes = 200;
    for (int i = 0; i < 5000; i++) assert_false(engine_enter(engine, make_garbage, &bytes));
    assert_in_range(cycles.count, 0, 1);
    set_limit(0);
    assert_true(engine_enter(engine, make_garbage, &bytes));
}

static void ask_for_room(lua_State *L, void *has) {
    make_witness(L);
    *(bool *)has = engine_has_room(L);
}

static void test_room(void **test) {
    bool has;
    assert_true(engine_enter(engine, keep_much, NULL));
    assert_true(engine_enter(engine, ask_for_room, &has));
    assert_true(has);
    set_limit(LIVE_BYTES / 2);
    cycles.count = 0;
    for (int i = 0; i < 100; i++) {
        assert_true(engine_enter(engine, ask_for_room, &has));
        assert_false(has);
    }
    assert_in_range(cycles.count, 1, 2);
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
    size_t before = memory_used(engine_memory);
    for (size_t size = 1; size <= 1024; size *= 2) {
        for (int i = 0; i < MANY; i++) blocks[i] = allocate(context, NULL, 0, size);
        for (int i = 0; i < MANY; i++) allocate(context, blocks[i], size, 0);
    }
    assert_true(memory_used(engine_memory) - before < 512 * 1024);
    before = memory_used(engine_memory);
    allocate(context, allocate(context, NULL, 0, 500), 500, 0);
    assert_int_equal(memory_used(engine_memory), before);
    memory_free(blocks, MEMORY_OTHER);
}

static void test_no_limit(void **test) {
    assert_true(engine_bytes_max() == SIZE_MAX);
    set_limit(5);
    assert_int_equal(engine_bytes_max(), 5);
}

static int open_all(void **test) {
    seed_from_environment();
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
        TEST(test_errors_end_in_the_door),
        TEST(test_lacking_memory),
        TEST(test_limit_is_lifted_for_one_entry),
        TEST(test_collecting_is_paid_by_what_is_allocated),
        TEST(test_garbage_is_no_reason),
        TEST(test_above_the_limit),
        TEST(test_room),
        TEST(test_small_blocks_are_given_again),
        TEST(test_a_spare_block_is_like_others),
        TEST(test_few_blocks_are_kept),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
