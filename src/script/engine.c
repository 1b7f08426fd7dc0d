/* SPDX-License-Identifier: BSD-3-Clause
 * The door into Lua, its allocator on base/memory, and its collector.
 *
 * The door. engine_enter is a lua_pcall of `entry_run`, which stands at the bottom of the stack as
 * the handler of errors does: nothing that it does before that call allocates. What Lua itself
 * allocates after a protected call has failed are texts of errors: one is Lua's own for good, the
 * other is kept here (ERROR_IN_HANDLER).
 *
 * The allocator. Lua tells the size of each block when it resizes or frees it, so `used` is exact
 * and costs nothing. A block that shrinks is never refused: Lua counts on that. A state that has
 * been parted with has an allocator of its own, which only frees: from any thread. A script's small
 * tables and texts are garbage when it ends, and the next one makes the same again. So small blocks
 * that are freed are kept for what is asked for next: a bounded number, in a list for each size. A
 * sanitizer is to see what becomes of each block: under one nothing is kept.
 *
 * The collector. Lua's own would be started by its size alone. Here it rests, and
 *
 *   between scripts  a cycle begins when `used` has grown by growth_of() since the last one ended.
 *                    As long as it lasts each script pays, after its end, for steps in proportion
 *                    to what it allocated, such that the cycle ends before half of the room is
 *                    used;
 *   in a script      that alone has allocated growth_of(), everything is collected where Lua next
 *                    looks for its collector. The allocator asks for that (collect_soon): it may
 *                    not collect itself, because Lua is in the midst of something, but it may set
 *                    when Lua does. Then Lua's collector rests again, and the allocator asks anew
 *                    when `used` has grown by growth_of() from the least that it has been since
 *                    (pace.least): Lua's own pause is in whole percents, and near the limit
 *                    growth_of() is less than one. At the script's end all of it is collected, if
 *                    it is still that much.
 *
 * growth_of() is as much again as is used, or a part of the room below the limit where that is
 * less, but at least a 256th of what is used: so nothing is collected at a higher price than some
 * 256 bytes that are looked at for each that was allocated, and 2 or 3 until the limit is near.
 *
 * Invariants
 *  1. `used` counts what Lua holds, without the spare blocks; these are of MEMORY_LUA.
 *  2. Lua holds no more than the limit but by engine_hold, engine_lift_limit, or a limit that was
 *     lowered.
 *  3. Outside engine_enter the collector rests, and `gate` is not above the limit.
 */
#include "script/engine.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "metric/row.h"
#include "option/option.h"

/* Blocks of a list are as large as this times its number. base/memory gives no other sizes where
 * they are that small, so it frees one rightly that it is told any size of. */
#define SPARE_STEP ((size_t)16)
/* Of each list: more than the collector frees at a time where the state holds its libraries and
 * small scripts. A megabyte in all. */
#define SPARE_BYTES_MAX ((size_t)64 << 10)
#ifdef EVENKEEL_SANITIZER /* which is to see each block's end: there are no lists */
#define SPARE_LISTS 0
#else
#define SPARE_LISTS 16
#endif

/* What Lua says of an error in a handler of errors. It makes the text when no call is protected any
 * more, unless it is there. */
#define ERROR_IN_HANDLER "error in error handling"
/* Lua's own settings of the collector, which scripts see. */
#define COLLECTOR_PAUSE 200
#define COLLECTOR_STEPS 200
/* A step of the collector is as much work, in bytes, as this times its setting. */
#define STEP_UNIT 10
#define STEPS_MAX 100000000
/* Lua's collector, once it has ended a cycle, does not begin the next one by itself. */
#define PAUSE_FOREVER 1000000
/* So little garbage is left alone, and so little that is owed. */
#define GROWTH_MIN ((size_t)16 << 10)
#define OWED_MIN ((size_t)1 << 10)
/* Growth is at least so small a part of what is used. */
#define GROWTH_PART_MIN 256

/* What stands at the bottom of the stack for good: a function or nil, and `entry_run`. */
enum { DESCRIBE_AT = 1, ENTER_AT, STACK_BOTTOM = ENTER_AT };

struct engine {
    lua_State *L;
    int handler; /* DESCRIBE_AT; 0: errors stay as they are */
};

static size_t used;           /* by states that the main thread uses */
static atomic_size_t leaving; /* by those that it has parted with */
static int64_t limit;
static unsigned held;
static bool lifted;             /* the limit, for the entry that is on */
static bool lacked;             /* memory was refused since the last entry began */
static size_t last_growth;      /* by the last entry; SIZE_MAX where that was collected in */
static size_t gate;             /* `used` grows up to here without a further look */
static lua_State *entered_main; /* of the engine that is entered; NULL: none is */
static struct {
    void (*run)(lua_State *L, void *context);
    void *context;
} entry; /* what it is entered for */
static struct {
    lua_Hook hook; /* NULL: each thread keeps its own */
    int mask, count;
} everywhere; /* what engine_spread_hook has set in this entry */
static bool (*test_refusal)(size_t size);

