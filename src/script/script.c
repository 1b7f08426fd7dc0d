/* SPDX-License-Identifier: BSD-3-Clause
 * Running scripts.
 *
 *   none --EVAL--> running --lua-time-limit--> busy --SCRIPT KILL--> killed
 *    ^                |                          |                      |
 *    +----------------+--------------------------+----------------------+
 *
 * While a script is busy, clients are served in turns within the hook that counts Lua's
 * instructions, and the gate script_gate_busy answers nearly all their commands with -BUSY. A
 * script that is killed gets an error at its next instruction, and again at each later one, so that
 * no pcall of the script survives. SIGTERM kills a busy script, too, unless it has written.
 *
 * A script is a unit: its changes are replicated as effects within MULTI and EXEC, or, if
 * lua-replicate-commands is off, the script itself is replicated and run again.
 *
 * Invariants
 *  1. Nothing of Lua is reached but by engine_enter, and no hook is set between scripts.
 *  2. The random numbers of a script begin anew with it.
 */
#include "script/script.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "command/call.h"
#include "ds/table.h"
#include "exec/effects.h"
#include "exec/run.h"
#include "io/background.h"
#include "io/signals.h"
#include "net/reply.h"
#include "option/option.h"
#include "rdb/loading.h"
#include "script/bridge.h"
#include "script/cache.h"
#include "script/convert.h"
#include "script/debugger.h"
#include "script/engine.h"
#include "script/gates.h"
#include "script/libraries.h"
#include "script/random.h"
#include "script/sandbox.h"
#include "store/lazyfree.h"

#define ERROR_HANDLER "__redis__err__handler" /* a global, as in 6.2 */
/* The place on the stack of the globals until a script has run, and then of its result. */
#define GLOBALS_AT 1
/* A script that takes more than this may have made KEYS or ARGV large; to keep these costs far more
 * than to make two tables. */
#define TEXTS_GROWTH_MAX 4096
/* The script's instructions between two looks at the clock: some milliseconds at most. */
#define HOOK_INSTRUCTIONS 100000

static struct engine *engine;
/* Values in Lua's registry, by numbers, so that no access hashes a name. */
static struct {
    struct texts {
        int name, table; /* table: 0 until the first script */
    } keys, argv;
    bool outgrown; /* the tables may be too large to keep for another script */
} registered;
static int64_t time_limit_msec;

/* The script that runs; sha is NULL while none does. */
static struct {
    const char *sha;
    int64_t begin_nsec;
    bool repeats; /* the call comes from the primary or the log */
    bool busy, killed;
} running;

static const struct option_row option_rows[] = {
    OPTION_INT("lua-time-limit", &time_limit_msec, "5000", 0, INT64_MAX, OPTION_MUTABLE, "scripts",
               10,
               "Milliseconds after which a script counts as slow and other clients are told BUSY."),
};

void script_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    engine_register();
    cache_register();
    bridge_register();
}

/* ---- errors that the script has not caught ---- */

/* Describes an error in the words of 6.2, whose own handler fails if the error is not a string. */
static int describe_error(lua_State *L) {
    lua_Debug where;
    if (!lua_isstring(L, 1)) {
        lua_pushfstring(L,
                        "@err_handler_def:9: err_handler_def:9: attempt to concatenate local "
                        "'err' (a %s value)",
                        luaL_typename(L, 1));
        return 1;
    }
    bool known = lua_getstack(L, 1, &where) && lua_getinfo(L, "Sl", &where);
    if (known && strcmp(where.what, "C") == 0)
        known = lua_getstack(L, 2, &where) && lua_getinfo(L, "Sl", &where);
    lua_settop(L, 1);
    lua_tolstring(L, 1, NULL); /* turns a number into a string */
    if (!known) return 1;
    lua_pushfstring(L, "%s:%d: ", where.source, where.currentline);
    lua_insert(L, 1);
    lua_concat(L, 2);
    return 1;
}

/* ---- the engine ---- */

static void add_globals(lua_State *L) {
    script_libraries_open(L);
    bridge_open(L);
    lua_pushcfunction(L, describe_error);
    lua_setglobal(L, ERROR_HANDLER);
}

