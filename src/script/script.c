/* SPDX-License-Identifier: BSD-3-Clause
 * Running scripts.
 *
 *   none --EVAL--> running --lua-time-limit--> busy --SCRIPT KILL--> killed
 *    ^                |                          |                      |
 *    +----------------+--------------------------+----------------------+
 *
 * While it is busy clients are served in turns within the hook that counts Lua's instructions, and
 * the gate GATE_BUSY tells nearly all of them so. A script that is killed gets an error at its next
 * instruction, and again at each one after that: none of its pcalls survives it. SIGTERM does the
 * same to a busy one that has not written.
 *
 * A script is a unit: what it changed is handed on as its effects within MULTI and EXEC, or, where
 * lua-replicate-commands is off, as the script itself, to be run again.
 *
 * Invariants
 *  1. Lua's stack is empty between scripts, and no hook is set.
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
#include "script/bridge.h"
#include "script/cache.h"
#include "script/convert.h"
#include "script/debugger.h"
#include "script/engine.h"
#include "script/libraries.h"
#include "script/random.h"
#include "script/sandbox.h"
#include "store/lazyfree.h"

#define ERROR_HANDLER "__redis__err__handler" /* a global, as in 6.2 */
/* Where on the stack the globals are, and the handler, while a script runs. Of what stands in the
 * registry by a number nothing is hashed. */
#define GLOBALS_AT 1
#define HANDLER_AT 2
/* Instructions between two looks at the clock: some milliseconds at most. */
#define HOOK_INSTRUCTIONS 100000

static lua_State *state;
static struct { int handler, keys, argv; /* the names of these two */ } registered;
static int64_t time_limit_msec;

/* The script that runs; sha NULL: none does. */
static struct {
    const char *sha;
    int64_t begin_nsec;
    bool repeats; /* what the primary or the log says */
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

/* ---- errors that nobody in the script has caught ---- */

/* The words of 6.2, whose own handler fails at what is no text. */
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
    if (!known) return 1;
    lua_pushfstring(L, "%s:%d: ", where.source, where.currentline);
    lua_insert(L, 1);
    lua_concat(L, 2);
    return 1;
}

/* ---- the state ---- */

static void add_globals(lua_State *L) {
    script_libraries_open(L);
    bridge_open(L);
    lua_pushcfunction(L, describe_error);
    lua_setglobal(L, ERROR_HANDLER);
}

static int register_text(const char *text) {
    lua_pushstring(state, text);
    return luaL_ref(state, LUA_REGISTRYINDEX);
}

void script_open(void) {
    state = engine_create();
    sandbox_open(state, add_globals);
    engine_hold();
    sandbox_push_globals(state);
    lua_getfield(state, -1, ERROR_HANDLER);
    registered.handler = luaL_ref(state, LUA_REGISTRYINDEX);
    lua_pop(state, 1);
    registered.keys = register_text("KEYS");
    registered.argv = register_text("ARGV");
    engine_let_go();
}

/* What the background frees. */
struct old_scripts {
    lua_State *state;
    struct table *cached;
    size_t count;
};

static void free_old(void *argument) {
    struct old_scripts *old = argument;
    engine_free(old->state);
    cache_free(old->cached);
    lazyfree_note_freed(old->count);
    memory_free(old, MEMORY_SCRIPTS);
}

static void free_later(lua_State *old_state, struct table *cached) {
    struct old_scripts *old = memory_alloc(sizeof(*old), MEMORY_SCRIPTS);
    *old = (struct old_scripts){old_state, cached, cached ? table_count(cached) : 0};
    engine_part_with(old_state);
    lazyfree_note_handed(old->count);
    background_submit(BACKGROUND_FREE, free_old, old);
}

void script_flush(bool lazily) {
    struct table *cached = cache_take_all();
    if (lazily) {
        free_later(state, cached);
    } else {
        cache_free(cached);
        engine_free(state);
    }
    script_open();
}

/* The collector lets garbage grow to as much again as is used, which the limit may not leave room
 * for. */
static void collect_if_full(void) {
    if (engine_bytes() > engine_bytes_max() / 2) lua_gc(state, LUA_GCCOLLECT, 0);
}

/* NULL: the fault is on top of Lua's stack, which is to be emptied by drop_fault. */
static struct cached_script *find_or_compile(struct slice text) {
    char sha[CACHE_SHA_CHARS];
    cache_sha(text, sha);
    struct cached_script *s = cache_find(sha);
    if (s) return s;
    if (!sandbox_load(state, text, SANDBOX_SCRIPT_NAME)) return NULL;
    engine_hold();
    int function = luaL_ref(state, LUA_REGISTRYINDEX);
    engine_let_go();
    return cache_add(sha, text, function);
}

static void drop_fault(void) {
    lua_settop(state, 0);
    collect_if_full();
}

struct cached_script *script_find_or_compile(struct call *call, struct slice text) {
    struct cached_script *s = find_or_compile(text);
    if (s) return s;
    reply_error_format(call->client, "Error compiling script (new function): %s",
                       lua_tostring(state, -1));
    drop_fault();
    return NULL;
}

