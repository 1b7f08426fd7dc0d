/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: what may keep a call from running, asked in the order of Redis 6.2.
 *
 * Each gate is a row: the origins that it is asked of, a test, and what a call that it stops is
 * answered. It matters while its condition is on; while none is, all of them together cost one test
 * of two numbers. What a server's state says is set by the feature that knows it (gate_set); what a
 * client's flags say is read from them. A row stands beside the code that it asks (exec/gate_rows
 * has those of features above exec/); server/wiring hands all of them in.
 */
#ifndef EVENKEEL_EXEC_GATES_H
#define EVENKEEL_EXEC_GATES_H
#include <stdbool.h>

#include "exec/client_flags.h"
#include "net/client.h"

struct call;

/* In the order in which they are asked; scripts' calls have one of their own: gates.c. */
enum gate {
    GATE_USER,       /* the client must authenticate first, or its user may not do everything */
    GATE_CLUSTER,    /* this node may not serve these keys */
    GATE_MEMORY,     /* maxmemory is set */
    GATE_DISK,       /* the last save failed, or the log cannot be written */
    GATE_REPLICAS,   /* fewer good replicas than min-replicas-to-write */
    GATE_READ_ONLY,  /* a replica that takes writes from its primary only */
    GATE_CLOSING,    /* the client is marked to be closed, or the server has begun to end */
    GATE_SUBSCRIBER, /* it listens to channels */
    GATE_STALE,      /* a replica without its primary, with replica-serve-stale-data no */
    GATE_LOADING,
    GATE_BUSY,    /* a script runs beyond its time */
    GATE_NESTED,  /* no turn more may be made within this one */
    GATE_MONITOR, /* the client monitors, or is a replica */
    GATE_PAUSE,   /* CLIENT PAUSE */
    GATE_LOG,     /* more waits to be logged than may */
    GATE_SAVE,    /* a save that walks copies: who changes a large value may have to wait */
    GATE_QUEUE,   /* the client is between MULTI and EXEC */
    GATE_SCRIPT,  /* a script runs: not all commands are for scripts */
    GATE_CHANCE,  /* one that is to do the same when it is run again has asked what may differ */
    GATE_SCRIPT_MEMORY, /* there was no room when it began, and it has not written yet */
    GATES
};

enum gate_verdict {
    GATE_OPEN,    /* it may run */
    GATE_REFUSED, /* it has been answered why not */
    GATE_HELD,    /* its client waits with it */
    GATE_QUEUED,  /* it waits for EXEC */
};

/* A state of the server begins or ends in which this gate matters. */
void gate_set(enum gate gate, bool on);
bool gate_is_set(enum gate gate);
/* What calls that it stops are answered instead of the row's text; NULL = that. The text must stay
 * where it is: GATE_DISK has more than one cause. */
void gate_set_refusal(enum gate gate, const char *text);

/* ---- rows ---- */

struct gate_row {
    unsigned origins;                       /* GATE_FROM of each that is asked */
    bool (*stops)(const struct call *call); /* NULL: always */
    const char *refusal; /* as reply_error has it; NULL: `stop` does all, or nothing is said */
    enum gate_verdict (*stop)(const struct call *call);
};

#define GATE_FROM(origin) (1u << (origin)) /* enum call_origin */
#define GATE_FROM_CODE (GATE_FROM(CALL_SCRIPT) | GATE_FROM(CALL_MODULE))
#define GATE_FROM_SCRIPTS (GATE_FROM(CALL_SCRIPT) | GATE_FROM(CALL_SCRIPT_AGAIN))

/* A row for each gate, by its number; NULL for a gate that no feature of this program's mode sets.
 * Borrowed for good. Once, before the first call, and behind client_set_states: the flags of
 * clients that gates ask for are put together here. */
void gates_set_rows(const struct gate_row *const *all);
/* Flags (enum command_flags) of a call's command; of EXEC with those of all that is queued. */
unsigned gate_flags(const struct call *call);
/* The same of flags that are not there. */
unsigned gate_flags_lacking(const struct call *call);
/* For a row's `stop`: replies the text, counts the call as rejected, and makes the client's
 * transaction fail; a call that has a `refusal` gets the text there, and nothing is counted:
 * so 6.2. Returns GATE_REFUSED. */
enum gate_verdict gate_refuse(const struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- asking ---- */

/* Asks all gates. Its command may be NULL: unknown. May close other clients. */
enum gate_verdict gates_ask(const struct call *call);

/* ---- for gates_clear ---- */

/* What gates_clear asks, side by side, so that one address leads to both. */
struct gates_now {
    unsigned on;           /* the server's states that are on, a bit for each gate */
    uint64_t client_flags; /* flags of a client that make a gate matter (client_flags_of) */
};
extern struct gates_now gates_now;

/* True where no gate can stop a call of this client that has a command and enough arguments. */
static inline bool gates_clear(const struct client *c) {
    return !(gates_now.on | client_has_any(c, gates_now.client_flags));
}
#endif
