/* SPDX-License-Identifier: BSD-3-Clause
 * The allocator of Lua, on base/memory.
 *
 * Lua tells the size of each block when it resizes or frees it, so `used` is exact and costs
 * nothing. A block that shrinks is never refused: Lua counts on that. A state that has been parted
 * with has an allocator of its own, which only frees: from any thread.
 */
#include "script/engine.h"

#include <lua5.1/lua.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "metric/row.h"
#include "option/option.h"

static size_t used;           /* by states that the main thread uses */
static atomic_size_t leaving; /* by those that it has parted with */
static int64_t limit;
static unsigned held;

static const struct option_row option_rows[] = {
    OPTION_BYTES(
        "lua-memory-limit", &limit, "1gb", 0, INT64_MAX, OPTION_MUTABLE, "scripts", 30,
        "What scripts may hold together, garbage that is not collected yet included. A "
        "script that wants more fails with \"not enough memory\"; one that uses no more than half "
        "of it never does for garbage. 0: no limit."),
};

size_t engine_bytes(void) { return used + atomic_load_explicit(&leaving, memory_order_relaxed); }

static void print_lua(struct buffer *out) { buffer_printf(out, "%zu", engine_bytes()); }

static void print_lua_human(struct buffer *out) {
    char text[32];
    number_format_bytes_human(text, sizeof(text), engine_bytes());
    buffer_append_c_string(out, text);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Memory", 170, "used_memory_lua", print_lua, "Bytes that Lua holds."),
    METRIC_PRINT("Memory", 180, "used_memory_lua_human", print_lua_human, "The same, with a unit."),
};

void engine_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

size_t engine_bytes_max(void) { return limit ? (size_t)limit : SIZE_MAX; }

void engine_hold(void) { held++; }

void engine_let_go(void) {
    ASSERT(held);
    held--;
}

static void *resize(void *block, size_t size) {
    if (!block) return held ? memory_alloc(size, MEMORY_LUA) : memory_try_alloc(size, MEMORY_LUA);
    return held ? memory_realloc(block, size, MEMORY_LUA)
                : memory_try_realloc(block, size, MEMORY_LUA);
}

/* lua_Alloc: `block` is NULL exactly where `old_size` is 0. */
static void *allocate(void *context, void *block, size_t old_size, size_t size) {
    if (!size) {
        if (block) memory_free_sized(block, old_size, MEMORY_LUA);
        used -= old_size;
        return NULL;
    }
    if (size <= old_size) {
        used -= old_size - size;
        return memory_realloc(block, size, MEMORY_LUA);
    }
    size_t more = size - old_size, most = engine_bytes_max(), all = engine_bytes();
    if (!held && (all > most || more > most - all)) return NULL;
    void *grown = resize(block, size);
    if (grown) used += more;
    return grown;
}

/* The same of a state that is only freed: the little that lua_close asks for it gets. */
static void *release(void *context, void *block, size_t old_size, size_t size) {
    atomic_fetch_add_explicit(&leaving, size - old_size, memory_order_relaxed);
    if (size)
        return block ? memory_realloc(block, size, MEMORY_LUA) : memory_alloc(size, MEMORY_LUA);
    if (block) memory_free_sized(block, old_size, MEMORY_LUA);
    return NULL;
}

/* Every entry into Lua is protected, or cannot fail. */
static int on_panic(lua_State *L) {
    const char *text = lua_tostring(L, -1);
    PANIC("an error of Lua that nobody catches: %s", text ? text : "(no text)");
    return 0;
}

struct lua_State *engine_create(void) {
    engine_hold();
    lua_State *L = lua_newstate(allocate, NULL);
    ASSERT(L);
    lua_atpanic(L, on_panic);
    engine_let_go();
    return L;
}

void engine_free(struct lua_State *L) { lua_close(L); }

void engine_part_with(struct lua_State *L) {
    size_t bytes = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
    ASSERT(bytes <= used);
    used -= bytes;
    atomic_fetch_add(&leaving, bytes);
    lua_setallocf(L, release, NULL);
}