static struct {
    size_t live;     /* `used` when the last cycle ended */
    size_t due;      /* and where the next one begins */
    size_t trigger;  /* where the script that runs is to be collected in */
    size_t least;    /* of `used` since the script was last to be collected in; 0: it was not */
    size_t worth;    /* engine_has_room has found nothing to free below this */
    size_t owed;     /* bytes that were allocated since the cycle's last step */
    size_t rate;     /* bytes of work for each of them */
    bool cycle;      /* one is on, for all that is known */
    bool collecting; /* Lua collects in the script that runs */
    bool suspended;  /* but not now */
    bool asked;      /* Lua may not have collected since it was last to */
    bool touched;    /* by the script: nothing is known of it */
    bool collected;  /* everything, during the entry that is on */
} pace;

struct spare {
    struct spare *next;
};

/* The main thread's. */
static struct {
    struct spare *first;
    size_t bytes;
} spares[SPARE_LISTS + 1];

size_t engine_bytes(void) { return used + atomic_load_explicit(&leaving, memory_order_relaxed); }

size_t engine_bytes_max(void) { return limit && !lifted ? (size_t)limit : SIZE_MAX; }

void engine_hold(void) { held++; }

void engine_let_go(void) {
    ASSERT(held);
    held--;
}

bool engine_lacked(void) { return lacked; }
size_t engine_grown(void) { return last_growth; }

void engine_set_refusal(bool (*refuses)(size_t size)) {
    test_refusal = refuses;
    gate = 0;
}

/* ---- when to collect ---- */

/* How far `bytes` may grow until they are collected: into half of the room below the limit. */
static size_t growth_of(size_t bytes) {
    size_t most = engine_bytes_max(), all = engine_bytes();
    size_t room = all < most ? (most - all) / 2 : 0, least = bytes / GROWTH_PART_MIN;
    if (room > bytes) room = bytes;
    if (room < least) room = least;
    return room < GROWTH_MIN ? GROWTH_MIN : room;
}

static size_t bytes_after(size_t from, size_t by) {
    return by > SIZE_MAX - from ? SIZE_MAX : from + by;
}

static void set_due(void) { pace.due = bytes_after(pace.live, growth_of(pace.live)); }

static void note_collected(void) {
    pace.live = used;
    pace.cycle = false;
    pace.owed = 0;
    set_due();
}

/* Marking and sweeping takes about 1.3 of what there is, and must be done while half of the growth
 * that is left is allocated. */
static void begin_cycle(void) {
    pace.cycle = true;
    pace.owed = 0;
    pace.rate = used / 2 * 3 / (growth_of(used) / 2) + 1;
}

static void stop_collector(lua_State *L) { lua_gc(L, LUA_GCSTOP, 0); }

/* The script is to be collected in when it has allocated growth_of() from here on. */
static void set_trigger(void) {
    pace.collecting = pace.asked = false;
    pace.least = 0;
    pace.trigger = bytes_after(used, growth_of(used));
    gate = 0; /* it may be above that */
}

/* Where Lua next looks for its collector it collects everything, in one step. This only sets
 * numbers: the allocator may do so at any time. */
static void collect_soon(lua_State *L) {
    pace.collecting = pace.asked = true;
    pace.least = used;
    pace.trigger = bytes_after(used, growth_of(used));
    lua_gc(L, LUA_GCSETSTEPMUL, 0); /* a step without an end */
    lua_gc(L, LUA_GCSETPAUSE, PAUSE_FOREVER);
    if (!pace.suspended) lua_gc(L, LUA_GCRESTART, 0);
}

static void collect_all(lua_State *L) {
    engine_hold(); /* Lua's table of strings shrinks into a new one */
    lua_gc(L, LUA_GCCOLLECT, 0);
    engine_let_go();
    note_collected();
    pace.collected = entered_main != NULL;
    stop_collector(L);
}

/* Enough for looking at everything. */
static bool may_have_garbage(void) {
    return used > pace.live && used - pace.live > used / GROWTH_PART_MIN;
}

static void pay_owed(lua_State *L) {
    size_t steps = pace.owed > SIZE_MAX / pace.rate ? SIZE_MAX : pace.owed * pace.rate / STEP_UNIT;
    pace.owed = 0;
    engine_hold();
    lua_gc(L, LUA_GCSETSTEPMUL, steps < STEPS_MAX ? (int)steps : STEPS_MAX);
    if (lua_gc(L, LUA_GCSTEP, 0)) note_collected();
    engine_let_go();
    stop_collector(L);
}