static int register_text(lua_State *L, const char *text) {
    lua_pushstring(L, text);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

static void open_state(lua_State *L, void *unused) {
    engine_lift_limit();
    sandbox_open(L, add_globals);
    registered.keys = (struct texts){.name = register_text(L, "KEYS")};
    registered.argv = (struct texts){.name = register_text(L, "ARGV")};
}

void script_open(void) {
    engine = engine_create(describe_error);
    bool opened = engine_enter(engine, open_state, NULL);
    ASSERT(opened);
}

/* Frees an engine in the background thread. */
struct old_scripts {
    struct engine *engine;
    struct table *cached;
    size_t count;
};

static void free_old(void *argument) {
    struct old_scripts *old = argument;
    engine_free(old->engine);
    cache_free(old->cached);
    lazyfree_note_freed(old->count);
    memory_free(old, cache_memory);
}

static void free_later(struct engine *old_engine, struct table *cached) {
    struct old_scripts *old = memory_alloc(sizeof(*old), cache_memory);
    *old = (struct old_scripts){old_engine, cached, cached ? table_count(cached) : 0};
    engine_part_with(old_engine);
    lazyfree_note_handed(old->count);
    background_submit(&background_free, free_old, old);
}

void script_flush(bool lazily) {
    struct table *cached = cache_take_all();
    if (lazily) {
        free_later(engine, cached);
    } else {
        cache_free(cached);
        engine_free(engine);
    }
    script_open();
}

/* ---- compiling ---- */

struct compiling {
    struct slice text;
    bool without_limit;
    int function;
};

static void compile_text(lua_State *L, void *context) {
    struct compiling *c = context;
    if (c->without_limit) engine_lift_limit();
    if (!sandbox_load(L, c->text, SANDBOX_SCRIPT_NAME)) lua_error(L);
    c->function = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* Compiles a text. NULL: engine_error has the fault. The collector does not run while a text is
 * compiled, so a text for which memory lacks is compiled again after garbage was collected. */
static struct cached_script *find_or_compile(struct slice text, bool without_limit) {
    struct compiling c = {.text = text, .without_limit = without_limit};
    char sha[CACHE_SHA_CHARS];
    cache_sha(text, sha);
    struct cached_script *s = cache_find(sha);
    if (s) return s;
    size_t before = engine_bytes();
    bool compiled = engine_enter(engine, compile_text, &c);
    if (!compiled && engine_lacked()) {
        engine_collect(engine);
        if (engine_bytes() < before) compiled = engine_enter(engine, compile_text, &c);
    }
    return compiled ? cache_add(sha, text, c.function) : NULL;
}

struct cached_script *script_find_or_compile(struct call *call, struct slice text) {
    struct cached_script *s = find_or_compile(text, call_is_repeated(call));
    if (!s)
        reply_error_format(call->client, "Error compiling script (new function): %s",
                           engine_error(engine).bytes);
    return s;
}

bool script_add(struct slice text, char *reason, size_t reason_size) {
    if (find_or_compile(text, true)) return true;
    snprintf(reason, reason_size, "%s", engine_error(engine).bytes);
    return false;
}

struct visit {
    void (*visit)(struct slice text, void *context);
    void *context;
};

static void visit_script(const struct cached_script *s, void *context) {
    const struct visit *v = context;
    v->visit((struct slice){s->text, s->length}, v->context);
}

void script_each(void (*visit)(struct slice text, void *context), void *context) {
    cache_each(visit_script, &(struct visit){visit, context});
}

/* ---- beyond the time limit ---- */

static void script_hook(lua_State *L, lua_Debug *where);

/* Ends the script, also from a coroutine: the next instruction of the coroutine, and of the script
 * itself, runs the hook again. */
static int kill_here(lua_State *L) {
    engine_set_hook(L, script_hook, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "Script killed by user with SCRIPT KILL...");
    return lua_error(L);
}

static bool is_over_time(void) {
    int64_t msec = (clock_monotonic_nsec() - running.begin_nsec) / 1000000;
    if (!time_limit_msec || msec < time_limit_msec) return false;
    log_warning(
        "Lua slow script detected: still in execution after %lld milliseconds. You can try "
        "killing the script using the SCRIPT KILL command. Script SHA1 is: %.*s",
        (long long)msec, CACHE_SHA_CHARS, running.sha);
    return true;
}

/* Whether a signal asks the server to stop, and the script may be ended for it. The server stops
 * between commands, so an endless script would keep the server from stopping. A script that has
 * written is not ended, as by SCRIPT KILL. */
static bool stands_in_the_way(void) {
    if (!signals_shutdown_requested() || running.repeats || bridge_wrote()) return false;
    log_warning("Lua script ended, since the server is to stop.");
    return true;
}

/* A script that a log holds runs while the log is loaded. A signal ends such a load at once,
 * whatever the time limit is, because nothing of it is saved. */
static bool load_is_to_end(void) {
    return gate_is_set(&loading_gate) && signals_shutdown_requested();
}

static void script_hook(lua_State *L, lua_Debug *where) {
    if (!running.killed) {
        if (!running.busy && !load_is_to_end() && !is_over_time()) return;
        running.busy = true;
        gate_set(&script_gate_busy, true);
        /* SHUTDOWN NOSAVE ends any script, a signal only those that have not written. */
        running.killed = !run_turn_within() || running.killed || stands_in_the_way();
    }
    if (running.killed) kill_here(L);
}

enum script_end script_kill(void) {
    if (!running.sha) return SCRIPT_NONE_RUNS;
    if (running.repeats) return SCRIPT_IS_REPEATED;
    if (bridge_wrote()) return SCRIPT_HAS_WRITTEN;
    if (!running.killed) log_warning("Lua script killed by user with SCRIPT KILL.");
    running.killed = true;
    return SCRIPT_ENDS;
}

/* ---- running ---- */

static void begin_script(const struct call *call, const struct cached_script *s) {
    running.sha = s->sha;
    running.begin_nsec = clock_monotonic_nsec();
    running.repeats = call_is_repeated(call);
    running.busy = running.killed = false;
    script_random_seed(0);
    bridge_begin(call);
}

static void end_script(void) {
    bridge_end();
    if (running.busy) gate_set(&script_gate_busy, false);
    running.sha = NULL;
}

/* Removes all elements and the metatable of the table on top. */
static void clear_table(lua_State *L) {
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4); /* the key exists, so lua_next may go on */
    }
    if (!lua_getmetatable(L, -1)) return;
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_setmetatable(L, -2);
}

