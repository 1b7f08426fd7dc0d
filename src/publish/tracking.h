/* SPDX-License-Identifier: BSD-3-Clause
 * Client-side caching: clients that keep what they read are told when it changes.
 *
 * By default the server remembers which client has read which key, and tells each client once of a
 * key's next change. A client may choose instead to hear of all changes of keys that begin with
 * certain prefixes (broadcasting), which the server remembers nothing for.
 */
#ifndef EVENKEEL_PUBLISH_TRACKING_H
#define EVENKEEL_PUBLISH_TRACKING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct client_state;
struct keyspace_observer;
struct client;
struct command;

/* Flags of a client. */
enum tracking_flags {
    TRACKING_ON = 1 << 0,            /* CLIENT TRACKING ON */
    TRACKING_BROKEN = 1 << 1,        /* the client that should get its messages is gone */
    TRACKING_BROADCASTS = 1 << 2,    /* BCAST */
    TRACKING_MESSAGES_WAIT = 1 << 3, /* until its request has been answered */
};

/* How a client is told. */
struct tracking_mode {
    uint64_t redirect; /* the id of the client that gets its messages; 0 = itself */
    bool broadcasts;   /* all changes below its prefixes, read or not */
    bool opt_in;       /* reads count only right after CLIENT CACHING YES */
    bool opt_out;      /* reads count but right after CLIENT CACHING NO */
    bool no_loop;      /* it is not told of its own changes */
};

void tracking_register(void); /* option and metrics */
/* For server/wiring. */
extern const struct keyspace_observer tracking_observer;
extern struct client_state tracking_client_state;

/* Begins, or goes on in another mode: the caller has checked that these two fit together. With
 * mode->broadcasts, `prefixes` are added to those that the client has; none: "", which all keys
 * begin with. O(prefixes log prefixes). */
void tracking_start(struct client *c, const struct tracking_mode *mode,
                    const struct slice *prefixes, size_t count);
/* Ends it. Harmless for a client that does not track. */
void tracking_stop(struct client *c);

/* NULL while the client does not track. */
const struct tracking_mode *tracking_mode(const struct client *c);
/* The id of the client that gets its messages; 0 = itself; -1 = it does not track. */
int64_t tracking_redirect(const struct client *c);
/* The last message could not be sent, since the client that should get them is gone. */
bool tracking_redirect_is_broken(const struct client *c);
/* Its prefixes in order, 0 <= index < count. */
size_t tracking_prefix_count(const struct client *c);
struct slice tracking_prefix(const struct client *c, size_t index);
/* Two prefixes overlap where one begins with the other. Finds the first given one that overlaps
 * with one of the client's (*own is true), or with a later given one. O(prefixes log prefixes). */
struct tracking_overlap {
    struct slice given, other;
    bool own;
};
bool tracking_find_overlap(const struct client *c, const struct slice *prefixes, size_t count,
                           struct tracking_overlap *overlap);

/* From now on keys change by `c`, who is not told where it said NOLOOP; NULL = by the client whose
 * request runs, as ever. While clients are served, what `c` itself is told waits until NULL: its
 * reply stands before that. */
void tracking_credit(struct client *c);
/* Between these two, clients that waited are served: the reply of the outermost call is complete,
 * and what waited for that is sent. */
void tracking_serve_begin(void);
void tracking_serve_end(void);

/* A turn is made within a call. What waits for that call's reply stays where it is; clients that
 * are served meanwhile wait for their own. */
struct tracking_nesting {
    const struct call *outside;
    struct buffer waiting;
    uint64_t redirect_at_stop;
};
void tracking_nest_begin(struct tracking_nesting *outer);
void tracking_nest_end(const struct tracking_nesting *outer);

/* CLIENT CACHING: about the client's next request, or transaction. */
void tracking_set_caching(struct client *c);
bool tracking_caching(const struct client *c);

/* After a call of a client that has TRACKING_ON or TRACKING_MESSAGES_WAIT: remembers the keys that
 * were read, and with `outermost` sends what had to wait for the reply's end. With `unit_goes_on`,
 * within a transaction, CLIENT CACHING is not used up. O(keys of the call). */
void tracking_after_call(const struct call *call, bool outermost, bool unit_goes_on);
/* A script of this call has run a command that reads: as in 6.2 the keys that its caller has named
 * count as read. */
void tracking_after_script_read(const struct call *script);
/* After a request of a client that tracks that was refused. */
void tracking_after_refusal(struct client *c, const struct command *command, bool unit_goes_on);

/* Sends what broadcasting clients are to hear of changes since it was called last, and drops some
 * of the keys that are too many: true where more are left. Before the loop sleeps; what it sends
 * is still to be written (reply_write_all). */
bool tracking_step(void);

/* Keys that are remembered; pairs of key and client among them; prefixes. O(1). */
FOR_TESTS size_t tracking_keys(void);
FOR_TESTS size_t tracking_items(void);
FOR_TESTS size_t tracking_prefixes(void);
/* What the names of keys take of which listeners to prefixes are still to be told. */
size_t tracking_untold_bytes(void);
FOR_TESTS size_t tracking_clients(void);
/* Asserts the invariants; walks everything. */
void tracking_check(void);
#endif
