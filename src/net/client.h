/* SPDX-License-Identifier: BSD-3-Clause
 * A client: one connection and its state. One that is captured (net/capture.h) has no connection.
 *
 * An idle client owns nothing but this struct, and the text of its addresses once somebody has
 * asked for it. While a request is incomplete it owns a query (its partial input); while it is held
 * it owns what it had sent already; while the socket does not take its replies it owns chunks of
 * them.
 */
#ifndef EVENKEEL_NET_CLIENT_H
#define EVENKEEL_NET_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/string.h"
#include "io/loop.h"
#include "io/socket.h"

enum client_flags {
    CLIENT_CLOSE_AFTER_REPLY =
        1 << 0,              /* no further request is run; closed when replies are written */
    CLIENT_CLOSING = 1 << 1, /* marked: nothing more is read or written; see client.c */
    CLIENT_UNIX = 1 << 2,
    CLIENT_AUTHENTICATED = 1 << 3,
    CLIENT_WRITE_WAITS = 1 << 4,   /* the socket took no more: its chunks wait for it */
    CLIENT_ERROR_REPLIED = 1 << 5, /* the request that runs has replied an error */
    CLIENT_REPLY_OFF = 1 << 6,     /* CLIENT REPLY OFF: replies are dropped */
    CLIENT_REPLY_SKIP = 1 << 7,    /* those of this request */
    CLIENT_REPLY_SKIP_NEXT = 1 << 8,
    CLIENT_HELD = 1 << 9,          /* batch.h: nothing of it is read or run for now */
    CLIENT_HELD_REQUEST = 1 << 10, /* what it waits with has not run yet */
    CLIENT_MONITOR = 1 << 11,
    CLIENT_NO_EVICT = 1 << 12,        /* CLIENT NO-EVICT: memory of clients is not taken from it */
    CLIENT_TRANSACTION = 1 << 13,     /* after MULTI: its requests are queued until EXEC */
    CLIENT_QUEUE_FAILED = 1 << 14,    /* one of them was refused: EXEC answers EXECABORT */
    CLIENT_WATCH_FAILED = 1 << 15,    /* a key that it watches has changed: EXEC runs nothing */
    CLIENT_MAY_NOT_WAIT = 1 << 16,    /* a transaction or script runs: nothing waits */
    CLIENT_SUBSCRIBED = 1 << 17,      /* to a channel or pattern at least */
    CLIENT_TRACKING = 1 << 18,        /* CLIENT TRACKING ON */
    CLIENT_TRACKING_BROKEN = 1 << 19, /* the client that should get its messages is gone */
    CLIENT_TRACKING_BROADCASTS = 1 << 20, /* BCAST */
    CLIENT_MESSAGES_WAIT = 1 << 21, /* until its request has been answered: publish/tracking */
    CLIENT_LIMITED = 1 << 22,       /* its user may not do everything: access/acl */
    CLIENT_CLOSED = 1 << 23,        /* layers above have taken leave of it: nothing is set on it */
    CLIENT_CAPTURED = 1 << 24,      /* it has no connection: its replies go to a capture */
    CLIENT_GATED = 1 << 25,         /* its replies wait for a record: reply.h */
};
/* Replies to it are dropped. */
#define CLIENT_REPLIES_DROPPED (CLIENT_CLOSING | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP)

/* Places in which layers above keep what they know of a client. */
enum client_slot {
    CLIENT_SLOT_COMMAND, /* dispatch: the row of its last command; NULL = none, or unknown */
    CLIENT_SLOTS
};

/* The same for what few clients have: see client_rare. */
enum client_rare {
    CLIENT_RARE_BLOCKED,     /* exec/blocked: what it waits for */
    CLIENT_RARE_TRANSACTION, /* exec/transaction: what is queued and what is watched */
    CLIENT_RARE_PUBSUB,      /* publish/pubsub: its subscriptions */
    CLIENT_RARE_TRACKING,    /* publish/tracking: how its reads are tracked */
    CLIENT_RARE_USER,        /* access/acl: its user, where that is not the default one */
    CLIENT_RARE_ADDRESSES,   /* client.c: the text of its addresses, once it was asked for */
    CLIENT_RARE_CAPTURE,     /* net/capture: who takes its replies */
    CLIENT_RARES
};

/* Made with the first place that is filled, freed with the last. */
struct client_rares {
    void *places[CLIENT_RARES];
};

struct query;
struct reply_chunk;
struct client_weight;

struct client {
    struct loop_watcher watcher; /* first: the loop hands it back */
    struct list_link link;       /* in the list of all clients, or of those to be freed */
    struct list_link write_link; /* in reply.c's list of clients whose chunks were just added, or,
                                    closing, in that of clients that were just marked */
    struct list_link held_link;  /* in the list of who holds it, or of those to go on */
    uint64_t id;
    unsigned flags;
    int database;
    uint8_t protocol;                           /* 2 or 3 */
    struct query *query;                        /* incomplete input, or NULL */
    struct query *held;                         /* comes before it: requests that wait, or NULL */
    struct reply_chunk *replies, *replies_last; /* what the socket did not take yet */
    size_t reply_bytes;                         /* in chunks, unsent */
    size_t chunk_bytes;                         /* that the chunks take, unused room included */
    int64_t over_soft_nsec;                     /* limits.c: above the soft limit since; 0 = not */
    int64_t created_msec, active_msec;          /* wall time */
    char *name;                                 /* MEMORY_CLIENTS, or NULL */
    struct client_weight *weight;               /* client_memory.c; NULL while it owns no buffer */
    void *slots[CLIENT_SLOTS];
    struct client_rares *rare; /* NULL where all places are empty */
};
/* The allocator's size class: what an idle connection costs. */
_Static_assert(sizeof(struct client) <= 192, "a client is 192 bytes");

