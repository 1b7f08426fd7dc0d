/* SPDX-License-Identifier: BSD-3-Clause
 * Transfers. transfer.h has the idea.
 */
#include "net/transfer.h"

#include <errno.h>

#include "base/panic.h"
#include "base/system.h"
#include "io/connection.h"
#include "metric/metric.h"
#include "net/client.h"

static uint64_t reads, writes; /* only the main thread uses them */

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 370,
     .name = "io_threaded_reads_processed",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &reads,
     .reset = true,
     .help = "Reads from clients' sockets that I/O threads were given."},
    {.section = "Stats",
     .place = 380,
     .name = "io_threaded_writes_processed",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &writes,
     .reset = true,
     .help = "Writes to clients' sockets that I/O threads were given."},
};

void transfer_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

int transfer_pieces_min(void) {
    unsigned clients = threads_clients_min();
    return clients < 2 * TRANSFER_PIECES_MAX ? (int)(clients + 1) / 2 : TRANSFER_PIECES_MAX;
}

void transfer_begin(struct transfer *t) { t->count = t->tried = t->taken = 0; }

void transfer_add(struct transfer *t, struct client *c, const char *bytes, size_t length) {
    ASSERT_COMPARE(t->count, <, TRANSFER_PIECES_MAX);
    t->pieces[t->count++] = (struct transfer_piece){
        .client = c,
        .fd = c->watcher.fd,
        .connection = c->flags & CLIENT_CARRIED ? client_connection(c) : NULL,
        .bytes = bytes,
        .length = length,
    };
}

/* ---- in a thread ---- */

static void note_result(struct transfer_piece *p, ssize_t done) {
    p->done = done;
    p->error = done < 0 ? errno : 0;
}

static void read_piece(struct transfer_piece *p, char *into, size_t length) {
    p->bytes = into;
    if (p->connection)
        note_result(p, connection_read_apart(p->connection, into, length));
    else
        note_result(p, system_read(p->fd, into, length));
}

static void read_all(struct threads_job *job) {
    struct transfer *t = (struct transfer *)job;
    size_t used = 0;
    while (t->tried < t->count && t->room - used >= t->at_once) {
        struct transfer_piece *p = &t->pieces[t->tried++];
        read_piece(p, t->input + used, t->at_once);
        if (p->done > 0) used += (size_t)p->done;
    }
}

static void write_piece(struct transfer_piece *p) {
    if (p->connection)
        note_result(p, connection_write_apart(p->connection, p->bytes, p->length));
    else
        note_result(p, system_write(p->fd, p->bytes, p->length));
}

static void write_all(struct threads_job *job) {
    struct transfer *t = (struct transfer *)job;
    for (int i = 0; i < t->count; i++) write_piece(&t->pieces[i]);
}

/* ---- in the main thread ---- */

void transfer_read(struct transfer *t) {
    t->job.work = read_all;
    reads += (uint64_t)t->count;
    threads_give(&t->job);
}

void transfer_write(struct transfer *t) {
    t->job.work = write_all;
    writes += (uint64_t)t->count;
    threads_give(&t->job);
}

void transfer_settle_read(const struct transfer_piece *p) {
    if (p->connection) connection_settle_read(p->connection);
}

void transfer_settle_write(const struct transfer_piece *p) {
    if (p->connection) connection_settle_write(p->connection);
}
