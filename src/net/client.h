/* SPDX-License-Identifier: BSD-3-Clause
 * A client: one connection and its state. One that is captured (net/capture.h) has no connection.
 *
 * An idle client owns nothing but this struct, and the text of its addresses once somebody has
 * asked for it. While a request is incomplete it owns a query (its partial input); while it is held
 * it owns what it had sent already; while the socket does not take its replies it owns chunks of
 * them.
 *
 * What folders above keep of a client is registered by them (struct client_state), so that this
 * header names none of them: a folder is given bits of the client's flags and a place for a
 * pointer, and is told when a client closes.
 */
#ifndef EVENKEEL_NET_CLIENT_H
#define EVENKEEL_NET_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/string.h"
#include "base/system.h"
#include "io/connection.h"
#include "io/loop.h"
#include "io/socket.h"

struct child_observer;
struct client;

/* net/'s own flags: nobody else writes them but by the functions of its headers. */
enum client_flags {
    CLIENT_CLOSE_AFTER_REPLY =
        1 << 0,              /* no further request is run; closed when replies are written */
    CLIENT_CLOSING = 1 << 1, /* marked: nothing more is read or written; see client.c */
    CLIENT_UNIX = 1 << 2,
    CLIENT_WRITE_WAITS = 1 << 3,   /* the socket took no more: its chunks wait for it */
    CLIENT_ERROR_REPLIED = 1 << 4, /* the request that runs has replied an error */
    CLIENT_REPLY_OFF = 1 << 5,     /* CLIENT REPLY OFF: replies are dropped */
    CLIENT_REPLY_SKIP = 1 << 6,    /* those of this request */
    CLIENT_REPLY_SKIP_NEXT = 1 << 7,
    CLIENT_HELD = 1 << 8,         /* batch.h: nothing of it is read or run for now */
    CLIENT_HELD_REQUEST = 1 << 9, /* what it waits with has not run yet */
    CLIENT_NO_EVICT = 1 << 10,    /* CLIENT NO-EVICT: memory of clients is not taken from it */
    CLIENT_LISTENS = 1 << 11,     /* its limits are those of the class pubsub; it is never idle */
    CLIENT_NEVER_IDLE = 1 << 12,  /* `timeout` does not close it */
    CLIENT_CLOSED = 1 << 13,      /* layers above have taken leave of it: nothing is set on it */
    CLIENT_CAPTURED = 1 << 14,    /* it has no connection: its replies go to a capture */
    CLIENT_GATED = 1 << 15,       /* its replies wait for a record: reply.h */
    CLIENT_BELOW = 1 << 16,       /* its request runs, and a turn within it: batch.h */
    CLIENT_TYPED = 1 << 17,       /* captured: its replies are taken value by value */
    CLIENT_CARRIED = 1 << 18,     /* its bytes pass through a transport: io/connection.h */
    CLIENT_STREAMED = 1 << 19,    /* it is sent a stream instead of replies: reply.h */
    CLIENT_PRIMARY = 1 << 20,     /* the server that this one is a replica of */
    CLIENT_AWAITED = 1 << 21,     /* an I/O thread reads its socket, or is to: nobody else does */
    CLIENT_AWAY = 1 << 22,        /* one writes to it, or reads by its transport: nobody writes */
};
/* Replies to it are dropped. */
#define CLIENT_REPLIES_DROPPED \
    (CLIENT_CLOSING | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_STREAMED)
/* They are dropped, or become values: net/capture knows. */
#define CLIENT_REPLIES_ASIDE (CLIENT_REPLIES_DROPPED | CLIENT_TYPED)

/* All flags of a client: net/'s, and behind them those that folders above were given. They are one
 * number, so that flags of several folders cost one test (client_has_any). */
union client_flag_set {
    uint64_t all;
    struct {
        uint32_t net, above;
    };
};
_Static_assert(sizeof(union client_flag_set) == sizeof(uint64_t), "all flags are one number");

/* What a folder above keeps of each client. The folder declares the row, and names it in its
 * header; server/wiring registers it. The row is not constant: client_set_states writes into it
 * which flags and which place are the folder's. Reading those two costs a load, which no test that
 * every request passes has to pay: such a test takes a number that was put together once, at
 * start (client_flags_of). */
