/* SPDX-License-Identifier: BSD-3-Clause
 * The allocator of Lua, on base/memory.
 *
 * Lua tells the size of each block when it resizes or frees it, so `used` is exact and costs
 * nothing. A block that shrinks is never refused: Lua counts on that. A state that has been parted
 * with has an allocator of its own, which only frees: from any thread.
 *
 * A script's small tables and texts are garbage when it ends, and the next one makes the same
 * again. So small blocks that are freed are kept for what is asked for next: a bounded number, in a
 * list for each size. A sanitizer is to see what becomes of each block: under one nothing is kept.
 *
 * Invariant: `used` counts what Lua holds, without the spare blocks; these are of MEMORY_LUA.
 */
#include "script/engine.h"

#include <lua5.1/lua.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "metric/row.h"
#include "option/option.h"

/* Blocks of a list are as large as this times its number. base/memory gives no other sizes where
 * they are that small, so it frees one rightly that it is told any size of. */
#define SPARE_STEP ((size_t)16)
/* Of each list: more than the collector frees at a time where the state holds its libraries and
 * small scripts. Half a megabyte in all. */
#define SPARE_BYTES_MAX ((size_t)32 << 10)
#ifdef EVENKEEL_SANITIZER /* which is to see each block's end: there are no lists */
#define SPARE_LISTS 0
#else
#define SPARE_LISTS 16
#endif

static size_t used;           /* by states that the main thread uses */
static atomic_size_t leaving; /* by those that it has parted with */
static int64_t limit;
static unsigned held;

struct spare {
    struct spare *next;
};

/* The main thread's. */
static struct {
    struct spare *first;
    size_t bytes;
} spares[SPARE_LISTS + 1];

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

/* ---- spare blocks ---- */

static size_t spare_list(size_t size) { return (size + SPARE_STEP - 1) / SPARE_STEP; }

/* NULL where there is none of this size, which is not 0. */
static inline void *take_spare(size_t size) {
    size_t list = spare_list(size);
    if (list > SPARE_LISTS || !spares[list].first) return NULL;
    struct spare *block = spares[list].first;
    spares[list].first = block->next;
    spares[list].bytes -= list * SPARE_STEP;
    return block;
}

/* False where the block is to be freed. */
static inline bool keep_spare(void *block, size_t size) {
    size_t list = spare_list(size);
    if (list > SPARE_LISTS || spares[list].bytes + 1 > SPARE_BYTES_MAX) return false;
    struct spare *spare = block;
    spare->next = spares[list].first;
    spares[list].first = spare;
    spares[list].bytes += list * SPARE_STEP;
    return true;
}

static void free_spares(void) {
    for (size_t list = 1; list <= SPARE_LISTS; list++)
        for (void *block; (block = take_spare(list * SPARE_STEP));)
            memory_free_sized(block, list * SPARE_STEP, MEMORY_LUA);
}

/* ---- what Lua calls ---- */

static void *resize(void *block, size_t size) {
    if (!block) return held ? memory_alloc(size, MEMORY_LUA) : memory_try_alloc(size, MEMORY_LUA);
    return held ? memory_realloc(block, size, MEMORY_LUA)
                : memory_try_realloc(block, size, MEMORY_LUA);
}

/* lua_Alloc: `block` is NULL exactly where `old_size` is 0. */
static void *allocate(void *context, void *block, size_t old_size, size_t size) {
    if (!size) {
        used -= old_size;
        if (block && !keep_spare(block, old_size)) memory_free_sized(block, old_size, MEMORY_LUA);
        return NULL;
    }
    if (size <= old_size) {
        used -= old_size - size;
        return memory_realloc(block, size, MEMORY_LUA);
    }
    size_t more = size - old_size, most = engine_bytes_max(), all = engine_bytes();
    if (!held && (all > most || more > most - all)) return NULL;
    void *grown = block ? NULL : take_spare(size);
    if (!grown) grown = resize(block, size);
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

void engine_free(struct lua_State *L) {
    bool is_own = lua_getallocf(L, NULL) == allocate;
    lua_close(L);
    if (is_own) free_spares();
}

void engine_part_with(struct lua_State *L) {
    size_t bytes = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
    ASSERT(bytes <= used);
    used -= bytes;
    atomic_fetch_add(&leaving, bytes);
    lua_setallocf(L, release, NULL);
}
