/* SPDX-License-Identifier: BSD-3-Clause
 * The only entry into Lua, its allocator on base/memory, and its collector.
 *
 * Entry. engine_enter is a lua_pcall of `entry_run`. That function and the handler of errors stand
 * at the bottom of the stack, so nothing before the lua_pcall allocates. After a protected call has
 * failed, Lua itself allocates only texts of errors. Lua keeps one of the two for good; the other
 * is kept here (ERROR_IN_HANDLER).
 *
 * Allocator. Lua tells the size of each block when it resizes or frees the block, so `used` is
 * exact and costs nothing. A block that shrinks is never refused, because Lua counts on that. A
 * state that was given up (engine_part_with) gets another allocator, which may free from any
 * thread. When a script ends, its small tables and texts are garbage, and the next script allocates
 * the same sizes again. Therefore freed small blocks are kept for later requests: a bounded number,
 * in one list for each size. Under a sanitizer none is kept, so that the sanitizer sees the end of
 * each block.
 *
 * Collector. Lua's own collector would start by the size of its memory alone. Here it rests, and
 * works only
 *
 *   between scripts  A cycle begins when `used` has grown by growth_of() since the last cycle
 *                    ended. During a cycle each script pays, after its end, for steps in
 *                    proportion to what it allocated, such that the cycle ends before half of the
 *                    room is used.
 *   in a script      A script that alone has allocated growth_of() is collected in: the allocator
 *                    asks Lua to collect everything when Lua next looks for its collector
 *                    (collect_soon). The allocator cannot collect itself, because Lua is in the
 *                    midst of an operation. Then Lua's collector rests again. The allocator asks
 *                    anew when `used` has grown by growth_of() from its least value since then
 *                    (pace.least). Lua's own pause does not serve for this: it is in whole
 *                    percents, and near the limit growth_of() is less than one percent. When the
 *                    script ends, everything is collected if `used` is still that large.
 *
 * growth_of() is as much as is used, or half of the room below the limit if that is less, but at
 * least a 256th of what is used. So the collector looks at 2 or 3 bytes for each byte allocated
 * until the limit is near, and never at more than some 256.
 *
 * Invariants
 *  1. `used` counts what Lua holds, without the spare blocks, whose memory is also of
 *     engine_memory.
 *  2. Lua holds more than the limit only by engine_hold, by engine_lift_limit, or because the limit
 *     was lowered.
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

enum memory_class engine_memory = MEMORY_OTHER;

/* The blocks of a list are as large as its number times this. base/memory has no other sizes among
 * blocks that small, so a block may be freed with any size that belongs to its list. */
#define SPARE_STEP ((size_t)16)
/* The bound of each list, a megabyte for all: more than the collector frees at a time while the
 * state holds only its libraries and small scripts. */
#define SPARE_BYTES_MAX ((size_t)64 << 10)
#ifdef EVENKEEL_SANITIZER /* no lists, so that a sanitizer sees the end of each block */
#define SPARE_LISTS 0
#else
#define SPARE_LISTS 16
#endif

/* Lua's text for an error in a handler of errors. Lua makes this string when no call is protected
 * any more, unless the string exists already. */
#define ERROR_IN_HANDLER "error in error handling"
/* Lua's default settings of the collector, which scripts see. */
#define COLLECTOR_PAUSE 200
#define COLLECTOR_STEPS 200
/* A step of the collector does this many bytes of work times its setting. */
#define STEP_UNIT 10
#define STEPS_MAX 100000000
/* With this pause Lua's collector does not begin the next cycle by itself. */
#define PAUSE_FOREVER 1000000
/* Less garbage than this is not collected, and a smaller debt is not paid. */
#define GROWTH_MIN ((size_t)16 << 10)
#define OWED_MIN ((size_t)1 << 10)
/* The growth before a collection is at least this fraction (1/256) of what is used. */
#define GROWTH_PART_MIN 256

/* The permanent bottom of the stack: the handler of errors or nil, and `entry_run`. */
enum { DESCRIBE_AT = 1, ENTER_AT, STACK_BOTTOM = ENTER_AT };

struct engine {
    lua_State *L;
    int handler; /* DESCRIBE_AT; 0: errors stay as they are */
};

static size_t used;           /* bytes of the states that are in use */
static atomic_size_t leaving; /* bytes of the states that were given up */
static int64_t limit;
static unsigned held;
static bool lifted;             /* the limit is lifted for the entry that runs */
static bool lacked;             /* memory was refused since the last entry began */
static size_t last_growth;      /* of `used` by the last entry; SIZE_MAX if it was collected in */
static size_t gate;             /* an allocation up to this value of `used` needs no check */
static lua_State *entered_main; /* of the engine that is entered; NULL: none is */
static struct {
    void (*run)(lua_State *L, void *context);
    void *context;
} entry; /* what engine_enter was called with */
static struct {
    lua_Hook hook; /* NULL: each thread keeps its own */
    int mask, count;
} everywhere; /* what engine_spread_hook has set in this entry */
static bool (*test_refusal)(size_t size);

static struct {
    size_t live;     /* `used` when the last cycle ended */
    size_t due;      /* value of `used` at which the next cycle begins */
    size_t trigger;  /* value of `used` at which the running script is collected in */
    size_t least;    /* least `used` since Lua was last asked to collect in it; 0: not asked */
    size_t worth;    /* below this `used` engine_has_room has found no garbage */
    size_t owed;     /* bytes allocated since the cycle's last step */
    size_t rate;     /* bytes of work for each byte owed */
    bool cycle;      /* a cycle has begun and is not known to have ended */
    bool collecting; /* the running script is collected in */
    bool suspended;  /* the collector is suspended (engine_suspend_collector) */
    bool asked;      /* Lua may not have collected since it was last asked */
    bool touched;    /* the script has changed the collector: its state is unknown */
    bool collected;  /* everything was collected in the entry that runs */
} pace;