struct client_state {
    const char *name; /* for the assertion that refuses it */
    /* How many flags of a client it needs, which it numbers from 1 << 0 on. It alone changes them.
     */
    uint8_t flags;
    /* Whether it needs a place for a pointer. An empty place costs a client nothing, so a place is
     * for what few clients have. */
    bool has_place;
    /* A character for each flag, the lowest first: what CLIENT LIST shows of a client that has it;
     * ' ': nothing. NULL: no flag is shown. */
    const char *letters;
    /* The client closes (client_finish_closing): frees what the folder has of it, and empties its
     * place. NULL: there is nothing to do. */
    void (*closing)(struct client *c);
    /* Bytes of the class MEMORY_CLIENTS that the folder has of a client; asked only of clients that
     * have anything in any place. O(1). NULL: none. */
    size_t (*bytes)(const struct client *c);
    /* Written by client_set_states; all 0 before. */
    uint8_t shift, place;
    uint32_t mask;
};

/* Registers what folders above keep: gives each its flags and its place. Closing clients are told
 * in this order. The array ends with NULL and lives as long as the process. Before the first
 * client; asserts that there are flags enough (32) for all of them. */
void client_set_states(struct client_state *const *states);
/* These flags of the folder's as a number for client_has_any; 0 where its row is not registered, so
 * that no client has them. To be asked once, behind client_set_states, and kept. */
uint64_t client_flags_of(const struct client_state *state, uint32_t flags);
/* These flags of net/'s as a number for client_has_any. */
uint64_t client_flags_of_net(uint32_t flags);

/* Places of net/'s own; those of folders above follow. */
enum client_place {
    CLIENT_PLACE_ADDRESSES,  /* client.c: the text of its addresses, once it was asked for */
    CLIENT_PLACE_CAPTURE,    /* net/capture: who takes its replies */
    CLIENT_PLACE_CONNECTION, /* client.c: its struct connection, where it is CLIENT_CARRIED */
    CLIENT_PLACE_STREAM,     /* net/reply: what CLIENT_STREAMED is sent */
    CLIENT_PLACES_OF_NET
};

struct query;
struct reply_chunk;
struct client_weight;

struct client {
    struct loop_watcher watcher; /* first: the loop hands it back */
    struct list_link link;       /* in the list of all clients, or of those to be freed */
    struct list_link write_link; /* in reply.c's list of clients whose chunks were just added, or,
                                    closing, in that of clients that were just marked */
    struct list_link held_link;  /* in the list of who holds it, of those to go on, or of those
                                    that I/O threads are to read */
    uint64_t id;
    union {
        uint32_t flags; /* flag_set.net, by the name that net/ calls it by */
        union client_flag_set flag_set;
    };
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
    void *command; /* of its last request, as struct request has it; NULL = none, or unknown */
    void **places; /* NULL where all are empty */
};
/* The allocator's size class: what an idle connection costs. */
_Static_assert(sizeof(struct client) <= 192, "a client is 192 bytes");

/* What stands above in this folder and keeps part of a client: its input, its replies. All are
 * there; net/batch.h has them. */
struct client_parts {
    /* Its socket is ready. */
    void (*ready)(struct loop_watcher *watcher, unsigned ready);
    /* It is marked: its replies go. */
    void (*marked)(struct client *c);
    /* Layers above have taken leave of it: nobody holds it any more. */
    void (*closed)(struct client *c);
    /* Its input goes. */
    void (*freed)(struct client *c);
    /* Bytes that its input takes: asked where it has `query` or `held`. */
    size_t (*input_bytes)(const struct client *c);
    /* The last chance to write what waits. */
    void (*last_words)(struct client *c);
    /* Whether the cron is to look at clients, and its look at one, which may close it. */
    bool (*cron_needed)(void);
    void (*cron)(struct client *c);
};

/* The module's options and metrics (maxclients, timeout, tcp-keepalive ...). */
void client_register(void);
/* The loop that clients are watched by, and their parts, which live as long as the process. Once,
 * before the first client. Lowers maxclients to what the limit of open files allows; false, with a
 * line of the log, where that is no client at all. */
