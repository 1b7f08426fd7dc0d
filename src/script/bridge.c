/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of the table `redis`.
 *
 * An error of Lua leaves by longjmp, so none is raised while C holds a resource: a call's refusal
 * and its reply become values of Lua first. While a command runs for a script, Lua gets all the
 * memory that the reply needs (engine_hold), so that no error leaves the command's handler.
 *
 * Errors are 6.2's in text and in form: "@user_script: 1: text" if a function here or a gate
 * refuses the call, the command's own reply if the command ran and failed.
 */
#include "script/bridge.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <math.h>
#include <stdio.h>

#include "access/acl.h"
#include "base/log.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/random.h"
#include "command/call_make.h"
#include "command/command.h"
#include "exec/effects.h"
#include "exec/run.h"
#include "net/client.h"
#include "option/option.h"
#include "publish/tracking.h"
#include "script/cache.h"
#include "script/convert.h"
#include "script/debugger.h"
#include "script/engine.h"
#include "script/gates.h"
#include "script/random.h"
#include "store/keyspace.h"

/* Calls of at most so many arguments allocate no memory for them. */
#define ARGUMENTS_FEW 32
/* Room for any number that "%.17g" prints, and a NUL. */
#define NUMBER_CHARS 32
/* All whole numbers below this are exact as doubles. */
#define WHOLE_MAX 9007199254740992.0

enum { REPL_NONE = 0, REPL_AOF = 1, REPL_REPLICA = 2, REPL_ALL = 3 };

static bool always_by_effects;

/* The script that runs. */
static struct {
    struct convert convert;  /* of the script's client; opened for the first script */
    const struct call *eval; /* the call of EVAL; NULL: no script runs */
    bool wrote;              /* a command of the script was a write command */
    bool by_effects;         /* the script's effects are replicated, not its text */
    uint64_t written;        /* keyspace_written() when the script began */
    unsigned forced;         /* readers that get the script even if it changes no key */
} script;

static const struct option_row option_rows[] = {
    OPTION_BOOL("lua-replicate-commands", &always_by_effects, true, OPTION_MUTABLE | OPTION_HIDDEN,
                "scripts", 20, "Replicate what a script wrote and not the script."),
};

void bridge_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

void bridge_set_by_effects(bool by_effects) { always_by_effects = by_effects; }
bool bridge_wrote(void) { return script.wrote; }
bool bridge_speaks_resp3(void) { return script.convert.capture.client->protocol == 3; }

/* ---- the script begins, ends ---- */

static void repeat_effects(void) {
    script.by_effects = true;
    gate_set(&script_gate_chance, false);
    effects_limit(EFFECT_BOTH);
}

void bridge_begin(const struct call *eval) {
    ASSERT(!script.eval);
    if (!script.convert.capture.client) convert_open(&script.convert);
    struct client *c = script.convert.capture.client;
    script.eval = eval;
    script.wrote = script.by_effects = false;
    script.written = keyspace_written();
    script.forced = 0;
    c->database = eval->client->database;
    c->protocol = 2;
    acl_act_for(c, eval->client);
    script_gates_begin();
    if (always_by_effects)
        repeat_effects();
    else
        effects_limit(0);
}

void bridge_end(void) {
    struct client *c = script.convert.capture.client;
    script_gates_end();
    effects_limit(EFFECT_BOTH);
    acl_act_for(c, NULL);
    script.eval = NULL;
}

unsigned bridge_script_readers(void) {
    if (script.by_effects) return 0;
    return keyspace_written() != script.written ? EFFECT_BOTH : script.forced;
}

/* ---- errors ---- */

/* Pushes {err = "@user_script: 1: text"}, or only the text of it. */
static void push_error(lua_State *L, struct slice text, bool as_table) {
    lua_Debug where;
    if (debugger_shows()) debugger_show_error(text);
    if (as_table) lua_createtable(L, 0, 1);
    int parts = 1;
    if (lua_getstack(L, 1, &where) && lua_getinfo(L, "Sl", &where)) {
        lua_pushfstring(L, "%s: %d: ", where.source, where.currentline);
        parts++;
    }
    lua_pushlstring(L, text.bytes, text.length);
    lua_concat(L, parts);
    if (as_table) lua_setfield(L, -2, "err");
}

/* redis.call raises the error; redis.pcall returns it as a value. */
static int bridge_fail(lua_State *L, const char *text, bool raises) {
    push_error(L, slice_of(text), !raises);
    return raises ? lua_error(L) : 1;
}

static int raise_text(lua_State *L, const char *text) {
    lua_pushstring(L, text);
    return lua_error(L);
}

/* ---- redis.call ---- */

/* Writes a number as 6.2 does: by "%.17g". */
static size_t format_number(char *out, double value) {
    bool whole =
        fabs(value) < WHOLE_MAX && floor(value) == value && !(value == 0 && signbit(value));
    if (whole) return number_format_int64(out, (int64_t)value);
    return (size_t)snprintf(out, NUMBER_CHARS, "%.17g", value);
}

