/* SPDX-License-Identifier: BSD-3-Clause
 * Blocked clients: they wait for keys (BLPOP, BZPOPMIN, XREAD ...), for another event in this
 * process (WAIT), or for another thread (FLUSHALL SYNC).
 *
 * A command that finds no data blocks its client on keys. A key that gets data is signalled. After
 * the outermost command the clients that wait for a signalled key are served, each once, in the
 * order in which they began to wait; serving a client may signal further keys.
 *
 * Every wait ends in one function, for one of the reasons in enum blocked_reason. The reply is made
 * when the wait ends, by the wait's kind, and not when it begins.
 *
 *   what ends it                           for                        reason
 *   -------------------------------------  -------------------------  -----------------------------
 *   blocked_serve, after blocked_signal_   clients that wait for key  BLOCKED_SERVED
 *   blocked_end: WAIT's acknowledgements   one client                 BLOCKED_VALUE
 *   blocked_end_from_thread                one wait, by its ticket    BLOCKED_VALUE
 *   the timer; CLIENT UNBLOCK              one client                 BLOCKED_TIME
 *   CLIENT UNBLOCK ERROR                   one client                 BLOCKED_ERROR
 *   blocked_end_all: REPLICAOF, FAILOVER   all clients, except those  BLOCKED_ERROR, and the
 *                                          of a kind that is kept     connection closes
 *   blocked_review: slots have changed     clients that wait for      BLOCKED_ERROR: a redirection,
 *                                          keys, some at a time       "-MOVED 42 host:port"
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
    /* Called for a signalled key that exists. If the key has what the client waits for, replies and
     * returns true, and the wait ends. May change the keyspace and signal keys. NULL for a kind
     * that waits for no keys. */
    bool (*serve)(struct client *c, void *state, const struct key *key);
    /* Replies when the wait's time is up. */
    void (*timed_out)(struct client *c, void *state);
    /* Replies when the event that the client waits for has happened. NULL for a kind that waits
     * only for keys. */
    void (*came)(struct client *c, void *state);
    /* Frees the state after the wait has ended or the client was closed. NULL: there is nothing to
     * free. The state is one block of MEMORY_CLIENTS, which blocked_begin takes and counts as the
     * client's. */
    void (*free_state)(void *state);
    /* A wait of this kind ends only by BLOCKED_VALUE, because its event is certain to come. CLIENT
     * UNBLOCK, blocked_end_all and blocked_is ignore such waits. */
    bool kept;
};

enum blocked_reason {
    BLOCKED_SERVED, /* a key had what the client waits for: blocked_kind.serve has replied */
    BLOCKED_VALUE,  /* the event has happened: blocked_kind.came replies */
    BLOCKED_TIME,   /* the time is up, or CLIENT UNBLOCK: blocked_kind.timed_out replies */
    BLOCKED_ERROR,  /* `error` is replied */
};

/* How a wait ends. */
struct blocked_end {
    enum blocked_reason reason;
    const char *error; /* of BLOCKED_ERROR, in the form that reply_error takes */
    bool closes;       /* the connection closes after the reply; else the client is resumed */
};

/* Names one wait, for the thread that ends it. */
struct blocked_ticket;

/* For server/wiring. */
extern const struct keyspace_observer blocked_observer;
extern struct client_state blocked_client_state;

/* Blocks the call's client until its wait ends (see the table above), at the latest after
 * `timeout_msec` (BLOCKED_FOREVER: no limit). The keys are the arguments `first` to `last`, `step`
 * apart, and are copied; first = 0: no keys. Takes `state`. The command must not have replied and
 * must end after this.
 * A client that may not wait (client_may_wait; for a kept kind: a client without a connection), or
 * that is marked as closing, is answered at once as if its time were up. */
void blocked_begin(struct call *call, const struct blocked_kind *kind, int first, int last,
                   int step, int64_t timeout_msec, void *state);
/* Keeps the slow log's entry of a blocking call that was slow. It enters the slow log when the
 * client is served, and is dropped if the wait ends otherwise, as in 6.2. Takes the entry. */
void blocked_keep_slow(struct client *c, struct slowlog_entry *entry);
/* For blocked_kind.timed_out of commands that wait for keys: replies a null array. */
void blocked_reply_none(struct client *c, void *state);
/* Whether the client waits in a command of a kind that is not kept. A client that CLIENT PAUSE
 * holds does not wait in this sense. */
bool blocked_is(const struct client *c);
/* Ends the client's wait. Returns false if the client does not wait, or its kind is kept. */
bool blocked_end(struct client *c, const struct blocked_end *how);
/* Ends all waits except those of kept kinds, because the events may not happen in this server any
 * more. O(clients). */
void blocked_end_all(const struct blocked_end *how);
/* How many clients wait for keys. O(1). */
size_t blocked_on_keys(void);
/* Whether a wait for keys must end, because the key cannot come here any more: then appends the
 * error to `error`, in the form that reply_error takes, and returns true. `key` is one of the keys.
 * Must not change the keyspace, nor begin or end waits. */
typedef bool blocked_ask(const struct client *c, const struct key *key, struct buffer *error);
/* Asks about up to `count` waits for keys, in turn: those first that were not asked about for the
 * longest time. A wait that must end replies its error, and the client is resumed. */
void blocked_review(size_t count, blocked_ask *ask);
/* A ticket of the client's wait, for the thread that ends it; NULL if the client does not wait. The
 * ticket must be given to blocked_end_from_thread, which is allowed even after the client was
 * closed or waits for something else. */
MUST_USE struct blocked_ticket *blocked_ticket(const struct client *c);
/* May be called by any thread: ends the ticket's wait, if it still lasts, by BLOCKED_VALUE before
 * the loop sleeps next. Wakes the loop for that. Takes the ticket. */
void blocked_end_from_thread(struct blocked_ticket *ticket);
/* Ends the waits whose tickets have come from threads. Called before the loop sleeps, ahead of
 * batch_run_resumed. Returns false: nothing is left to do. */
bool blocked_step(void);

/* Signals a key that may now have what a client waits for. Commands need not signal a new list,
 * sorted set or stream, because this module observes the keyspace. O(1). */
void blocked_signal_key(const struct key *key);
/* SWAPDB: signals the keys that exist in either database. O(keys waited for). */
void blocked_signal_swapped(struct keyspace *a, struct keyspace *b);
/* Called after the outermost command: serves clients until no key is signalled. O(1) if none is. */
void blocked_serve(void);
/* Whether a blocked client is being served now, within another client's call. */
bool blocked_is_serving(void);

/* Parses argument `index` as a time limit in seconds with fractions. Returns false after an error
 * reply ("timeout is not a float or out of range", "timeout is negative"). */
bool blocked_parse_timeout(const struct call *call, int index, int64_t *timeout_msec);
/* Parses argument `index` as a time limit in whole milliseconds, as WAIT and XREAD take it. Returns
 * false after an error reply ("timeout is not an integer or out of range", "timeout is
 * negative"). */
bool blocked_parse_timeout_msec(const struct call *call, int index, int64_t *timeout_msec);
/* Number of clients that wait in commands, kept kinds included. */
FOR_TESTS uint64_t blocked_clients(void);
/* Asserts the invariants; walks everything. */
void blocked_check(void);
#endif
