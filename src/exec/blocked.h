/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that wait: for keys (BLPOP, BZPOPMIN, XREAD ...), for something else that happens here
 * (WAIT), or for what another thread does (FLUSHALL SYNC).
 *
 * A command that finds nothing to answer with blocks its client on keys. A key that comes to hold
 * what a client may wait for is signalled; after the outermost command its waiters are served in
 * the order in which they came, each once, and serving may make further keys ready.
 *
 * Every wait ends in one function, for one of the reasons of struct blocked_end. What the client is
 * answered is made then, by its kind, and not when it began to wait.
 *
 *   who ends it                            for                        reason
 *   -------------------------------------  -------------------------  -----------------------------
 *   blocked_serve, after blocked_signal_   those who wait for a key   BLOCKED_SERVED
 *   blocked_end: WAIT's acknowledgements   one client                 BLOCKED_VALUE
 *   blocked_end_from_thread                one wait, by its ticket    BLOCKED_VALUE
 *   the timer; CLIENT UNBLOCK              one client                 BLOCKED_TIME
 *   CLIENT UNBLOCK ERROR                   one client                 BLOCKED_ERROR
 *   blocked_end_all: REPLICAOF, FAILOVER   all but those of a kind    BLOCKED_ERROR, and the
 *                                          that is kept               connection closes
 *
 * A redirection is an error whose text says where ("-MOVED 42 host:port"): the connection stays.
 */
#ifndef EVENKEEL_EXEC_BLOCKED_H
#define EVENKEEL_EXEC_BLOCKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct client;
struct client_state;
struct key;
struct keyspace;
struct keyspace_observer;
struct slowlog_entry;

/* No time limit. */
#define BLOCKED_FOREVER 0

/* What a family of blocking commands does for its clients. */
struct blocked_kind {
    /* The key was signalled: answers the client where the key gives what it waits for, and then
     * returns true; the client goes on. It may change the keyspace and signal keys. Not asked for a
     * key that does not exist. NULL where the kind waits for no keys. */
    bool (*serve)(struct client *c, void *state, const struct key *key);
    /* The time is up: replies. */
    void (*timed_out)(struct client *c, void *state);
    /* What the client waits for has come, and it is no key: replies. NULL where the kind waits for
     * keys alone. */
    void (*came)(struct client *c, void *state);
    /* The client waits no longer, or is gone. NULL where nothing is to be freed. The state is one
     * block of MEMORY_CLIENTS, which blocked_begin takes and counts as the client's. */
    void (*free_state)(void *state);
    /* Its wait ends by BLOCKED_VALUE alone, since what it waits for is certain to come: CLIENT
     * UNBLOCK and blocked_end_all pass over it, and blocked_is does. */
    bool kept;
};

enum blocked_reason {
    BLOCKED_SERVED, /* a key gave it what it waits for: blocked_kind.serve has replied */
    BLOCKED_VALUE,  /* what it waits for has come: blocked_kind.came replies */
    BLOCKED_TIME,   /* its time is up, or is said to be: blocked_kind.timed_out replies */
    BLOCKED_ERROR,  /* the error is replied */
};

/* How a wait ends. */
struct blocked_end {
    enum blocked_reason reason;
    const char *error; /* of BLOCKED_ERROR, as reply_error has it */
    bool closes;       /* the connection closes after the reply; else the client goes on */
};

/* Stands for one wait, for the thread that is to end it. */
struct blocked_ticket;

/* For server/wiring. */
extern const struct keyspace_observer blocked_observer;
extern struct client_state blocked_client_state;

/* Blocks the call's client until it is served, `timeout_msec` have passed (BLOCKED_FOREVER: no
 * limit), or CLIENT UNBLOCK. Waits for the arguments `first` to `last`, `step` apart, which are
 * copied; none where first is 0. Takes `state`. The command must not have replied and must end
 * after this. A client that may not wait (client_may_wait; of a kind that is kept, one without a
 * connection) is answered as if its time were up; so is one that is marked as closing, which nobody
 * sees.
 */
void blocked_begin(struct call *call, const struct blocked_kind *kind, int first, int last,
                   int step, int64_t timeout_msec, void *state);
/* The call in which the client waits was slow: it enters the slow log when the client is served,
 * and where it is not, it does not, as in 6.2. Takes the entry. */
void blocked_keep_slow(struct client *c, struct slowlog_entry *entry);
/* True where the client waits in a command of a kind that is not kept; clients that CLIENT PAUSE
 * holds do not. */
bool blocked_is(const struct client *c);
/* Ends the client's wait. False where it does not wait, or the kind is kept. */
bool blocked_end(struct client *c, const struct blocked_end *how);
/* Ends all waits, but those of kinds that are kept: what clients wait for may not come to pass here
 * any more. O(clients). */
void blocked_end_all(const struct blocked_end *how);
/* Of the wait that the client has begun, for a thread that ends it; NULL where it does not wait. To
 * be given to blocked_end_from_thread, which may be after the client has gone, or waits for
 * something else. */
MUST_USE struct blocked_ticket *blocked_ticket(const struct client *c);
/* From any thread: the ticket's wait, where it lasts, ends by BLOCKED_VALUE before the loop sleeps
 * next; the loop is woken for it. Takes the ticket. */
void blocked_end_from_thread(struct blocked_ticket *ticket);
/* Ends the waits that other threads want to end. Before the loop sleeps, ahead of
 * batch_run_resumed; false: nothing is left to do. */
bool blocked_step(void);

/* The key may now hold what somebody waits for. A new list, sorted set or stream need not be
 * signalled: blocked observes the keyspace. O(1). */
void blocked_signal_key(const struct key *key);
/* SWAPDB: signals the keys of both that exist. O(keys waited for). */
void blocked_signal_swapped(struct keyspace *a, struct keyspace *b);
/* After the outermost command: serves until no key is ready. O(1) where none is. */
void blocked_serve(void);
/* Whether a client is served what it has waited for, within the call of another one. */
bool blocked_is_serving(void);

/* The time limit that is argument `index`, in seconds with fractions ("timeout is not a float or
 * out of range", "timeout is negative"); false after an error. */
bool blocked_parse_timeout(const struct call *call, int index, int64_t *timeout_msec);
/* The same in whole milliseconds, as WAIT and XREAD take it. */
bool blocked_parse_timeout_msec(const struct call *call, int index, int64_t *timeout_msec);
/* Clients waiting in commands, kept ones included. */
FOR_TESTS uint64_t blocked_clients(void);
/* Asserts the invariants; walks everything. */
void blocked_check(void);
#endif
