/* SPDX-License-Identifier: BSD-3-Clause
 * Starting: command line, configuration, and what must happen once before the server serves.
 */
#ifndef EVENKEEL_SERVER_STARTUP_H
#define EVENKEEL_SERVER_STARTUP_H
#include <stdbool.h>
#include <stdint.h>

struct loop;

void startup_register(void); /* daemonize, pidfile, dir, logfile ... */

/* What --version, --help and --describe-* ask for is printed, and true returned, with the exit
 * status. Options and commands must be registered. */
bool startup_print_and_leave(int argc, char **argv, int *status);
/* Reads file, standard input and command line, in this order. False after a message. */
bool startup_configure(int argc, char **argv);
/* Becomes a daemon where that is asked for, and says in the log that the server starts. Before any
 * thread or loop exists. False after a message. */
bool startup_begin(int argc);
/* All is open, and clients connect: pid file, logo. Then the data is loaded, and the server serves:
 * "Ready to accept connections". */
void startup_announce(void);
void startup_announce_ready(void);
/* Removes the pid file, with a line in the log, where this process wrote one. */
void startup_remove_pidfile(bool says);

/* Absolute paths; "" = none. */
const char *startup_config_file(void);
const char *startup_executable(void);
int64_t startup_uptime_seconds(void);
#endif
