/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: asking. gates.h has the idea; of the rules this file knows the order alone. The rows stand
 * beside the code that knows what they ask, and server/wiring hands them in.
 *
 * A gate is asked where its bit is on and the call's origin is one of its row's. EXEC is stopped by
 * whatever would stop any of the commands that it is to run; these themselves have passed the gates
 * when they were queued, and only their client's rights are asked again.
 *
 * What a primary has done is done, and what stands in the log was: neither is refused anything.
 */
#include "exec/gates.h"

#include <stdarg.h>

#include "access/acl.h"
#include "base/panic.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/transaction.h"
#include "net/reply.h"
#include "report/monitor.h"

/* How much of a request an error shows: as 6.2. */
#define UNKNOWN_SHOWN_BYTES 128

struct gates_now gates_now;
static uint64_t flags_but_queue;    /* those that the queue's gate does not look at */
static const char *refusals[GATES]; /* instead of the rows'; see gate_set_refusal */
static const struct gate_row *const *rows;

void gate_set(enum gate gate, bool on) {
    gates_now.on = on ? gates_now.on | 1u << gate : gates_now.on & ~(1u << gate);
}

void gates_set_rows(const struct gate_row *const *all) {
    rows = all;
    flags_but_queue = client_flags_of_net(CLIENT_CLOSING | CLIENT_LISTENS | CLIENT_STREAMED) |
                      client_flags_of(&acl_client_state, ACL_STRANGER | ACL_LIMITED) |
                      client_flags_of(&monitor_client_state, MONITOR_ON);
    gates_now.client_flags =
        flags_but_queue | client_flags_of(&transaction_client_state, TRANSACTION_OPEN);
}

bool gate_is_set(enum gate gate) { return gates_now.on & 1u << gate; }

void gate_set_refusal(enum gate gate, const char *text) { refusals[gate] = text; }

/* ---- refusing ---- */

enum gate_verdict gate_refuse(const struct call *call, const char *format, ...) {
    struct client *c = call->client;
    struct command *command = call->command;
    struct buffer text;
    va_list arguments;
    buffer_init(&text, MEMORY_OTHER);
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (call->refusal) {
        buffer_append(call->refusal, text.bytes, text.length);
        buffer_free(&text);
        return GATE_REFUSED;
    }
    if (command) command->rejected_calls++;
    transaction_fail(c);
    if (command && command->flags & COMMAND_EXECUTES) {
        transaction_end(c);
        reply_error_format(c, "-EXECABORT Transaction discarded because of: %s",
                           text.bytes + (text.bytes[0] == '-'));
    } else {
        reply_error(c, text.bytes);
    }
    buffer_free(&text);
    return GATE_REFUSED;
}

static enum gate_verdict refuse_unknown(const struct call *call) {
    struct buffer shown;
    if (call_is_scripts(call))
        return gate_refuse(call, "Unknown Redis command called from Lua script");
    buffer_init(&shown, MEMORY_OTHER);
    for (int i = 1; i < call->argc && shown.length < UNKNOWN_SHOWN_BYTES; i++) {
        size_t room = UNKNOWN_SHOWN_BYTES - shown.length;
        size_t length = call->argv[i].length < room ? call->argv[i].length : room;
        buffer_printf(&shown, "`%.*s`, ", (int)length, call->argv[i].bytes);
    }
    size_t length = call->argv[0].length;
    gate_refuse(call, "unknown command `%.*s`, with args beginning with: %s", (int)length,
                call->argv[0].bytes, shown.length ? shown.bytes : "");
    buffer_free(&shown);
    return GATE_REFUSED;
}

static enum gate_verdict refuse_count(const struct call *call) {
    if (call_is_scripts(call))
        return gate_refuse(call, "Wrong number of args calling Redis command From Lua script");
    return gate_refuse(call, "wrong number of arguments for '%s' command", call->command->name);
}

/* ---- what is asked of ---- */

unsigned gate_flags(const struct call *call) {
    unsigned flags = call->command->flags;
    return flags & COMMAND_EXECUTES ? flags | transaction_flags(call->client) : flags;
}

unsigned gate_flags_lacking(const struct call *call) {
    unsigned flags = call->command->flags;
    return flags & COMMAND_EXECUTES ? ~flags | transaction_flags_lacking(call->client) : ~flags;
}

/* ---- asking ---- */

/* The gates that matter for a client's call. */
static unsigned gates_of(const struct client *c) {
    unsigned on = gates_now.on | (client_in_transaction(c) ? 1u << GATE_QUEUE : 0);
    if (!client_has_any(c, flags_but_queue)) return on;
    if (client_flags(c, &acl_client_state) & (ACL_STRANGER | ACL_LIMITED)) on |= 1u << GATE_USER;
    if (c->flags & CLIENT_CLOSING) on |= 1u << GATE_CLOSING;
    if (c->flags & CLIENT_LISTENS) on |= 1u << GATE_SUBSCRIBER;
    if (client_flags(c, &monitor_client_state) & MONITOR_ON || c->flags & CLIENT_STREAMED)
        on |= 1u << GATE_MONITOR;
    return on;
}

static enum gate_verdict ask(enum gate gate, const struct call *call) {
    const struct gate_row *row = rows[gate];
    ASSERT(row);
    if (!(row->origins & GATE_FROM(call->origin))) return GATE_OPEN;
    if (row->stops && !row->stops(call)) return GATE_OPEN;
    if (row->stop) return row->stop(call);
    const char *text = refusals[gate] ? refusals[gate] : row->refusal;
    return text ? gate_refuse(call, "%s", text) : GATE_REFUSED;
}

/* As 6.2 asks scripts. */
static const enum gate script_order[] = {GATE_SCRIPT,        GATE_USER,   GATE_CHANCE,
                                         GATE_READ_ONLY,     GATE_DISK,   GATE_REPLICAS,
                                         GATE_SCRIPT_MEMORY, GATE_CLUSTER};

static enum gate_verdict ask_in_script(const struct call *call) {
    if (gates_of(call->client) == 1u << GATE_SCRIPT) return ask(GATE_SCRIPT, call);
    for (size_t i = 0; i < sizeof(script_order) / sizeof(script_order[0]); i++) {
        enum gate gate = script_order[i];
        if (!(gates_of(call->client) & 1u << gate)) continue;
        enum gate_verdict verdict = ask(gate, call);
        if (verdict != GATE_OPEN) return verdict;
    }
    return GATE_OPEN;
}

static __attribute__((noinline)) enum gate_verdict ask_all(const struct call *call) {
    const struct client *c = call->client;
    if (!call->command) return refuse_unknown(call);
    if (!command_arity_fits(call->command, call->argc)) return refuse_count(call);
    if (call_is_scripts(call)) return ask_in_script(call);
    /* Asking may change what is on: making room closes clients, the call's own, too. */
    unsigned passed = 0;
    for (unsigned left; (left = gates_of(c) & ~passed) != 0;) {
        enum gate gate = (enum gate)__builtin_ctz(left);
        enum gate_verdict verdict = ask(gate, call);
        if (verdict != GATE_OPEN) return verdict;
        passed |= (2u << gate) - 1;
    }
    return GATE_OPEN;
}

/* In a transaction mostly nothing but the queue is on: it gets the same answer at less cost. */
enum gate_verdict gates_ask(const struct call *call) {
    const struct command *command = call->command;
    const struct client *c = call->client;
    bool only_queue =
        !gates_now.on && client_in_transaction(c) && !client_has_any(c, flags_but_queue);
    if (!only_queue || !command || !command_arity_fits(command, call->argc)) return ask_all(call);
    return ask(GATE_QUEUE, call);
}
