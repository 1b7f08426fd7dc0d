/* SPDX-License-Identifier: BSD-3-Clause
 * The whole server within a test: all rows, all modules, observers and hooks as server/wiring.c has
 * them, under a clock that stands; clients come through socketpairs (net/peers.h), and nothing
 * listens. So a test of what several modules do together hears what the server would.
 *
 * A test may add commands of its own after whole_open (command_register).
 */
#ifndef EVENKEEL_TESTS_SERVER_WHOLE_H
#define EVENKEEL_TESTS_SERVER_WHOLE_H
#include "base/clock.h"
#include "net/peers.h"
#include "server/mode.h"
#include "server/modes.h"
#include "store/keyspace.h"
#include "store/told.h"

#define WHOLE_START_USEC INT64_C(1750000000000000)

static inline void whole_set_clock(void) {
    clock_use_fixed(WHOLE_START_USEC, 1000000000);
    clock_refresh();
}

/* Once a program: for the setup of its group. */
static inline int whole_open(void) {
    seed_from_environment();
    signal(SIGPIPE, SIG_IGN);
    whole_set_clock();
    mode_register(&mode_server);
    peers_loop = loop_create();
    peers_clients_bytes = peers_bytes_now();
    return mode_open(&mode_server, peers_loop) ? 0 : -1;
}

/* Before each test: no client, the clock at its start. */
static inline int whole_begin(void **state) {
    whole_set_clock();
    return peers_begin(state);
}

/* After each test: no key, and nothing of any client. */
static inline int whole_nothing_left(void **state) {
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
    return peers_nothing_left(state);
}

/* Sends an inline request; this is what it is answered. */
static inline void whole_say(struct peer *p, const char *line, const char *reply) {
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
    peer_assert_got(p, slice_of(reply));
}

/* Time passes, and the loop turns. */
static inline void whole_pass(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
    peers_turns();
}
#endif
