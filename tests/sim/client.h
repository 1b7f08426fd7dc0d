/* SPDX-License-Identifier: BSD-3-Clause
 * Simulated clients: a connection to a node, requests in words, replies parsed.
 */
#ifndef EVENKEEL_TESTS_SIM_CLIENT_H
#define EVENKEEL_TESTS_SIM_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/scheduler.h"

#define CLIENT_IN_BYTES (1 << 17)
#define CLIENT_OUT_BYTES (1 << 17)

/* A reply, or an item of one; valid while it is told. */
struct reply {
    char type;        /* + - : $ *, or _ for nil */
    long long number; /* of an integer; else the text's length or the number of items */
    const char *text; /* ends with a NUL */
    const struct reply *items;
};

struct client;
struct client_events {
    void (*connected)(struct client *c);
    void (*replied)(struct client *c, const struct reply *r);
    void (*failed)(struct client *c); /* refused, closed, or client_close_at: it is closed now */
};

struct client {
    struct actor actor;
    const struct client_events *events;
    int link; /* -1: closed */
    int node;
    bool open;
    int awaited;         /* replies */
    int64_t limit_nsec;  /* gives the connection up then; NEVER while there is none */
    int64_t wanted_nsec; /* `act` of the owner is due then, NEVER */
    void (*act)(struct client *c);
    size_t in_used, out_used, out_sent;
    char in[CLIENT_IN_BYTES], out[CLIENT_OUT_BYTES];
};

/* `act` is called at c->wanted_nsec, which is NEVER then. */
void client_make(struct client *c, const struct client_events *events,
                 void (*act)(struct client *));
void client_connect(struct client *c, int node);
void client_close(struct client *c);
/* For the `act` of a client that asks a node again and again: the next time is half to one and a
 * half of `round_nsec` away. Connects where the client is closed, and gives that up after
 * `limit_nsec`. Returns whether the client is to ask now. */
bool client_round(struct client *c, int node, int64_t round_nsec, int64_t limit_nsec);
/* Words, of which `lengths` says how long they are; NULL: they end with a NUL. */
void client_send(struct client *c, int count, const char *const *words, const size_t *lengths);
/* The words of a line; blanks separate them. */
void client_say(struct client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
