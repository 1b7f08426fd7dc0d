/* SPDX-License-Identifier: BSD-3-Clause
 * The whole server (server/whole.h) for tests of scripts. What the first script leaves for all that
 * follow is there before the first test: the client by which scripts call.
 */
#ifndef EVENKEEL_TESTS_SCRIPT_SCRIPTED_H
#define EVENKEEL_TESTS_SCRIPT_SCRIPTED_H
#include "server/whole.h"

/* Once a program: for the setup of its group. */
static inline int scripted_open(void **state) {
    if (whole_open()) return -1;
    struct peer p = peer_connect();
    whole_say(&p, "eval \"return 1\" 0", ":1\r\n");
    whole_say(&p, "script flush", "+OK\r\n");
    peer_close(&p);
    client_free_closing();
    peers_clients_bytes = peers_bytes_now();
    return 0;
}
#endif
