/* SPDX-License-Identifier: BSD-3-Clause
 * The last steps of a rewrite: what was logged since the fork is appended to the child's file, the
 * file takes the old one's name, and the writer goes on with it.
 */
#ifndef EVENKEEL_AOF_AOF_SWITCH_H
#define EVENKEEL_AOF_AOF_SWITCH_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct background_kind;

/* The work on the file that is to replace the log. */
FOR_TESTS extern struct background_kind aof_switch_jobs;

struct aof_switch {
    const char *temporary, *path; /* copied */
    /* The position of the fork. The writer keeps all from here on, which the child has not seen. */
    uint64_t from;
    bool has_log; /* the writer is open; else the file is only renamed */
    /* Called at the end. Good: the file has its name, and the writer, where there is one, goes on
     * with it. Otherwise all is as it was, the temporary file is removed, and the log says why. */
    void (*ended)(bool good);
    /* Ends the process: under `always`, when further writes might be lost at a power cut. */
    void (*die)(void) __attribute__((noreturn));
    void (*wake)(void); /* asks for a call of aof_switch_turn; called from any thread */
};

/* Begins a switch; one at a time. aof_switch_turn continues it, and a thread does its work. */
void aof_switch_begin(const struct aof_switch *what);
bool aof_switch_is_under_way(void);
/* Whether the new file is being renamed now, or was. */
bool aof_switch_has_to_end(void);
/* Called each turn while a switch is under way. */
void aof_switch_turn(void);
/* Ends the switch and waits for that: a file that was renamed already becomes the log, another one
 * is given up. `ended` is called. Harmless where no switch is under way. */
void aof_switch_finish(void);
/* How many bytes are still to be appended to the new file. */
uint64_t aof_switch_missing(void);
#endif
