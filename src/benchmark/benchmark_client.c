/* SPDX-License-Identifier: BSD-3-Clause
 * Connections of redis-benchmark.
 *
 * A batch costs one send, one recv and a share of an epoll_wait: the batch is sent without waiting
 * for EPOLLOUT, and epoll is told to watch for it only where the socket did not take all bytes.
 */
#include "benchmark/benchmark_client.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/system.h"
#include "io/connection.h"
#include "io/loop.h"
#include "io/socket.h"

static bool client_fail(char *reason, const char *what, const char *why) {
    snprintf(reason, BENCHMARK_REASON_CHARS, "%s%s", what, why);
    return false;
}

static bool watch_client(struct benchmark_client *c, int epoll, char *reason) {
    unsigned wanted = LOOP_READABLE | (c->unsent.length || !c->reached ? LOOP_WRITABLE : 0);
    if (c->connection && c->reached) wanted = connection_interest(c->connection, wanted);
    uint32_t events = (wanted & LOOP_READABLE ? (uint32_t)EPOLLIN : 0) |
                      (wanted & LOOP_WRITABLE ? (uint32_t)EPOLLOUT : 0);
    if (events == c->watched) return true;
    struct epoll_event event = {.events = events, .data.ptr = c};
    int operation = c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (system_epoll_ctl(epoll, operation, c->fd, &event) < 0) {
        return client_fail(reason, "epoll: ", strerror(errno));
    }
    c->watched = events;
    return true;
}

static bool send_some(struct benchmark_client *c, char *reason) {
    ssize_t sent =
        c->connection
            ? connection_write(c->connection, c->unsent.bytes, c->unsent.length)
            : system_send(c->fd, c->unsent.bytes, c->unsent.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        return client_fail(reason, "Error: writing: ", strerror(errno));
    }
    if (sent > 0) {
        c->unsent.bytes += sent;
        c->unsent.length -= (size_t)sent;
    }
    return true;
}

bool benchmark_client_connect(struct benchmark_client *c, const struct benchmark_target *target,
                              int epoll, char reason[BENCHMARK_REASON_CHARS]) {
    const struct peer_address *a = &target->address;
    char why[BENCHMARK_REASON_CHARS / 2];
    *c = (struct benchmark_client){.state = CLIENT_CONNECTING, .batch = c->batch};
    c->fd = a->path ? socket_connect_unix(a->path, why, sizeof(why))
                    : socket_connect_tcp(a->host, a->port, a->source, why, sizeof(why));
    if (c->fd < 0) {
        c->state = CLIENT_CLOSED;
        return client_fail(reason, "Could not connect: ", why);
    }
    if (a->transport) {
        c->connection = connection_open(a->transport, c->fd, CONNECTION_CONNECTS, MEMORY_CLIENTS,
                                        why, sizeof(why));
        if (!c->connection) return client_fail(reason, "Could not connect: ", why);
    }
    c->greeting_left = target->greeting_replies;
    return watch_client(c, epoll, reason);
}

/* Continues to connect as far as possible without blocking: TCP, the TLS handshake, then the
 * greeting is sent. */
static bool open_further(struct benchmark_client *c, const struct benchmark_target *target,
                         char *reason) {
    char why[BENCHMARK_REASON_CHARS / 2];
    if (!c->reached) {
        int error = socket_take_error(c->fd);
        if (error) return client_fail(reason, "Could not connect: ", strerror(error));
        c->reached = true;
        (void)socket_set_nodelay(c->fd, true); /* fails on a unix socket, which has no delay */
    }
    if (c->connection) {
        enum connection_step step = connection_handshake(c->connection, why, sizeof(why));
        if (step == CONNECTION_FAILED) return client_fail(reason, "Could not connect: ", why);
        if (step != CONNECTION_DONE) return true;
    }
    c->unsent = target->greeting;
    c->state = c->greeting_left ? CLIENT_BUSY : CLIENT_READY;
    return !c->greeting_left || send_some(c, reason);
}

/* Counts the replies whose last byte is between `at` and `end`. */
static bool scan_replies(struct benchmark_client *c, const char *at, const char *end,
                         unsigned *answered, char *reason) {
    while (at < end) {
        bool sound = true;
        enum scanned what = reply_scan(&c->scanner, &at, end, NULL, &sound);
        if (!sound) return client_fail(reason, "Error: ", "what the server sends is no protocol");
        if (what == SCANNED_NONE || what == SCANNED_PUSH) continue;
        if (what == SCANNED_ERROR || what == SCANNED_OOM) {
            return client_fail(reason, "Error from server: ", c->scanner.error);
        }
        if (c->greeting_left) {
            c->greeting_left--;
        } else if (c->pending) {
            c->pending--;
            ++*answered;
        } else {
            return client_fail(reason, "Error: ", "a reply that answers no request");
        }
    }
    return true;
}

/* Reads once; with TLS until no decrypted byte is left, because epoll does not report these. */
static bool receive_replies(struct benchmark_client *c, char *buffer, unsigned *answered,
                            char *reason) {
    do {
        ssize_t got = c->connection
                          ? connection_read(c->connection, buffer, BENCHMARK_READ_BYTES)
                          : system_recv(c->fd, buffer, BENCHMARK_READ_BYTES, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (got < 0) return client_fail(reason, "Error: reading: ", strerror(errno));
        if (got == 0) return client_fail(reason, "Error: ", "Server closed the connection");
        if (!scan_replies(c, buffer, buffer + got, answered, reason)) return false;
    } while (c->connection && connection_has_pending(c->connection));
    return true;
}

bool benchmark_client_send(struct benchmark_client *c, int epoll, struct slice bytes,
                           unsigned requests, int64_t start_nsec,
                           char reason[BENCHMARK_REASON_CHARS]) {
    c->unsent = bytes;
    c->pending = c->requests = requests;
    c->start_nsec = start_nsec;
    c->state = CLIENT_BUSY;
    return send_some(c, reason) && watch_client(c, epoll, reason);
}

bool benchmark_client_advance(struct benchmark_client *c, const struct benchmark_target *target,
                              int epoll, uint32_t events, char *buffer, unsigned *answered,
                              char reason[BENCHMARK_REASON_CHARS]) {
    *answered = 0;
    if (c->state == CLIENT_CLOSED) return true;
    if (c->state == CLIENT_CONNECTING) {
        return open_further(c, target, reason) && watch_client(c, epoll, reason);
    }
    if (c->unsent.length && !send_some(c, reason)) return false;
    bool reads = c->connection || events & ~(uint32_t)EPOLLOUT;
    if (reads && !receive_replies(c, buffer, answered, reason)) return false;
    if (c->state == CLIENT_BUSY && !c->greeting_left && !c->pending && !c->unsent.length) {
        c->state = CLIENT_READY;
    }
    return watch_client(c, epoll, reason);
}

void benchmark_client_close(struct benchmark_client *c) {
    if (c->state == CLIENT_CLOSED) return;
    connection_close(c->connection);
    c->connection = NULL;
    system_close(c->fd);
    c->state = CLIENT_CLOSED;
    c->watched = 0;
}
