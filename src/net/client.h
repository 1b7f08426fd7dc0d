/* SPDX-License-Identifier: BSD-3-Clause
 * A client: one connection and its state. A captured client (net/capture.h) has no connection.
 *
 * An idle client owns only this struct, and the text of its addresses once that was asked for.
 * While a request is incomplete, the client owns a query (its partial input); while it is held, the
 * input that it had sent; while the socket does not take its replies, chunks of them.
 *
 * Folders above register the state that they keep of a client (struct client_state), so that this
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

/* Flags of net/. Other folders change them only by the functions of net/'s headers. */
enum client_flags {
    CLIENT_CLOSE_AFTER_REPLY =
        1 << 0,              /* no further request runs; closed when its replies are written */
    CLIENT_CLOSING = 1 << 1, /* marked: nothing more is read or written; see client.c */
    CLIENT_UNIX = 1 << 2,
    CLIENT_WRITE_WAITS = 1 << 3,   /* the socket is full: its chunks wait until it is writable */
    CLIENT_ERROR_REPLIED = 1 << 4, /* the running request has replied an error */
    CLIENT_REPLY_OFF = 1 << 5,     /* CLIENT REPLY OFF: replies are dropped */
    CLIENT_REPLY_SKIP = 1 << 6,    /* the replies of this request are dropped */
    CLIENT_REPLY_SKIP_NEXT = 1 << 7,
    CLIENT_HELD = 1 << 8,         /* batch.h: its requests do not run */
    CLIENT_HELD_REQUEST = 1 << 9, /* held before its request ran: the request runs again */
    CLIENT_NO_EVICT = 1 << 10,    /* CLIENT NO-EVICT: it is not disconnected to free memory */
    CLIENT_LISTENS = 1 << 11,     /* its limits are those of the class pubsub; it is never idle */
    CLIENT_NEVER_IDLE = 1 << 12,  /* `timeout` does not close it */
    CLIENT_CLOSED = 1 << 13,      /* layers above have freed their state of it, and add no more */
    CLIENT_CAPTURED = 1 << 14,    /* it has no connection: its replies go to a capture */
    CLIENT_GATED = 1 << 15,       /* its replies wait for a record: reply.h */
    CLIENT_BELOW = 1 << 16,       /* its request runs, and a nested turn within it: batch.h */
    CLIENT_TYPED = 1 << 17,       /* captured: its replies are taken value by value */
    CLIENT_CARRIED = 1 << 18,     /* its bytes pass through a transport: io/connection.h */
    CLIENT_STREAMED = 1 << 19,    /* it is sent a stream instead of replies: reply.h */
    CLIENT_PRIMARY = 1 << 20,     /* the primary of this server */
    CLIENT_AWAITED = 1 << 21,     /* an I/O thread reads its socket, or will: no other code does */
    CLIENT_AWAY = 1 << 22,        /* an I/O thread writes, or uses its transport: no other writes */
    CLIENT_OPEN_GROUP = 1 << 23,  /* its reply has a group whose length is not said yet: reply.h */
};
/* Replies to such a client are dropped. */
#define CLIENT_REPLIES_DROPPED \
    (CLIENT_CLOSING | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_STREAMED)
/* Replies to such a client are dropped or become values: net/capture decides. */
#define CLIENT_REPLIES_ASIDE (CLIENT_REPLIES_DROPPED | CLIENT_TYPED)

/* All flags of a client: those of net/, and those that folders above were given. They are one
 * number, so that flags of several folders can be tested at once (client_has_any). */
union client_flag_set {
    uint64_t all;
    struct {
        uint32_t net, above;
    };
};
_Static_assert(sizeof(union client_flag_set) == sizeof(uint64_t), "all flags are one number");

/* The state that a folder above keeps of each client. The folder declares the row in its header,
 * and server/wiring registers it. The row is not constant, because client_set_states writes into it
 * which flags and which place are the folder's. Reading these costs a load. A test that every
 * request passes avoids it by a number that is computed once, at start (client_flags_of). */
struct client_state {
    const char *name; /* for the assertion in client_set_states */
    /* How many flags of a client the folder needs. The folder numbers them from 1 << 0 on, and only
     * the folder changes them. */
    uint8_t flags;
    /* Whether the folder needs a place for a pointer. An empty place costs a client nothing, so
     * places are for state that few clients have. */
    bool has_place;
    /* A character for each flag, the lowest flag first, which CLIENT LIST shows for a client that
     * has the flag; ' ': none. NULL: no flag is shown. */
    const char *letters;
    uint32_t reset_flags; /* flags that RESET takes away (client_reset_flags) */
    /* Called when the client closes (client_finish_closing): frees the folder's state of it, and
     * empties the folder's place. NULL: there is nothing to do. */
    void (*closing)(struct client *c);
    /* Bytes of the class MEMORY_CLIENTS that the folder has of a client. Called only for clients
     * that have any place filled. O(1). NULL: none. */
    size_t (*bytes)(const struct client *c);
    /* Set by client_set_states; 0 before. */
    uint8_t shift, place;
    uint32_t mask;
};