/* The entry has ended that began when so much was used. */
static void settle_trigger(lua_State *L, size_t before, size_t trigger) {
    bool unknown = pace.collecting || pace.touched;
    last_growth = unknown || pace.collected ? SIZE_MAX : used > before ? used - before : 0;
    pace.trigger = SIZE_MAX;
    pace.least = 0;
    pace.collecting = pace.asked = pace.suspended = pace.touched = pace.collected = false;
    if ((unknown && used > trigger) || (lacked && may_have_garbage())) {
        collect_all(L);
        return;
    }
    if (unknown) {
        stop_collector(L);
        if (!pace.cycle) begin_cycle();
    }
    if (!pace.cycle) {
        if (used > pace.due) begin_cycle();
        return;
    }
    pace.owed += unknown ? 0 : last_growth;
    if (pace.owed >= OWED_MIN) pay_owed(L);
}

static bool limit_changed(const struct option_row *row, char *reason, size_t reason_size) {
    gate = 0;
    pace.worth = 0;
    set_due();
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "lua-memory-limit",
     .type = OPTION_TYPE_BYTES,
     .flags = OPTION_MUTABLE,
     .section = "scripts",
     .place = 30,
     .fallback = "1gb",
     .variable = &limit,
     .high = INT64_MAX,
     .apply = limit_changed,
     .help =
         "Bytes that scripts may hold together: their code, their values, and garbage that is not "
         "collected yet. A script that wants more fails with \"not enough memory\". Garbage alone "
         "is "
         "never the reason for a value of at most a twelfth of what live data leaves free, where "
         "that is at least 5% of the limit and 256kb. Scripts that the log, a snapshot or the "
         "primary holds are kept and run whatever the limit is. 0: no limit."},
};

static void print_lua(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", engine_bytes());
}

