/* SPDX-License-Identifier: BSD-3-Clause
 * Transfers: reads, or writes, of several clients as one job of I/O threads (io/threads.h).
 *
 * Hand-over is counted by the transfer and not by the client: up to sixty clients' reads go to a
 * thread at once, into one buffer, one behind the other; so do their writes. A thread touches no
 * struct client: what it needs of one stands in the piece. It reads and writes sockets and
 * transports, and says what came of it. What follows from that (limits, errors, what is left of a
 * reply, what the loop is to watch) is the main thread's, once the transfer is done.
 *
 * From threads_give to threads_wait no other thread may use a piece's transport, or write to its
 * socket. Whose clients these are says so by their flags: CLIENT_AWAITED, CLIENT_AWAY.
 */
#ifndef EVENKEEL_NET_TRANSFER_H
#define EVENKEEL_NET_TRANSFER_H
#include <stddef.h>
#include <sys/types.h>

#include "io/threads.h"

struct client;
struct connection;

/* Clients of one transfer at most: two groups of a batch (BATCH_GROUP). The main thread may sleep
 * once for each transfer that it waits for, so half as many cost it a quarter more, and all threads
 * together a few percent. */
#define TRANSFER_PIECES_MAX 64
struct transfer_piece {
    struct client *client; /* the main thread's */
    int fd;
    struct connection *connection; /* NULL = a plain socket */
    const char *bytes;             /* to be written; or what was read */
    size_t length;                 /* to be written */
    ssize_t done;                  /* as of read and write */
    int error;                     /* where that is -1: errno */
};

struct transfer {
    struct threads_job job; /* first */
    int count;
    int tried;      /* pieces that were read; there was no room for those behind them */
    int taken;      /* the reader's: pieces of whose bytes it has been told */
    char *input;    /* to read into; NULL where it writes */
    size_t room;    /* of it */
    size_t at_once; /* bytes of a read at most; a piece is read where there is room for so many */
    struct transfer_piece pieces[TRANSFER_PIECES_MAX];
};

void transfer_register(void); /* metrics */
/* Fewer pieces are not worth a transfer: half of io-threads-clients-min, so that the fewest clients
 * for which threads wake are two transfers, one being read while the other runs. */
int transfer_pieces_min(void);
/* With nothing in it. Those that read have input, room and at_once besides. */
void transfer_begin(struct transfer *t);
/* There must be room. What is written stays where it is until the transfer is done. */
void transfer_add(struct transfer *t, struct client *c, const char *bytes, size_t length);
/* To a thread. */
void transfer_read(struct transfer *t);
void transfer_write(struct transfer *t);
/* In the main thread, once for each piece that was tried, where its client has a transport and is
 * not CLIENT_CLOSING: the loop hears what that has pending. Its socket is to be watched anew. */
void transfer_settle_read(const struct transfer_piece *piece);
void transfer_settle_write(const struct transfer_piece *piece);
#endif