/* Registers the states of folders above: gives each row its flags and its place. `closing` is
 * called in this order. NULL ends the array, which is borrowed for good. Called before the first
 * client; asserts that there are flags enough (32) for all rows. */
void client_set_states(struct client_state *const *states);
/* Flags of a folder above as a number for client_has_any; 0 if the row is not registered, because
 * no client has the flags then. To be called once, after client_set_states, and kept. */
uint64_t client_flags_of(const struct client_state *state, uint32_t flags);
/* Flags of net/ (enum client_flags) as a number for client_has_any. */
uint64_t client_flags_of_net(uint32_t flags);

/* The places of net/; those of folders above follow. */
enum client_place {
    CLIENT_PLACE_ADDRESSES,  /* client.c: the text of its addresses, once it was asked for */
    CLIENT_PLACE_CAPTURE,    /* net/capture: the capture that takes its replies */
    CLIENT_PLACE_CONNECTION, /* client.c: its struct connection, if it is CLIENT_CARRIED */
    CLIENT_PLACE_STREAM,     /* net/reply: the stream that a CLIENT_STREAMED client is sent */
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
    struct list_link held_link;  /* in a list of its holder, of clients to be resumed, or of clients
                                    that I/O threads will read */
    uint64_t id;
    union {
        uint32_t flags; /* another name of flag_set.net */
        union client_flag_set flag_set;
    };
    int database;
    uint8_t protocol;                           /* 2 or 3 */
    struct query *query;                        /* incomplete input, or NULL */
    struct query *held;                         /* requests that wait, before `query`, or NULL */
    struct reply_chunk *replies, *replies_last; /* replies that the socket did not take yet */
    size_t reply_bytes;                         /* unsent bytes in the chunks */
    size_t chunk_bytes;                         /* memory of the chunks, unused room included */
    int64_t over_soft_nsec;                     /* limits.c: since when above soft limit; 0 = not */
    int64_t created_msec, active_msec;          /* wall time */
    char *name;                                 /* MEMORY_CLIENTS, or NULL */
    struct client_weight *weight;               /* client_memory.c; NULL while it owns no buffer */
    void *command; /* struct request.command of its last request; NULL = none, or unknown */
    void **places; /* NULL if all places are empty */
};
/* The allocator's size class, which is the cost of an idle connection. */
_Static_assert(sizeof(struct client) <= 192, "a client is 192 bytes");

/* Functions of the files above client.c in this folder, which have the client's input and replies.
 * All must be set; net/batch.h has the two structs. */
struct client_parts {
    /* Called when the client's socket is ready. */
    void (*ready)(struct loop_watcher *watcher, unsigned ready);
    /* Called when the client is marked as closing: frees its replies. */
    void (*marked)(struct client *c);
    /* Called when layers above have freed their state of the client: it is held no longer. */
    void (*closed)(struct client *c);
    /* Called before the client is freed: frees its input. */
    void (*freed)(struct client *c);
    /* Bytes of the client's input. Called only if it has `query` or `held`. */
    size_t (*input_bytes)(const struct client *c);
    /* Whether a client that is CLIENT_HELD is read on. */
    bool (*held_is_read)(const struct client *c);
    /* Called at shutdown: writes the replies that wait, as far as the socket takes them. */
    void (*last_words)(struct client *c);
    /* Whether the cron must look at all clients; the look at one client, which may close it. */
    bool (*cron_needed)(void);
    void (*cron)(struct client *c);
};

/* Registers options and metrics (maxclients, timeout, tcp-keepalive ...). */
void client_register(void);
/* Sets the loop that watches clients, and their parts, which are borrowed for good. Called once,
 * before the first client. Lowers maxclients to what the limit of open files allows. Returns false,
 * with a line in the log, if that is no client at all. */
MUST_USE bool client_open(struct loop *loop, const struct client_parts *parts);
/* True while there is work for the end of the running request: clients to be closed, replies to be
 * written. net/batch, which runs requests, tests and clears it. */
extern bool client_interrupted;