MUST_USE bool client_open(struct loop *loop, const struct client_parts *parts);
/* Something is to be done as soon as the request that runs has ended: clients to be closed, replies
 * to be written. Who runs requests looks at it, and clears it. */
extern bool client_interrupted;

/* Takes over an accepted socket; `transport` NULL = a plain one. NULL, with a reason, where the
 * loop or the transport refuses it; fd is then closed. */
MUST_USE struct client *client_create(int fd, const struct socket_peer *peer,
                                      const struct connection_transport *transport, char *reason,
                                      size_t reason_size);
/* Takes over a socket that we have connected, and its transport (NULL = a plain one): what comes is
 * another server's stream of commands. It is CLIENT_PRIMARY, no stranger, and never idle; reading
 * is the caller's, by `ready` (net/batch.h, "apart"). NULL, with a reason, where the loop refuses
 * it; both are then closed. */
MUST_USE struct client *client_create_primary(int fd, struct connection *connection,
                                              void (*ready)(struct loop_watcher *w, unsigned ready),
                                              char *reason, size_t reason_size);
/* One without a connection, which may not wait: for net/capture. In no list of clients, and found
 * by no id. What closes others (POST, QUIT) does nothing to it: it lives on for its next call. */
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
/* Its transport's account of what the socket is ready for: LOOP_ bits to be served, 0 = nothing as
 * yet (its handshake goes on) or any more (it has failed, and closes the client). Afterwards
 * client_watch, since what it needs may have changed. Of CLIENT_CARRIED only. */
unsigned client_carried_ready(struct client *c, unsigned ready);
/* A forked child goes on with its connection, and we only close our copy: nothing is said. */
void client_leave_to_child(struct client *c);
/* Which of these flags (client_flags_of) it has: 0 = none. */
static inline uint64_t client_has_any(const struct client *c, uint64_t flags) {
    return c->flag_set.all & flags;
}
/* The flags of a folder above that the client has, numbered as that folder does; none before it is
 * registered. */
static inline uint32_t client_flags(const struct client *c, const struct client_state *state) {
    return c->flag_set.above >> state->shift & state->mask;
}
/* Gives the client flags of a folder above, or takes them away. */
void client_set_flags(struct client *c, const struct client_state *state, uint32_t flags, bool on);
/* CLIENT_ERROR_REPLIED tells of what is replied from here on. Stored only where it changes: a load
 * of all flags waits for a store to half of them. */
static inline void client_forget_error(struct client *c) {
    if (c->flags & CLIENT_ERROR_REPLIED) c->flags &= ~(unsigned)CLIENT_ERROR_REPLIED;
}
/* What stands in a place of net/'s own; NULL = nothing. */
static inline void *client_place_of_net(const struct client *c, enum client_place place) {
    return c->places ? c->places[place] : NULL;
}
/* What a folder above has put into its place; NULL = nothing, and where its row is not registered.
 */
static inline void *client_place(const struct client *c, const struct client_state *state) {
    return c->places && state->place ? c->places[state->place] : NULL;
}
static inline struct connection *client_connection(const struct client *c) {
    return client_place_of_net(c, CLIENT_PLACE_CONNECTION);
}
/* As read, write and writev of its socket, through its transport. Nobody reads or writes in another
 * way, but I/O threads (net/transfer.h). Who writes knows whether it is CLIENT_CARRIED: that is
 * tested with other flags. */
MUST_USE static inline ssize_t client_receive(const struct client *c, void *bytes, size_t length) {
    if (__builtin_expect(c->flags & CLIENT_CARRIED, 0))
        return connection_read(client_connection(c), bytes, length);
    return system_read(c->watcher.fd, bytes, length);
}
MUST_USE static inline ssize_t client_send_plain(const struct client *c, const void *bytes,
                                                 size_t length) {
    return system_write(c->watcher.fd, bytes, length);
}
MUST_USE static inline ssize_t client_send_carried(const struct client *c, const void *bytes,
                                                   size_t length) {
    return connection_write(client_connection(c), bytes, length);
}
MUST_USE static inline ssize_t client_send_pieces(const struct client *c,
                                                  const struct iovec *pieces, int count) {
    if (__builtin_expect(c->flags & CLIENT_CARRIED, 0))
        return connection_writev(client_connection(c), pieces, count);
    return system_writev(c->watcher.fd, pieces, count);
}
/* Puts it there, but not where the client is CLIENT_CLOSED; NULL empties the place. The places of
 * a client are allocated with the first one that is filled, and freed with the last. */
