/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: what may keep a call from running, asked in the order of Redis 6.2.
 *
 * Each gate is a row: a condition that must be on for it to matter, the origins that it is asked
 * of, a test, and what a call that it stops is answered. While no condition is on all of them
 * together cost one test of two words. What a server's state says is set by the feature that knows
 * it (gate_set); what a client's flags say is read from them.
 */
#ifndef EVENKEEL_EXEC_GATES_H
#define EVENKEEL_EXEC_GATES_H
#include <stdbool.h>

#include "net/client.h"

struct buffer;
struct call;

/* In the order in which they are asked. */
enum gate {
    GATE_USER,       /* the client must authenticate first, or its user may not do everything */
    GATE_CLUSTER,    /* this node may not serve these keys: gates_set_cluster */
    GATE_MEMORY,     /* maxmemory is set */
    GATE_DISK,       /* the last save failed, or the log cannot be written */
    GATE_REPLICAS,   /* fewer good replicas than min-replicas-to-write */
    GATE_READ_ONLY,  /* a replica that takes writes from its primary only */
    GATE_CLOSING,    /* the client is marked to be closed */
    GATE_SUBSCRIBER, /* it listens to channels */
    GATE_STALE,      /* a replica without its primary, with replica-serve-stale-data no */
    GATE_LOADING,
    GATE_BUSY,    /* a script runs beyond its time */
    GATE_MONITOR, /* the client monitors */
    GATE_PAUSE,   /* CLIENT PAUSE */
    GATE_QUEUE,   /* the client is between MULTI and EXEC */
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
/* Who says whether this node serves a call's keys; where not, `refusal` gets the error ("-MOVED
 * ..."). NULL: all are served. */
typedef bool gate_serves(const struct call *call, struct buffer *refusal);
void gates_set_cluster(gate_serves *serves);

/* Asks all gates. Its command may be NULL: unknown. May close other clients. */
enum gate_verdict gates_ask(const struct call *call);

/* ---- for gates_clear ---- */

/* The states that are on, a bit each. */
extern unsigned gates_on;
/* What of a client's flags makes a gate matter; of the first of these that it is not there. */
#define GATE_CLIENT_FLAGS                                                                          \
    (CLIENT_AUTHENTICATED | CLIENT_LIMITED | CLIENT_CLOSING | CLIENT_SUBSCRIBED | CLIENT_MONITOR | \
     CLIENT_TRANSACTION)

/* True where no gate can stop a call of this client that has a command and enough arguments. */
static inline bool gates_clear(const struct client *c) {
    return !(gates_on | ((c->flags ^ CLIENT_AUTHENTICATED) & GATE_CLIENT_FLAGS));
}
#endif
