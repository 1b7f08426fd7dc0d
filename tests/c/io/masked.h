/* SPDX-License-Identifier: BSD-3-Clause
 * A transport for tests that does all that a transport may do: a handshake of three flights, bytes
 * that look otherwise on the wire, short reads and writes, reads that wait for room and writes that
 * wait for input, bytes read ahead. Its choices are drawn from the seed.
 *
 *   connecting side: "hello---"               "finish--"  masked bytes ...
 *   accepting side:             "answer--"                masked bytes ...
 *
 * Each byte is masked by its place in the stream, so that one lost, doubled or moved is seen.
 */
#ifndef EVENKEEL_TESTS_IO_MASKED_H
#define EVENKEEL_TESTS_IO_MASKED_H
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/random.h"
#include "base/system.h"
#include "io/connection.h"

#define MASKED_FLIGHTS 3
#define MASKED_FLIGHT_CHARS 8
#define MASKED_RECORD_BYTES 16384
#define MASKED_PREFIX_BYTES 64
static const char *const masked_flights[MASKED_FLIGHTS] = {"hello---", "answer--", "finish--"};

struct masked {
    struct connection connection; /* first */
    int flight;                   /* the present one */
    size_t flight_done;           /* of its characters */
    uint64_t draws;               /* what it is to draw next */
    uint64_t received, sent;      /* places in the streams */
    char ahead[MASKED_RECORD_BYTES];
    size_t ahead_start, ahead_end;
    bool has_waited;      /* the last call waited for the other direction: this one goes on */
    size_t refused_bytes; /* offered by a writev that said EAGAIN */
    char refused[MASKED_PREFIX_BYTES];
};

static bool masked_smooth;         /* nothing is cut, nothing waits without need */
static bool masked_refuses;        /* `open` fails */
static unsigned masked_open_count; /* connections */
/* To be seen. A connection may be used by another thread than others. */
static atomic_uint masked_crossed_reads, masked_crossed_writes, masked_ahead_count;

static inline char masked_byte(char byte, uint64_t place) {
    return (char)(byte ^ (char)(0x5a + place * 7 + (place >> 8)));
}

static inline struct masked *masked_of(struct connection *c) { return (struct masked *)c; }

static inline bool masked_is_ready(const struct connection *c, short events) {
    struct pollfd ready = {.fd = c->fd, .events = events};
    return poll(&ready, 1, 0) == 1 && ready.revents & events;
}

/* From its own seed: the generator is the main thread's. */
static inline uint64_t masked_below(struct masked *m, uint64_t bound) {
    m->draws = m->draws * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (m->draws >> 33) % bound;
}

static inline size_t masked_cut(struct masked *m, size_t bytes) {
    if (masked_smooth || bytes < 2 || masked_below(m, 3) == 0) return bytes;
    return 1 + masked_below(m, bytes);
}

static bool masked_open(struct connection *c, char *reason, size_t reason_size) {
    snprintf(reason, reason_size, "%s", masked_refuses ? "no masks are left" : "");
    masked_open_count += !masked_refuses;
    masked_of(c)->draws = random_u64();
    return !masked_refuses;
}

static void masked_close(struct connection *c) { masked_open_count--; }

static const char *masked_broken_text(const struct connection *c) { return NULL; }

static bool masked_has_pending(const struct connection *c) {
    const struct masked *m = (const struct masked *)c;
    return m->ahead_start < m->ahead_end;
}

/* One read or write of some of the present flight; its result. */
static inline ssize_t masked_pass_flight(struct masked *m, bool reads) {
    const char *flight = masked_flights[m->flight] + m->flight_done;
    char got[MASKED_FLIGHT_CHARS];
    size_t length = masked_cut(m, MASKED_FLIGHT_CHARS - m->flight_done);
    if (!reads) return system_write(m->connection.fd, flight, length);
    ssize_t count = system_read(m->connection.fd, got, length);
    if (count <= 0 || !memcmp(got, flight, (size_t)count)) return count;
    errno = EPROTO;
    return -1;
}