void client_set_place_of_net(struct client *c, enum client_place place, void *what);
/* As client_set_place_of_net. The folder empties its place when the client closes. */
void client_set_place(struct client *c, const struct client_state *state, void *what);
/* CLIENT_LISTENS: it is sent what it has asked for once. */
void client_set_listening(struct client *c, bool listens);
/* CLIENT_NEVER_IDLE: it waits for what others do. */
void client_set_never_idle(struct client *c, bool never_idle);
void client_set_no_evict(struct client *c, bool no_evict);
/* "" takes the name away. */
void client_set_name(struct client *c, struct slice name);
/* "127.0.0.1:6379", "[::1]:6379", "/path:0": the other end's address, and our own. The system is
 * asked for both the first time; they are kept then. */
void client_append_address(struct client *c, struct buffer *out);
void client_append_local_address(struct client *c, struct buffer *out);
/* Bytes of the class MEMORY_CLIENTS that they take. O(1). */
size_t client_address_bytes(const struct client *c);
/* Bytes of the class MEMORY_CLIENTS that its places take, without what stands in them. O(1). */
size_t client_place_bytes(const struct client *c);
/* The same of its transport's struct. O(1). */
size_t client_connection_bytes(const struct client *c);
/* Appends the letters of the flags of folders above that the client has, in the order in which the
 * folders were registered. */
void client_append_letters(const struct client *c, struct buffer *out);
/* A forked child closes its copies of the sockets: else a client that the server closes would not
 * see the end before the child's. O(clients), writes nothing. */
extern const struct child_observer client_child_observer;
/* In a child that runs commands, whose job has kept this client's connection: all others get
 * nothing of it, and none is watched. O(clients). */
void client_keep_in_child(struct client *kept);
/* Bytes of the class MEMORY_CLIENTS that folders above have of it, together. O(folders). */
size_t client_bytes_above(const struct client *c);
/* What the table takes by which client_find finds them: of MEMORY_CLIENTS, and no single one's.
 * O(1). */
size_t client_table_bytes(void);
/* What its input takes: an incomplete request, and what is held of it. */
size_t client_input_bytes(const struct client *c);
/* Closes those that are marked: layers above free what they have of them. Only between requests, or
 * the commands of a transaction, when nobody holds on to anything of a marked client but its
 * struct: net/batch calls it after each request and each event, and the turn does before it sleeps.
 * O(1) where none is marked. */
void client_finish_closing(void);
/* The id that the next client gets. */
uint64_t client_next_id(void);
/* At the end of a turn within a command or a load: closes the connections of the clients that were
 * closed in that turn, so that the other ends do not wait for the end of the command. A client
 * whose id is `first_id` or later is freed, as client_free_closing does it; a client that came
 * before may stand in a batch around the turn, and is freed after that batch. O(clients closed in
 * the turn). */
void client_free_within(uint64_t first_id);
/* Its input or its replies take so many bytes now: for the largest of the last seconds in INFO. */
void client_note_input(size_t bytes);
void client_note_output(size_t bytes);

/* Closes those marked and frees them, but for the struct of one that a folder above still takes
 * leave of: of which a place is filled. Between batches only. */
void client_free_closing(void);
/* Closes all, at shutdown; what can be written without waiting is. */
void client_close_all(void);

size_t client_count(void);     /* those marked not counted */
size_t client_listeners(void); /* those with CLIENT_LISTENS */
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
/* The folder that says who may do what: the flags of its own that new clients begin with, and those
 * that make a client a stranger, for which small limits hold until it has lost them; 0: no client
 * is one. One folder; also before its row is registered. */
void client_set_admission(const struct client_state *state, uint32_t begin, uint32_t strange);
/* Whether there may be strangers. */
bool client_strangers_any(void);
bool client_is_stranger(const struct client *c);
#endif
