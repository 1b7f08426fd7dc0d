/* SPDX-License-Identifier: BSD-3-Clause
 * The program executed again in this process: DEBUG RESTART and CRASH-AND-RECOVER.
 */
#ifndef EVENKEEL_PROCESS_RESTART_H
#define EVENKEEL_PROCESS_RESTART_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a restart must ask the program about itself. */
struct restart_program {
    const char *(*executable)(void); /* an absolute path */
    /* Saves the present configuration to where the next start reads it; true if it came from no
     * file. False with a sentence in `reason`. */
    bool (*keep_configuration)(char *reason, size_t reason_size);
};

/* First in main: `argv` and `program` live as long as the process; the working directory is
 * noted. */
void restart_take_arguments(char **argv, const struct restart_program *program);
/* Whether a restart is possible. False, after a line in the log, where the program's file cannot be
 * executed, or its configuration came from standard input and is gone. */
bool restart_is_possible(void);
/* Rewrites the configuration file, if there is one; the program is then executed when the server
 * has shut down, `msec` milliseconds later. False after a line in the log. */
bool restart_prepare(int64_t msec);
bool restart_is_prepared(void);
/* Executes the program, as it was called, at once or after the time given (or given to
 * restart_prepare, where msec is 0). Returns only where that fails, after a line in the log. */
void restart_execute(int64_t msec);
#endif
