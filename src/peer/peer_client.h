/* SPDX-License-Identifier: BSD-3-Clause
 * The one client of other servers: a connection that is served by the loop, and what each of its
 * answers is for.
 *
 *              +--------------------- peer_client_close, from any ---------------------+
 *              v                                                                       |
 *   CLOSED --connect--> LOOKS_UP --address--> CONNECTS --open, hands shaken--> OPEN    |
 *     ^ |                  |                     |                              |
 *     | +- connect, an address: CONNECTS         |                              |
 *     |                    |                     |                              |
 *     +- `ended` is told --+- not found ---------+- refused --------------------+- lost, late, bad
 *
 * Requests are appended to the output with peer_client_ask, each with a function that is called
 * with its answer, in order. A reply is an answer only when its request was written whole; so
 * nothing is answered before it was asked. Replies that answer no request (pushes) go to `unasked`.
 *
 * Who has nothing else to do (a tool, MIGRATE) drives a client by peer_client_turn: one nested turn
 * for this connection alone, in which no other one is served. A client that was created without a
 * loop is driven in no other way. The loop serves a client in outermost turns only, so that nothing
 * it does happens in the midst of a command.
 *
 * Bounds: input 64 KiB (peer/peer.h), a reply as struct peer_limits says, unanswered requests by
 * `asked_max`. Output is bounded by its owner, who looks at peer_client_unsent_bytes.
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

enum peer_client_state {
    PEER_CLIENT_CLOSED,
    PEER_CLIENT_LOOKS_UP, /* the name, in another thread (io/lookup.h) */
    PEER_CLIENT_CONNECTS, /* or shakes hands */
    PEER_CLIENT_OPEN,
};

/* What the loop tells the owner; NULL members are passed over. Each may call any function of this
 * header with the client, peer_client_free included. None is called by peer_client_turn, which
 * tells the same by its result. */
struct peer_client_events {
    /* The name was found, where there was one, and the socket connects from now on. */
    void (*connects)(void *owner);
    /* Requests may leave. */
    void (*opened)(void *owner);
    /* The connection has ended, or there came to be none; peer_client_error says why. Requests that
     * were unanswered were told before. */
    void (*ended)(void *owner);
    /* Input has come that is no protocol (peer_client_leave_protocol); again while it takes some of
     * it and some is left. */
    void (*input)(void *owner);
};

struct peer_client_settings {
    struct loop *loop; /* NULL: driven by peer_client_turn alone */
    enum memory_class class;
    struct peer_limits reply;
    uint32_t asked_max; /* requests unanswered at once */
    /* So long after the end of a connection, or after one that could not be begun, the loop begins
     * it again; 0: the owner does. */
    int64_t again_msec;
    const struct peer_client_events *events;
    /* A reply that answers no request: a push, or any while no request is unanswered; valid until
     * the call returns. NULL: pushes are dropped, and any other stays in the input until something
     * was asked, or is taken there as bytes. Called by the loop and by peer_client_turn. */
    void (*unasked)(void *owner, const struct peer_reply *reply);
    /* The owner, at its own pace, takes the replies that answer no request (peer_client_take), and
     * the connection ends after the last of them. Without a loop and without `unasked` only. */
    bool takes;
    void *owner;
};

/* A request, where it is told of its answer. */
struct peer_request {
    /* `reply` is valid until the call returns; NULL: the connection has ended first (not where the
     * owner has closed it). */
    void (*answered)(void *owner, uintptr_t about, const struct peer_reply *reply);
    uintptr_t about; /* the owner's: what the answer is for */
};

/* Closed. The settings are copied, what they point to is borrowed. */
MUST_USE struct peer_client *peer_client_create(const struct peer_client_settings *settings);
/* Closes. NULL is harmless. */
void peer_client_free(struct peer_client *client);

/* Begins to connect, after peer_client_close. The address is copied; its host may be a name, and
 * its source, where the other side cannot be reached from it, is left out. False where it fails at
 * once (peer_client_error); nothing is told then, and nothing begun again. */
