/* SPDX-License-Identifier: BSD-3-Clause
 * What title, restart, watchdog, stack traces and crash reports are told of the server.
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

/* The function that runs the current command, whose name is written; NULL where none runs. For
 * signal handlers, as the next one. */
const void *process_running_function(char *name, size_t size);
/* Writes a line about the running command. */
void process_describe_running(char *text, size_t size);
#endif
