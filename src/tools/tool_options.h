/* SPDX-License-Identifier: BSD-3-Clause
 * The tools' command lines as tables: one row for each option. The parser, --help, the man page and
 * the shell's completion all work from these rows.
 */
#ifndef EVENKEEL_TOOLS_TOOL_OPTIONS_H
#define EVENKEEL_TOOLS_TOOL_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"

#define TOOL_REASON_CHARS 512

/* The place in the tool's settings to which a row writes a value: offset plus 1, 0 = no place. */
#define TOOL_PLACE(type, field) (offsetof(type, field) + 1)

/* The words behind an option, up to the next word that begins with '-', or to the end. */
struct tool_words {
    char *const *words;
    int count;
};

/* An option. A row may fill several places: `--rdb FILE` chooses a mode and names a file. */
struct tool_option {
    const char *name, *other; /* "-a", "--pass"; other may be NULL */
    const char *argument;     /* what --help calls the value; NULL = the option has none */
    const char *help;         /* one or more sentences, without line ends */
    const char *group;        /* heading; rows of a group are adjacent */
    size_t flag;              /* a bool that becomes true */
    size_t choice;            /* an int that becomes `value` */
    int value;
    size_t text;           /* a const char *, borrowed from the command line */
    size_t number;         /* an int64_t from `least` to `most` */
    int64_t least, most;   /* of `number` and `real`, both included */
    size_t real;           /* a double */
    size_t words;          /* a struct tool_words: the words behind the option belong to it */
    const char *completes; /* what the shell offers: "file", "folder", or words; NULL = nothing */
    /* Called after the places are filled, with the value (NULL where the option has none). False
     * with a reason. */
    bool (*take)(void *settings, const char *value, char *reason, size_t reason_size);
};

struct tool_options {
    const char *program;  /* "redis-cli" */
    const char *summary;  /* what the program is for, one line */
    const char *synopsis; /* after the program's name: "[option ...] [command [argument ...]]" */
    const struct tool_option *rows;
    size_t count;
    const char *const *examples; /* lines, ends with NULL; may be NULL */
};

/* Parses options until the first word that is no option (does not begin with '-', or is "-" alone),
 * or until after "--". Returns the number of words that were parsed. Returns -1 with a reason where
 * an option is unknown, lacks its value, has a value out of range, or has words and is given twice.
 * The caller sets the defaults in `settings` before. */
MUST_USE int tool_options_read(const struct tool_options *options, void *settings, int count,
                               char *const *words, char reason[TOOL_REASON_CHARS]);
/* Parses the command line of a program that is given a file by a word before the options or behind
 * them. `*file` becomes that word (borrowed), NULL where there is none. Returns false with a reason
 * where tool_options_read returns -1, and where there is a word more. */
MUST_USE bool tool_options_read_with_file(const struct tool_options *options, void *settings,
                                          int count, char *const *words, const char **file,
                                          char reason[TOOL_REASON_CHARS]);
/* Prints the help in lines of at most 80 columns. */
void tool_options_print_help(const struct tool_options *options, FILE *out);
/* Where the command line is exactly --describe-man or --describe-completion: prints the manual page
 * (roff) or bash's completion and returns true. `make generated` writes both to docs/. */
MUST_USE bool tool_options_describe(const struct tool_options *options, int argc,
                                    char *const *argv);
#endif
