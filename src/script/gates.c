/* SPDX-License-Identifier: BSD-3-Clause
 * Gates of scripts: which calls of a script are refused, and which calls of clients are refused
 * while a script runs longer than its time limit.
 */
#include "script/gates.h"

#include <string.h>

#include "access/acl_denial.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/memory_limit.h"

static const char *const denied[] = {
    [ACL_DENIED_COMMAND] = "The user executing the script can't run this command or subcommand",
    [ACL_DENIED_KEY] =
        "The user executing the script can't access at least one of the keys "
        "mentioned in the command arguments",
    [ACL_DENIED_CHANNEL] =
        "The user executing the script can't publish to the channel "
        "mentioned in the command"};

const struct gate_code script_gate_code = {
    .origins = GATE_FROM_SCRIPTS,
    .unknown = "Unknown Redis command called from Lua script",
    .wrong_count = "Wrong number of args calling Redis command From Lua script",
    .denied = denied,
    .elsewhere = "Lua script attempted to access a non local key in a cluster node",
    .down = "Lua script attempted to execute a command while the cluster is down",
    .down_for_writes =
        "Lua script attempted to execute a write command while the cluster is down and readonly"};

void script_gates_begin(void) {
    gate_set(&script_gate, true);
    gate_set(&script_gate_memory, memory_limit_lacked());
}

void script_gates_end(void) {
    gate_set(&script_gate, false);
    gate_set(&script_gate_memory, false);
    gate_set(&script_gate_chance, false);
}

void script_gates_note(unsigned command_flags, bool run_again) {
    if (command_flags & COMMAND_WRITE) gate_set(&script_gate_memory, false);
    if (command_flags & COMMAND_RANDOM && run_again) gate_set(&script_gate_chance, true);
}

bool script_gates_was_cluster(struct slice refusal) {
    const struct gate_code *code = &script_gate_code;
    return slice_equal(refusal, slice_of(code->elsewhere)) ||
           slice_equal(refusal, slice_of(code->down)) ||
           slice_equal(refusal, slice_of(code->down_for_writes));
}

static bool not_for_scripts(const struct call *call) {
    return call->command->flags & COMMAND_NOSCRIPT;
}

struct gate script_gate = {.origins = GATE_FROM_SCRIPTS,
                           .stops = not_for_scripts,
                           .refusal = "This Redis command is not allowed from scripts"};

static bool script_call_writes(const struct call *call) {
    return call->command->flags & COMMAND_WRITE;
}

struct gate script_gate_chance = {
    .origins = GATE_FROM_SCRIPTS,
    .stops = script_call_writes,
    .refusal =
        "Write commands not allowed after non deterministic commands. Call "
        "redis.replicate_commands() at the start of your script in order to switch to "
        "single commands replication mode."};

static bool wants_memory(const struct call *call) { return call->command->flags & COMMAND_DENYOOM; }

/* This gate is open once a script has written, so that the script is not left half done. */
struct gate script_gate_memory = {
    .origins = GATE_FROM(CALL_SCRIPT),
    .stops = wants_memory,
    .refusal = "-OOM command not allowed when used memory > 'maxmemory'."};

static bool argument_begins(const struct call *call, char letter) {
    return call->argc == 2 && call->argv[1].length && (call->argv[1].bytes[0] | 0x20) == letter;
}

/* Commands that end a script must run, and those that a connection needs before it can send them.
 * Of SHUTDOWN NOSAVE and SCRIPT KILL only the first letter of the argument counts, as in 6.2. */
static bool not_while_busy(const struct call *call) {
    const char *name = call->command->name;
    if (call->command->flags & COMMAND_WHILE_BUSY) return false;
    if (strcmp(name, "shutdown") == 0) return !argument_begins(call, 'n');
    return strcmp(name, "script") != 0 || !argument_begins(call, 'k');
}

struct gate script_gate_busy = {
    .origins = GATE_FROM(CALL_NETWORK),
    .forbids_eviction = true,
    .stops = not_while_busy,
    .refusal =
        "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
        "NOSAVE."};
