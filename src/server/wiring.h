/* SPDX-License-Identifier: BSD-3-Clause
 * The composition of the server: what its mode (server/modes.c) registers and opens.
 */
#ifndef EVENKEEL_SERVER_WIRING_H
#define EVENKEEL_SERVER_WIRING_H
#include <stdbool.h>

struct client_state;
struct loop;

/* All rows of options, metrics and commands, from the ground up. */
extern void (*const wiring_registrations[])(void);
/* All modules, from the ground up, with observers and the loop's hooks. */
extern bool (*const wiring_openings[])(struct loop *loop);

/* What the server has in common with other modes that serve clients. */

/* The rows of the process: listeners, loop, start, title, host, children, cron, reports. */
void wiring_register_process(void);
/* All that is kept of a client above net/, in the order in which its closing is told. */
extern struct client_state *const wiring_client_states[];
/* Opens signals, INFO, scrapes and reports of crashes. Returns true. */
bool wiring_open_process(struct loop *loop);
/* Starts the I/O threads, if the option asks for them. */
bool wiring_open_threads(struct loop *loop);
#endif