static void print_lua_human(const struct metric_row *row, struct buffer *out) {
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

static void *resize_block(void *block, size_t size) {
    if (!block) return held ? memory_alloc(size, MEMORY_LUA) : memory_try_alloc(size, MEMORY_LUA);
    return held ? memory_realloc(block, size, MEMORY_LUA)
                : memory_try_realloc(block, size, MEMORY_LUA);
}

static void set_gate(void) {
    size_t most = engine_bytes_max(), away = engine_bytes() - used;
    size_t room = most > away ? most - away : 0;
    gate = room < pace.trigger ? room : pace.trigger;
    if (test_refusal) gate = 0;
}

/* Whether Lua gets so many bytes more. Behind the gate: where the limit is, or a script is to be
 * collected in. */
static bool engine_grants(size_t more) {
    size_t most = engine_bytes_max(), all = engine_bytes();
    bool refused = test_refusal && entered_main && !held && test_refusal(more);
    if (refused || (!held && (all > most || more > most - all))) {
        lacked = true;
        return false;
    }
    if (pace.least) pace.trigger = bytes_after(pace.least, growth_of(pace.least));
    if (entered_main && bytes_after(used, more) > pace.trigger) collect_soon(entered_main);
    set_gate();
    return true;
}

/* Less is used. What Lua has collected shows here, and nowhere else. */
static inline void note_freed(size_t bytes) {
    used -= bytes;
    if (__builtin_expect(used >= pace.least, 1)) return;
    pace.least = used;
    gate = 0; /* the next allocation finds where the script is to be collected in again */
}

/* lua_Alloc: `block` is NULL exactly where `old_size` is 0. */
static void *engine_allocate(void *context, void *block, size_t old_size, size_t size) {
    if (!size) {
        note_freed(old_size);
        if (block && !keep_spare(block, old_size)) memory_free_sized(block, old_size, MEMORY_LUA);
        return NULL;
    }
    if (size <= old_size) {
        note_freed(old_size - size);
        return memory_realloc(block, size, MEMORY_LUA);
    }
    size_t after = used + (size - old_size);
    if ((after > gate || after < used) && !engine_grants(size - old_size)) return NULL;
    void *grown = block ? NULL : take_spare(size);
    if (!grown) grown = resize_block(block, size);
    if (grown)
        used = after;
    else
        lacked = true;
    return grown;
}

/* The same of a state that is only freed: the little that lua_close asks for it gets. */
static void *engine_release(void *context, void *block, size_t old_size, size_t size) {
    atomic_fetch_add_explicit(&leaving, size - old_size, memory_order_relaxed);
    if (size)
        return block ? memory_realloc(block, size, MEMORY_LUA) : memory_alloc(size, MEMORY_LUA);
    if (block) memory_free_sized(block, old_size, MEMORY_LUA);
    return NULL;
}

/* ---- engines ---- */

/* No error comes here: engine_enter is the only way in. */
static int on_panic(lua_State *L) {
    const char *text = lua_tostring(L, -1);
    PANIC("an error of Lua that nobody catches: %s", text ? text : "(no text)");
    return 0;
}

static int entry_run(lua_State *L) {
    entry.run(L, entry.context);
    return 0;
}

struct engine *engine_create(int (*describe)(struct lua_State *L)) {
    struct engine *e = memory_alloc(sizeof(*e), MEMORY_LUA);
    engine_hold();
    lua_State *L = lua_newstate(engine_allocate, NULL);
    ASSERT(L);
    lua_atpanic(L, on_panic);
    *e = (struct engine){L, describe ? DESCRIBE_AT : 0};
    if (describe)
        lua_pushcfunction(L, describe);
    else
        lua_pushnil(L);
    lua_pushcfunction(L, entry_run);
    lua_pushliteral(L, ERROR_IN_HANDLER);
    luaL_ref(L, LUA_REGISTRYINDEX);
    stop_collector(L);
    engine_let_go();
    memset(&pace, 0, sizeof(pace));
    pace.trigger = SIZE_MAX;
    note_collected();
    return e;
}

void engine_free(struct engine *e) {
    bool is_own = lua_getallocf(e->L, NULL) == engine_allocate;
    lua_close(e->L);
    memory_free(e, MEMORY_LUA);
    if (is_own) free_spares();
}

void engine_part_with(struct engine *e) {
    lua_State *L = e->L;
    size_t bytes = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
    ASSERT(bytes <= used);
    used -= bytes;
    atomic_fetch_add(&leaving, bytes);
    lua_setallocf(L, engine_release, NULL);
    gate = 0;
}

/* ---- the door ---- */

bool engine_enter(struct engine *e, void (*run)(struct lua_State *L, void *context),
                  void *context) {
    lua_State *L = e->L;
    size_t before = used, trigger = bytes_after(used, growth_of(used));
    unsigned held_before = held;
    ASSERT(!entered_main);
    entered_main = L;
    entry.run = run;
    entry.context = context;
    lacked = false;
    pace.trigger = trigger;
    set_gate();
    lua_settop(L, STACK_BOTTOM);
    lua_pushvalue(L, ENTER_AT);
    int status = lua_pcall(L, 0, 0, e->handler);
    entered_main = NULL;
    held = held_before;
    lua_sethook(L, NULL, 0, 0);
    everywhere.hook = NULL;
    settle_trigger(L, before, trigger);
    if (lifted) gate = 0;
    lifted = false;
    return status == 0;
}

struct slice engine_error(const struct engine *e) {
    struct slice text = SLICE("no text");
    if (lua_type(e->L, -1) == LUA_TSTRING) text.bytes = lua_tolstring(e->L, -1, &text.length);
    return text;
}

void engine_collect(struct engine *e) {
    if (may_have_garbage()) collect_all(e->L);
}

void engine_lift_limit(void) {
    lifted = true;
    set_trigger();
    engine_hold(); /* nor is memory refused that the system has */
}

bool engine_has_room(struct lua_State *L) {
    if (__builtin_expect(engine_bytes() <= engine_bytes_max(), 1)) return true;
    if (used < pace.worth) return false;
    collect_all(L);
    set_trigger();
    bool has_room = engine_bytes() <= engine_bytes_max();
    pace.worth = has_room ? 0 : used + used / GROWTH_PART_MIN;
    return has_room;
}

void engine_drop(struct lua_State *L) {
    collect_all(L);
    set_trigger();
    pace.worth = 0;
}

void engine_suspend_collector(struct lua_State *L) {
    pace.suspended = true;
    lua_gc(L, LUA_GCSTOP, 0);
}

void engine_resume_collector(struct lua_State *L) {
    pace.suspended = false;
    if (!pace.asked) return;
    pace.asked = false;
    lua_gc(L, LUA_GCRESTART, 0);
}

void engine_note_collector(struct lua_State *L) {
    if (!pace.touched && !pace.collecting) {
        lua_gc(L, LUA_GCSETPAUSE, COLLECTOR_PAUSE);
        lua_gc(L, LUA_GCSETSTEPMUL, COLLECTOR_STEPS);
    }
    pace.touched = true;
}

void engine_spread_hook(lua_Hook hook, int mask, int count) {
    everywhere.hook = hook;
    everywhere.mask = mask;
    everywhere.count = count;
}

void engine_set_hook(struct lua_State *L, lua_Hook hook, int mask, int count) {
    engine_spread_hook(hook, mask, count);
    lua_sethook(entered_main, hook, mask, count);
    lua_sethook(L, hook, mask, count);
}

void engine_renew_hook(struct lua_State *L) {
    if (everywhere.hook) lua_sethook(L, everywhere.hook, everywhere.mask, everywhere.count);
}