/* False if an argument is neither a string nor a number. */
static bool bridge_take_arguments(lua_State *L, int argc, struct slice *argv,
                                  char (*digits)[NUMBER_CHARS]) {
    for (int i = 0; i < argc; i++) {
        int type = lua_type(L, i + 1);
        if (type == LUA_TSTRING)
            argv[i].bytes = lua_tolstring(L, i + 1, &argv[i].length);
        else if (type == LUA_TNUMBER)
            argv[i] = (struct slice){digits[i], format_number(digits[i], lua_tonumber(L, i + 1))};
        else
            return false;
    }
    return true;
}

/* Notes what the flags of a command change for the rest of the script. */
static void note_flags(unsigned command_flags) {
    if (command_flags & COMMAND_WRITE) script.wrote = true;
    script_gates_note(command_flags, !script.by_effects);
}

/* Notes what the command that has run changes for the rest of the script. */
static void note_command(const struct call *call) {
    const struct command *command = call->command;
    if (command->flags & COMMAND_WRITE && script.by_effects) effects_frame();
    note_flags(command->flags);
    if (command->propagation == COMMAND_PROPAGATES_ALWAYS) script.forced = EFFECT_BOTH;
    if (command->propagation == COMMAND_PROPAGATES_TO_REPLICAS) script.forced |= EFFECT_STREAM;
    if (command->flags & COMMAND_READONLY) tracking_after_script_read(script.eval);
}

/* Runs the command and pushes its reply, or the error in its place. Returns true if it is an error.
 */
static bool run_command(lua_State *L, int argc, const struct slice *argv, bool raises) {
    struct client *c = script.convert.capture.client;
    struct buffer refusal;
    buffer_init(&refusal, MEMORY_OTHER);
    struct call call;
    call_make(
        &call, call_origin_within(script.eval, CALL_SCRIPT, CALL_SCRIPT_AGAIN), c,
        (struct call_parts){
            .command = command_find(argv[0]), .argc = argc, .argv = argv, .refusal = &refusal});
    bool shown = debugger_shows();
    if (shown) debugger_show_call(&script.convert.capture, argc, argv);
    convert_begin(&script.convert, L);
    enum gate_verdict verdict = call_run(&call);
    if (shown) debugger_show_reply(&script.convert.capture, verdict == GATE_OPEN);
    bool failed = true;
    if (verdict != GATE_OPEN) {
        /* The cluster refuses no call of a script that is run again. So a random call that it has
         * refused here may run elsewhere, and no command may write behind it. */
        if (script_gates_was_cluster(buffer_slice(&refusal))) note_flags(call.command->flags);
        /* A refusal with a code of its own keeps its CRLF, because a script may compare the text.
         */
        if (refusal.bytes[0] == '-') buffer_append_c_string(&refusal, "\r\n");
        push_error(L, buffer_slice(&refusal), !raises);
    } else {
        convert_end(&script.convert);
        failed = script.convert.failed;
        if (call.command->flags & COMMAND_SORT_FOR_SCRIPT && !script.by_effects) convert_sort(L);
        if (failed && raises) {
            lua_getfield(L, -1, "err");
            lua_remove(L, -2);
        }
        note_command(&call);
    }
    buffer_free(&refusal);
    if (!(script.eval->client->flags & CLIENT_CLOSING)) client_finish_closing();
    return failed;
}

/* Moves many arguments from the stack, whose size Lua bounds for a C function, into a table, which
 * keeps their texts alive. Returns memory for their slices, with the memory for their digits behind
 * it. */
static struct slice *make_room(lua_State *L, int argc) {
    struct slice *argv = lua_newuserdata(L, (size_t)argc * (sizeof(*argv) + NUMBER_CHARS));
    lua_createtable(L, argc, 0);
    for (int i = 1; i <= argc; i++) {
        lua_pushvalue(L, i);
        lua_rawseti(L, -2, i);
    }
    return argv;
}

static int call_command(lua_State *L, bool raises) {
    struct slice few[ARGUMENTS_FEW], *argv = few;
    char few_digits[ARGUMENTS_FEW][NUMBER_CHARS], (*digits)[NUMBER_CHARS] = few_digits;
    int argc = lua_gettop(L);
    if (argc < 1)
        return bridge_fail(L, "Please specify at least one argument for redis.call()", raises);
    bool many = argc > ARGUMENTS_FEW;
    if (many) {
        argv = make_room(L, argc);
        digits = (char(*)[NUMBER_CHARS])(argv + argc);
    }
    if (!bridge_take_arguments(L, argc, argv, digits))
        return bridge_fail(L, "Lua redis() command arguments must be strings or integers", raises);
    if (many) {
        lua_replace(L, 1);
        lua_replace(L, 2);
        lua_settop(L, 2);
    }
    engine_hold();
    bool failed = run_command(L, argc, argv, raises);
    engine_let_go();
    return failed && raises ? lua_error(L) : 1;
}

static int redis_call(lua_State *L) { return call_command(L, true); }
static int redis_pcall(lua_State *L) { return call_command(L, false); }

/* ---- the other functions ---- */

