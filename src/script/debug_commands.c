/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of the debugger: rows of name, letter and handler. A user may give the name or the
 * letter, in any case.
 *
 * Each command has a thread of Lua of its own, because the script may have filled the stack of the
 * thread that has stopped. Code that the user gives runs in the command's thread with a hook that
 * ends it if it runs too long. The stopped thread cannot do that, because it is within its hook,
 * where Lua runs no other hook of the thread.
 */
#include "script/debug_commands.h"

#include <lua5.1/lua.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/panic.h"
#include "script/debug_session.h"
#include "script/debug_text.h"
#include "script/engine.h"
#include "script/sandbox.h"

#define CODE_NAME "@ldb_eval"
/* Lua's name for values on the stack that are not variables. */
#define TEMPORARY "(*temporary)"
#define LINES_BESIDE 5
/* The code's instructions between two looks at the clock. */
#define HOOK_INSTRUCTIONS 100000

struct debug_command {
    const char *name;
    int arguments_min, arguments_max;
    enum debug_verdict (*run)(struct debug_session *s, lua_State *L, const struct slice *arguments,
                              int count);
    const char *form, *help; /* for `help`: what follows the name; NULL: nothing */
};

/* False after a line that says so. */
static bool parse_number(struct debug_session *s, struct slice text, int64_t *number) {
    if (number_parse_int64(text.bytes, text.length, number)) return true;
    struct buffer *line = debug_line_begin(&s->lines);
    buffer_append_c_string(line, "Invalid argument:'");
    debug_line_add(&s->lines, text);
    buffer_append_char(line, '\'');
    debug_line_end_cut(&s->lines);
    return false;
}

/* ---- going on ---- */

static enum debug_verdict run_step(struct debug_session *s, lua_State *L, const struct slice *argv,
                                   int count) {
    s->stepping = true;
    return DEBUG_GOES_ON;
}

static enum debug_verdict run_continue(struct debug_session *s, lua_State *L,
                                       const struct slice *argv, int count) {
    s->stepping = false;
    return DEBUG_GOES_ON;
}

static enum debug_verdict run_abort(struct debug_session *s, lua_State *L, const struct slice *argv,
                                    int count) {
    return DEBUG_ABORTS;
}

/* ---- the script's text ---- */

static enum debug_verdict run_list(struct debug_session *s, lua_State *L, const struct slice *argv,
                                   int count) {
    int64_t around = 0, beside = LINES_BESIDE;
    if (count > 0 && !parse_number(s, argv[0], &around)) return DEBUG_STAYS;
    if (count > 1 && !parse_number(s, argv[1], &beside)) return DEBUG_STAYS;
    if (around <= 0) around = s->line;
    /* No line is farther away, and sums of these do not overflow. */
    if (around > INT32_MAX) around = INT32_MAX;
    if (beside > INT32_MAX) beside = INT32_MAX;
    debug_session_show_lines(s, around, beside < 0 ? -1 : beside);
    return DEBUG_STAYS;
}

static enum debug_verdict run_whole(struct debug_session *s, lua_State *L, const struct slice *argv,
                                    int count) {
    debug_session_show_lines(s, 1, INT32_MAX);
    return DEBUG_STAYS;
}

/* ---- breakpoints ---- */

static void show_breakpoints(struct debug_session *s) {
    if (!s->breakpoint_count) {
        debug_line(&s->lines, "No breakpoints set. Use 'b <line>' to add one.");
        return;
    }
    debug_line(&s->lines, "%d breakpoints set:", s->breakpoint_count);
    for (int i = 0; i < s->breakpoint_count; i++)
        if (debug_lines_take(&s->lines)) debug_session_show_line(s, s->breakpoints[i]);
}

/* The argument is a line where to set a breakpoint, a negative line to remove one, or 0 to remove
 * all. */