/* The module's options and metrics (maxclients, timeout, tcp-keepalive ...). */
void client_register(void);
/* The loop that clients are watched by. Once, before the first client. Lowers maxclients to what
 * the limit of open files allows; false, with a line of the log, where that is no client at all. */
MUST_USE bool client_open(struct loop *loop);

/* Takes over an accepted socket. NULL, with errno, where the loop refuses it; fd is then closed. */
MUST_USE struct client *client_create(int fd, const struct socket_peer *peer);
/* One without a connection, which may not wait: for net/capture. In no list of clients, and found
 * by no id; who calls client_close_later on it marks it, and nothing more. */
MUST_USE struct client *client_create_captured(void);
/* Layers above take leave of it; freed at the turn's end. */
void client_end_captured(struct client *c);
/* Marks it to be closed, from anywhere, a reply to it included: its replies go at once, it gets no
 * more of them, client_find does not find it. All else of it stays where it is until
 * client_finish_closing. Its struct is freed when no batch refers to it any more, at the turn's
 * end. */
void client_close_later(struct client *c);
void client_close_after_reply(struct client *c);
/* Closes it because its buffer ("query buffer") passed a limit, with a line in the log. */
void client_close_for_limit(struct client *c, const char *what);
/* Watches its socket for what it wants: input, or its end only while it is held; and writability
 * while replies wait. Closes it where the loop refuses. */
void client_watch(struct client *c);
/* What stands in such a place; NULL = nothing. */
static inline void *client_rare(const struct client *c, enum client_rare place) {
    return c->rare ? c->rare->places[place] : NULL;
}
/* Puts it there, but not where the client is CLIENT_CLOSED; NULL empties the place. Who put it
 * there empties it when the client closes. */
void client_set_rare(struct client *c, enum client_rare place, void *what);
/* Sets or takes away CLIENT_SUBSCRIBED. */
void client_set_subscribed(struct client *c, bool subscribed);
/* "" takes the name away. */
void client_set_name(struct client *c, struct slice name);
/* "127.0.0.1:6379", "[::1]:6379", "/path:0": the other end's address, and our own. The system is
 * asked for both the first time; they are kept then. */
void client_append_address(struct client *c, struct buffer *out);
void client_append_local_address(struct client *c, struct buffer *out);
/* Bytes of the class MEMORY_CLIENTS that they take. O(1). */
size_t client_address_bytes(const struct client *c);
/* A layer above that keeps something of clients. NULL members are passed over. */
struct client_observer {
    /* Called by client_finish_closing: frees what it has of the client. */
    void (*closing)(struct client *c);
    /* What it holds for it of the class MEMORY_CLIENTS; asked of clients that have anything in a
     * place of enum client_rare. O(1). */
    size_t (*bytes)(const struct client *c);
};
/* Who hears, in order, ended by NULL; the array lives as long as the process. server/wiring.c has
 * the one of the server. */
void client_set_observers(const struct client_observer *const *observers);
/* What they hold together. O(observers). */
size_t client_bytes_above(const struct client *c);
/* Closes those that are marked: layers above free what they have of them. Only between requests, or
 * the commands of a transaction, when nobody holds on to anything of a marked client but its
 * struct: net/batch calls it after each request and each event, and the turn does before it sleeps.
 * O(1) where none is marked. */
void client_finish_closing(void);
/* Its input or its replies take so many bytes now: for the largest of the last seconds in INFO. */
void client_note_input(size_t bytes);
void client_note_output(size_t bytes);

/* Closes those marked and frees them, but for the struct of one that a layer above still takes
 * leave of: where a place of client_rare is filled. Between batches only. */
void client_free_closing(void);
/* Closes all, at shutdown; what can be written without waiting is. */
void client_close_all(void);

size_t client_count(void);       /* those marked not counted */
size_t client_subscribers(void); /* those with CLIENT_SUBSCRIBED */
/* NULL where none that is not closing has this id. O(1). */
struct client *client_find(uint64_t id);
/* Of struct client.link. Those that are marked stand in it, too, until client_finish_closing: who
 * tells of clients passes over CLIENT_CLOSING. */
struct list_link *client_list(void);
/* Of those without a connection. */
struct list_link *client_captured_list(void);
struct loop *client_loop(void);

/* Closes clients idle beyond `timeout` or too long above their soft limit; called by the cron,
 * looks at a bounded share a call. */
void client_cron(void);
int64_t client_maxclients(void);
/* True where a password is set, so that new clients must authenticate. */
bool client_authentication_required(void);
void client_set_authentication_required(bool required);
/* Whether new clients begin with CLIENT_LIMITED. */
void client_set_limited(bool limited);
#endif
