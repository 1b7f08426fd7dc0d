/* SPDX-License-Identifier: BSD-3-Clause
 * One connection of redis-benchmark: a greeting, then one batch of requests after the other.
 *
 *     CLOSED --connect--> CONNECTING --open, greeted--> READY --send--> BUSY --answered--> READY
 *
 * It differs from a connection of peer/peer: replies are scanned for their end but not decoded, and
 * requests are sent from the caller's memory without a copy. No call blocks. A connection belongs
 * to one thread and that thread's epoll.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_CLIENT_H
#define EVENKEEL_BENCHMARK_BENCHMARK_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "peer/peer.h"
#include "peer/reply_scan.h"

/* The size of a thread's read buffer, and the most that one read takes. */
#define BENCHMARK_READ_BYTES 65536
#define BENCHMARK_REASON_CHARS 320

/* The server's address and the greeting, which all connections of a run share; borrowed. */
struct benchmark_target {
    struct peer_address address;
    struct slice greeting; /* the first requests of each connection: AUTH, SELECT ... */
    unsigned greeting_replies;
};

enum benchmark_client_state { CLIENT_CLOSED, CLIENT_CONNECTING, CLIENT_READY, CLIENT_BUSY };

/* A zeroed struct is a closed client. The struct must not move in memory while it is connected. */
struct benchmark_client {
    enum benchmark_client_state state;
    bool reached; /* the socket is connected */
    int fd;
    uint32_t watched;              /* the events that epoll watches */
    struct connection *connection; /* NULL = a plain socket */
    struct slice unsent;
    unsigned greeting_left, pending; /* replies still to come: to the greeting, to the batch */
    unsigned requests;               /* of the batch under way */
    int64_t start_nsec;              /* the batch's latency counts from here */
    char *batch;                     /* owned by the caller */
    struct reply_scanner scanner;
};

/* Connects. This and the two calls below return false with a reason of one line; the run has failed
 * then. */
MUST_USE bool benchmark_client_connect(struct benchmark_client *c,
                                       const struct benchmark_target *target, int epoll,
                                       char reason[BENCHMARK_REASON_CHARS]);
/* Sends a batch; `bytes` must stay valid until the batch is answered. The client must be READY. */
MUST_USE bool benchmark_client_send(struct benchmark_client *c, int epoll, struct slice bytes,
                                    unsigned requests, int64_t start_nsec,
                                    char reason[BENCHMARK_REASON_CHARS]);
/* Continues after epoll reported `events`. `answered` becomes the number of the batch's requests
 * that this call saw answered; after the last reply the client is READY. `buffer` has
 * BENCHMARK_READ_BYTES bytes. An error reply is a failure. */
MUST_USE bool benchmark_client_advance(struct benchmark_client *c,
                                       const struct benchmark_target *target, int epoll,
                                       uint32_t events, char *buffer, unsigned *answered,
                                       char reason[BENCHMARK_REASON_CHARS]);
void benchmark_client_close(struct benchmark_client *c);
#endif
