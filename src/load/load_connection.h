/* SPDX-License-Identifier: BSD-3-Clause
 * The connection of every load: batches of requests go out, and each reply is told as soon as it is
 * read.
 *
 *     CLOSED --connect--> CONNECTING --open: the greeting is sent--> OPEN
 *       ^                     |                                       |
 *       +---- close ----------+---------------------------------------+
 *
 * peer/peer connects and makes the TLS handshake. An open connection is not a client of peer/,
 * because a load that copies, queues and decodes each request would cost several times as much
 * (README.md has the figures): requests are sent from the caller's memory without a copy, and
 * replies are scanned for their end (peer/reply_scan.h) but not decoded.
 *
 * No call blocks. A connection belongs to one thread and that thread's epoll.
 */
#ifndef EVENKEEL_LOAD_LOAD_CONNECTION_H
#define EVENKEEL_LOAD_LOAD_CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "peer/peer.h"
#include "peer/reply_scan.h"

#define LOAD_REASON_CHARS 320
/* The size of a thread's read buffer. */
#define LOAD_READ_BYTES 65536

/* A server and the first requests of each connection to it, all borrowed. */
struct load_target {
    struct peer_address address;
    struct slice greeting; /* encoded: AUTH, HELLO, SELECT ... */
    unsigned greeting_replies;
};

/* A batch: requests that are sent together, encoded one after the other. */
struct load_batch {
    struct slice bytes;
    bool stays;       /* the bytes stay valid until the batch is answered, so none are copied */
    unsigned replies; /* one for each request */
    uintptr_t about;  /* the owner's word about the batch */
    unsigned target;  /* set before a source fills in the batch: the index of its target */
};

/* A batch under way. Times are the owner's: the connection only keeps them. */
struct load_flight {
    int64_t due_nsec, sent_nsec;
    int64_t late_nsec; /* how long after its due time the load came to send it */
    unsigned replies, answered;
    uintptr_t about;
};

enum load_connection_state { LOAD_CLOSED, LOAD_CONNECTING, LOAD_OPEN };

struct load_connection {
    enum load_connection_state state;
    int fd;
    uint32_t watched; /* the events that epoll watches */
    int broken;       /* the errno of a failed write; 0 = none */
    unsigned greeting_left;
    struct connection *connection; /* NULL = a plain socket */
    struct peer *peer;             /* connects; closed while the connection is open */
    struct slice unsent;           /* in the batch's own memory, or in `rest` */
    struct buffer rest;            /* unsent bytes of batches that do not stay */
    struct load_flight *flights;   /* a ring, the oldest batch first */
    uint32_t head, count, room;    /* of the ring; room is a power of two, or 0 */
    struct reply_scanner scanner;
};

/* What a reader does with replies. Either function may send further batches on the connection, and
 * may do nothing else with it. */
struct load_reader {
    void *owner;
    char *buffer; /* `room` bytes, which is also the most that one read takes */
    size_t room;
    /* `count` replies of one kind, the last of which is number flight->answered of the flight's.
     * The flight is valid until the owner sends on the connection. Replies of one read are told
     * together while their kind is the same; errors are told one by one (their text is
     * c->scanner.error). */
    void (*answered)(void *owner, struct load_connection *c, const struct load_flight *flight,
                     unsigned count, enum scanned kind);
    /* The bytes of bulks, in the pieces in which they come; NULL = the owner wants none. */
    void (*body)(void *owner, struct load_connection *c, struct slice bytes);
};

/* Creates a closed connection in `*c`, which must not move in memory while it is connected. Main
 * thread only, as is load_connection_free: peer/ lists its peers. */
void load_connection_init(struct load_connection *c);
void load_connection_free(struct load_connection *c);
/* Raises the process' limit of open descriptors so that so many connections fit, as far as the
 * system allows; where it does not, connecting reports the limit. */
void load_connection_allow(uint64_t connections);
/* Begins to connect. The host should be an address: a name is looked up, which blocks. This and
 * load_connection_advance return false with a reason of one line where the connection has ended or
 * failed; then the owner closes it. `epoll` -1: nothing is watched, and the owner calls
 * load_connection_advance by the clock. */
MUST_USE bool load_connection_connect(struct load_connection *c, const struct load_target *target,
                                      int epoll, char reason[LOAD_REASON_CHARS]);
/* Sends a batch behind those that are under way. The connection must be open. Where the write
 * fails, the next load_connection_advance fails: the owner must call it after a false result. */
MUST_USE bool load_connection_send(struct load_connection *c, int epoll,
                                   const struct load_batch *batch, int64_t due_nsec,
                                   int64_t sent_nsec, int64_t late_nsec);
/* Continues after epoll reported `events`: connects, writes, reads once (with TLS until no
 * decrypted byte is left). An error reply to the greeting is a failure; other error replies are
 * told. */
MUST_USE bool load_connection_advance(struct load_connection *c, const struct load_target *target,
                                      int epoll, uint32_t events, const struct load_reader *reader,
                                      char reason[LOAD_REASON_CHARS]);
/* Takes the oldest batch that is not answered completely. False where there is none. */
MUST_USE bool load_connection_take(struct load_connection *c, struct load_flight *flight);
/* Closes the connection and forgets its batches. */
void load_connection_close(struct load_connection *c);

/* Whether the connection is open and greeted, and has nothing under way. */
static inline bool load_connection_is_ready(const struct load_connection *c) {
    return c->state == LOAD_OPEN && !c->greeting_left && !c->count && !c->unsent.length;
}
#endif
