/* SPDX-License-Identifier: BSD-3-Clause
 * The end of the server, by SHUTDOWN or by a signal.
 */
#ifndef EVENKEEL_SERVER_SHUTDOWN_H
#define EVENKEEL_SERVER_SHUTDOWN_H

struct loop;

void shutdown_register(void); /* the command */
/* Sets the loop that a shutdown stops; handles SIGTERM and SIGINT from now on. */
void shutdown_open(struct loop *loop);
/* Ends the loop after this turn, as SHUTDOWN NOSAVE does. */
void shutdown_begin(void);
/* Called in the signal handler of SIGTERM and SIGINT (io/signals). */
void shutdown_on_signal(int sig, int earlier);
/* A loop hook: begins the shutdown that a signal asked for. */
void shutdown_look_for_signal(void);
/* Called in a turn within a command or a load. Within a load it begins the shutdown that a signal
 * asked for, and the load ends early; a command is not disturbed. */
void shutdown_look_within(void);
/* Called after the loop has ended: closes and removes what other processes can see. */
void shutdown_finish(void);
#endif