static int single_field(lua_State *L, const char *name) {
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING)
        return bridge_fail(L, "wrong number or type of arguments", false);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, name);
    return 1;
}

static int redis_error_reply(lua_State *L) { return single_field(L, "err"); }
static int redis_status_reply(lua_State *L) { return single_field(L, "ok"); }

static int redis_sha1hex(lua_State *L) {
    char hex[CACHE_SHA_CHARS];
    struct slice text = SLICE("");
    if (lua_gettop(L) != 1) return raise_text(L, "wrong number of arguments");
    if (lua_isstring(L, 1)) text.bytes = lua_tolstring(L, 1, &text.length);
    cache_sha(text, hex);
    lua_pushlstring(L, hex, sizeof(hex));
    return 1;
}

static void write_log(int level, const char *line) {
    switch (level) {
    case LOG_LEVEL_DEBUG: log_debug("%s", line); break;
    case LOG_LEVEL_VERBOSE: log_verbose("%s", line); break;
    case LOG_LEVEL_NOTICE: log_notice("%s", line); break;
    default: log_warning("%s", line);
    }
}

/* Appends the given words with blanks between, and leaves out each NULL. */
static int redis_log(lua_State *L) {
    int argc = lua_gettop(L);
    luaL_Buffer line;
    if (argc < 2) return raise_text(L, "redis.log() requires two arguments or more.");
    if (!lua_isnumber(L, 1)) return raise_text(L, "First argument must be a number (log level).");
    double level = lua_tonumber(L, 1);
    if (!(level >= LOG_LEVEL_DEBUG && level < LOG_LEVEL_WARNING + 1))
        return raise_text(L, "Invalid debug level.");
    luaL_buffinit(L, &line);
    for (int i = 2; i <= argc; i++) {
        if (!lua_isstring(L, i)) continue;
        if (i > 2) luaL_addchar(&line, ' ');
        lua_pushvalue(L, i);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    write_log((int)level, lua_tostring(L, -1));
    return 0;
}

static int redis_setresp(lua_State *L) {
    if (lua_gettop(L) != 1) return raise_text(L, "redis.setresp() requires one argument.");
    double version = lua_tonumber(L, 1);
    if (version != 2 && version != 3) return raise_text(L, "RESP version must be 2 or 3.");
    script.convert.capture.client->protocol = (uint8_t)version;
    return 0;
}

/* Later random numbers may differ on a replica, because only the script's effects are replicated.
 */
static int redis_replicate_commands(lua_State *L) {
    bool can = !script.wrote;
    if (can) {
        if (!script.by_effects) repeat_effects();
        script_random_seed((uint32_t)random_u64());
    }
    lua_pushboolean(L, can);
    return 1;
}

static int redis_set_repl(lua_State *L) {
    if (!script.by_effects)
        return raise_text(L,
                          "You can set the replication behavior only after turning on single "
                          "commands replication with redis.replicate_commands().");
    if (lua_gettop(L) != 1) return raise_text(L, "redis.set_repl() requires two arguments.");
    double flags = lua_tonumber(L, 1);
    if (!(flags >= REPL_NONE && flags < REPL_ALL + 1))
        return raise_text(L,
                          "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or "
                          "REPL_NONE.");
    unsigned chosen = (unsigned)flags;
    effects_limit((chosen & REPL_AOF ? EFFECT_LOG : 0) |
                  (chosen & REPL_REPLICA ? EFFECT_STREAM : 0));
    return 0;
}

static int redis_breakpoint(lua_State *L) {
    lua_pushboolean(L, debugger_stop_soon());
    return 1;
}

static int redis_debug(lua_State *L) {
    debugger_show_values(L);
    return 0;
}

static const struct {
    const char *name;
    int value;
} constants[] = {
    {"LOG_DEBUG", LOG_LEVEL_DEBUG},   {"LOG_VERBOSE", LOG_LEVEL_VERBOSE},
    {"LOG_NOTICE", LOG_LEVEL_NOTICE}, {"LOG_WARNING", LOG_LEVEL_WARNING},
    {"REPL_NONE", REPL_NONE},         {"REPL_AOF", REPL_AOF},
    {"REPL_SLAVE", REPL_REPLICA},     {"REPL_REPLICA", REPL_REPLICA},
    {"REPL_ALL", REPL_ALL},
};

void bridge_open(struct lua_State *L) {
    static const luaL_Reg functions[] = {{"call", redis_call},
                                         {"pcall", redis_pcall},
                                         {"error_reply", redis_error_reply},
                                         {"status_reply", redis_status_reply},
                                         {"sha1hex", redis_sha1hex},
                                         {"log", redis_log},
                                         {"setresp", redis_setresp},
                                         {"replicate_commands", redis_replicate_commands},
                                         {"set_repl", redis_set_repl},
                                         {"breakpoint", redis_breakpoint},
                                         {"debug", redis_debug},
                                         {NULL, NULL}};
    luaL_register(L, "redis", functions);
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        lua_pushinteger(L, constants[i].value);
        lua_setfield(L, -2, constants[i].name);
    }
    lua_pop(L, 1);
}
