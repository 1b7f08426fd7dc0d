/* SPDX-License-Identifier: BSD-3-Clause
 * Client-side caching: clients that cache what they have read get a message when it changes.
 *
 * By default the server remembers which client has read which key, and sends each client one
 * message at the key's next change. A client may choose broadcasting instead: messages of all
 * changes of keys that begin with certain prefixes. For these the server remembers nothing.
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
    TRACKING_MESSAGES_WAIT = 1 << 3, /* until its reply is complete */
};

/* How a client wants its messages. */
struct tracking_mode {
    uint64_t redirect; /* the id of the client that gets its messages; 0 = itself */
    bool broadcasts;   /* all changes below its prefixes, even of keys not read */
    bool opt_in;       /* reads count only right after CLIENT CACHING YES */
    bool opt_out;      /* reads count except right after CLIENT CACHING NO */
    bool no_loop;      /* no messages of its own changes */
};

void tracking_register(void); /* option and metrics */
/* For server/wiring. */
extern const struct keyspace_observer tracking_observer;
extern struct client_state tracking_client_state;

/* Begins tracking, or goes on in another mode; the caller has checked that the client may change to
 * it. With mode->broadcasts, `prefixes` are added to those that the client has; where it gets none,
 * "", with which all keys begin. O(prefixes log prefixes). */
void tracking_start(struct client *c, const struct tracking_mode *mode,
                    const struct slice *prefixes, size_t count);
/* Ends tracking. Harmless for a client that does not track. */
void tracking_stop(struct client *c);

/* The client's mode; NULL while it does not track. */
const struct tracking_mode *tracking_mode(const struct client *c);
/* The id of the client that gets its messages; 0 = itself; -1 = it does not track. */
int64_t tracking_redirect(const struct client *c);
/* Whether the last message could not be sent, because the client that should get it is gone. */
bool tracking_redirect_is_broken(const struct client *c);
/* The client's prefixes in order, 0 <= index < count. */
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

/* From now on changes count as made by `c`, which gets no messages of them if it has NOLOOP; NULL =
 * by the client whose request runs, as usual. While clients are served (tracking_serve_begin),
 * messages for `c` itself wait until this is called with NULL, so that they follow its reply. */
void tracking_credit(struct client *c);
/* Enclose the serving of blocked clients: the reply of the outermost call is complete then, so
 * messages do not wait for it any more. */
void tracking_serve_begin(void);
void tracking_serve_end(void);

/* State of a nested turn. Messages that wait for the outer call's reply go on waiting; clients of
 * the nested turn get theirs behind their own replies. */
struct tracking_nesting {
    const struct call *outside;
    struct buffer waiting;
    uint64_t redirect_at_stop;
};
void tracking_nest_begin(struct tracking_nesting *outer);
void tracking_nest_end(const struct tracking_nesting *outer);

/* CLIENT CACHING: applies to the client's next request, or transaction. */
void tracking_set_caching(struct client *c);
bool tracking_caching(const struct client *c);

/* To be called after a call of a client that has TRACKING_ON or TRACKING_MESSAGES_WAIT: remembers
 * the keys that were read, and with `outermost` sends the messages that waited for the reply's end.
 * With `unit_goes_on`, within a transaction, CLIENT CACHING stays in effect. O(keys of the call).
 */
void tracking_after_call(const struct call *call, bool outermost, bool unit_goes_on);
/* To be called when a script of this call has run a command that reads. As in 6.2, the keys that
 * EVAL names count as read. */
void tracking_after_script_read(const struct call *script);
/* To be called after a refused request of a client that tracks. */
void tracking_after_refusal(struct client *c, const struct command *command, bool unit_goes_on);

/* Sends the messages of broadcasting clients of changes since the last call, and drops some of the
 * keys beyond tracking-table-max-keys; true if more are left. To be called before the loop
 * sleeps; the messages are still to be written (reply_write_all). */
bool tracking_step(void);

/* The number of remembered keys, of pairs of key and client, and of prefixes. O(1). */
FOR_TESTS size_t tracking_keys(void);
FOR_TESTS size_t tracking_items(void);
FOR_TESTS size_t tracking_prefixes(void);
/* Bytes of the names of changed keys that broadcasting clients are still to be told. O(1). */
size_t tracking_untold_bytes(void);
FOR_TESTS size_t tracking_clients(void);
/* Asserts the invariants; walks everything. */
void tracking_check(void);
#endif