/* Pushes the table for KEYS or ARGV: that of the script before, which nothing refers to any more,
 * unless it has grown. So scripts without arguments make no garbage. */
static void set_texts(lua_State *L, struct texts *t, const struct slice *texts, int count) {
    if (t->table && !registered.outgrown) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, t->table);
        clear_table(L);
    } else {
        lua_createtable(L, count, 0);
        lua_rawgeti(L, LUA_REGISTRYINDEX, t->name);
        lua_pushvalue(L, -2);
        lua_rawset(L, GLOBALS_AT);
        lua_pushvalue(L, -1);
        if (t->table)
            lua_rawseti(L, LUA_REGISTRYINDEX, t->table);
        else
            t->table = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    for (int i = 0; i < count; i++) {
        lua_pushlstring(L, texts[i].bytes, texts[i].length);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pop(L, 1);
}

struct run {
    struct call *call;
    const struct cached_script *script;
    int first, keys;
};

/* Arguments and result are the client's memory, so they are held whatever the limit says. */
static void run_script(lua_State *L, void *context) {
    const struct run *r = context;
    const struct call *call = r->call;
    if (running.repeats) engine_lift_limit();
    if (debugger_is_on())
        debugger_attach(L, time_limit_msec);
    else if (time_limit_msec || gate_is_set(&loading_gate))
        lua_sethook(L, script_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    engine_hold();
    sandbox_push_globals(L);
    set_texts(L, &registered.keys, call->argv + r->first, r->keys);
    set_texts(L, &registered.argv, call->argv + r->first + r->keys,
              call->argc - r->first - r->keys);
    lua_rawgeti(L, LUA_REGISTRYINDEX, r->script->function);
    sandbox_renew(L);
    engine_let_go();
    lua_call(L, 0, 1);
    lua_replace(L, GLOBALS_AT); /* a deep result needs the whole stack */
    lua_settop(L, GLOBALS_AT);
    engine_hold();
    convert_reply(L, call->client, bridge_speaks_resp3());
    engine_let_go();
}

/* ---- how the script is replicated ---- */

void script_note_told(struct cached_script *s) {
    if (effects_wanted()) s->told = effects_audience();
}

/* Replicates the script itself. EVALSHA is sent as EVAL to readers that were not sent the text. */
static void say_script(const struct call *call, struct cached_script *s, unsigned readers) {
    bool by_sha = call->argv[1].bytes && call->argv[1].length == CACHE_SHA_CHARS &&
                  slice_equal_nocase(call->argv[1], (struct slice){s->sha, CACHE_SHA_CHARS});
    if (!readers) return;
    if (!by_sha || s->told == effects_audience()) {
        effect_add_as_sent(call, readers);
    } else {
        struct slice *argv = memory_alloc((size_t)call->argc * sizeof(*argv), cache_memory);
        memcpy(argv, call->argv, (size_t)call->argc * sizeof(*argv));
        argv[0] = SLICE("EVAL");
        argv[1] = (struct slice){s->text, s->length};
        effect_add(call->keyspace, readers, call->argc, argv);
        memory_free(argv, cache_memory);
    }
    if (readers == EFFECT_BOTH) script_note_told(s);
}

void script_run(struct call *call, struct cached_script *s, int first, int keys) {
    struct run r = {call, s, first, keys};
    struct run_nesting nesting;
    begin_script(call, s);
    run_nest_begin(&nesting);
    if (!engine_enter(engine, run_script, &r))
        reply_error_format(call->client, "Error running script (call to f_%.*s): %s",
                           CACHE_SHA_CHARS, s->sha, engine_error(engine).bytes);
    registered.outgrown = engine_grown() > TEXTS_GROWTH_MAX;
    run_nest_end(&nesting);
    end_script();
    say_script(call, s, bridge_script_readers());
}
