/* SPDX-License-Identifier: BSD-3-Clause
 * Command lines of the tools as rows: one row an option. Reading a line, --help, the man page and
 * the shell's completion are all made from the rows.
 */
#ifndef EVENKEEL_TOOLS_TOOL_OPTIONS_H
#define EVENKEEL_TOOLS_TOOL_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"

#define TOOL_REASON_CHARS 256

/* Where in the tool's settings a value goes: 0 = nowhere. */
#define TOOL_PLACE(type, field) (offsetof(type, field) + 1)

/* A row may fill several places: `--rdb FILE` chooses a mode and names a file. */
struct tool_option {
    const char *name, *other; /* "-a", "--pass"; other may be NULL */
    const char *argument;     /* what --help calls its value; NULL = it has none */
    const char *help;         /* one or more sentences, without line ends */
    const char *group;        /* heading; rows of a group stand together */
    size_t flag;              /* a bool that becomes true */
    size_t choice;            /* an int that becomes `value` */
    int value;
    size_t text;           /* a const char *, borrowed from the command line */
    size_t number;         /* an int64_t from `least` to `most` */
    int64_t least, most;   /* of `number` and `real`, both included */
    size_t real;           /* a double */
    bool rest;             /* all words behind it are its own; reading stops at it */
    const char *completes; /* what the shell offers: "file", "folder", or words; NULL = nothing */
    /* Takes the value (NULL where there is none) after the places are filled. False with a reason.
     */
    bool (*take)(void *settings, const char *value, char *reason, size_t reason_size);
};

struct tool_options {
    const char *program;  /* "redis-cli" */
    const char *summary;  /* what it is for, in a line */
    const char *synopsis; /* behind the program's name: "[option ...] [command [argument ...]]" */
    const struct tool_option *rows;
    size_t count;
    const char *const *examples; /* lines, ends with NULL; may be NULL */
};

/* Reads options up to the first word that does not begin with '-' (a single "-" does not, either),
 * or behind "--", or behind a row with `rest`. Returns how many words were taken; -1 with a reason
 * where one is unknown, lacks its value, or has one out of range. Defaults are the caller's. */
MUST_USE int tool_options_read(const struct tool_options *options, void *settings, int count,
                               char *const *words, char reason[TOOL_REASON_CHARS]);
/* Lines of at most 80 columns. */
void tool_options_print_help(const struct tool_options *options, FILE *out);
/* Where the command line is only --describe-man or --describe-completion: prints the manual page
 * (roff) or bash's completion and returns true. `make generated` writes them to docs/. */
MUST_USE bool tool_options_describe(const struct tool_options *options, int argc,
                                    char *const *argv);
#endif