MUST_USE bool peer_client_connect(struct peer_client *client, const struct peer_address *address);
/* Nothing is told of it, neither to `ended` nor to requests. Input and output are dropped. */
void peer_client_close(struct peer_client *client);
/* The connection ends as if it were lost, for a reason of the owner's: `ended` is told, requests
 * are, and it is begun again. Nothing happens where the client is closed. */
void peer_client_give_up(struct peer_client *client, const char *why);
enum peer_client_state peer_client_state(const struct peer_client *client);
/* Why the last connection ended, or failed; one line without the other side's bytes. "" where it
 * did not, or was closed by the owner. */
const char *peer_client_error(const struct peer_client *client);

/* How long the client waits, while it waits for something, for a step further: the name, the
 * connection, output that leaves, an answer; a push is none. Then the connection ends as if it were
 * lost. 0, and at first: for ever. */
void peer_client_set_patience(struct peer_client *client, int64_t msec);
/* The connection ended because patience did. */
bool peer_client_was_late(const struct peer_client *client);

/* Appends a request; it leaves at once, or as soon as the other side takes it. False where the
 * client neither connects nor is open, has left the protocol, or asked_max are unanswered. */
MUST_USE bool peer_client_ask(struct peer_client *client, const struct peer_request *request,
                              const struct slice *words, size_t count);
/* A request that is encoded already. */
MUST_USE bool peer_client_ask_bytes(struct peer_client *client, const struct peer_request *request,
                                    struct slice bytes);
/* The words of AUTH, of a user or (user.bytes is NULL) of the default one; returns how many. */
size_t peer_auth_words(struct slice words[PEER_AUTH_WORDS_MAX], struct slice user,
                       struct slice password);
/* Appends AUTH with the words of peer_auth_words. */
MUST_USE bool peer_client_ask_auth(struct peer_client *client, const struct peer_request *request,
                                   struct slice user, struct slice password);
/* Appends bytes that nothing answers, or whose answers the owner takes. Nothing happens where the
 * client neither connects nor is open. */
void peer_client_send_bytes(struct peer_client *client, struct slice bytes);
/* Encodes a request and appends it as peer_client_send_bytes does. */
void peer_client_send(struct peer_client *client, const struct slice *words, size_t count);
/* Requests that are not answered. */
uint32_t peer_client_asked(const struct peer_client *client);
/* Bytes of output that were not written. */
size_t peer_client_unsent_bytes(const struct peer_client *client);

/* Waits up to `msec`, and no longer than patience, for this connection alone, and goes a step
 * further: answers are told. Ends sooner where anything was done, or a signal came. False where
 * there is no connection any more. */
bool peer_client_turn(struct peer_client *client, int64_t msec);

/* Fills in what a turn would wait for, so that the owner can wait for it by poll(2) together with
 * other descriptors. False where a turn has something to do already. */
MUST_USE bool peer_client_poll_entry(const struct peer_client *client, struct pollfd *entry);
/* The next reply, pushes included, of a client whose settings say `takes`; no request is
 * unanswered. Valid until the next call with the client. NULL where no reply has come whole: a turn
 * waits for more. */
const struct peer_reply *peer_client_take(struct peer_client *client);

/* What follows the reply that is told of, or was told of last, is no protocol: no reply is parsed
 * until the next connect. No request is unanswered. */
void peer_client_leave_protocol(struct peer_client *client);
/* Input that was not parsed, valid until the next call that changes the client. Only while no reply
 * is under way. */
struct slice peer_client_input(const struct peer_client *client);
void peer_client_consume(struct peer_client *client, size_t bytes);
/* From now on, until the next connect, the loop does not serve the client: peer_client_turn does.
 */
void peer_client_leave_loop(struct peer_client *client);
/* The connection is open, has not ended meanwhile, all output was written and no request is
 * unanswered. */
bool peer_client_may_release(const struct peer_client *client);
/* The connection leaves the client, which is closed then: as peer_release. It may be released. */
MUST_USE int peer_client_release(struct peer_client *client, struct connection **connection,
                                 struct buffer *rest);
#endif