static void change_breakpoint(struct debug_session *s, int64_t line) {
    if (line == 0) {
        s->breakpoint_count = 0;
        debug_line(&s->lines, "All breakpoints removed.");
    } else if (line < 0) {
        bool removed = line >= -INT32_MAX && debug_session_unset(s, -line);
        debug_line(&s->lines,
                   removed ? "Breakpoint removed." : "No breakpoint in the specified line.");
    } else {
        switch (debug_session_set(s, line)) {
        case DEBUG_BREAKPOINT_SET: debug_session_show_lines(s, line, 1); break;
        case DEBUG_BREAKPOINTS_TOO_MANY: debug_line(&s->lines, "Too many breakpoints set."); break;
        case DEBUG_BREAKPOINT_WRONG: debug_line(&s->lines, "Wrong line number."); break;
        }
    }
}

static enum debug_verdict run_break(struct debug_session *s, lua_State *L, const struct slice *argv,
                                    int count) {
    if (!count) show_breakpoints(s);
    for (int i = 0; i < count; i++) {
        int64_t line;
        if (parse_number(s, argv[i], &line)) change_breakpoint(s, line);
    }
    return DEBUG_STAYS;
}

/* ---- values ---- */

static bool is_of_script(const lua_Debug *where) {
    return strcmp(where->source, SANDBOX_SCRIPT_NAME) == 0;
}

/* Shows the value on top of the command's thread, and pops it. `name` is the variable's name; NULL:
 * the value has none. */
static void show_value(struct debug_session *s, const char *mark, const char *name) {
    struct buffer *line = debug_line_begin(&s->lines);
    buffer_printf(line, "<%s> ", mark);
    if (name) {
        debug_line_add(&s->lines, slice_of(name));
        buffer_append_c_string(line, " = ");
    }
    debug_text_append(line, s->thread, debug_lines_most(&s->lines));
    debug_line_end_cut(&s->lines);
}

static void show_locals(struct debug_session *s, lua_State *L) {
    lua_Debug where;
    const char *name;
    bool found = false;
    if (!lua_getstack(L, 0, &where)) return;
    for (int i = 1; (name = lua_getlocal(L, &where, i)); i++) {
        if (strcmp(name, TEMPORARY) == 0) {
            lua_pop(L, 1);
            continue;
        }
        found = true;
        if (!debug_lines_take(&s->lines)) {
            lua_pop(L, 1);
            continue;
        }
        lua_xmove(L, s->thread, 1);
        show_value(s, "value", name);
    }
    if (!found) debug_line(&s->lines, "No local variables in the current context.");
}

/* Pushes the value of a variable of the function: of the last with this name, which hides the
 * others. */
static bool push_local(lua_State *L, const lua_Debug *where, struct slice wanted) {
    int last = 0;
    const char *name;
    for (int i = 1; (name = lua_getlocal(L, where, i)); i++) {
        if (slice_equal(slice_of(name), wanted)) last = i;
        lua_pop(L, 1);
    }
    return last && lua_getlocal(L, where, last);
}

/* Pushes the value of a variable of the innermost function that has it, or KEYS or ARGV, onto the
 * command's stack. */
static bool push_variable(lua_State *L, lua_State *thread, struct slice name) {
    lua_Debug where;
    for (int level = 0; lua_getstack(L, level, &where); level++) {
        if (!push_local(L, &where, name)) continue;
        lua_xmove(L, thread, 1);
        return true;
    }
    if (!slice_equal(name, SLICE("KEYS")) && !slice_equal(name, SLICE("ARGV"))) return false;
    lua_pushlstring(thread, name.bytes, name.length);
    lua_gettable(thread, LUA_GLOBALSINDEX);
    return true;
}

static enum debug_verdict run_print(struct debug_session *s, lua_State *L, const struct slice *argv,
                                    int count) {
    if (!count)
        show_locals(s, L);
    else if (push_variable(L, s->thread, argv[0]))
        show_value(s, "value", NULL);
    else
        debug_line(&s->lines, "No such variable.");
    return DEBUG_STAYS;
}

