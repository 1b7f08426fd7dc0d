/* SPDX-License-Identifier: BSD-3-Clause
 * One connection of redis-benchmark: a greeting, then one batch of requests after the other.
 *
 *     CLOSED --connect--> CONNECTING --open, greeted--> READY --send--> BUSY --answered--> READY
 *
 * Of peer/peer it differs in that replies are passed over and not read, and bytes are sent from
 * where they stand. Nothing waits. A connection belongs to one thread and that thread's epoll.
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

/* Read at once; a buffer of the thread's. */
#define BENCHMARK_READ_BYTES 65536
#define BENCHMARK_REASON_CHARS 320

/* What all connections of a run have in common; borrowed. */
struct benchmark_target {
    struct peer_address address;
    struct slice greeting; /* requests that are sent first: AUTH, SELECT ... */
    unsigned greeting_replies;
};

enum benchmark_client_state { CLIENT_CLOSED, CLIENT_CONNECTING, CLIENT_READY, CLIENT_BUSY };

/* Begins zeroed; does not move while it is connected. */
struct benchmark_client {
    enum benchmark_client_state state;
    bool reached; /* the socket is connected */
    int fd;
    uint32_t watched;              /* epoll's events */
    struct connection *connection; /* NULL = a plain socket */
    struct slice unsent;
    unsigned greeting_left, pending; /* replies to come */
    unsigned requests;               /* of the batch under way */
    int64_t start_nsec;              /* from when on its latency counts */
    char *batch;                     /* the owner's */
    struct reply_scanner scanner;
};

/* These return false with a reason, one line; the run is over then. */
MUST_USE bool benchmark_client_connect(struct benchmark_client *c,
                                       const struct benchmark_target *target, int epoll,
                                       char reason[BENCHMARK_REASON_CHARS]);
/* Sends a batch; `bytes` stay until it is answered. Only where READY. */
MUST_USE bool benchmark_client_send(struct benchmark_client *c, int epoll, struct slice bytes,
                                    unsigned requests, int64_t start_nsec,
                                    char reason[BENCHMARK_REASON_CHARS]);
/* Goes on after epoll's `events`. `answered` is how many requests of the batch were answered now;
 * after the last the state is READY. `buffer` has BENCHMARK_READ_BYTES. An error of the server's
 * is a failure. */
MUST_USE bool benchmark_client_advance(struct benchmark_client *c,
                                       const struct benchmark_target *target, int epoll,
                                       uint32_t events, char *buffer, unsigned *answered,
                                       char reason[BENCHMARK_REASON_CHARS]);
void benchmark_client_close(struct benchmark_client *c);
#endif
