/* SPDX-License-Identifier: BSD-3-Clause
 * A mode: what the program is in this process.
 *
 * The program is a server, a Sentinel, or a checker of files. Each mode is a table of what is
 * registered, opened, loaded and served (server/modes.c), and main picks one by the name that the
 * program was called by and by its arguments. No folder below server/ asks which mode it is in: the
 * mode hands a folder what it must know when it registers or opens the folder.
 */
#ifndef EVENKEEL_SERVER_MODE_H
#define EVENKEEL_SERVER_MODE_H
#include <stdbool.h>

#include "base/attributes.h"

struct loop;

/* A section of INFO. */
struct mode_section {
    const char *name; /* "Server" */
    bool standard;    /* plain INFO shows it */
};

/* All pointers are borrowed for as long as the process lives. */
struct mode {
    /* How the mode is chosen: `program` stands in the path that the program was called by, or
     * `option` is one of its arguments: the first one, where `option_is_first`. The one mode
     * without a program and without an option is taken when no other mode fits. */
    const char *program, *option;
    bool option_is_first;

    /* How the mode shows itself. A checker serves no clients and has none of these. */
    const char *name;    /* "standalone": HELLO's mode, INFO's redis_mode, the log, the logo */
    const char *product; /* shown in the log's last line */
    const char *title;   /* {server-mode} in process titles; "" = nothing */
    const char *port;    /* the default of the option port */
    char log_role;       /* the role letter in the log's lines, after the configuration is loaded */
    const struct mode_section *sections; /* of INFO, in its order; ended by a NULL name */

    /* What the mode has. Arrays end with NULL, and their order counts. */
    void (*const *registrations)(void);         /* options, metrics, commands; they open nothing */
    bool (*const *openings)(struct loop *loop); /* false after a message in the log */
    bool (*load)(void);   /* loads the data at start; false after a message in the log */
    void (*loaded)(void); /* called when the data is loaded, before the first turn of the loop */
    int (*run)(const struct mode *mode, int argc, char **argv); /* returns the exit status */
};

/* Returns the first of `modes` (ended by NULL) that fits the command line. One of them must fit. */
const struct mode *mode_choose(const struct mode *const *modes, int argc, char **argv);
/* Whether the path that the program was called by chooses the mode, and not an argument. */
bool mode_is_called(const struct mode *mode, int argc, char **argv);
/* Puts this process into the mode: declares INFO's sections and makes the registrations. Once a
 * process. */
void mode_register(const struct mode *mode);
/* Makes the openings, with the present options. False after a message in the log. */
MUST_USE bool mode_open(const struct mode *mode, struct loop *loop);
/* The mode that was registered; only for server/. */
const struct mode *mode_current(void);
#endif
