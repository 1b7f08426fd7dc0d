/* SPDX-License-Identifier: BSD-3-Clause
 * What process/ is told of the server: for title, restart, watchdog, stack traces and crash
 * reports.
 */
#ifndef EVENKEEL_SERVER_PROCESS_PARTS_H
#define EVENKEEL_SERVER_PROCESS_PARTS_H
#include <stddef.h>

#include "process/title.h"

struct crash_parts;
struct restart_program;

extern const struct title_variable process_title_variables[];
extern const struct restart_program process_restart_program;
extern const struct crash_parts process_crash_parts;

/* The handler of the running command, whose name is written to `name`; NULL if no command runs.
 * May be called in signal handlers. */
const void *process_running_function(char *name, size_t size);
/* Writes a line about the running command. May be called in signal handlers. */
void process_describe_running(char *text, size_t size);
#endif
