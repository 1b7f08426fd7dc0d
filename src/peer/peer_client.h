/* SPDX-License-Identifier: BSD-3-Clause
 * The client of other servers: a connection that the loop serves, with a queue that knows what each
 * answer is for.
 *
 *              +--------------------- peer_client_close, from any ---------------------+
 *              v                                                                       |
 *   CLOSED --connect--> LOOKS_UP --address--> CONNECTS ---open, handshake----> OPEN    |
 *     ^ |                  |                     |                              |
 *     | +- connect, an address: CONNECTS         |                              |
 *     |                    |                     |                              |
 *     +- calls `ended` ----+- not found ---------+- refused --------------------+- lost, late, bad
 *
 * peer_client_ask appends a request to the output, with a function that is called with its answer.
 * Answers come in the order of the requests. A reply is an answer only after its request was
 * written completely, so no request is answered too early. Replies that answer no request (pushes)
 * go to `unasked`.
 *
 * An owner that has nothing else to do (a tool, MIGRATE) drives a client by peer_client_turn: a
 * nested turn that serves only this connection. That is the only way to drive a client without a
 * loop. The loop serves clients in outermost turns only, so that none of their work happens in the
 * midst of a command.
 *
 * Bounds: input by 64 KiB (peer/peer.h), a reply by struct peer_limits, unanswered requests by
 * `asked_max`. The owner bounds the output, by peer_client_unsent_bytes.
 */
#ifndef EVENKEEL_PEER_PEER_CLIENT_H
#define EVENKEEL_PEER_PEER_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "peer/peer.h"
#include "peer/peer_reply.h"

#define PEER_AUTH_WORDS_MAX 3

struct connection;
struct loop;
struct peer_client;
struct pollfd;
struct socket_peer;

enum peer_client_state {
    PEER_CLIENT_CLOSED,
    PEER_CLIENT_LOOKS_UP, /* the resolver looks up the name in another thread (io/lookup.h) */
    PEER_CLIENT_CONNECTS, /* or is in the handshake */
    PEER_CLIENT_OPEN,
};

/* Functions of the owner that the loop calls; each may be NULL. Each may call any function of this
 * header with the client, also peer_client_free. peer_client_turn calls none of them: its result
 * says the same. */
struct peer_client_events {
    /* The socket begins to connect, after the name was found. */
    void (*connects)(void *owner);
    /* The connection is open: requests are written from now on. */
    void (*opened)(void *owner);
    /* The connection has ended, or could not be made; peer_client_error says why. The functions of
     * unanswered requests were called before. */
    void (*ended)(void *owner);
    /* Input has come outside the protocol (peer_client_leave_protocol). Called again while the
     * owner takes some of the input and some is left. */
    void (*input)(void *owner);
};

struct peer_client_settings {
    struct loop *loop; /* NULL: only peer_client_turn drives the client */
    enum memory_class class;
    struct peer_limits reply;
    uint32_t asked_max; /* the most unanswered requests */
    /* The loop connects again this long after a connection has ended or could not be made; 0: the
     * loop does not connect again. */
    int64_t again_msec;
    const struct peer_client_events *events;
    /* Called by the loop and by peer_client_turn with a reply that answers no request: a push, or
     * any reply while no request is unanswered. The reply is valid until the call returns. NULL:
     * a push that comes while a request is unanswered is dropped; any other such reply, and a push
     * that comes while none is, stays in the input until there is a request, or until the owner
     * takes the input as bytes. */
    void (*unasked)(void *owner, const struct peer_reply *reply);
    /* The owner takes the replies that answer no request when it likes (peer_client_take), and the
     * connection ends after the last of them. Only without a loop and without `unasked`. */
    bool takes;
    void *owner;
};

/* The function that is called with a request's answer. */
struct peer_request {
    /* `reply` is valid until the call returns. NULL: the connection has ended first. Not called if
     * the owner has closed the connection. */
    void (*answered)(void *owner, uintptr_t about, const struct peer_reply *reply);
    uintptr_t about; /* for the owner: what the answer is for */
};

/* Creates a closed client. The settings are copied; what they point to is borrowed. */
MUST_USE struct peer_client *peer_client_create(const struct peer_client_settings *settings);
/* Closes and frees the client. NULL is harmless. */
void peer_client_free(struct peer_client *client);

/* Closes the client and begins to connect. The address is copied. Its host may be a name. Its
 * source is left out if connecting from there fails at once. Returns false if connecting fails at
 * once (peer_client_error says why): then no function of the owner is called, and the client does
 * not connect again. */
