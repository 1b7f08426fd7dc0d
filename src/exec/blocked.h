/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that wait: for keys (BLPOP, BZPOPMIN, XREAD ...), or only for a time (WAIT).
 *
 * A command that finds nothing to answer with blocks its client on keys. A key that comes to hold
 * what somebody may wait for is signalled; after the outermost command its waiters are served in
 * the order in which they came, each once, and serving may make further keys ready.
 */
#ifndef EVENKEEL_EXEC_BLOCKED_H
#define EVENKEEL_EXEC_BLOCKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    /* The client waits no longer, or is gone. NULL where nothing is to be freed. The state is one
     * block of MEMORY_CLIENTS, which blocked_begin takes and counts as the client's. */
    void (*free_state)(void *state);
};

/* For server/wiring. */
extern const struct keyspace_observer blocked_observer;
extern struct client_state blocked_client_state;

/* Blocks the call's client until it is served, `timeout_msec` have passed (BLOCKED_FOREVER: no
 * limit), or CLIENT UNBLOCK. Waits for the arguments `first` to `last`, `step` apart, which are
 * copied; none where first is 0. Takes `state`. The command must not have replied and must end
 * after this. A client that may not wait (client_may_wait) is answered as if its time were up;
 * so is one that is marked as closing, which nobody sees.
 */
void blocked_begin(struct call *call, const struct blocked_kind *kind, int first, int last,
                   int step, int64_t timeout_msec, void *state);
/* The call in which the client waits was slow: it enters the slow log when the client is served,
 * and where it is not, it does not, as in 6.2. Takes the entry. */
void blocked_keep_slow(struct client *c, struct slowlog_entry *entry);
/* True where the client waits in a command; clients that CLIENT PAUSE holds do not. */
bool blocked_is(const struct client *c);
/* CLIENT UNBLOCK: as if its time were up, or with an error. False where it does not wait. */
bool blocked_end_early(struct client *c, bool with_error);
/* All that wait are answered this error and closed: what they wait for may not come to pass here
 * any more. O(clients). */
void blocked_end_all(const char *error);

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
/* Clients waiting in commands. */
uint64_t blocked_clients(void);
/* Asserts the invariants; walks everything. */
void blocked_check(void);
#endif
