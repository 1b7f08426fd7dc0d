/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of scripts: EVAL, EVALSHA, SCRIPT. The rows stand at the end.
 */
#include "script/commands.h"

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "exec/effects.h"
#include "exec/flush.h"
#include "net/client.h"
#include "net/reply.h"
#include "report/monitor.h"
#include "script/cache.h"
#include "script/debugger.h"
#include "script/script.h"

#define NO_SUCH_SCRIPT "-NOSCRIPT No matching script. Please use EVAL."
/* The place of the number of keys among the arguments of EVAL and EVALSHA. */
#define COUNT_AT 2

/* ---- EVAL ---- */

/* Parses the number of keys. False after an error reply. */
static bool parse_key_count(const struct call *call, int *keys) {
    int64_t count;
    if (!argument_int64(call, COUNT_AT, &count, NULL)) return false;
    if (count > call->argc - COUNT_AT - 1) {
        reply_error(call->client, "Number of keys can't be greater than number of args");
        return false;
    }
    if (count < 0) {
        reply_error(call->client, "Number of keys can't be negative");
        return false;
    }
    *keys = (int)count;
    return true;
}

static void eval_generic(struct call *call) {
    int keys;
    if (!parse_key_count(call, &keys)) return;
    struct cached_script *s = script_find_or_compile(call, call->argv[1]);
    if (s) script_run(call, s, COUNT_AT + 1, keys);
}

static void command_eval(struct call *call) {
    monitor_show(call);
    if (debugger_mode_of(call->client) && !debugger_begin(call, call->argv[1])) return;
    eval_generic(call);
    debugger_end(call);
}

/* NULL if the argument is not the digest of a cached script. Nearly all digests are in lower case.
 */
static struct cached_script *script_of(const struct call *call, int index) {
    char sha[CACHE_SHA_CHARS];
    if (call->argv[index].length != CACHE_SHA_CHARS) return NULL;
    struct cached_script *s = cache_find(call->argv[index].bytes);
    if (s) return s;
    for (size_t i = 0; i < CACHE_SHA_CHARS; i++) sha[i] = string_lower(call->argv[index].bytes[i]);
    return cache_find(sha);
}

static void command_evalsha(struct call *call) {
    int keys;
    monitor_show(call);
    if (debugger_mode_of(call->client)) {
        reply_error(call->client, "Please use EVAL instead of EVALSHA for debugging");
        return;
    }
    if (call->argv[1].length != CACHE_SHA_CHARS) {
        reply_error(call->client, NO_SUCH_SCRIPT);
        return;
    }
    if (!parse_key_count(call, &keys)) return;
    struct cached_script *s = script_of(call, 1);
    if (s)
        script_run(call, s, COUNT_AT + 1, keys);
    else
        reply_error(call->client, NO_SUCH_SCRIPT);
}

/* ---- SCRIPT ---- */

static void script_load(struct call *call) {
    struct cached_script *s = script_find_or_compile(call, call->argv[2]);
    if (!s) return;
    effect_add_as_sent(call, EFFECT_BOTH);
    reply_bulk(call->client, (struct slice){s->sha, CACHE_SHA_CHARS});
    script_note_told(s);
}

static void script_exists(struct call *call) {
    reply_array(call->client, call->argc - 2);
    for (int i = 2; i < call->argc; i++) reply_integer(call->client, script_of(call, i) != NULL);
}

