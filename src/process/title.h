/* SPDX-License-Identifier: BSD-3-Clause
 * The process title that ps shows, made from the option proc-title-template.
 */
#ifndef EVENKEEL_PROCESS_TITLE_H
#define EVENKEEL_PROCESS_TITLE_H

struct buffer;

/* A variable of templates: its name without braces, and a function that appends its value. */
struct title_variable {
    const char *name;
    void (*append)(struct buffer *out);
};

/* Registers set-proc-title and proc-title-template. `variables` are those besides {title}, ended by
 * a row without a name; they must live as long as the process. */
void title_register(const struct title_variable *variables);
/* First in main: keeps argv and the environment elsewhere, so that their place is free for the
 * title. Returns the copy of argv, which is to be used from then on. */
char **title_take_arguments(int argc, char **argv);
/* Writes the title from the template and its variables' present values. Does nothing where
 * set-proc-title is off. */
void title_write(void);
/* Writes the title anew, if title_write was called before. */
void title_refresh(void);
/* To be called in a forked child: writes a title in which `title` replaces the program's command
 * line. */
void title_write_child(const char *title);
#endif
