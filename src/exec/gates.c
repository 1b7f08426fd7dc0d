/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: asking. gates.h has the idea; this file knows the orders, and no gate.
 *
 * A gate is asked if it is on and the call's origin is one of the gate's. EXEC is stopped by any
 * gate that would stop a queued command. The queued commands have passed the gates when they were
 * queued; when they run, only their user's rights are checked again.
 *
 * Commands of the primary and of the log are not refused, because they have been run there.
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

/* How much of a request the error "unknown command" shows, as in 6.2. */
#define UNKNOWN_SHOWN_BYTES 128
/* One for each bit of gates_now.on. */
#define GATES_MAX 32

static const bool never;
struct gates_now gates_now = {.clear_when = &never};
static struct gate *gates[GATES_MAX];            /* in the order in which they are asked */
static const struct gate *of_clients[GATES_MAX]; /* the gates that a client's flags switch on */
static int of_clients_count;
static const struct gate *by_slot; /* the gate of gate_set_clear_slots; NULL = there is none */
static const struct gate *queue;   /* the gate of clients in a transaction; NULL = there is none */
static unsigned forbid_eviction;   /* bits of the gates that forbid eviction */
static struct {
    const struct gate_code *code; /* NULL = calls of the origin are checked as requests are */
    struct gate *const *order;
} codes[CALL_ORIGINS];

/* ---- the order ---- */

static void gates_add(struct gate *gate, int place) {
    ASSERT(place < GATES_MAX && !gate->bit);
    gates[place] = gate;
    gate->bit = 1u << place;
    if (gate->on) gates_now.on |= gate->bit;
    if (gate->forbids_eviction) forbid_eviction |= gate->bit;
    if (gate == by_slot) gates_now.by_slot = gate->bit;
    gate->client_flags = client_flags_of_net(gate->net_flags);
    if (gate->of) gate->client_flags |= client_flags_of(gate->of, gate->of_flags);
    if (!gate->client_flags) return;
    gates_now.client_flags |= gate->client_flags;
    of_clients[of_clients_count++] = gate;
    if (gate->of == &transaction_client_state) queue = gate;
}

void gates_set_order(struct gate *const *order) {
    for (int i = 0; order[i]; i++) gates_add(order[i], i);
}

void gates_set_code_order(const struct gate_code *code, struct gate *const *order) {
    for (struct gate *const *gate = order; *gate; gate++) ASSERT((*gate)->bit);
    for (int origin = 0; origin < CALL_ORIGINS; origin++) {
        if (!(code->origins & GATE_FROM(origin))) continue;
        codes[origin].code = code;
        codes[origin].order = order;
    }
}

const struct gate_code *gates_code_of(const struct call *call) { return codes[call->origin].code; }

void gate_set(struct gate *gate, bool on) {
    gate->on = on;
    gates_now.on = on ? gates_now.on | gate->bit : gates_now.on & ~gate->bit;
}

bool gate_is_set(const struct gate *gate) { return gate->on; }

void gate_set_clear_slots(struct gate *gate, const uint64_t *slots, const bool *when) {
    ASSERT(!by_slot || by_slot == gate);
    by_slot = gate;
    gates_now.by_slot = gate->bit;
    gates_now.clear_slots = slots;
    gates_now.clear_when = when;
}

bool gates_forbid_eviction(void) { return gates_now.on & forbid_eviction; }

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
        monitor_after(call, monitor_before(call)); /* shown, though it did not run, as in 6.2 */
    } else {
        reply_error(c, text.bytes);
    }
    buffer_free(&text);
    return GATE_REFUSED;
}

static enum gate_verdict refuse_unknown(const struct call *call) {
    struct buffer shown;
    const struct gate_code *code = gates_code_of(call);
    if (code) return gate_refuse(call, "%s", code->unknown);
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
    const struct gate_code *code = gates_code_of(call);
    if (code) return gate_refuse(call, "%s", code->wrong_count);
    return gate_refuse(call, "wrong number of arguments for '%s' command", call->command->name);
}

/* ---- what gates ask of a call ---- */

unsigned gate_flags(const struct call *call) {
    unsigned flags = call->command->flags;
    return flags & COMMAND_EXECUTES ? flags | transaction_flags(call->client) : flags;
}

unsigned gate_flags_lacking(const struct call *call) {
    unsigned flags = call->command->flags;
    return flags & COMMAND_EXECUTES ? ~flags | transaction_flags_lacking(call->client) : ~flags;
}

bool gate_call_writes(const struct call *call) { return gate_flags(call) & COMMAND_WRITE; }

void gate_each_call(const struct call *call, call_visit *visit, void *context) {
    if (call->command->flags & COMMAND_EXECUTES)
        transaction_each_call(call->client, visit, context);
    else
        visit(call, context);
}

/* ---- asking ---- */

/* Bits of the gates that are on for a client's call. */
static unsigned gates_of(const struct client *c) {
    unsigned on = gates_now.on;
    if (!client_has_any(c, gates_now.client_flags)) return on;
    for (int i = 0; i < of_clients_count; i++)
        if (client_has_any(c, of_clients[i]->client_flags)) on |= of_clients[i]->bit;
    return on;
}

static enum gate_verdict gate_ask(const struct gate *gate, const struct call *call) {
    if (!(gate->origins & GATE_FROM(call->origin))) return GATE_OPEN;
    if (gate->stops && !gate->stops(call)) return GATE_OPEN;
    if (gate->stop) return gate->stop(call);
    return gate->refusal ? gate_refuse(call, "%s", gate->refusal) : GATE_REFUSED;
}

/* Usually only the first gate is on: for a script's call that is the script's gate. */
static enum gate_verdict ask_code(struct gate *const *order, const struct call *call) {
    if (gates_of(call->client) == order[0]->bit) return gate_ask(order[0], call);
    for (struct gate *const *gate = order; *gate; gate++) {
        if (!(gates_of(call->client) & (*gate)->bit)) continue;
        enum gate_verdict verdict = gate_ask(*gate, call);
        if (verdict != GATE_OPEN) return verdict;
    }
    return GATE_OPEN;
}

static __attribute__((noinline)) enum gate_verdict ask_all(const struct call *call) {
    const struct client *c = call->client;
    if (!call->command) return refuse_unknown(call);
    if (!command_arity_fits(call->command, call->argc)) return refuse_count(call);
    if (codes[call->origin].code) return ask_code(codes[call->origin].order, call);
    /* Asking may change which gates are on: making room may close clients, also the call's own. */
    unsigned passed = 0;
    for (unsigned left; (left = gates_of(c) & ~passed) != 0;) {
        int place = __builtin_ctz(left);
        enum gate_verdict verdict = gate_ask(gates[place], call);
        if (verdict != GATE_OPEN) return verdict;
        passed |= (2u << place) - 1;
    }
    return GATE_OPEN;
}

/* In a transaction usually the queue's gate alone is on. Asking it alone gives the same verdict at
 * less cost. */
enum gate_verdict gates_ask(const struct call *call) {
    const struct command *command = call->command;
    uint64_t of_client = client_has_any(call->client, gates_now.client_flags);
    if (!command || !command_arity_fits(command, call->argc)) return ask_all(call);
    if (!gates_now.on && queue && of_client == queue->client_flags) return gate_ask(queue, call);
    return ask_all(call);
}