/* Shows the calls that lead here; functions of other texts, and functions in C, are left out. */
static enum debug_verdict run_trace(struct debug_session *s, lua_State *L, const struct slice *argv,
                                    int count) {
    lua_Debug where;
    for (int level = 0; lua_getstack(L, level, &where); level++) {
        if (!lua_getinfo(L, "Snl", &where) || !is_of_script(&where)) continue;
        if (!debug_lines_take(&s->lines)) continue;
        struct buffer *line = debug_line_begin(&s->lines);
        buffer_append_c_string(line, level ? "From " : "In ");
        debug_line_add(&s->lines, slice_of(where.name ? where.name : "top level"));
        buffer_append_char(line, ':');
        debug_line_end(&s->lines);
        debug_session_show_line(s, where.currentline);
    }
    return DEBUG_STAYS;
}

static enum debug_verdict run_maxlen(struct debug_session *s, lua_State *L,
                                     const struct slice *argv, int count) {
    int64_t most;
    if (count) {
        if (!parse_number(s, argv[0], &most)) return DEBUG_STAYS;
        if (most && most < DEBUG_LINE_BYTES_LEAST) most = DEBUG_LINE_BYTES_LEAST;
        if (most > (int64_t)DEBUG_LINE_BYTES_MAX) most = 0;
        s->lines.cut_to = (size_t)most;
        s->lines.hint_is_needed = false;
    }
    if (s->lines.cut_to)
        debug_line(&s->lines, "<value> replies are truncated at %zu bytes.", s->lines.cut_to);
    else
        debug_line(&s->lines, "<value> replies are unlimited.");
    return DEBUG_STAYS;
}

/* ---- running code ---- */

/* The hook of the code that runs. The limit may be any number of milliseconds. */
static int64_t code_begun_nsec, code_limit_msec;

static void code_hook(lua_State *L, lua_Debug *where) {
    if ((clock_monotonic_nsec() - code_begun_nsec) / 1000000 < code_limit_msec) return;
    lua_sethook(L, code_hook, LUA_MASKCOUNT, 1); /* again, if the code catches the error */
    engine_spread_hook(code_hook, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "the code has run as long as lua-time-limit allows");
    lua_error(L);
}

/* Compiles the text as an expression, or else as a chunk. Leaves the function, or an error, on top.
 */
static bool load_code(lua_State *thread, const struct slice *words, int count) {
    struct buffer code;
    buffer_init(&code, MEMORY_OTHER);
    buffer_append_c_string(&code, "return");
    for (int i = 0; i < count; i++) {
        buffer_append_char(&code, ' ');
        buffer_append(&code, words[i].bytes, words[i].length);
    }
    bool loaded = sandbox_load(thread, buffer_slice(&code), CODE_NAME);
    if (!loaded) {
        size_t head = sizeof("return ") - 1;
        lua_pop(thread, 1);
        loaded =
            sandbox_load(thread, (struct slice){code.bytes + head, code.length - head}, CODE_NAME);
    }
    buffer_free(&code);
    return loaded;
}

/* Shows a string as it is, any other value as `print` shows it. */
static void show_error(struct debug_session *s) {
    struct buffer *line = debug_line_begin(&s->lines);
    struct slice text = {NULL, 0};
    buffer_append_c_string(line, "<error> ");
    if (lua_isstring(s->thread, -1)) text.bytes = lua_tolstring(s->thread, -1, &text.length);
    if (text.bytes)
        debug_line_add(&s->lines, text);
    else
        debug_text_append(line, s->thread, debug_lines_most(&s->lines));
    debug_line_end_cut(&s->lines);
}

/* Calls the function below its arguments in the command's thread, with Lua's memory limited. */
static bool run_code(struct debug_session *s, int count, int results) {
    engine_let_go();
    int status = lua_pcall(s->thread, count, results, 0);
    engine_hold();
    return status == 0;
}

