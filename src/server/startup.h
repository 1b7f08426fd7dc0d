/* SPDX-License-Identifier: BSD-3-Clause
 * Starting: command line, configuration, and what must happen once before the server serves.
 */
#ifndef EVENKEEL_SERVER_STARTUP_H
#define EVENKEEL_SERVER_STARTUP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/manual.h"

struct buffer;

/* A word of the command line, for --help and the manual page. One with `write` is answered by the
 * text that the function appends. */
struct startup_word {
    struct manual_word word;
    void (*write)(struct buffer *out);
};
/* Those of a server and of a Sentinel; ended by a NULL name. */
extern const struct startup_word startup_server_words[];
extern const struct startup_word startup_sentinel_words[];

void startup_register(void); /* daemonize, pidfile, dir, logfile ... */

/* Prints what --version, --help or --describe-* ask for. Returns true if there was such an option;
 * then
 * `*status` is the exit status. Options and commands must be registered. */
bool startup_print_and_leave(int argc, char **argv, int *status);
/* Reads file, standard input and command line, in this order. False after a message. */
bool startup_configure(int argc, char **argv);
/* Becomes a daemon if `daemonize` says so, and logs that the server starts. Must be called before
 * any thread or loop exists. False after a message. */
bool startup_begin(int argc);
/* Called when all is open and clients can connect: writes the pid file, and the logo or the line
 * that names mode and port. */
void startup_announce(void);
/* Called by a server before it loads its data: logs what of this host's settings is bad for it. */
void startup_announce_loading(void);
/* Called by a server when the data is loaded: logs "Ready to accept connections". */
void startup_announce_ready(void);
/* Removes the pid file that this process wrote, if any; with `says` it logs a line. */
void startup_remove_pidfile(bool says);

/* Absolute paths; "" = none. */
const char *startup_config_file(void);
const char *startup_executable(void);
int64_t startup_uptime_seconds(void);
#endif
