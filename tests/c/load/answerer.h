/* SPDX-License-Identifier: BSD-3-Clause
 * A server for tests of load/: a thread that answers requests of one letter and a line end.
 *
 *   P  +PONG        N  a null bulk       Z  :0          E  -ERR no       O  -OOM full
 *   H  the bulk "hello"                  _  no answer at all
 *   C  closes the connection             S  sleeps for ANSWERER_SLEEP_MSEC, then +PONG
 *
 * Any other byte is a fault of the load's, which answerer_close reports.
 */
#ifndef EVENKEEL_TESTS_LOAD_ANSWERER_H
#define EVENKEEL_TESTS_LOAD_ANSWERER_H
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/socket.h"

#define ANSWERER_CLIENTS_MAX 64
#define ANSWERER_SLEEP_MSEC 200
#define ANSWERER_READ_BYTES 4096

struct answerer {
    int listener, port;
    pthread_t thread;
    atomic_bool over, is_deaf; /* deaf: reads nothing */
    atomic_uint accepted, requests, faults;
    struct pollfd fds[1 + ANSWERER_CLIENTS_MAX];
    unsigned count;
};

static inline const char *answerer_answer(struct answerer *a, char letter) {
    switch (letter) {
    case 'S': usleep(ANSWERER_SLEEP_MSEC * 1000); return "+PONG\r\n";
    case 'P': return "+PONG\r\n";
    case 'N': return "$-1\r\n";
    case 'Z': return ":0\r\n";
    case 'E': return "-ERR no\r\n";
    case 'O': return "-OOM full\r\n";
    case 'H': return "$5\r\nhello\r\n";
    case '_': return "";
    case 'C': return NULL;
    default: atomic_fetch_add(&a->faults, 1); return "";
    }
}

static inline void answerer_say(int fd, const char *text, size_t length) {
    while (length) {
        ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (sent < 0 && poll(&ready, 1, 1000) <= 0) return;
        if (sent < 0) continue;
        text += sent;
        length -= (size_t)sent;
    }
}

/* False where the connection has ended. */
static inline bool answerer_serve(struct answerer *a, int fd) {
    char bytes[ANSWERER_READ_BYTES], replies[ANSWERER_READ_BYTES * 8];
    size_t length = 0;
    ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got <= 0) return false;
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] == '\n') continue;
        atomic_fetch_add(&a->requests, 1);
        const char *answer = answerer_answer(a, bytes[i]);
        if (!answer) {
            answerer_say(fd, replies, length);
            return false;
        }
        memcpy(replies + length, answer, strlen(answer));
        length += strlen(answer);
    }
    answerer_say(fd, replies, length);
    return true;
}

static inline void *answerer_run(void *context) {
    struct answerer *a = context;
    struct socket_peer from;
    while (!atomic_load(&a->over)) {
        bool is_deaf = atomic_load(&a->is_deaf);
        poll(a->fds, is_deaf ? 1 : 1 + a->count, 5);
        if (a->fds[0].revents && a->count < ANSWERER_CLIENTS_MAX) {
            int fd = socket_accept(a->listener, &from);
            if (fd < 0) continue;
            a->fds[1 + a->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
            atomic_fetch_add(&a->accepted, 1);
            continue;
        }
        for (unsigned i = 1; i <= a->count && !is_deaf; i++) {
            if (!a->fds[i].revents || answerer_serve(a, a->fds[i].fd)) continue;
            close(a->fds[i].fd);
            a->fds[i--] = a->fds[a->count--];
        }
    }
    return NULL;
}

static inline bool answerer_open(struct answerer *a) {
    char reason[128];
    struct socket_peer local;
    memset(a, 0, sizeof(*a));
    a->listener = socket_listen_tcp("127.0.0.1", 0, 128, reason, sizeof(reason));
    if (a->listener < 0 || !socket_local_of(a->listener, &local)) return false;
    a->port = local.port;
    a->fds[0] = (struct pollfd){.fd = a->listener, .events = POLLIN};
    return pthread_create(&a->thread, NULL, answerer_run, a) == 0;
}

/* Returns the number of bytes that were no request. */
static inline unsigned answerer_close(struct answerer *a) {
    atomic_store(&a->over, true);
    pthread_join(a->thread, NULL);
    for (unsigned i = 1; i <= a->count; i++) close(a->fds[i].fd);
    close(a->listener);
    return a->faults;
}
#endif
