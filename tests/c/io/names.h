/* SPDX-License-Identifier: BSD-3-Clause
 * A resolver whose answers a test decides: a program that includes this (one of its sources only)
 * calls these functions in the C library's place. "NAME.slow" is answered only when names_release
 * was called for it; "NAME.unknown" is not found; any other name is 127.0.0.1. Addresses as numbers
 * are what they are.
 */
#ifndef EVENKEEL_TESTS_IO_NAMES_H
#define EVENKEEL_TESTS_IO_NAMES_H
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_ROUNDS_MAX 60000 /* of a millisecond each: only ends a test that waits for ever */

static sem_t names_gate;         /* each post lets one slow name go on */
static atomic_int names_asked;   /* not addresses */
static atomic_int names_at_gate; /* threads with a slow name, until the gate has let them pass */

static inline bool names_end(const char *name, const char *end) {
    size_t length = strlen(name), more = strlen(end);
    return length >= more && strcmp(name + length - more, end) == 0;
}

int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict found) {
    struct numbered {
        struct addrinfo info;
        union {
            struct sockaddr any;
            struct sockaddr_in four;
            struct sockaddr_in6 six;
        } at;
    } *n = calloc(1, sizeof(*n));
    if (!n) return EAI_MEMORY;
    bool six = hints->ai_family == AF_INET6;
    bool number = six ? inet_pton(AF_INET6, name, &n->at.six.sin6_addr) == 1
                      : inet_aton(name, &n->at.four.sin_addr) != 0;
    if (!number && !(hints->ai_flags & AI_NUMERICHOST)) {
        bool slow = names_end(name, ".slow");
        if (slow) atomic_fetch_add(&names_at_gate, 1);
        atomic_fetch_add(&names_asked, 1);
        while (slow && sem_wait(&names_gate) != 0) continue;
        if (slow) atomic_fetch_sub(&names_at_gate, 1);
        number =
            !six && !names_end(name, ".unknown") && inet_aton("127.0.0.1", &n->at.four.sin_addr);
    }
    if (!number) {
        free(n);
        return EAI_NONAME;
    }
    in_port_t port = htons((uint16_t)strtol(service ? service : "0", NULL, 10));
    if (six)
        n->at.six.sin6_port = port;
    else
        n->at.four.sin_port = port;
    n->at.any.sa_family = (sa_family_t)hints->ai_family;
    n->info = (struct addrinfo){.ai_family = hints->ai_family,
                                .ai_socktype = hints->ai_socktype,
                                .ai_addr = &n->at.any,
                                .ai_addrlen = six ? sizeof(n->at.six) : sizeof(n->at.four)};
    *found = &n->info;
    return 0;
}

void freeaddrinfo(struct addrinfo *info) { free(info); }

/* Waits until so many threads are at the gate; ends the program if that never comes. */
static inline void names_wait_at_gate(int count) {
    for (int i = 0; i < NAMES_ROUNDS_MAX && atomic_load(&names_at_gate) != count; i++)
        poll(NULL, 0, 1);
    if (atomic_load(&names_at_gate) != count) abort();
}

/* Before each test. A thread that an earlier test has released may still sleep at the gate: it has
 * to pass first, because a gate made anew would hold it, and it would take this test's release. */
static inline void names_open(void) {
    names_wait_at_gate(0);
    atomic_store(&names_asked, 0);
    if (sem_init(&names_gate, 0, 0) != 0) abort();
}

/* So many slow names are answered, now or when they are asked for. */
static inline void names_release(int count) {
    while (count-- > 0) sem_post(&names_gate);
}
#endif