bool script_add(struct slice text, char *reason, size_t reason_size) {
    if (find_or_compile(text)) return true;
    snprintf(reason, reason_size, "%s", lua_tostring(state, -1));
    drop_fault();
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

/* ---- beyond its time ---- */

static void hook(lua_State *L, lua_Debug *where);

/* From any coroutine: the next instruction of it, and of the script itself, ends in the hook. */
static int kill_here(lua_State *L) {
    lua_sethook(state, hook, LUA_MASKCOUNT, 1);
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "Script killed by user with SCRIPT KILL...");
    return lua_error(L);
}

static bool is_over_time(void) {
    int64_t msec = (clock_monotonic_nsec() - running.begin_nsec) / 1000000;
    if (msec < time_limit_msec) return false;
    log_warning(
        "Lua slow script detected: still in execution after %lld milliseconds. You can try "
        "killing the script using the SCRIPT KILL command. Script SHA1 is: %.*s",
        (long long)msec, CACHE_SHA_CHARS, running.sha);
    return true;
}

/* A signal asks the server to stop, which it does between commands: so never, where a script has no
 * end. One that has written is as hard to end as by SCRIPT KILL. */
static bool stands_in_the_way(void) {
    if (!signals_shutdown_requested() || running.repeats || bridge_wrote()) return false;
    log_warning("Lua script ended, since the server is to stop.");
    return true;
}

static void hook(lua_State *L, lua_Debug *where) {
    if (!running.killed) {
        if (!running.busy && !is_over_time()) return;
        running.busy = true;
        gate_set(GATE_BUSY, true);
        /* SHUTDOWN NOSAVE ends any, a signal those that leave nothing half done. */
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

static void begin(const struct call *call, const struct cached_script *s) {
    running.sha = s->sha;
    running.begin_nsec = clock_monotonic_nsec();
    running.repeats = call_is_repeated(call);
    running.busy = running.killed = false;
    script_random_seed(0);
    bridge_begin(call);
    if (debugger_is_on())
        debugger_attach(state, time_limit_msec);
    else if (time_limit_msec)
        lua_sethook(state, hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
}

static void end(void) {
    lua_sethook(state, NULL, 0, 0);
    lua_settop(state, 0);
    collect_if_full();
    bridge_end();
    if (running.busy) gate_set(GATE_BUSY, false);
    running.sha = NULL;
}

static void set_texts(int name, const struct slice *texts, int count) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, name);
    lua_createtable(state, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushlstring(state, texts[i].bytes, texts[i].length);
        lua_rawseti(state, -2, i + 1);
    }
    lua_rawset(state, GLOBALS_AT);
}

static void reply_result(struct call *call, const struct cached_script *s, int status) {
    if (status) {
        const char *text = lua_tostring(state, -1);
        reply_error_format(call->client, "Error running script (call to f_%.*s): %s",
                           CACHE_SHA_CHARS, s->sha, text ? text : "no text");
    } else {
        convert_reply(state, call->client, bridge_speaks_resp3());
    }
}

/* ---- what it was, for those who run it again ---- */

void script_note_told(struct cached_script *s) {
    if (effects_wanted()) s->told = effects_audience();
}

/* EVALSHA of a text that they were not sent is EVAL to them. */
static void say_script(const struct call *call, struct cached_script *s, unsigned readers) {
    bool by_sha = call->argv[1].bytes && call->argv[1].length == CACHE_SHA_CHARS &&
                  slice_equal_nocase(call->argv[1], (struct slice){s->sha, CACHE_SHA_CHARS});
    if (!readers) return;
    if (!by_sha || s->told == effects_audience()) {
        effect_add_as_sent(call, readers);
    } else {
        struct slice *argv = memory_alloc((size_t)call->argc * sizeof(*argv), MEMORY_SCRIPTS);
        memcpy(argv, call->argv, (size_t)call->argc * sizeof(*argv));
        argv[0] = SLICE("EVAL");
        argv[1] = (struct slice){s->text, s->length};
        effect_add(call->keyspace, readers, call->argc, argv);
        memory_free(argv, MEMORY_SCRIPTS);
    }
    if (readers == EFFECT_BOTH) script_note_told(s);
}

void script_run(struct call *call, struct cached_script *s, int first, int keys) {
    struct run_nesting nesting;
    begin(call, s);
    run_nest_begin(&nesting);
    engine_hold();
    sandbox_push_globals(state);
    lua_rawgeti(state, LUA_REGISTRYINDEX, registered.handler);
    lua_rawgeti(state, LUA_REGISTRYINDEX, s->function);
    sandbox_renew(state);
    set_texts(registered.keys, call->argv + first, keys);
    set_texts(registered.argv, call->argv + first + keys, call->argc - first - keys);
    engine_let_go();
    int status = lua_pcall(state, 0, 1, HANDLER_AT);
    lua_replace(state, GLOBALS_AT); /* a deep result needs all the stack that there is */
    lua_settop(state, GLOBALS_AT);
    engine_hold();
    reply_result(call, s, status);
    engine_let_go();
    run_nest_end(&nesting);
    end();
    say_script(call, s, bridge_script_readers());
}
