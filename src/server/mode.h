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

struct command_form;
struct loop;
struct manual;
struct option_scope;
struct startup_word;

/* What a shutdown is asked to do with the data. */
enum mode_saving { MODE_SAVE_AS_CONFIGURED, MODE_SAVE_ALWAYS, MODE_SAVE_NEVER };

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
    /* Whether the options make the server a node of a cluster, which shows itself as such: name
     * "cluster", title "[cluster]". NULL: they cannot. */
    bool (*is_node)(void);
    const char *port;  /* the default of the option port */
    bool is_protected; /* the default of the option protected-mode */
    /* The role letters in the log's lines: until the configuration is loaded, and then. */
    char log_role_at_start, log_role;
    const struct mode_section *sections; /* of INFO, in its order; ended by a NULL name */
    bool has_other_sections;             /* sections that rows add are shown, too */
    const struct command_form *commands; /* the commands that it has; NULL = all, as they are */
    const struct manual *manual;
    const struct startup_word *words; /* of its command line; ended by a NULL name */
    const struct option_scope *scope; /* which options concern it */

    /* What the mode has. Arrays end with NULL, and their order counts. */
    void (*const *registrations)(void);         /* options, metrics, commands; they open nothing */
    bool (*const *openings)(struct loop *loop); /* false after a message in the log */
    int (*run)(const struct mode *mode, int argc, char **argv); /* returns the exit status */

    /* The life of a mode that serves clients, in this order. A NULL member is not called. */
    bool (*configured)(void); /* when the options are set; false after a message in the log */
    void (*listening)(void);  /* when clients can connect */
    bool (*load)(void);       /* loads what there is; false after a message in the log */
    void (*loaded)(void);     /* before the first turn of the loop */
    /* A shutdown was asked for. False after a message in the log: the process goes on. */
    bool (*stop)(enum mode_saving saving);
    void (*finish)(void); /* after the last turn; clients still have their connections */
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
/* The name and the title that this process shows, once the options are set: the mode's, or those of
 * a node of a cluster. */
const char *mode_name(void);
const char *mode_title(void);
/* The mode that was registered; only for server/. */
const struct mode *mode_current(void);
#endif
