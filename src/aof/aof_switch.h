/* SPDX-License-Identifier: BSD-3-Clause
 * From a file that a child has written anew to the log: what was appended since the fork is added,
 * it takes the old file's name, and the writer goes on with it.
 */
#ifndef EVENKEEL_AOF_AOF_SWITCH_H
#define EVENKEEL_AOF_AOF_SWITCH_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct aof_switch {
    const char *temporary, *path; /* copied */
    /* The writer keeps all from here on: what the child has not seen. */
    uint64_t from;
    bool has_log; /* the writer is open; else the file only gets its name */
    /* The file has its name, and the writer, where there is one, goes on with it; or all is as it
     * was, the temporary file is gone, and the log says why. */
    void (*ended)(bool good);
    /* Under `always`: what is written from now on may be lost at a power cut. */
    void (*die)(void) __attribute__((noreturn));
    void (*wake)(void); /* from any thread: aof_switch_turn is to be called */
};

/* One at a time. It goes on in aof_switch_turn, and its work on a thread of its own. */
void aof_switch_begin(const struct aof_switch *what);
bool aof_switch_is_under_way(void);
/* The new file gets its name now, or has it. */
bool aof_switch_has_to_end(void);
/* Each turn while it is under way. */
void aof_switch_turn(void);
/* Waits until it has ended, one way or the other: what had its new name goes on as the log, what
 * had not is given up. `ended` is told. Harmless where none is under way. */
void aof_switch_finish(void);
/* Bytes that the new file has not got yet. */
uint64_t aof_switch_missing(void);
#endif