static void script_flush_command(struct call *call) {
    bool sync = call->argc == 3 && argument_is(call, 2, "sync");
    bool async = call->argc == 3 && argument_is(call, 2, "async");
    if (call->argc > 2 && !sync && !async) {
        reply_error(call->client, "SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    script_flush(async || (!sync && flush_is_lazy()));
    effect_add_as_sent(call, EFFECT_BOTH);
    reply_ok(call->client);
}

static void script_kill_command(struct call *call) {
    switch (script_kill()) {
    case SCRIPT_ENDS: reply_ok(call->client); break;
    case SCRIPT_NONE_RUNS:
        reply_error(call->client, "-NOTBUSY No scripts in execution right now.");
        break;
    case SCRIPT_IS_REPEATED:
        reply_error(call->client,
                    "-UNKILLABLE The busy script was sent by a master instance in the context of "
                    "replication and cannot be killed.");
        break;
    case SCRIPT_HAS_WRITTEN:
        reply_error(call->client,
                    "-UNKILLABLE Sorry the script already executed write commands against the "
                    "dataset. You can either wait the script termination or kill the server in a "
                    "hard way using the SHUTDOWN NOSAVE command.");
        break;
    }
}

/* Refuses a client that still waits for replies, because these would arrive among the lines of the
 * session. */
static void script_debug(struct call *call) {
    struct client *c = call->client;
    bool yes = argument_is(call, 2, "yes"), sync = argument_is(call, 2, "sync");
    if (!yes && !sync && !argument_is(call, 2, "no")) {
        reply_error(c, "Use SCRIPT DEBUG YES/SYNC/NO");
    } else if (c->flags & CLIENT_CAPTURED || debugger_must_wait(c)) {
        reply_error(c, "SCRIPT DEBUG must be called outside a pipeline");
    } else {
        debugger_set(c, yes ? DEBUGGER_FORKED : sync ? DEBUGGER_SYNC : DEBUGGER_OFF);
        reply_ok(c);
    }
}

static void script_help(struct call *call) {
    static const char *const lines[] = {
        "DEBUG (YES|SYNC|NO)",
        "    Steps through the script that is run next: in a copy of the data, or, with SYNC,",
        "    on the data itself, while nobody else is served.",
        "EXISTS <sha1> [<sha1> ...]",
        "    Says of each digest whether a script has it.",
        "FLUSH [ASYNC|SYNC]",
        "    Forgets all scripts; ASYNC: what they take is freed in the background.",
        "KILL",
        "    Ends the script that runs, unless it has written.",
        "LOAD <script>",
        "    Takes a script without running it; returns its digest.",
        NULL};
    reply_help(call, lines);
}

static const struct subcommand subcommands[] = {
    {"debug", 3, 3, script_debug},
    {"exists", 2, INT32_MAX, script_exists},
    {"flush", 2, INT32_MAX, script_flush_command},
    {"help", 2, 2, script_help},
    {"kill", 2, 2, script_kill_command},
    {"load", 3, 3, script_load},
};

static void command_script(struct call *call) {
    subcommand_run(call, subcommands, sizeof(subcommands) / sizeof(subcommands[0]));
}

/* ---- rows ---- */

#define SCRIPTED (NO_SCRIPT | COMMAND_MAY_REPLICATE)

#define EVALUATES (SCRIPTED | COMMAND_SKIP_MONITOR | MOVABLE | COMMAND_MAY_LAST)

static bool eval_keys(const struct key_search *s) {
    int count = keys_counted(s, COUNT_AT);
    keys_named(s, COUNT_AT + 1, count);
    return count > 0;
}

static struct command rows[] = {
    COMMAND("eval", command_eval, -3, EVALUATES, ACL_SCRIPTING, NO_KEYS,
            "Runs a script with keys and arguments; returns what it does.", .keys = eval_keys,
            .propagation = COMMAND_PROPAGATES_NOTHING, .traced = "never"),
    COMMAND("evalsha", command_evalsha, -3, EVALUATES, ACL_SCRIPTING, NO_KEYS,
            "Runs the script that has this SHA-1 digest.", .keys = eval_keys,
            .propagation = COMMAND_PROPAGATES_NOTHING, .traced = "never"),
    COMMAND("script", command_script, -2, SCRIPTED, ACL_SCRIPTING, NO_KEYS,
            "The scripts that EVALSHA finds, and the one that runs.",
            .propagation = COMMAND_PROPAGATES_NOTHING),
};

void script_commands_register(void) { command_register(COMMAND_ROWS(rows)); }