static enum connection_step masked_handshake(struct connection *c, char *reason,
                                             size_t reason_size) {
    struct masked *m = masked_of(c);
    bool reads = (m->flight % 2 == 0) == (c->side == CONNECTION_ACCEPTS);
    ssize_t passed = masked_pass_flight(m, reads);
    if (passed == 0 || (passed < 0 && errno != EAGAIN && errno != EINTR)) {
        snprintf(reason, reason_size, "%s", passed ? strerror(errno) : "it ended");
        return CONNECTION_FAILED;
    }
    m->flight_done += passed < 0 ? 0 : (size_t)passed;
    if (m->flight_done == MASKED_FLIGHT_CHARS) {
        m->flight_done = 0;
        reads = !reads;
        if (++m->flight == MASKED_FLIGHTS) return CONNECTION_DONE;
    }
    c->step_needs = reads ? LOOP_READABLE : LOOP_WRITABLE;
    return CONNECTION_WAITS;
}

/* Whether this call is to wait for the socket's other direction; that is ready, so it ends. */
static inline bool masked_crosses(struct masked *m, short events) {
    bool crosses = !masked_smooth && !m->has_waited && masked_below(m, 4) == 0 &&
                   masked_is_ready(&m->connection, events);
    m->has_waited = crosses;
    if (crosses) errno = EAGAIN;
    return crosses;
}

static ssize_t masked_read(struct connection *c, void *bytes, size_t length) {
    struct masked *m = masked_of(c);
    if (!masked_has_pending(c)) {
        if (masked_crosses(m, POLLOUT)) {
            c->read_needs = LOOP_WRITABLE;
            masked_crossed_reads++;
            return -1;
        }
        ssize_t got = system_read(c->fd, m->ahead, masked_cut(m, sizeof(m->ahead)));
        if (got <= 0) return got;
        for (ssize_t i = 0; i < got; i++) m->ahead[i] = masked_byte(m->ahead[i], m->received++);
        m->ahead_start = 0;
        m->ahead_end = (size_t)got;
    }
    size_t taken = m->ahead_end - m->ahead_start;
    if (taken > length) taken = length;
    taken = masked_cut(m, taken);
    memcpy(bytes, m->ahead + m->ahead_start, taken);
    m->ahead_start += taken;
    masked_ahead_count += masked_has_pending(c);
    return (ssize_t)taken;
}

/* The pieces' first bytes, `most` at most; returns how many those and all are. */
static inline size_t masked_gather(const struct iovec *pieces, int count, char *into, size_t most,
                                   size_t *all) {
    size_t length = 0;
    *all = 0;
    for (int i = 0; i < count; i++) {
        size_t taken = pieces[i].iov_len < most - length ? pieces[i].iov_len : most - length;
        if (taken) memcpy(into + length, pieces[i].iov_base, taken);
        length += taken;
        *all += pieces[i].iov_len;
    }
    return length;
}

static inline ssize_t masked_refuse(struct masked *m, const char *bytes, size_t length,
                                    size_t all) {
    m->refused_bytes = all;
    memcpy(m->refused, bytes, length < sizeof(m->refused) ? length : sizeof(m->refused));
    errno = EAGAIN;
    return -1;
}

static ssize_t masked_writev(struct connection *c, const struct iovec *pieces, int count) {
    struct masked *m = masked_of(c);
    char record[MASKED_RECORD_BYTES], wire[MASKED_RECORD_BYTES];
    size_t all, length = masked_gather(pieces, count, record, sizeof(record), &all);
    size_t same = m->refused_bytes < sizeof(m->refused) ? m->refused_bytes : sizeof(m->refused);
    if (all < m->refused_bytes || memcmp(record, m->refused, same) != 0)
        fail_msg("%zu bytes were refused, %zu others are offered", m->refused_bytes, all);
    m->refused_bytes = 0;
    if (masked_crosses(m, POLLIN)) {
        c->write_needs = LOOP_READABLE;
        masked_crossed_writes++;
        return masked_refuse(m, record, length, all);
    }
    size_t cut = masked_cut(m, length);
    for (size_t i = 0; i < cut; i++) wire[i] = masked_byte(record[i], m->sent + i);
    ssize_t sent = system_write(c->fd, wire, cut);
    if (sent < 0) return errno == EAGAIN ? masked_refuse(m, record, length, all) : -1;
    m->sent += (uint64_t)sent;
    return sent;
}

static const enum memory_class masked_memory = MEMORY_OTHER;
static const struct connection_transport masked_transport = {
    .name = "masked",
    .memory = &masked_memory,
    .bytes = sizeof(struct masked),
    .open = masked_open,
    .handshake = masked_handshake,
    .read = masked_read,
    .writev = masked_writev,
    .broken_text = masked_broken_text,
    .has_pending = masked_has_pending,
    .close = masked_close,
};
#endif
