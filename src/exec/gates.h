/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: what may keep a call from running, asked in the order of Redis 6.2.
 *
 * A gate is a struct gate in the folder of its feature: the origins whose calls it is asked about,
 * a test, and the reply to a call that it stops. server/wiring hands all gates in, in order: that
 * order is the only list of them.
 *
 * A gate is asked only while it is on. A gate of the server's state is switched by its feature
 * (gate_set); a gate of a client's state is on for the clients that have one of its flags. While no
 * gate is on, all of them together cost one test of two numbers (gates_clear).
 *
 * Code that runs in this server (a script) makes calls, too. These are asked in an order of their
 * own and refused in words of their own: struct gate_code.
 */
#ifndef EVENKEEL_EXEC_GATES_H
#define EVENKEEL_EXEC_GATES_H
#include <stdbool.h>

#include "command/call.h"
#include "exec/client_flags.h"
#include "net/client.h"

enum gate_verdict {
    GATE_OPEN,    /* the call may run */
    GATE_REFUSED, /* its client has been answered why not */
    GATE_HELD,    /* its client waits, and its request is asked again when it goes on */
    GATE_QUEUED,  /* it waits for EXEC */
};

/* ---- a gate ---- */

#define GATE_FROM(origin) (1u << (origin)) /* enum call_origin */
#define GATE_FROM_CODE (GATE_FROM(CALL_SCRIPT) | GATE_FROM(CALL_MODULE))
#define GATE_FROM_SCRIPTS (GATE_FROM(CALL_SCRIPT) | GATE_FROM(CALL_SCRIPT_AGAIN))

struct gate {
    unsigned origins; /* GATE_FROM of each origin that is asked */
    /* Flags of a client that switch the gate on for the client's calls: of enum client_flags, and
     * of what a folder above net/ keeps (`of`; NULL = of none). */
    unsigned net_flags;
    const struct client_state *of;
    unsigned of_flags;
    bool forbids_eviction;                  /* while it is on, no key is evicted */
    bool (*stops)(const struct call *call); /* NULL: the gate stops every call */
    /* What a stopped call is answered, as reply_error has it. NULL: `stop` does all; where that is
     * NULL too, nothing is replied. */
    const char *refusal;
    enum gate_verdict (*stop)(const struct call *call);
    /* exec/gates' own */
    unsigned bit;          /* by its place in the order; 0 = it has none yet */
    uint64_t client_flags; /* all of the above that a client has (client_flags_of) */
    bool on;               /* gate_set */
};

/* A state of the server begins or ends in which the gate matters. Also before gates_set_order. */
void gate_set(struct gate *gate, bool on);
bool gate_is_set(const struct gate *gate);
/* Whether a gate is on that forbids eviction. */
bool gates_forbid_eviction(void);

/* Flags (enum command_flags) of a call's command; of EXEC also those that any queued command has.
 */
unsigned gate_flags(const struct call *call);
/* Flags that a call's command lacks; of EXEC also those that any queued command lacks. */
unsigned gate_flags_lacking(const struct call *call);
/* For a gate that asks about keys or arguments: visits the call, or, if it is EXEC, each queued
 * call instead (transaction_each_call), because EXEC is stopped as a whole or not at all. */
void gate_each_call(const struct call *call, call_visit *visit, void *context);
/* For a gate's `stop`: replies the text, counts the call as rejected, and makes the client's
 * transaction fail. The text of a call that has a `refusal` goes there instead, and nothing is
 * counted: so 6.2. Returns GATE_REFUSED. */
enum gate_verdict gate_refuse(const struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the order ---- */

/* The gates of the features that this program's mode has, in the order in which they are asked;
 * NULL ends the array. A gate that is not in it stops no call. Once, before the first call. */
void gates_set_order(struct gate *const *order);

/* Code that runs in this server and makes calls: in which words these are refused. */
struct gate_code {
    unsigned origins;          /* GATE_FROM of each origin of its calls */
    const char *unknown;       /* refusal of a command that does not exist */
    const char *wrong_count;   /* refusal of a wrong number of arguments */
    const char *const *denied; /* refusals by enum acl_denial */
};

/* The gates that calls of this code are asked, in order, of those that gates_set_order was given;
 * NULL ends the array, which stays where it is. Once for each, after gates_set_order. */
void gates_set_code_order(const struct gate_code *code, struct gate *const *order);
/* The code that makes this call; NULL = none: the call is asked as requests are. */
const struct gate_code *gates_code_of(const struct call *call);

/* ---- asking ---- */

/* Asks all gates. The call's command may be NULL: unknown. May close other clients. */
enum gate_verdict gates_ask(const struct call *call);

/* ---- for gates_clear ---- */

/* What gates_clear asks, side by side, so that one address leads to both. */
struct gates_now {
    unsigned on;           /* the bits of gates that gate_set has switched on */
    uint64_t client_flags; /* flags of a client that switch any gate on (client_flags_of) */
};
extern struct gates_now gates_now;

/* True where no gate can stop a call of this client that has a command and enough arguments. */
static inline bool gates_clear(const struct client *c) {
    return !(gates_now.on | client_has_any(c, gates_now.client_flags));
}
#endif
