/* SPDX-License-Identifier: BSD-3-Clause
 * The end of the server, by SHUTDOWN or by a signal.
 */
#ifndef EVENKEEL_SERVER_SHUTDOWN_H
#define EVENKEEL_SERVER_SHUTDOWN_H

struct loop;

void shutdown_register(void); /* the command */
/* The loop that is to be stopped; SIGTERM and SIGINT count from now on. */
void shutdown_open(struct loop *loop);
/* Ends the loop after this turn, as SHUTDOWN NOSAVE does. */
void shutdown_begin(void);
/* In the signal handler of SIGTERM and SIGINT: see io/signals. */
void shutdown_on_signal(int sig, int earlier);
/* A loop hook: begins the shutdown that a signal asked for. */
void shutdown_look_for_signal(void);
/* The same in a turn within a load, which then comes to its end; a command is not disturbed. */
void shutdown_look_within(void);
/* After the loop has ended: closes and removes what others can see. */
void shutdown_finish(void);
#endif