MUST_USE bool peer_client_connect(struct peer_client *client, const struct peer_address *address);
/* Closes the connection and drops its input and output. Calls neither `ended` nor the functions of
 * requests. */
void peer_client_close(struct peer_client *client);
/* Ends the connection as if it were lost, with a reason of the owner's: `ended` and the functions
 * of unanswered requests are called, and the client connects again. Does nothing if the client is
 * closed. */
void peer_client_give_up(struct peer_client *client, const char *why);
enum peer_client_state peer_client_state(const struct peer_client *client);
/* Why the last connection ended or failed: one line without bytes of the other side. "" if it has
 * not ended, or if the owner closed it. */
const char *peer_client_error(const struct peer_client *client);

/* Sets how long the client waits for the next step: the name, the connection, output that is
 * written, an answer. If a step takes longer, the connection ends as if it were lost. A push is not
 * a step, and a client that waits for nothing has no limit. 0 (at first): no limit. */
void peer_client_set_patience(struct peer_client *client, int64_t msec);
/* Returns whether the last connection ended because a step took longer than the time limit that
 * peer_client_set_patience set. */
bool peer_client_was_late(const struct peer_client *client);

/* Appends a request, which is written at once, or as soon as the other side reads. Returns false if
 * the client is neither connecting nor open, has left the protocol, or has asked_max unanswered
 * requests. */
MUST_USE bool peer_client_ask(struct peer_client *client, const struct peer_request *request,
                              const struct slice *words, size_t count);
/* Appends a request that is already encoded. Returns as peer_client_ask does. */
MUST_USE bool peer_client_ask_bytes(struct peer_client *client, const struct peer_request *request,
                                    struct slice bytes);
/* Fills in the words of AUTH for a user, or for the default user if user.bytes is NULL. Returns
 * their number. */
size_t peer_auth_words(struct slice words[PEER_AUTH_WORDS_MAX], struct slice user,
                       struct slice password);
/* Appends AUTH with the words of peer_auth_words. */
MUST_USE bool peer_client_ask_auth(struct peer_client *client, const struct peer_request *request,
                                   struct slice user, struct slice password);
/* Appends bytes that get no answer, or whose answers the owner takes. Does nothing if the client is
 * neither connecting nor open. */
void peer_client_send_bytes(struct peer_client *client, struct slice bytes);
/* Encodes a request and appends it as peer_client_send_bytes does. */
void peer_client_send(struct peer_client *client, const struct slice *words, size_t count);
/* The number of unanswered requests. */
uint32_t peer_client_asked(const struct peer_client *client);
/* Fills in our end of the connection. Returns false if the client is neither connecting nor open.
 */
MUST_USE bool peer_client_local(const struct peer_client *client, struct socket_peer *local);
/* Bytes of output that are not written yet. */
size_t peer_client_unsent_bytes(const struct peer_client *client);

/* Waits up to `msec`, but not beyond the limit of peer_client_set_patience, for this connection
 * alone, and makes a step: functions of answered requests are called. Returns early after any
 * progress, or after a signal. Returns false if there is no connection any more. */
bool peer_client_turn(struct peer_client *client, int64_t msec);

/* Fills in the entry for poll(2), so that the owner can wait for this client together with other
 * descriptors. Returns false if a turn can do something without waiting. */
MUST_USE bool peer_client_poll_entry(const struct peer_client *client, struct pollfd *entry);
/* Takes the next reply, pushes included, of a client whose settings say `takes`, while no request
 * is unanswered. The reply is valid until the next call with the client. Returns NULL if none is
 * complete: a turn waits for more. */
const struct peer_reply *peer_client_take(struct peer_client *client);

/* Leaves the protocol after the reply that `answered` or `unasked` is called with, or was called
 * with last: no reply is parsed until the next connect. To be called while no request is
 * unanswered. */
void peer_client_leave_protocol(struct peer_client *client);
/* The input that was not parsed, valid until the next call that changes the client. Only to be
 * called between two replies. */
struct slice peer_client_input(const struct peer_client *client);
void peer_client_consume(struct peer_client *client, size_t bytes);
/* Until the next connect, the loop does not serve the client any more: peer_client_turn does. */
void peer_client_leave_loop(struct peer_client *client);
/* Whether the connection can be released: it is open and has not ended, all output is written, and
 * no request is unanswered. */
bool peer_client_may_release(const struct peer_client *client);
/* Releases the connection, as peer_release does, and closes the client. Only if
 * peer_client_may_release. */
MUST_USE int peer_client_release(struct peer_client *client, struct connection **connection,
                                 struct buffer *rest);
#endif