static enum debug_verdict run_eval(struct debug_session *s, lua_State *L, const struct slice *argv,
                                   int count) {
    code_begun_nsec = clock_monotonic_nsec();
    code_limit_msec = s->time_limit_msec;
    lua_sethook(s->thread, code_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    if (load_code(s->thread, argv, count) && run_code(s, 0, 1))
        show_value(s, "retval", NULL);
    else
        show_error(s);
    engine_spread_hook(NULL, 0, 0);
    return DEBUG_STAYS;
}

/* Runs a command by redis.pcall, which shows the call and its reply as it does for the script. */
static enum debug_verdict run_redis(struct debug_session *s, lua_State *L, const struct slice *argv,
                                    int count) {
    lua_State *thread = s->thread;
    lua_getglobal(thread, "redis");
    lua_getfield(thread, -1, "pcall");
    for (int i = 0; i < count; i++) lua_pushlstring(thread, argv[i].bytes, argv[i].length);
    s->stepping = true;
    bool done = run_code(s, count, 0);
    s->stepping = false;
    if (!done) show_error(s);
    return DEBUG_STAYS;
}

/* ---- rows ---- */

static enum debug_verdict run_help(struct debug_session *s, lua_State *L, const struct slice *argv,
                                   int count);

static const struct debug_command rows[] = {
    {"step", 0, 0, run_step, NULL, "Runs this line; stops at the next."},
    {"next", 0, 0, run_step, NULL, "Another name of step."},
    {"continue", 0, 0, run_continue, NULL, "Runs on to a breakpoint, or to the end."},
    {"list", 0, 2, run_list, "[line] [n]", "Shows n lines before and after one; 0: this one."},
    {"whole", 0, 0, run_whole, NULL, "Shows the whole script."},
    {"print", 0, 1, run_print, "[name]", "Shows a variable, KEYS or ARGV; or all local ones."},
    {"break", 0, DIALOG_ARGUMENTS_MAX, run_break, "[line ...]",
     "Sets breakpoints; -line removes one, 0 all. Or shows them."},
    {"trace", 0, 0, run_trace, NULL, "Shows the calls that led here."},
    {"eval", 1, DIALOG_ARGUMENTS_MAX, run_eval, "<code>",
     "Runs code of yours, which does not see local variables."},
    {"redis", 1, DIALOG_ARGUMENTS_MAX, run_redis, "<command>", "Runs a command of the server."},
    {"maxlen", 0, 1, run_maxlen, "[bytes]", "Cuts replies and values to these; 0: to none."},
    {"abort", 0, 0, run_abort, NULL,
     "Ends the script. In sync mode what it has changed stays changed."},
    {"help", 0, 0, run_help, NULL, "This."},
};

static enum debug_verdict run_help(struct debug_session *s, lua_State *L, const struct slice *argv,
                                   int count) {
    debug_line(&s->lines, "Each command may be said by its first letter.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        debug_line(&s->lines, "%-8s %-11s %s", rows[i].name, rows[i].form ? rows[i].form : "",
                   rows[i].help);
    debug_line(&s->lines, "In a script:");
    debug_line(&s->lines, "redis.breakpoint()   stops at the next line.");
    debug_line(&s->lines, "redis.debug(...)     shows these values here.");
    return DEBUG_STAYS;
}

static bool is_named(const struct debug_command *row, struct slice word) {
    return slice_is(word, row->name) ||
           (word.length == 1 && string_lower(word.bytes[0]) == row->name[0]);
}

/* NULL if there is no such command. */
static const struct debug_command *row_of(struct slice word, int count) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct debug_command *row = &rows[i];
        if (!is_named(row, word)) continue;
        return count >= row->arguments_min && count <= row->arguments_max ? row : NULL;
    }
    return NULL;
}

enum debug_verdict debug_command_run(struct debug_session *s, struct lua_State *L) {
    const struct slice *argv = s->dialog.argv;
    int count = s->dialog.argc - 1;
    const struct debug_command *row = row_of(argv[0], count);
    if (!row) {
        debug_line(&s->lines,
                   "<error> Unknown Redis Lua debugger command or wrong number of arguments.");
        return DEBUG_STAYS;
    }
    s->thread = debug_text_thread(L);
    int room = lua_checkstack(s->thread, count + LUA_MINSTACK);
    ASSERT(room);
    enum debug_verdict verdict = row->run(s, L, argv + 1, count);
    lua_pop(L, 1); /* the command's thread */
    s->thread = NULL;
    return verdict;
}
