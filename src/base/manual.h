/* SPDX-License-Identifier: BSD-3-Clause
 * Manual pages (roff with the man macros), made from the tables of the programs.
 *
 * A page is appended in this order: manual_begin, then headings with their words, then manual_end.
 * All texts are plain: characters that roff would take for a command are escaped here.
 */
#ifndef EVENKEEL_BASE_MANUAL_H
#define EVENKEEL_BASE_MANUAL_H

struct buffer;

/* All texts are borrowed. */
struct manual {
    const char *program;         /* "redis-check-aof" */
    const char *summary;         /* one or more sentences; NAME shows the first one */
    const char *synopsis;        /* the text behind the program's name */
    const char *maker;           /* the command that prints this page */
    const char *const *examples; /* lines, ended by NULL; NULL = none */
};

/* A word of the command line, or an option of a file. */
struct manual_word {
    const char *name, *other; /* "-v", "--version"; other may be NULL */
    const char *argument;     /* the name of its value; NULL = it has none */
    const char *help;
};

/* NAME, SYNOPSIS and DESCRIPTION. */
void manual_begin(struct buffer *out, const struct manual *page);
void manual_heading(struct buffer *out, const char *title);
void manual_subheading(struct buffer *out, const char *title);
void manual_word(struct buffer *out, const struct manual_word *word);
/* EXAMPLES, where the page has some; ends the page. */
void manual_end(struct buffer *out, const struct manual *page);
#endif