struct spare {
    struct spare *next;
};

/* Only the main thread uses the lists. */
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

/* How many bytes may be allocated before `bytes` are collected. The essay above has the rule; the
 * result is at least GROWTH_MIN. */
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

/* A cycle is about 1.3 bytes of work for each byte used. All of it must be done while half of the
 * growth that is left is allocated. */
static void begin_cycle(void) {
    pace.cycle = true;
    pace.owed = 0;
    pace.rate = used / 2 * 3 / (growth_of(used) / 2) + 1;
}

static void stop_collector(lua_State *L) { lua_gc(L, LUA_GCSTOP, 0); }

/* The running script is collected in once it has allocated growth_of() from here on. */
static void set_trigger(void) {
    pace.collecting = pace.asked = false;
    pace.least = 0;
    pace.trigger = bytes_after(used, growth_of(used));
    gate = 0; /* `gate` may be above the trigger */
}

/* Makes Lua collect everything, in one step, when it next looks for its collector. This only sets
 * numbers, so the allocator may do it at any time. */
static void collect_soon(lua_State *L) {
    pace.collecting = pace.asked = true;
    pace.least = used;
    pace.trigger = bytes_after(used, growth_of(used));
    lua_gc(L, LUA_GCSETSTEPMUL, 0); /* a step without an end */
    lua_gc(L, LUA_GCSETPAUSE, PAUSE_FOREVER);
    if (!pace.suspended) lua_gc(L, LUA_GCRESTART, 0);
}

static void collect_all(lua_State *L) {
    engine_hold(); /* Lua shrinks its table of strings into a new block */
    lua_gc(L, LUA_GCCOLLECT, 0);
    engine_let_go();
    note_collected();
    pace.collected = entered_main != NULL;
    stop_collector(L);
}

/* Whether enough was allocated since the last cycle to make a collection worthwhile. */
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

/* Called when an entry ends. `before` and `trigger` are `used` and pace.trigger when it began. */
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
    METRIC_PRINT("Memory", 170, "used_memory_lua", METRIC_BYTES, print_lua,
                 "Bytes that Lua holds."),
    METRIC_PRINT("Memory", 180, "used_memory_lua_human", METRIC_INFO_ONLY, print_lua_human,
                 "used_memory_lua, with a unit."),
};

void engine_register(void) {
    memory_class_register(&engine_memory, MEMORY_APART);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

/* ---- spare blocks ---- */

static size_t spare_list(size_t size) { return (size + SPARE_STEP - 1) / SPARE_STEP; }

/* `size` is not 0. NULL if there is no spare block of this size. */
static inline void *take_spare(size_t size) {
    size_t list = spare_list(size);
    if (list > SPARE_LISTS || !spares[list].first) return NULL;
    struct spare *block = spares[list].first;
    spares[list].first = block->next;
    spares[list].bytes -= list * SPARE_STEP;
    return block;
}

/* False if the caller must free the block. */
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
            memory_free_sized(block, list * SPARE_STEP, engine_memory);
}

/* ---- what Lua calls ---- */

static void *resize_block(void *block, size_t size) {
    if (!block)
        return held ? memory_alloc(size, engine_memory) : memory_try_alloc(size, engine_memory);
    return held ? memory_realloc(block, size, engine_memory)
                : memory_try_realloc(block, size, engine_memory);
}

static void set_gate(void) {
    size_t most = engine_bytes_max(), away = engine_bytes() - used;
    size_t room = most > away ? most - away : 0;
    gate = room < pace.trigger ? room : pace.trigger;
    if (test_refusal) gate = 0;
}

/* Whether Lua gets so many more bytes. Only called beyond `gate`: at the limit, or where the
 * running script is to be collected in. */
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

/* Notes that less is used. This is the only place that sees what Lua has collected. */
static inline void note_freed(size_t bytes) {
    used -= bytes;
    if (__builtin_expect(used >= pace.least, 1)) return;
    pace.least = used;
    gate = 0; /* the next allocation computes the trigger again */
}

/* lua_Alloc: `block` is NULL exactly where `old_size` is 0. */
static void *engine_allocate(void *context, void *block, size_t old_size, size_t size) {
    if (!size) {
        note_freed(old_size);
        if (block && !keep_spare(block, old_size))
            memory_free_sized(block, old_size, engine_memory);
        return NULL;
    }
    if (size <= old_size) {
        note_freed(old_size - size);
        return memory_realloc(block, size, engine_memory);
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

/* lua_Alloc of a state that was given up, which is only freed: lua_close gets the little that it
 * asks for. */
static void *engine_release(void *context, void *block, size_t old_size, size_t size) {
    atomic_fetch_add_explicit(&leaving, size - old_size, memory_order_relaxed);
    if (size)
        return block ? memory_realloc(block, size, engine_memory)
                     : memory_alloc(size, engine_memory);
    if (block) memory_free_sized(block, old_size, engine_memory);
    return NULL;
}

/* ---- engines ---- */

/* lua_atpanic: not reached, because engine_enter is the only way in. */
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
    struct engine *e = memory_alloc(sizeof(*e), engine_memory);
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
    memory_free(e, engine_memory);
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
    engine_hold(); /* so that no memory is refused that the system has */
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
