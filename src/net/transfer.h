/* SPDX-License-Identifier: BSD-3-Clause
 * Transfers: reads, or writes, of several clients as one job of I/O threads (io/threads.h).
 *
 * Work is handed over by the transfer and not by the client: a thread is given the reads of up to
 * TRANSFER_PIECES_MAX clients at once, which go into one buffer, one behind the other; writes
 * likewise. A thread uses no struct client: the piece has all that it needs of one. The thread
 * reads and writes sockets and transports, and stores the results in the pieces. Once the transfer
 * is done the main thread does what follows: limits, errors, the rest of a reply, the events to
 * watch.
 *
 * From threads_give to threads_wait no other thread may use a piece's transport, or write to its
 * socket. The flags CLIENT_AWAITED and CLIENT_AWAY mark the clients of such pieces.
 */
#ifndef EVENKEEL_NET_TRANSFER_H
#define EVENKEEL_NET_TRANSFER_H
#include <stddef.h>
#include <sys/types.h>

#include "io/threads.h"

struct client;
struct connection;

/* A transfer has at most so many clients: two groups of a batch (BATCH_GROUP). The main thread may
 * sleep once for each transfer that it waits for, so transfers of half the size cost it a quarter
 * more, and all threads together a few percent more. */
#define TRANSFER_PIECES_MAX 64
struct transfer_piece {
    struct client *client; /* only for the main thread */
    int fd;
    struct connection *connection; /* NULL = a plain socket */
    const char *bytes;             /* bytes to be written, or bytes that were read */
    size_t length;                 /* of the bytes to be written */
    ssize_t done;                  /* the result of read or write */
    int error;                     /* errno, if `done` is -1 */
};

struct transfer {
    struct threads_job job; /* first */
    int count;
    int tried;      /* pieces that were read; for the pieces behind them there was no room */
    int taken;      /* net/batch: pieces whose bytes were taken */
    char *input;    /* buffer for reads; NULL for writes */
    size_t room;    /* bytes of `input` */
    size_t at_once; /* most bytes of a read; a piece is read only if there is room for so many */
    struct transfer_piece pieces[TRANSFER_PIECES_MAX];
};

void transfer_register(void); /* metrics */
/* Fewer pieces are not worth a transfer: half of io-threads-clients-min. So the fewest clients for
 * which threads wake make two transfers: one is read while the other one's requests run. */
int transfer_pieces_min(void);
/* Makes the transfer empty. The caller sets input, room and at_once for a transfer that reads. */
void transfer_begin(struct transfer *t);
/* Adds a piece; there must be room for it. Bytes to be written must stay in place until the
 * transfer is done. */
void transfer_add(struct transfer *t, struct client *c, const char *bytes, size_t length);
/* Give the transfer to an I/O thread. */
void transfer_read(struct transfer *t);
void transfer_write(struct transfer *t);
/* Called in the main thread, once for each piece that was tried and whose client has a transport
 * and is not CLIENT_CLOSING: tells the loop what the transport has pending. The caller must call
 * client_watch afterwards. */
void transfer_settle_read(const struct transfer_piece *piece);
void transfer_settle_write(const struct transfer_piece *piece);
#endif