/* Creates a client for an accepted socket, which it takes; `transport` NULL = a plain socket.
 * Returns NULL, with a reason and fd closed, if the loop or the transport refuses the socket. */
MUST_USE struct client *client_create(int fd, const struct socket_peer *peer,
                                      const struct connection_transport *transport, char *reason,
                                      size_t reason_size);
/* Creates the client of our primary, whose bytes are a stream of commands, for a socket that we
 * have connected and its transport (NULL = a plain socket); takes both. The client is
 * CLIENT_PRIMARY, no stranger, and never idle. The caller reads it, when `ready` is called
 * (net/batch.h, "apart"). Returns NULL, with a reason and both closed, if the loop refuses the
 * socket. */
MUST_USE struct client *client_create_primary(int fd, struct connection *connection,
                                              void (*ready)(struct loop_watcher *w, unsigned ready),
                                              char *reason, size_t reason_size);
/* Creates a client without a connection, for net/capture. It may not wait, is in no list of
 * clients, and client_find does not find it. Whatever closes other clients (POST, QUIT) has no
 * effect on it, because it is used for further calls. */
MUST_USE struct client *client_create_captured(void);
/* Ends a captured client: layers above free their state of it; it is freed at the turn's end. */
void client_end_captured(struct client *c);
/* Marks the client as closing; may be called at any time, also while a reply to it is made. Its
 * replies are freed at once, further ones are dropped, and client_find does not find it. All its
 * other state stays until client_finish_closing. Its struct is freed at the turn's end, when no
 * batch refers to it. */
void client_close_later(struct client *c);
void client_close_after_reply(struct client *c);
/* Closes the client because a buffer of it (`what`: "query buffer") passed a limit, with a line in
 * the log. */
void client_close_for_limit(struct client *c, const char *what);
/* Watches the client's socket for the events that its state needs: input and,
 * while it is held, the end of the connection; writability while replies wait. Closes the client if
 * the loop refuses. */
void client_watch(struct client *c);
/* For CLIENT_CARRIED clients: what the transport makes of the socket's readiness. Returns the LOOP_
 * bits to be served; 0: none, because the handshake is not complete, or because it has failed and
 * the client is marked as closing. The caller must call client_watch afterwards, because the
 * transport may need other events now. */
unsigned client_carried_ready(struct client *c, unsigned ready);
/* Leaves the connection to a forked child: only our copy of the descriptor will be closed, without
 * a transport's farewell. */
void client_leave_to_child(struct client *c);
/* The flags of `flags` (client_flags_of) that the client has; 0 = none. */
static inline uint64_t client_has_any(const struct client *c, uint64_t flags) {
    return c->flag_set.all & flags;
}
/* The flags of a folder above that the client has, as the folder numbers them; none before the row
 * is registered. */
static inline uint32_t client_flags(const struct client *c, const struct client_state *state) {
    return c->flag_set.above >> state->shift & state->mask;
}
/* Gives the client flags of a folder above, or takes them away. */
void client_set_flags(struct client *c, const struct client_state *state, uint32_t flags, bool on);
/* RESET: takes away the flags that folders above name in `reset_flags`. O(folders). */
void client_reset_flags(struct client *c);
/* Clears CLIENT_ERROR_REPLIED, so that it tells of replies from here on. The flags are stored only
 * if they change, because a load of all flags would wait for a store to half of them. */
static inline void client_forget_error(struct client *c) {
    if (c->flags & CLIENT_ERROR_REPLIED) c->flags &= ~(unsigned)CLIENT_ERROR_REPLIED;
}
/* The pointer in a place of net/; NULL = empty. */
static inline void *client_place_of_net(const struct client *c, enum client_place place) {
    return c->places ? c->places[place] : NULL;
}
/* The pointer in the place of a folder above; NULL = empty, or the row is not registered. */
static inline void *client_place(const struct client *c, const struct client_state *state) {
    return c->places && state->place ? c->places[state->place] : NULL;
}
static inline struct connection *client_connection(const struct client *c) {
    return client_place_of_net(c, CLIENT_PLACE_CONNECTION);
}
/* read, write and writev of the client's socket, through its transport. All code reads and writes
 * so, except I/O threads (net/transfer.h). The caller of client_send_plain or client_send_carried
 * has tested CLIENT_CARRIED together with other flags. */
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
/* Puts `what` into a place of net/; NULL empties the place. Does nothing for a client that is
 * CLIENT_CLOSED. A client's places are allocated when the first one is filled, and freed with the
 * last one. */
void client_set_place_of_net(struct client *c, enum client_place place, void *what);
/* Puts `what` into the place of a folder above, as client_set_place_of_net does. The folder must
 * empty its place when the client closes. */
