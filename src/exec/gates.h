/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: the checks that a call passes before it runs, in the order of Redis 6.2.
 *
 * A gate is a struct gate in the folder of its feature: the origins of the calls that it checks, a
 * test, and the reply to a call that it stops. server/wiring.c has the only list of all gates, in
 * their order.
 *
 * A gate is asked only while it is on. The feature switches a gate of the server's state on and off
 * (gate_set). A gate of a client's state is on for the clients that have one of its flags. While no
 * gate is on, all gates together cost one test of two numbers (gates_clear).
 *
 * Calls that code in this server makes (a script) are checked in an order of their own, and refused
 * in words of their own: struct gate_code.
 */
#ifndef EVENKEEL_EXEC_GATES_H
#define EVENKEEL_EXEC_GATES_H
#include <stdbool.h>
#include <stdint.h>

#include "command/call.h"
#include "command/command.h"
#include "exec/client_flags.h"
#include "net/client.h"

enum gate_verdict {
    GATE_OPEN,    /* the call may run */
    GATE_REFUSED, /* the call may not run, and its client has been told why */
    GATE_HELD,    /* the client waits; when it is resumed, its request passes the gates again */
    GATE_QUEUED,  /* the call waits for EXEC */
};

/* ---- a gate ---- */

#define GATE_FROM(origin) (1u << (origin)) /* enum call_origin */
#define GATE_FROM_CODE (GATE_FROM(CALL_SCRIPT) | GATE_FROM(CALL_MODULE))
#define GATE_FROM_SCRIPTS (GATE_FROM(CALL_SCRIPT) | GATE_FROM(CALL_SCRIPT_AGAIN))

struct gate {
    unsigned origins; /* GATE_FROM of each origin whose calls are checked */
    /* Flags of a client that switch the gate on for the client's calls: of enum client_flags, and
     * of the state that a folder above net/ keeps (`of`; NULL = of no such state). */
    unsigned net_flags;
    const struct client_state *of;
    unsigned of_flags;
    bool forbids_eviction;                  /* while it is on, no key is evicted */
    bool (*stops)(const struct call *call); /* NULL: the gate stops every call */
    /* The reply to a stopped call, in the form that reply_error takes. NULL: `stop` refuses or
     * holds the call; if that is NULL, too, the call is refused without a reply. */
    const char *refusal;
    enum gate_verdict (*stop)(const struct call *call);
    /* set by exec/gates.c */
    unsigned bit;          /* by the gate's place in the order; 0 = it has no place yet */
    uint64_t client_flags; /* net_flags and of_flags together (client_flags_of) */
    bool on;               /* gate_set */
};

/* Switches the gate on or off, when the feature's state begins or ends. May be called before
 * gates_set_order. */
void gate_set(struct gate *gate, bool on);
bool gate_is_set(const struct gate *gate);
/* Says which calls the gate certainly lets pass, of whatever origin: while `*when` is true, calls
 * whose only key is in a slot with a bit in `slots`, KEY_SLOTS bits, the lowest first. They are not
 * asked about where only this gate is on. For one gate that is always on and must cost little. In a
 * partitioned keyspace only. Both pointers are borrowed for good; the owner changes at will what
 * they point to. May be called before gates_set_order. */
void gate_set_clear_slots(struct gate *gate, const uint64_t *slots, const bool *when);
/* Whether any gate is on that forbids eviction. */
bool gates_forbid_eviction(void);

/* Flags (enum command_flags) of a call's command; of EXEC also those that any queued command
 * has. */
unsigned gate_flags(const struct call *call);
/* Flags that a call's command lacks; of EXEC also those that any queued command lacks. */
unsigned gate_flags_lacking(const struct call *call);
/* For a gate's `stops`: whether the call's command writes, or, of EXEC, any queued command. */
bool gate_call_writes(const struct call *call);
/* For a gate that asks about keys or arguments: visits the call, or, if it is EXEC, each queued
 * call instead (transaction_each_call), because EXEC is stopped as a whole or not at all. */
void gate_each_call(const struct call *call, call_visit *visit, void *context);
/* For a gate's `stop`: replies the text, counts the call as rejected, and makes the client's
 * transaction fail. If the call has a `refusal`, the text is appended to that instead, and nothing
 * is counted, as in 6.2. Returns GATE_REFUSED. */
enum gate_verdict gate_refuse(const struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the order ---- */

/* Sets the gates of this program's mode, in the order in which they are asked; NULL ends the array.
 * A gate that is not in the array stops no call. Called once, before the first call. */
void gates_set_order(struct gate *const *order);

/* Code that runs in this server and makes calls: the words in which its calls are refused. */
struct gate_code {
    unsigned origins;          /* GATE_FROM of each origin of its calls */
    const char *unknown;       /* refusal of a command that does not exist */
    const char *wrong_count;   /* refusal of a wrong number of arguments */
    const char *const *denied; /* refusals by enum acl_denial */
    /* Refusals of a cluster's node: another node serves a key, or nobody does; the cluster is down;
     * it is down and the command writes. */
    const char *elsewhere, *down, *down_for_writes;
};

/* Sets the gates that check the calls of this code, in their order. Each of them must be in the
 * array of gates_set_order. NULL ends the array, which is borrowed for good. Called once for each
 * code, after gates_set_order. */
void gates_set_code_order(const struct gate_code *code, struct gate *const *order);
/* The code that makes this call; NULL = none: the call is checked as requests are. */
const struct gate_code *gates_code_of(const struct call *call);

/* ---- asking ---- */

/* Asks all gates that are on, until one stops the call. The call's command may be NULL: unknown.
 * May close other clients. */
enum gate_verdict gates_ask(const struct call *call);

/* ---- for gates_clear ---- */

/* What gates_clear and gates_clear_by_slot test, side by side, so that one address leads to all. */
struct gates_now {
    unsigned on;           /* the bits of the gates that gate_set has switched on */
    unsigned by_slot;      /* the bit of the gate of gate_set_clear_slots; 0 = there is none */
    uint64_t client_flags; /* all flags of a client that switch some gate on (client_flags_of) */
    const uint64_t *clear_slots; /* gate_set_clear_slots */
    const bool *clear_when;      /* never NULL */
};
extern struct gates_now gates_now;

/* Returns true if no gate can stop a call of this client that has a known command and enough
 * arguments. */
static inline bool gates_clear(const struct client *c) {
    return !(gates_now.on | client_has_any(c, gates_now.client_flags));
}

/* Returns true if no gate can stop this call, which has a known command and enough arguments,
 * because of the slot of its only key. Inlined, because a node of a cluster asks it of each call.
 */
static inline bool gates_clear_by_slot(const struct call *call) {
    if (gates_now.on != gates_now.by_slot || !*gates_now.clear_when) return false;
    if (client_has_any(call->client, gates_now.client_flags)) return false;
    if (!call->hashed || !call->command->has_one_key) return false;
    unsigned slot = key_hash_slot(call->key_hash);
    return gates_now.clear_slots[slot / 64] >> slot % 64 & 1;
}
#endif