void client_set_place(struct client *c, const struct client_state *state, void *what);
/* Sets or clears CLIENT_LISTENS: the client is sent messages that it has subscribed to. */
void client_set_listening(struct client *c, bool listens);
/* Sets or clears CLIENT_NEVER_IDLE: the client waits for events that others cause. */
void client_set_never_idle(struct client *c, bool never_idle);
void client_set_no_evict(struct client *c, bool no_evict);
/* Sets the name; "" removes it. */
void client_set_name(struct client *c, struct slice name);
/* Appends the address of the other end, or our own: "127.0.0.1:6379", "[::1]:6379", "/path:0". The
 * first call asks the system for both, and they are kept. */
void client_append_address(struct client *c, struct buffer *out);
void client_append_local_address(struct client *c, struct buffer *out);
/* Bytes of the class MEMORY_CLIENTS that the texts of the client's addresses take. O(1). */
size_t client_address_bytes(const struct client *c);
/* Bytes of the class MEMORY_CLIENTS that the client's array of places takes. O(1). */
size_t client_place_bytes(const struct client *c);
/* Bytes of the class MEMORY_CLIENTS that the struct of the client's transport takes. O(1). */
size_t client_connection_bytes(const struct client *c);
/* Appends the letters of the flags of folders above that the client has, in the order in which the
 * folders were registered. */
void client_append_letters(const struct client *c, struct buffer *out);
/* Closes a forked child's copies of the sockets; otherwise a client that the server closes would
 * see the end of its connection only when the child ends. O(clients), writes nothing. */
extern const struct child_observer client_child_observer;
/* For a child that runs commands and has kept this client's connection: drops the replies to all
 * other clients, and watches no client. O(clients). */
void client_keep_in_child(struct client *kept);
/* Bytes of the class MEMORY_CLIENTS that all folders above have of the client. O(folders). */
size_t client_bytes_above(const struct client *c);
/* Bytes of the class MEMORY_CLIENTS that the table of client_find takes, which are charged to no
 * single client. O(1). */
size_t client_table_bytes(void);
/* Bytes of the client's input: an incomplete request, and held requests. */
size_t client_input_bytes(const struct client *c);
/* Closes the marked clients: layers above free their state of them. May be called only between
 * requests, or between the commands of a transaction, when no code uses anything of a marked client
 * but its struct. net/batch calls it after each request and each event, and the turn before it
 * sleeps. O(1) if none is marked. */
void client_finish_closing(void);
/* The id that the next client gets. */
uint64_t client_next_id(void);
/* Called at the end of a nested turn: closes the connections of the clients that were closed in
 * that turn, so that the other ends do not wait for the end of the command. A client whose id is
 * `first_id` or later is also freed, as by client_free_closing. An older client may be in a batch
 * of an outer turn, and is freed after that batch. O(clients closed in the turn). */
void client_free_within(uint64_t first_id);
/* Notes how many bytes a client's input, or its replies, take now, for INFO's largest of the last
 * seconds. */
void client_note_input(size_t bytes);
void client_note_output(size_t bytes);

/* Closes the marked clients and frees them; a client that still has a place filled by a folder
 * above is freed later. Called only between batches. */
void client_free_closing(void);
/* Closes all clients, at shutdown, and writes before what can be written without waiting. */
void client_close_all(void);

size_t client_count(void);     /* clients that are not marked as closing */
size_t client_listeners(void); /* clients with CLIENT_LISTENS */
/* The client with this id; NULL if there is none, or it is marked as closing. O(1). */
struct client *client_find(uint64_t id);
/* The list of all clients (struct client.link). Marked clients are in it, too, until
 * client_finish_closing, so code that shows clients must skip those with CLIENT_CLOSING. */
struct list_link *client_list(void);
/* The list of the clients without a connection. */
struct list_link *client_captured_list(void);
struct loop *client_loop(void);

/* Closes clients that are idle beyond `timeout`, or too long above their soft limit. Called by the
 * cron; each call looks at a bounded number of clients. */
void client_cron(void);
int64_t client_maxclients(void);
/* Called by the folder that decides who may do what (access/): `begin` are its flags that new
 * clients have, `strange` those that make a client a stranger, to which small limits apply as long
 * as it has them (0: no client is a stranger). May be called before the row is registered. */
void client_set_admission(const struct client_state *state, uint32_t begin, uint32_t strange);
/* Whether there may be strangers. */
bool client_strangers_any(void);
bool client_is_stranger(const struct client *c);
#endif
